import io
import json
from datetime import timedelta

import pytest
from made import MINUTE, NAMES, NOON, alert, quick_disk, row, table
from rich.console import Console

from aomg.monitor.parquet_sink import ParquetSink
from aomg.monitor.ranking import ranked
from aomg.monitor.results import ResultsError, read
from aomg.monitor.shown import show, sparkline
from aomg.monitor.sinks import ConsoleSink

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
    keys = ranked(read(results, "inbound"))
    assert [key.labels for key in keys] == [{"podset": key} for key in "1320"]
    assert keys[0].worst["end"] == "2026-11-16T12:02:00Z" and keys[0].worst["estimates"]["p99"]["value"] == 6000.0
    assert [value for _, value, _, _ in keys[0].series] == [1000.0, 1000.0, 6000.0, 1000.0]
    assert [end for end, *_ in keys[0].series] == [NOON + minute * MINUTE for minute in range(4)]


def test_keys_that_share_the_labels_asked_for_are_one_and_the_worst_of_them_counts(results):
    keys = ranked(read(results, "pairs"), ["src"], "p50")
    assert [(key.labels, key.worst["labels"]["src"], len(key.series)) for key in keys] == [
        ({"src": "x"}, "x", 4),
        ({"src": "y"}, "y", 4),
    ]


@pytest.mark.parametrize("name", ["p50", "0.5", "0.50", " p50"])
def test_a_quantile_may_be_written_in_many_ways(results, name):
    assert "worst keys by p50" in printed(show, results, "inbound", quantile=name)


def test_the_table_has_values_intervals_and_a_line_over_time(results):
    text = printed(show, results, "inbound", ["podset"], last=timedelta(hours=2))
    lines = text.splitlines()
    assert lines[0].startswith("inbound: worst keys by p99, windows that end 2026-11-16T12:00:00Z to 2026-11-16T12:03")
    assert lines[1].split()[:3] == ["podset", "p50", "p99"]
    first = next(line for line in lines if line.startswith("1 "))
    assert "6,000" in first and "1,000" in first and " 12:02:00 " in first and first.rstrip().endswith("▂▂█▂")
    assert "5,940..6,060" in lines[lines.index(first) + 1]


def test_every_query_has_its_table_and_only_so_many_keys(results):
    text = printed(show, results, most=2)
    assert [line.split(":")[0] for line in text.splitlines() if "worst keys" in line] == ["all", "inbound", "pairs"]
    assert "and 2 more keys" in text and "burst" in text


def test_machines_get_json(results):
    told = json.loads(printed(show, results, "inbound", as_json=True, most=1, width=40))
    assert told[0]["query"] == "inbound" and told[0]["quantile"] == "p99" and told[0]["keys"] == 4
    (worst,) = told[0]["worst_first"]
    assert worst["labels"] == {"podset": "1"} and len(worst["series"]) == 4
    assert worst["series"][2] == {"end": "2026-11-16T12:02:00Z", "value": 6000.0, "low": 5940.0, "high": 6060.0}


def test_an_unknown_label_or_quantile_is_an_error_with_a_suggestion(results):
    with pytest.raises(ResultsError, match=r"no result has a label 'podest'; did you mean podset\?"):
        printed(show, results, "inbound", by=["podest"])
    with pytest.raises(ResultsError, match=r"hold no 'p99.9'; did you mean p99\? there are p50, p99"):
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
