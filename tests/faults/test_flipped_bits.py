"""A bit that flips in stored data is refused, or changes nothing: no reader of ours gives a wrong number silently.

Every test counts what became of its flips. `docs/guarantees.md` has the figures.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from local import events_of
from web.stored_rows import contents, row, table

import aomg
from aomg import AomgError, Query
from aomg.monitor.results.reader import read
from aomg.monitor.sinks.parquet import ParquetSink
from aomg.monitor.sinks.summaries import SummarySink
from aomg.tables.checksums import verified
from aomg.web.follow.results import ResultFollower
from aomg.web.memory.history import History
from aomg.web.views.histogram import Histograms

QUERY = Query("3 minutes", "1 minute", thresholds=(500.0,))
COLUMNS = {"value": "v", "time": "ts", "by": "k"}
REFUSED, SAME, WRONG = "refused", "same", "silently wrong"


@pytest.fixture(scope="module", autouse=True)
def quick():
    with mock.patch.object(os, "fsync", lambda handle: None):
        yield


def flips(content: bytes, most: int | None = None) -> Iterator[bytes]:
    """The content with one bit flipped: each bit in turn, or a seeded sample of so many."""
    bits = range(8 * len(content))
    for bit in bits if most is None else random.Random(19).sample(bits, most):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)


def outcomes(variants: Iterator[object], answer: Callable[[object], object], expected: object) -> Counter[str]:
    """What became of each variant of the data."""
    counts: Counter[str] = Counter()
    for variant in variants:
        try:
            counts[SAME if answer(variant) == expected else WRONG] += 1
        except AomgError:
            counts[REFUSED] += 1
    return counts


def small_summary(events: int, seconds: int = 50) -> pa.Table:
    table = events_of(seed=2, size=events, keys=1, seconds=seconds)
    stored = aomg.summaries(table, QUERY, **COLUMNS)
    return stored.slice(0, 1).combine_chunks()


def with_cell(table: pa.Table, name: str, value: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), table.schema.field(name), value)


def test_every_bit_of_a_stored_summary_its_query_and_its_numbers():
    stored = small_summary(events=8)
    expected = aomg.windows(stored, QUERY).to_pylist()
    cell = {name: stored[name].combine_chunks() for name in stored.column_names}
    span = cell["sub_window"]
    numbers = {"count": cell["count"], "min": cell["min"], "max": cell["max"]}

    def variants() -> Iterator[pa.Table]:
        for summary in flips(cell["summary"][0].as_py()):
            yield with_cell(stored, "summary", pa.array([summary], pa.binary()))
        for text in flips(cell["query"][0].as_py().encode()):
            yield with_cell(stored, "query", pa.array([text], pa.binary()).view(pa.string()))
        for name, column in numbers.items():
            for word in flips(np.asarray(column).tobytes()):
                yield with_cell(stored, name, pa.array(np.frombuffer(word, np.asarray(column).dtype)))
        for end in range(2):
            for word in flips(np.asarray(span.field(end).cast(pa.int64())).tobytes()):
                parts = [span.field(0), span.field(1)]
                parts[end] = pa.array(np.frombuffer(word, np.int64)).cast(span.field(end).type)
                yield with_cell(stored, "sub_window", pa.StructArray.from_arrays(parts, names=["start", "end"]))

    counts = outcomes(variants(), lambda table: aomg.windows(table, QUERY).to_pylist(), expected)
    size = len(cell["summary"][0].as_py()) + len(cell["query"][0].as_py()) + 8 * 5
    assert counts == {REFUSED: 8 * size}


def test_every_bit_of_a_summary_of_rows():
    stored = small_summary(events=3_000)
    summary = stored["summary"][0].as_py()
    rows = {name: stored[name] for name in ("count", "min", "max", "query")}
    rows |= {end: stored["sub_window"].combine_chunks().field(end).cast(pa.int64()) for end in ("start", "end")}
    assert len(summary) > 400
    for variant in flips(summary):
        with pytest.raises(aomg.StateError, match="its checksum is wrong"):
            verified(pa.table(rows | {"summary": pa.array([variant], pa.binary())}), {})


def result_file(folder: Path) -> Path:
    rows = [row(str(key), end, 3, count=100 * key + end) for key in range(6) for end in range(2)]
    ParquetSink(folder).write(3, table(*rows))
    return next(folder.glob("day=*/*.parquet"))


def flips_of(file: Path, most: int) -> Iterator[Path]:
    """The file with one bit flipped, many times; also cut short and longer."""
    content = file.read_bytes()
    for variant in (*flips(content, most), content[:-1], content[: len(content) // 2], b"", content + b"\0"):
        file.write_bytes(variant)
        yield file
    file.write_bytes(content)


def test_results_read_by_aomg_query(tmp_path):
    file = result_file(tmp_path)
    expected = read(tmp_path).to_pylist()
    assert outcomes(flips_of(file, 600), lambda _: read(tmp_path).to_pylist(), expected) == {REFUSED: 604}
    assert read(tmp_path).to_pylist() == expected


def test_the_page_shows_no_result_of_a_damaged_file_and_names_it(tmp_path):
    file = result_file(tmp_path)
    ParquetSink(tmp_path).write(4, table(row("other", 9, 4)))
    for _ in flips_of(file, 100):
        history = History()
        follower = ResultFollower(tmp_path, history)
        for _ in range(3):
            follower.step()
        assert [labels for _, labels, _ in contents(history)] == [(("podset", "other"),)]
        assert str(file) in follower.problem and "move it away" in follower.problem


def summary_file(folder: Path) -> tuple[Path, pa.Table]:
    """A file of a monitor's summaries: of three keys and four minutes."""
    stored = aomg.summaries(events_of(seed=5, size=400, keys=3, seconds=230), QUERY, **COLUMNS)
    spans = stored.flatten()
    columns = {name: stored[name] for name in ("count", "min", "max", "summary")}
    columns |= {end: spans[f"sub_window.{end}"] for end in ("start", "end")}
    columns |= {"query": pa.array(["q"] * len(stored)), "labels": pa.array([[key] for key in stored["k"].to_pylist()])}
    SummarySink(folder, {"q": ("k",)}, "3f9a").write(0, pa.table(columns).append_column("written_by", stored["query"]))
    return next((folder / "q").iterdir()), stored


