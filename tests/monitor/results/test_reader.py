import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import MINUTE, NAMES, NOON, quick_disk, row, table

from aomg.monitor.results.reader import ResultsError, label, read
from aomg.monitor.sinks.parquet import ParquetSink
from aomg.monitor.sinks.result_rows import stored

quick = pytest.fixture(quick_disk, scope="module", autouse=True)
DAY = 1440 * MINUTE


def moment(time: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time)


keys = st.tuples(st.sampled_from(["inbound", "outbound"]), st.sampled_from(["1", "2", "", None]), st.integers(0, 5))


@settings(max_examples=30)
@given(
    batches=st.lists(st.lists(keys, max_size=5, unique=True), min_size=1, max_size=4),
    query=st.sampled_from([None, "inbound", "outbound"]),
    podset=st.sampled_from([None, "1", "2"]),
    last=st.none() | st.integers(0, 6),
)
def test_what_is_read_is_what_was_stored_and_the_newest_batch_counts(batches, query, podset, last):
    step = DAY // 3
    newest: dict[tuple, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        sink = ParquetSink(Path(folder), NAMES)
        for number, batch in enumerate(batches):
            sink.write(number, table(*(row((key,), NOON + end * step, name, count=number) for name, key, end in batch)))
            newest |= dict.fromkeys(batch, number)
        ends = [end for name, _, end in newest if query in (None, name)]
        lower = max(ends) - last if ends and last is not None else None
        wanted = {
            key: number
            for key, number in newest.items()
            if query in (None, key[0]) and podset in (None, key[1]) and (lower is None or key[2] > lower)
        }
        arguments = {
            "labels": None if podset is None else {"podset": podset},
            "last": None if last is None else timedelta(microseconds=last * step),
        }
        if not wanted:
            with pytest.raises(ResultsError):
                read(Path(folder), query, **arguments)
            return
        stored = read(Path(folder), query, **arguments).to_pylist()
    got = {
        (one["query"], one["labels"][0], (one["end"] - moment(NOON)) // timedelta(microseconds=step)) for one in stored
    }
    assert got == set(wanted) and len(stored) == len(wanted)
    assert {one["batch"] for one in stored} == set(wanted.values())
    order = [(one["query"], one["labels"][0] is not None, one["labels"][0] or "", one["end"]) for one in stored]
    assert [one[0] for one in order] == sorted(one[0] for one in order)


@given(
    kinds=st.lists(st.sampled_from(["inbound", "pairs", "all", "unnamed"]), min_size=1, max_size=12),
    name=st.sampled_from(["podset", "src", "dst"]),
    data=st.data(),
)
def test_a_label_is_that_of_its_row_and_null_where_the_row_has_none(kinds, name, data):
    texts = st.sampled_from(["a", "", None])
    rows = [
        row(data.draw(st.tuples(*[texts] * len(NAMES.get(kind, ("x",))))), NOON + index * MINUTE, kind)
        for index, kind in enumerate(kinds)
    ]
    order = [NOON + index * MINUTE for index in range(len(rows))]
    wanted = [dict(zip(NAMES.get(one["query"], ()), one["labels"], strict=False)).get(name) for one in rows]
    whole = stored(0, table(*rows), NAMES)
    index = [order.index(end) for end in whole["end"].cast("int64").to_pylist()]
    for start in (0, len(rows) // 2):  # also of a part of a table
        part = whole.slice(start)
        if any(name in NAMES.get(kinds[place], ()) for place in index[start:]):
            assert label(part, name).to_pylist() == [wanted[place] for place in index[start:]]
        else:
            with pytest.raises(ResultsError, match=f"no result has a label '{name}'"):
                label(part, name)


def test_each_day_is_told_before_it_is_read(tmp_path):
    sink = ParquetSink(tmp_path, NAMES)
    for day in range(3):
        sink.write(day, table(row(end=NOON + day * DAY)))
    progress = []
    read(tmp_path, last=timedelta(days=1), reading=lambda *day: progress.append(day))
    assert progress == [("2026-11-17", 1, 2), ("2026-11-18", 2, 2)]


def test_only_the_days_that_are_asked_for_are_read(tmp_path):
    sink = ParquetSink(tmp_path, NAMES)
    for day in range(3):
        sink.write(day, table(row(end=NOON + day * DAY)))
    next((tmp_path / "day=2026-11-16").iterdir()).write_bytes(b"damaged")
    assert len(read(tmp_path, last=timedelta(days=1, minutes=1))) == 2
    with pytest.raises(ResultsError, match=r"batch-0000000000\.[0-9a-f]{16}\.parquet is damaged .*; restore it from a"):
        read(tmp_path)


def test_what_is_not_there_is_said_with_what_is(tmp_path):
    with pytest.raises(ResultsError, match=r"there is no folder .*nowhere; name the one that the parquet sink"):
        read(tmp_path / "nowhere")
    with pytest.raises(ResultsError, match="has no results yet"):
        read(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match="is a file"):
        read(tmp_path / "file")
    ParquetSink(tmp_path, NAMES).write(0, table(row(), row(("a", "b"), query="pairs")))
    with pytest.raises(ResultsError, match=r"no results of the query 'inbuond'; did you mean inbound\?"):
        read(tmp_path, "inbuond")
    with pytest.raises(ResultsError, match=r"no result has a label 'podsets'; did you mean podset\? there are podset"):
        read(tmp_path, labels={"podsets": "1"})
    with pytest.raises(ResultsError, match="no results with podset=99"):
        read(tmp_path, labels={"podset": "99"})


def test_labels_that_are_not_named_and_rows_without_labels_are_read_too(tmp_path):
    ParquetSink(tmp_path).write(0, table(row(), row((), query="all")))
    assert read(tmp_path)["labels"].to_pylist() == [[], ["1"]]
    with pytest.raises(ResultsError, match="no result has a label 'podset'; there are none"):
        read(tmp_path, labels={"podset": "1"})


def test_what_earlier_versions_called_exact_is_certified_unless_its_ends_are_equal(tmp_path):
    estimates = [
        {"name": "p50", "value": 500.0, "low": 500.0, "high": 500.0, "method": "exact"},
        {"name": "p99", "value": 1224.7, "low": 1220.0, "high": 1229.0, "method": "exact"},
        {"name": "below_500", "value": 0.5, "low": 0.5, "high": 0.5, "method": None},
    ]
    ParquetSink(tmp_path, NAMES).write(1, table(row(estimates=estimates), row(("2",))))
    first, second = read(tmp_path, "inbound").to_pylist()
    assert [part["method"] for part in first["estimates"]] == ["exact", "certified", None]
    assert [{**part, "method": None} for part in first["estimates"]] == [{**part, "method": None} for part in estimates]
    assert [part["method"] for part in second["estimates"]] == ["band", "band"]
