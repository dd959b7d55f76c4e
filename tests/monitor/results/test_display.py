import io
import json
import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from samples import MINUTE, NAMES, NOON, alert, quick_disk, row, table

from aomg import numbers
from aomg.monitor.results import display, ranking
from aomg.monitor.results.display import show, sparkline
from aomg.monitor.results.ranking import ranked
from aomg.monitor.results.reader import ResultsError, newest_batch, read
from aomg.monitor.sinks.console import ConsoleSink
from aomg.monitor.sinks.parquet import ParquetSink
from aomg.monitor.sinks.result_rows import records, stored
from aomg.times import time_text

quick = pytest.fixture(quick_disk, scope="module", autouse=True)


def printed(what, *arguments, width=160, **named) -> str:
    text = io.StringIO()
    what(Console(file=text, width=width), *arguments, **named)
    return text.getvalue()


@pytest.fixture
def results(tmp_path):
    sink = ParquetSink(tmp_path / "results", NAMES)
    for minute in range(4):
        end = NOON + minute * MINUTE
        rows = [row((str(key),), end, p99=1000.0 * key + (5000 if (key, minute) == (1, 2) else 0)) for key in range(4)]
        rows += [row((a, b), end, "pairs", p99=100.0 * minute, p50=50.0 * (a == "x")) for a in "xy" for b in "uv"]
        sink.write(minute, table(*rows, row((), end, "all", burst=True)))
    return tmp_path / "results"


def test_the_worst_keys_come_first_each_with_its_worst_window(results):
    keys = ranked(read(results, "inbound")).first
    assert [key.labels for key in keys] == [{"podset": key} for key in "1320"]
    assert keys[0].worst["end"] == "2026-11-16T12:02:00Z" and keys[0].worst["estimates"]["p99"]["value"] == 6000.0
    assert [value for _, value, _, _ in keys[0].series] == [1000.0, 1000.0, 6000.0, 1000.0]
    assert [end for end, *_ in keys[0].series] == [NOON + minute * MINUTE for minute in range(4)]


values = st.none() | st.sampled_from([1.0, 2.0, 3.0, float("nan"), float("inf")])
texts = st.sampled_from(["a", "b", "", None])


@given(
    cells=st.dictionaries(st.tuples(texts, texts, st.integers(0, 3)), values, min_size=1, max_size=25),
    by=st.sampled_from([None, ["src"], ["dst"], ["dst", "src"]]),
    most=st.none() | st.integers(1, 4),
)
def test_keys_are_ranked_as_one_would_by_hand(cells, by, most):
    rows = [row((src, dst), NOON + end * MINUTE, "pairs") for src, dst, end in cells]
    for one, value in zip(rows, cells.values(), strict=True):
        if value is None:
            del one["estimates"][1]  # a row without p99
        else:
            one["estimates"][1] |= {"value": value, "low": 0.5, "high": 9.0}
    stored_rows = newest_batch(stored(0, table(*rows), NAMES))
    if not any("p99" in str(one["estimates"]) for one in rows):
        return
    labels = by or ["src", "dst"]
    keys: dict[tuple, dict[int, float]] = {}
    for (src, dst, end), value in cells.items():
        key = tuple({"src": src, "dst": dst}[name] for name in labels)
        if value is not None and math.isfinite(value):
            before = keys.setdefault(key, {}).get(NOON + end * MINUTE, 0.0)
            keys[key][NOON + end * MINUTE] = max(before, value)
    ranking = ranked(stored_rows, by, "p99", most)
    assert ranking.keys == len(keys) and len(ranking.first) == min(len(keys), most or len(keys))
    order = sorted((max(series.values()) for series in keys.values()), reverse=True)
    assert [one.worst["estimates"]["p99"]["value"] for one in ranking.first] == order[:most]
    for one in ranking.first:
        key = tuple(one.labels[name] for name in labels)
        assert list(one.labels) == labels and {name: one.worst["labels"][name] for name in labels} == one.labels
        assert [(end, value) for end, value, _, _ in one.series] == sorted(keys[key].items())
        first = min(end for end, value in keys[key].items() if value == max(keys[key].values()))
        assert one.worst["end"] == time_text(first)


