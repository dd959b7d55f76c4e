"""Histograms of a key's window come from the stored summaries, and count exactly its events."""

import os
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aomg import Query
from aomg.core.keyed import TALLY, KeyedWindows, KeyRows
from aomg.core.tally import tally
from aomg.monitor.sinks import small_files
from aomg.monitor.sinks.summaries import SummarySink
from aomg.tables.checksums import summary_column
from aomg.tables.parquet_files import name_without
from aomg.web.parameters import NotFound
from aomg.web.views import histogram
from aomg.web.views.histogram import Histograms

SECOND = 1_000_000
PERIOD = 15 * SECOND
NOON = 1_794_830_400_000_000
QUERY = Query("1 minute", "15 seconds")
NAMES = {"inbound": ("podset",), "pairs": ("src", "dst"), "all": ()}
STREAM = "3f9a00112233"


keyed_of = lru_cache(KeyedWindows)


def record_of(values: np.ndarray, query: Query = QUERY, number: int = 0) -> bytes:
    """A sub-window's summary, as the stream writes it."""
    keyed = keyed_of(query)
    tallies = tally(keyed.sliding, np.zeros(values.size, np.int64), values)
    nothing = np.zeros(1, np.int64)
    rows = KeyRows(nothing, nothing + number, nothing + TALLY, nothing, tallies.offsets, tallies.data)
    closed = keyed.slide(rows, nothing + number, nothing + number + 1, answering=False).summaries
    return summary_column(closed.offsets, closed.data, query.text())[0].as_py()