def test_summaries_read_by_windows_and_by_the_page(tmp_path):
    file, stored = summary_file(tmp_path)
    expected = aomg.windows(stored, QUERY).to_pylist()
    assert aomg.windows(tmp_path / "q", QUERY).to_pylist() == expected
    counts = outcomes(flips_of(file, 300), lambda _: aomg.windows(tmp_path / "q", QUERY).to_pylist(), expected)
    assert counts == {REFUSED: 304}
    window = [int(time.timestamp() * 1e6) for time in stored["sub_window"][0].as_py().values()]
    of_page = Histograms(tmp_path).of("q", {"k": "pod-000"}, *window)
    counts = outcomes(flips_of(file, 100), lambda _: Histograms(tmp_path).of("q", {"k": "pod-000"}, *window), of_page)
    assert counts == {REFUSED: 104}


def test_what_is_not_verified_is_seen_to_be_wrong(tmp_path):
    """The counts above mean something: of files without digest and checksums, many flips are silently wrong."""
    file = result_file(tmp_path)
    expected = read(tmp_path)
    plain = file.with_name("batch-0000000003.parquet")
    pq.write_table(pq.read_table(file, partitioning=None), plain, compression="none")
    file.unlink()
    assert read(tmp_path).to_pylist() == expected.to_pylist()

    def answer(_: object) -> object:
        try:
            return read(tmp_path).to_pylist()
        except UnicodeDecodeError as error:
            raise AomgError from error

    counts = outcomes(flips_of(plain, 300), answer, expected.to_pylist())
    assert counts[WRONG] > 10 and counts[REFUSED] > 10 and sum(counts.values()) == 304