def test_of_many_keys_only_those_that_are_shown_are_written_out(tmp_path, monkeypatch):
    sink = ParquetSink(tmp_path, NAMES)
    for minute in range(3):
        sink.write(minute, table(*(row((str(key),), NOON + minute * MINUTE, p99=float(key)) for key in range(300))))
    written = []
    monkeypatch.setattr(ranking, "records", lambda rows: written.append(len(rows)) or records(rows))
    document = json.loads(printed(show, tmp_path, most=2, as_json=True))[0]
    assert (document["keys"], [one["labels"]["podset"] for one in document["worst_first"]]) == (300, ["299", "298"])
    assert sum(written) == 2


def test_unless_asked_for_more_it_is_the_last_day_and_that_is_said(tmp_path):
    sink = ParquetSink(tmp_path, NAMES)
    for day, p99 in ((0, 9000.0), (2, 2000.0), (3, 1000.0)):
        sink.write(day, table(row(end=NOON + day * 1440 * MINUTE, p99=p99)))
    last = "2026-11-19T12:00:00Z"
    assert f"windows ending {last} to {last}" in printed(show, tmp_path)
    assert "only the last 24 hours up to the newest window; use --last 7d to read further back" in printed(
        show, tmp_path
    )
    document = json.loads(printed(show, tmp_path, as_json=True))[0]
    assert (document["first_end"], document["last_end"]) == (last, last)
    more = printed(show, tmp_path, last=timedelta(days=7))
    assert f"windows ending 2026-11-16T12:00:00Z to {last}" in more and "24 hours" not in more
    with pytest.raises(ResultsError, match=r"podset=2 in the 1d up to the newest window; .*read further back"):
        printed(show, tmp_path, labels={"podset": "2"})


def test_of_a_young_folder_nothing_is_said_of_a_last_day(results):
    assert "24 hours" not in printed(show, results)


def test_on_a_terminal_it_says_what_it_reads(tmp_path):
    sink = ParquetSink(tmp_path, NAMES)
    for day in range(2):
        sink.write(day, table(row(end=NOON + day * 1440 * MINUTE)))
    text = io.StringIO()
    show(Console(file=text, force_terminal=True, width=120), tmp_path, last=timedelta(days=9))
    assert "reading results" in text.getvalue() and "ranking the keys of inbound" in text.getvalue()
    assert "reading results" not in printed(show, tmp_path)


def test_keys_that_share_the_labels_asked_for_are_one_and_the_worst_of_them_counts(results):
    keys = ranked(read(results, "pairs"), ["src"], "p50").first
    assert [(key.labels, key.worst["labels"]["src"], len(key.series)) for key in keys] == [
        ({"src": "x"}, "x", 4),
        ({"src": "y"}, "y", 4),
    ]


def test_of_shares_below_a_threshold_the_lowest_is_the_worst(tmp_path):
    sink = ParquetSink(tmp_path / "results", NAMES)
    shares = {"1": [0.9, 0.8, 0.9], "2": [0.7, 0.1, 0.9], "3": [1.0, 1.0, 1.0]}
    rows = []
    for key, values in shares.items():
        for minute, value in enumerate(values):
            part = {"name": "below_minus_0_5", "value": value, "low": value, "high": value, "method": None}
            rows.append(row((key,), NOON + minute * MINUTE, estimates=[part]))
    sink.write(0, table(*rows))
    keys = ranked(read(tmp_path / "results"), None, "below_-0.5").first
    assert [key.labels["podset"] for key in keys] == ["2", "1", "3"]
    assert keys[0].worst["end"] == "2026-11-16T12:01:00Z"
    assert "worst keys by below_minus_0_5" in printed(show, tmp_path / "results", quantile="below_-0.5")


def test_a_line_of_shares_over_time_has_the_lowest_of_each_part():
    series = [(0, 1.0, 1, 1), (10, 0.0, 0, 0), (20, 1.0, 1, 1), (30, 1.0, 1, 1)]
    assert sparkline(series, (0, 30), 0.0, 1.0, width=2) == "██"
    assert sparkline(series, (0, 30), 0.0, 1.0, width=2, worst=min) == "▁█"