def row(key: tuple, number: int, values: np.ndarray, query: str = "inbound", requested: Query = QUERY) -> dict:
    start = NOON + number * PERIOD
    built = {"query": query, "labels": list(key), "start": start, "end": start + PERIOD, "count": values.size}
    built |= {"min": float(values.min()), "max": float(values.max())}
    summary = record_of(values, requested, start // PERIOD)
    return built | {"summary": summary, "written_by": requested.text()}


def table(rows: list[dict]) -> pa.Table:
    time = pa.timestamp("us", tz="UTC")
    kinds = {"query": pa.string(), "labels": pa.list_(pa.string()), "start": time, "end": time, "count": pa.int64()}
    kinds |= {"min": pa.float64(), "max": pa.float64(), "summary": pa.binary(), "written_by": pa.string()}
    columns = {name: [one[name] for one in rows] for name in kinds}
    arrays = [
        pa.array(columns[n], pa.int64()).cast(k) if k == time else pa.array(columns[n], k) for n, k in kinds.items()
    ]
    return pa.table(arrays, names=list(kinds))


def stored(folder: Path, batches: dict[int, list[dict]], stream: str = STREAM) -> Histograms:
    sink = SummarySink(folder, NAMES, stream)
    with mock.patch.object(os, "fsync", lambda handle: None):
        for batch, rows in batches.items():
            sink.write(batch, table(rows))
    return Histograms(folder)


def values_of(seed: int, size: int = 50) -> np.ndarray:
    return np.rint(np.random.default_rng(seed).lognormal(6, 1, size)).astype(np.int64)


@settings(max_examples=20)
@given(
    batches=st.lists(st.integers(1, 3), min_size=1, max_size=6),
    keys=st.lists(st.sampled_from(["1", "2", "10", "", None]), min_size=1, max_size=4, unique=True),
    seed=st.integers(0, 1000),
)
def test_the_buckets_of_every_window_hold_exactly_its_events(batches, keys, seed):
    """Sub-windows close a few at a time; some keys are silent in some of them."""
    random = np.random.default_rng(seed)
    events: dict[tuple, np.ndarray] = {}
    files: dict[int, list[dict]] = {}
    number = 0
    for batch, closed in enumerate(batches):
        files[batch] = []
        for key in keys:
            for index in range(number, number + closed):
                if random.random() < 0.8:
                    events[key, index] = values_of(int(random.integers(1 << 30)), int(random.integers(1, 60)))
                    files[batch].append(row((key,), index, events[key, index]))
        number += closed
    with tempfile.TemporaryDirectory() as folder:
        histograms = stored(Path(folder), files)
        for key in keys:
            for last in range(number):
                inside = [events[key, n] for n in range(last - 3, last + 1) if (key, n) in events]
                end = NOON + (last + 1) * PERIOD
                if not inside:
                    continue
                values = np.concatenate(inside)
                answer = histograms.of("inbound", {"podset": key}, end - 4 * PERIOD, end, values.size)
                assert (answer["count"], answer["sub_windows"]) == (values.size, len(inside))
                for bucket in answer["buckets"]:
                    assert np.sum((values >= bucket["low"]) & (values < bucket["high"])) == bucket["count"]
                assert sum(bucket["count"] for bucket in answer["buckets"]) == values.size


def test_a_histogram_says_of_what_it_is(tmp_path):
    answer = stored(tmp_path, {0: [row(("6",), 0, values_of(1))]}).of("inbound", {"podset": "6"}, NOON, NOON + PERIOD)
    assert {name: answer[name] for name in ("query", "key", "start", "end", "count", "sub_windows")} == {
        "query": "inbound",
        "key": {"podset": "6"},
        "start": "2026-11-16T12:00:00Z",
        "end": "2026-11-16T12:00:15Z",
        "count": 50,
        "sub_windows": 1,
    }


def test_keys_of_several_labels_and_of_none_have_histograms(tmp_path):
    rows = [row(("a", None), 0, values_of(1), "pairs"), row(("a", "b"), 0, values_of(2, 60), "pairs")]
    histograms = stored(tmp_path, {0: [*rows, row((), 0, values_of(3, 70), "all")]})
    span = (NOON, NOON + PERIOD)
    assert histograms.of("pairs", {"src": "a", "dst": None}, *span)["count"] == 50
    assert histograms.of("pairs", {"dst": "b", "src": "a"}, *span)["count"] == 60
    assert histograms.of("all", {}, *span)["count"] == 70


def test_a_key_that_lacks_a_label_does_not_add_up_other_keys(tmp_path):
    rows = [row(("a", "b"), 0, values_of(1), "pairs"), row(("a", "c"), 0, values_of(2), "pairs")]
    with pytest.raises(NotFound, match="labels dst, src"):
        stored(tmp_path, {0: rows}).of("pairs", {"src": "a"}, NOON, NOON + PERIOD)


def test_only_the_files_of_the_window_are_read(tmp_path):
    histograms = stored(tmp_path, {n: [row(("1",), n, values_of(n))] for n in range(100)})
    read = []
    nothing = mock.Mock(side_effect=lambda file, key: read.append(file.name) or iter(()))
    with mock.patch.object(histogram, "_parts_of", nothing), pytest.raises(NotFound):
        histograms.of("inbound", {"podset": "1"}, NOON + 40 * PERIOD, NOON + 44 * PERIOD)
    assert sorted(map(name_without, set(read))) == [f"batch-{STREAM}-{n:010d}.parquet" for n in range(40, 44)]
    footers = mock.Mock(side_effect=histogram._span_of)
    with mock.patch.object(histogram, "_span_of", footers):
        Histograms(tmp_path).of("inbound", {"podset": "1"}, NOON + 40 * PERIOD, NOON + 44 * PERIOD)
    assert footers.call_count <= 20


def test_files_that_were_read_are_not_read_again_until_they_change(tmp_path):
    histograms = stored(tmp_path, {n: [row(("1",), n, values_of(n))] for n in range(4)})
    requested = ("inbound", {"podset": "1"}, NOON, NOON + 4 * PERIOD)
    first = histograms.of(*requested)
    with mock.patch.object(histogram, "_parts_of", side_effect=AssertionError("read again")):
        assert histograms.of(*requested) == first
    stored(tmp_path, {2: [row(("1",), 2, values_of(2, 80))]})
    assert histograms.of(*requested)["count"] == first["count"] + 30


def test_a_summary_that_another_stream_stored_too_counts_once(tmp_path):
    stored(tmp_path, {5: [row(("1",), 0, values_of(1))]}, "000000000000")
    histograms = stored(tmp_path, {0: [row(("1",), 0, values_of(1)), row(("1",), 1, values_of(2))]})
    assert histograms.of("inbound", {"podset": "1"}, NOON, NOON + 4 * PERIOD, 100)["sub_windows"] == 2


def test_without_summaries_the_error_says_what_to_add():
    with pytest.raises(NotFound) as answer:
        Histograms(None).of("inbound", {"podset": "1"}, 0, 1)
    assert "summaries: [{parquet: summaries/}]" in answer.value.what_to_do


def test_windows_that_are_not_stored_or_only_in_part_say_so(tmp_path):
    histograms = stored(tmp_path, {n: [row(("1",), n, values_of(n))] for n in range(4)})
    with pytest.raises(NotFound, match="no summaries of pairs are stored yet"):
        histograms.of("pairs", {"src": "1", "dst": "2"}, NOON, NOON + PERIOD)
    with pytest.raises(NotFound, match="not stored") as answer:
        histograms.of("inbound", {"podset": "1"}, NOON - 9 * PERIOD, NOON)
    assert answer.value.what_to_do
    with pytest.raises(NotFound, match="50 of the 100 events"):
        histograms.of("inbound", {"podset": "1"}, NOON - PERIOD, NOON + PERIOD, 100)
    with pytest.raises(NotFound, match="not stored"):
        histograms.of("inbound", {"podset": "99"}, NOON, NOON + PERIOD)


def test_a_batch_out_of_the_order_of_time_is_found_where_its_events_are_missed(tmp_path):
    histograms = stored(tmp_path, {n: [row(("1",), m, values_of(m))] for n, m in enumerate([3, 0, 1, 2, 4, 5])})
    assert histograms.of("inbound", {"podset": "1"}, NOON, NOON + 4 * PERIOD, 200)["sub_windows"] == 4


def test_a_damaged_file_and_a_query_without_a_guarantee_say_so(tmp_path):
    free = Query("1 minute", "15 seconds", guarantee=False)
    histograms = stored(tmp_path, {0: [row(("1",), 0, values_of(1), requested=free)]})
    with pytest.raises(NotFound, match="without a guarantee") as answer:
        histograms.of("inbound", {"podset": "1"}, NOON, NOON + PERIOD)
    assert answer.value.what_to_do == "add a guarantee"
    file = next((tmp_path / "inbound").iterdir())
    file.write_bytes(b"no parquet")
    with pytest.raises(NotFound, match=f"{file.name} cannot be read") as answer:
        histograms.of("inbound", {"podset": "1"}, NOON, NOON + PERIOD)
    assert answer.value.what_to_do.startswith("restore the file from a backup, or move it away")


def test_a_damaged_file_is_refused_only_where_it_may_hold_a_part_of_the_window(tmp_path):
    """Wherever the damaged file is, and whether it is met first or last in the search for the window."""
    stored(tmp_path, {n: [row(("1",), n, values_of(n))] for n in range(15)})
    files = sorted((tmp_path / "inbound").iterdir())
    for damaged, file in enumerate(files):
        content = file.read_bytes()
        file.write_bytes(content[:-9] + b"!" + content[-8:])
        histograms = Histograms(tmp_path)
        for number in range(14):
            window = ("inbound", {"podset": "1"}, NOON + number * PERIOD, NOON + (number + 2) * PERIOD)
            if damaged in (number, number + 1):
                for count in (None, 100):
                    with pytest.raises(NotFound, match="cannot be read"):
                        histograms.of(*window, count)
            else:
                assert histograms.of(*window, 100)["count"] == 100
                if damaged not in (number - 1, number + 2):
                    assert histograms.of(*window)["count"] == 100
        file.write_bytes(content)


def test_a_damaged_summary_is_refused_and_one_without_a_checksum_is_read(tmp_path):
    """The file agrees with its digest: the summary was damaged before it was written."""
    one = row(("1",), 0, values_of(1))
    flipped = bytes([*one["summary"][:40], one["summary"][40] ^ 8, *one["summary"][41:]])
    window = ("inbound", {"podset": "1"}, NOON, NOON + PERIOD)
    with pytest.raises(NotFound, match="of podset='1' is damaged: its checksum is wrong") as answer:
        stored(tmp_path / "a", {0: [one | {"summary": flipped}]}).of(*window)
    assert answer.value.what_to_do.startswith("remove that row or file")
    old = stored(tmp_path / "b", {0: [one | {"summary": one["summary"][:-4]}]})
    assert old.of(*window) == stored(tmp_path / "c", {0: [one]}).of(*window)


def test_files_that_are_joined_meanwhile_are_read_where_they_are_now(tmp_path):
    histograms = stored(tmp_path, {n: [row(("1",), n, values_of(n))] for n in range(40)})
    window = ("inbound", {"podset": "1"}, NOON, NOON + 4 * PERIOD)
    real, sink = histogram._parts_of, SummarySink(tmp_path, NAMES, STREAM)

    def joining(file, key):
        with mock.patch.multiple(small_files, MOST_FILES=10):
            sink.write(40, table([row(("1",), 40, values_of(40))]))
            sink.tidy()
        return real(file, key)

    with mock.patch.object(histogram, "_parts_of", joining):
        assert histograms.of(*window, 200)["count"] == 200
    assert any(file.name.startswith("compacted-") for file in (tmp_path / "inbound").iterdir())
    assert Histograms(tmp_path).of(*window, 200) == histograms.of(*window, 200)


@pytest.mark.parametrize("name", ["../inbound", "..", "", "a/b", "/etc"])
def test_a_query_is_never_a_path(tmp_path, name):
    stored(tmp_path / "summaries", {0: [row(("1",), 0, values_of(1))]})
    shutil.copytree(tmp_path / "summaries" / "inbound", tmp_path / "inbound")
    with pytest.raises(NotFound, match="no summaries"):
        Histograms(tmp_path / "summaries").of(name, {"podset": "1"}, NOON, NOON + PERIOD)