@pytest.mark.parametrize("name", ["p50", "0.5", "0.50", " p50"])
def test_a_quantile_may_be_written_in_many_ways(results, name):
    assert "worst keys by p50" in printed(show, results, "inbound", quantile=name)


def test_the_table_has_values_intervals_and_a_line_over_time(results):
    text = printed(show, results, "inbound", ["podset"], last=timedelta(hours=2))
    lines = text.splitlines()
    assert lines[0].startswith("inbound: worst keys by p99, windows ending 2026-11-16T12:00:00Z to 2026-11-16T12:03")
    assert lines[1].split()[:3] == ["podset", "p50", "p99"]
    first = next(line for line in lines if line.startswith("1 "))
    assert "6,000" in first and "1,000" in first and " 12:02:00 " in first and first.rstrip().endswith("▂▂█▂")
    assert "5,940..6,060" in lines[lines.index(first) + 1]


def narrow(value, low, high):
    """A row whose only estimate is known very well."""
    return row(estimates=[{"name": "p99", "value": value, "low": low, "high": high, "method": "band"}])


def test_no_value_is_shown_outside_of_its_interval(tmp_path):
    """Four digits are 194 over 193.9..194."""
    ParquetSink(tmp_path, NAMES).write(0, table(narrow(193.96, 193.9, 193.98)))
    lines = printed(show, tmp_path).splitlines()
    assert lines[2].split()[1] == "193.96" and lines[3].split() == ["193.9..193.98"]
    document = json.loads(printed(show, tmp_path, as_json=True))[0]["worst_first"][0]
    assert document["worst"]["estimates"]["p99"] | {"method": None} == {
        "value": 193.96, "low": 193.9, "high": 193.98, "method": None,
    }  # fmt: skip


def test_no_line_of_the_console_has_a_value_outside_of_its_interval():
    """Six digits are 1,940 (1,939.99..1,940)."""
    text = printed(lambda console: ConsoleSink(console, NAMES).write(0, table(narrow(1939.996, 1939.99, 1939.998))))
    assert "p99 1,939.996 (1,939.99..1,939.998)" in text


def test_every_query_has_its_table_and_only_so_many_keys(results):
    text = printed(show, results, most=2)
    assert [line.split(":")[0] for line in text.splitlines() if "worst keys" in line] == ["all", "inbound", "pairs"]
    assert "and 2 more keys" in text and "burst" in text


def test_machines_get_json(results):
    documents = json.loads(printed(show, results, "inbound", as_json=True, most=1, width=40))
    assert documents[0]["query"] == "inbound" and documents[0]["quantile"] == "p99" and documents[0]["keys"] == 4
    (worst,) = documents[0]["worst_first"]
    assert worst["labels"] == {"podset": "1"} and len(worst["series"]) == 4
    assert worst["series"][2] == {"end": "2026-11-16T12:02:00Z", "value": 6000.0, "low": 5940.0, "high": 6060.0}


def test_an_unknown_label_or_quantile_is_an_error_with_a_suggestion(results):
    with pytest.raises(ResultsError, match=r"no result has a label 'podest'; did you mean podset\?"):
        printed(show, results, "inbound", by=["podest"])
    with pytest.raises(ResultsError, match=r"have no 'p99.9'; did you mean p99\? there are p50, p99"):
        printed(show, results, quantile="p99.9")


def test_markup_in_labels_is_shown_as_it_is(tmp_path):
    ParquetSink(tmp_path, NAMES).write(0, table(row(("[red]17[/]",))))
    assert "[red]17[/]" in printed(show, tmp_path)


def test_a_line_over_time_has_gaps_where_there_is_no_window():
    assert sparkline([(0, 0.0, 0, 0), (30, 7.0, 7, 7)], (0, 30), 0.0, 7.0, 4) == "▁  █"
    assert sparkline([(5, 3.0, 3, 3)], (5, 5), 3.0, 3.0, 1) == "▁"


def test_the_console_has_a_line_for_each_result_and_alert():
    def write(console):
        ConsoleSink(console, NAMES).write(3, table(row(("[b]17",), burst=True, p99=1234567.0), row((), query="all")))
        ConsoleSink(console).write(3, [alert(annotations={"summary": "two\nlines"}), alert("resolved", annotations={})])

    lines = printed(write, width=40).splitlines()
    assert lines == [
        "2026-11-16T12:00:00Z  all {}  n=1,000  p50 500 (499..501)  p99 4,000 (3,960..4,040)",
        "2026-11-16T12:00:00Z  inbound {podset=[b]17}  n=1,000  p50 500 (499..501)  "
        "p99 1,234,567 (1,222,221..1,246,913)  burst",
        "2026-11-16T12:00:00Z  FIRING  SwitchFault {podset=17, severity=page}  two lines",
        "2026-11-16T12:00:00Z  RESOLVED  SwitchFault {podset=17, severity=page}",
    ]


@given(st.integers(60, 200), st.integers(1, 5), st.integers(0, 5), st.booleans(), st.data())
def test_a_number_is_shown_whole_or_not_at_all_however_narrow_the_terminal(width, quantiles, shares, wide, data):
    """A number that is cut reads as another one: 56… is no p99 of 566.5."""
    names = [f"p{50 + number}" for number in range(quantiles)] + [f"below_{number}00" for number in range(shares)]
    parts = [
        {"name": name, "value": value, "low": value * 0.999 if wide else value, "high": value, "method": None}
        for name, value in ((name, data.draw(st.floats(1e-12, 1e15))) for name in names)
    ]
    estimates = {one["name"]: one for one in parts}
    worst = {"estimates": estimates, "end": time_text(NOON), "burst": False, "count": 1_234}
    key = display.RankedKey("q", {"podset": "checkout"}, worst, [(NOON, 1.0, 1.0, 1.0)])
    shown, left_out = display._table(names[0], [key], (NOON, NOON), width)
    text = printed(lambda console: console.print(shown), width=width)
    assert max(map(len, text.splitlines())) <= width
    texts = {one["name"]: numbers.number_texts(one["value"], one["low"], one["high"]) for one in parts}
    assert names[0] not in left_out
    for name, expected in texts.items():
        if name not in left_out:
            assert expected.value in text
            assert expected.interval in text or "exact" in text
    assert "…" not in text and "checkout" in text


def test_a_query_without_the_estimate_is_named_and_the_others_are_shown(tmp_path):
    sink = ParquetSink(tmp_path / "results", NAMES)
    share = {"name": "below_250", "value": 0.5, "low": 0.5, "high": 0.5, "method": None}
    sink.write(0, table(row(("1",), NOON, estimates=[share]), row(("x", "u"), NOON, "pairs", p99=7.0)))
    text = printed(show, tmp_path / "results", quantile="below_250")
    assert "worst keys by below_250" in text and "pairs has no below_250" in text
    (only,) = json.loads(printed(show, tmp_path / "results", quantile="below_250", as_json=True))
    assert only["quantile"] == "below_250"
    with pytest.raises(ResultsError, match=r"these results have no 'p33'; .*there are below_250, p50, p99"):
        printed(show, tmp_path / "results", quantile="p33")


def test_with_long_labels_columns_are_left_out_and_never_an_interval(tmp_path):
    names = {"inbound": ("source", "destination", "datacenter")}
    labels = ("checkout-service-eu", "payments-service-eu", "amsterdam-north-3")
    ParquetSink(tmp_path, names).write(0, table(row(labels, p99=1234567.0)))
    text = printed(show, tmp_path, width=60)
    assert "1,234,567" in text and "1,222,221..1,246,913" in text
    assert "too narrow for" in text and "worst at" in text.split("too narrow for")[1]


def test_json_has_no_digits_that_say_nothing(tmp_path):
    ParquetSink(tmp_path, NAMES).write(0, table(row(("1",), p99=50.43200000000076)))
    text = printed(show, tmp_path, as_json=True)
    assert "50.432," in text and "0000000" not in text


def test_what_there_is_no_room_for_is_named(results):
    assert "no room for" not in printed(show, results, width=160)
    assert "too narrow for events, the trend; use a" in printed(show, results, query="pairs", width=40)
