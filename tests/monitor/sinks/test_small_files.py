"""Small files of results and summaries are joined while the monitor runs, and nobody misses a row."""

import errno
import json
import logging
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import MINUTE, NAMES, NOON, Killed, dying, files, full_disk, quick_disk, row, table

from aomg.monitor.results.reader import read
from aomg.monitor.sinks import folder_exchange, joined_files, small_files
from aomg.monitor.sinks.base import TidySink
from aomg.monitor.sinks.joined_files import JOINED, JoinedPart, joined_parts
from aomg.monitor.sinks.parquet import ParquetSink
from aomg.monitor.sinks.result_folder import batches_in
from aomg.monitor.sinks.small_files import BatchFile, next_run
from aomg.monitor.sinks.summaries import SummarySink
from aomg.monitor.sinks.summary_folder import batches_of
from aomg.monitor.sinks.work_folder import work_place, work_places
from aomg.tables.parquet_files import name_without

quick = pytest.fixture(quick_disk, scope="module", autouse=True)

DAY = 1440 * MINUTE
FIVE = {"MOST_FILES": 5, "APART": 2}


@pytest.fixture(autouse=True)
def small_limits():
    """Five files are joined, and two batches stay apart: so twenty batches show what thousands do."""
    with mock.patch.multiple(small_files, **FIVE):
        yield


def results(number: int, day: int = 0) -> pa.Table:
    return table(*(row((key,), NOON + day * DAY + number * MINUTE, count=number) for key in "ab"))


def summaries(number: int) -> pa.Table:
    """Rows as the pipeline hands them over; what is in a summary does not matter here."""
    keys, start = ["a", "b"], NOON + number * MINUTE
    times = {"start": [start] * 2, "end": [start + MINUTE] * 2}
    columns = {name: pa.array(values).cast(pa.timestamp("us", "UTC")) for name, values in times.items()}
    columns |= {"query": pa.array(["inbound"] * 2), "labels": pa.array([[key] for key in keys])}
    columns |= {"count": pa.array([number] * 2), "min": pa.array([0.5] * 2), "max": pa.array([1.5] * 2)}
    texts = [f"summary {number} of {key}".encode() for key in keys]
    return pa.table(columns | {"summary": pa.array(texts, pa.binary()), "written_by": pa.array(["text"] * 2)})


class Case:
    """A sink, and what it stores."""

    def __init__(self, new: Callable[[Path], ParquetSink | SummarySink], batch: Callable[[int], pa.Table], name: str):
        self.new, self.batch, self.name = new, batch, name

    def folder(self, root: Path) -> Path:
        return next(path for path in root.iterdir() if path.name == self.name)

    def names(self, root: Path) -> list[str]:
        return [name_without(path.name) for path in sorted(self.folder(root).iterdir())]


CASES = {
    "results": Case(lambda root: ParquetSink(root, NAMES), results, "day=2026-11-16"),
    "summaries": Case(lambda root: SummarySink(root, NAMES, "3f9a"), summaries, "inbound"),
}
both_sinks = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def rows_in(root: Path) -> list[str]:
    """What anybody's reader of Parquet folders sees; numbers of batches do not matter."""
    stored = ds.dataset(root, format="parquet").to_table()
    return sorted(map(str, stored.to_pylist()))


def written(case: Case, root: Path, batches: range, tidy: bool = True) -> ParquetSink | SummarySink:
    sink = case.new(root)
    for number in batches:
        sink.write(number, case.batch(number))
        if tidy:
            sink.tidy()
    return sink


@both_sinks
def test_a_day_of_batches_becomes_few_files_with_the_same_rows(case, tmp_path):
    """Five files of a batch are joined, and five of those; the newest two batches stay apart."""
    written(case, tmp_path / "apart", range(40), tidy=False)
    written(case, tmp_path / "joined", range(40))
    assert len(case.names(tmp_path / "apart")) == 40
    spans = sorted(batches_in(name) or batches_of(name)[1:] for name in case.names(tmp_path / "joined"))
    assert spans == [(0, 24), (25, 29), (30, 34), (35, 35), (36, 36), (37, 37), (38, 38), (39, 39)]
    assert rows_in(tmp_path / "joined") == rows_in(tmp_path / "apart")
    assert isinstance(case.new(tmp_path), TidySink)


@both_sinks
def test_a_joined_file_lists_the_files_that_it_was_made_of_and_joined_again_it_still_does(case, tmp_path):
    written(case, tmp_path / "apart", range(40), tidy=False)
    written(case, tmp_path / "joined", range(40))
    parts = [part for file in sorted(case.folder(tmp_path / "joined").iterdir()) for part in joined_parts(file)]
    apart = [JoinedPart(file.name, 2) for file in sorted(case.folder(tmp_path / "apart").iterdir())]
    assert sorted(parts) == apart
    largest = min(case.folder(tmp_path / "joined").glob("compacted-*"))
    notes = pq.read_metadata(largest).metadata[JOINED.encode()]
    assert json.loads(notes)[0] == {"name": apart[0].name, "rows": 2}


def wide(case: Case, number: int) -> pa.Table:
    """A batch that was repeated with other rows."""
    changed = case.batch(number)
    place = changed.schema.get_field_index("max")
    return changed.set_column(place, "max", pa.array([77.5] * 2)).slice(0, 1)


@both_sinks
def test_a_batch_that_is_repeated_replaces_its_rows_in_the_joined_file_and_its_entry_in_the_list(case, tmp_path):
    other = written(case, tmp_path / "apart", range(12), tidy=False)
    sink = written(case, tmp_path / "joined", range(12))
    before = files(tmp_path / "joined")
    for number in (1, 3):  # the same rows: nothing changes
        sink.write(number, case.batch(number))
    assert files(tmp_path / "joined") == before
    for repeat in (wide(case, 3), case.batch(3).slice(0, 0), case.batch(3)):
        other.write(3, repeat)
        sink.write(3, repeat)
        assert rows_in(tmp_path / "joined") == rows_in(tmp_path / "apart")
        parts = [part for file in case.folder(tmp_path / "joined").iterdir() for part in joined_parts(file)]
        apart = [part for file in case.folder(tmp_path / "apart").iterdir() for part in joined_parts(file)]
        assert sorted(parts) == sorted(apart)


@both_sinks
def test_killed_at_any_point_no_row_is_lost_or_doubled_and_the_next_start_goes_on(case, tmp_path):
    """Some files were joined before."""
    killed, most, files_before = 0, 13, 20
    sink = written(case, tmp_path / "whole", range(most))
    for batch in range(most, most + 7):
        sink.write(batch, case.batch(batch))
    expected = rows_in(tmp_path / "whole")
    for number in range(60):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", folder)
        sink = case.new(folder)
        sink.write(most + 6, case.batch(most + 6))
        try:
            with dying(number, torn=True):
                sink.tidy()
        except Killed:
            killed += 1
            assert rows_in(folder) == expected
            sink = case.new(folder)
            sink.write(most + 6, case.batch(most + 6))
            assert not any(place.exists() for place in work_places(folder))
            sink.tidy()
            assert rows_in(folder) == expected and len(case.names(folder)) < files_before
        else:
            break
    assert killed > 15 and rows_in(folder) == expected


@settings(max_examples=12)
@given(data=st.data(), kind=st.sampled_from(list(CASES)), repeats=st.lists(st.integers(0, 12), max_size=4))
def test_killed_anywhere_a_repeat_leaves_what_an_undisturbed_run_leaves(data, kind, repeats):
    """Writes and joins are killed, batches are repeated from anywhere: the rows are those of a run without faults."""
    case = CASES[kind]
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        written(case, root / "whole", range(13), tidy=False)
        sink, done = case.new(root / "killed"), 0
        for start in [*repeats, 0]:
            for number in range(min(start, done), 13):
                try:
                    with dying(data.draw(st.integers(0, 60)), torn=True):
                        sink.write(number, case.batch(number))
                        done = max(done, number + 1)
                        sink.tidy()
                except Killed:
                    sink = case.new(root / "killed")
                    break
        for number in range(min(start, done), 13):
            sink.write(number, case.batch(number))
            sink.tidy()
        assert rows_in(root / "killed") == rows_in(root / "whole")


def test_who_reads_meanwhile_sees_every_row_once(tmp_path):
    """Also while it lists a folder that is exchanged for another one."""
    sink, folder = ParquetSink(tmp_path / "r", NAMES), tmp_path / "r"
    for number in range(3):
        sink.write(number, results(number))
    stop, wrong, looked = threading.Event(), [], []

    def look() -> None:
        while not stop.is_set():
            lowest = done[0]
            try:
                size = len(read(folder))
            except Exception as error:
                wrong.append(error)
                continue
            looked.append(1)
            if not 2 * lowest <= size <= 2 * (done[0] + 1):
                wrong.append(size)

    done = [3]
    reader = threading.Thread(target=look)
    reader.start()
    for number in range(3, 60):
        sink.write(number, results(number))
        done[0] = number + 1
        sink.tidy()
    stop.set()
    reader.join(60)
    assert not wrong and looked and len(read(folder)) == 120
    assert len(list(folder.glob("day=*/*"))) < 20


def test_past_days_are_joined_to_their_ends_once_no_batch_of_them_can_be_repeated(tmp_path):
    sink = ParquetSink(tmp_path, NAMES)
    for number in range(3):
        sink.write(number, results(number, day=0))
        sink.tidy()
    for number in range(3, 8):
        assert len(list((tmp_path / "day=2026-11-16").iterdir())) == (3 if number < 5 else 1)
        sink.write(number, results(number, day=1))
        sink.tidy()
    sink.write(8, results(8, day=0))  # a late window
    for number in range(9, 12):
        sink.write(number, results(number, day=1))
        sink.tidy()
    assert [name_without(path.name) for path in sorted((tmp_path / "day=2026-11-16").iterdir())] == [
        "batch-0000000008.parquet",
        "compacted-0000000000-0000000002.parquet",
    ]
    assert rows_in(tmp_path) == sorted(rows_in(tmp_path)) and len(rows_in(tmp_path)) == 24


def test_files_of_earlier_versions_are_joined_too(tmp_path):
    sink = ParquetSink(tmp_path, NAMES)
    for number in range(8):
        sink.write(number, results(number))
    expected = rows_in(tmp_path)
    for file in tmp_path.glob("day=*/batch-*"):
        pq.write_table(pq.read_table(file, partitioning=None), file.with_name(name_without(file.name)))
        file.unlink()
    assert read(tmp_path).num_rows == 16
    ParquetSink(tmp_path, NAMES).tidy()
    joined = next(tmp_path.glob("day=*/compacted-*"))
    assert rows_in(tmp_path) == expected and joined_parts(joined)[0] == ("batch-0000000000.parquet", 2)
    ParquetSink(tmp_path, NAMES).write(7, results(7))  # replaces the file without a digest
    ParquetSink(tmp_path, NAMES).write(0, results(0).slice(0, 1))
    assert len(rows_in(tmp_path)) == 15 and read(tmp_path).num_rows == 15


def test_a_compacted_file_of_an_earlier_version_has_its_batch_replaced(tmp_path):
    """It has no list of the files that it was made of: the list then names the file itself, with the rows that stay."""
    sink = ParquetSink(tmp_path, NAMES)
    for number in range(3):
        sink.write(number, results(number))
    day = tmp_path / "day=2026-11-16"
    pq.write_table(pq.read_table(day, partitioning=None), day / "compacted-0000000000-0000000001.parquet")
    for file in day.glob("batch-*"):
        file.unlink()
    sink = ParquetSink(tmp_path, NAMES)
    sink.write(1, results(1).slice(0, 1))
    assert [(name_without(part.name), part.rows) for part in joined_parts(next(day.iterdir()))] == [
        ("compacted-0000000000-0000000001.parquet", 4),
        ("batch-0000000001.parquet", 1),
    ]
    assert read(tmp_path).num_rows == 5


@both_sinks
def test_a_damaged_file_stays_and_is_logged_once_and_the_others_are_joined(case, tmp_path, caplog):
    sink = written(case, tmp_path, range(20), tidy=False)
    damaged = sorted(case.folder(tmp_path).iterdir())[6]
    content = damaged.read_bytes()
    damaged.write_bytes(content[:40] + b"!" + content[41:])
    for _ in range(10):
        sink.tidy()
    apart = [int(name.removesuffix(".parquet")[-10:]) for name in case.names(tmp_path) if name.startswith("batch")]
    assert apart == [5, 6, 17, 18, 19] and damaged.exists()  # 5 has no neighbour to be joined with
    assert sum(name.startswith("compacted") for name in case.names(tmp_path)) == 3
    assert [record.getMessage().count(damaged.name) for record in caplog.records] == [1]
    assert "restore it from a backup, or move it away" in caplog.text


def test_files_with_other_labels_are_not_joined_with_those_before(tmp_path, caplog):
    sink = written(CASES["summaries"], tmp_path, range(6), tidy=False)
    sink = SummarySink(tmp_path, NAMES | {"inbound": ("rack",)}, "3f9a")
    for number in range(6, 16):
        sink.write(number, summaries(number))
    for _ in range(8):
        sink.tidy()
    assert caplog.records == []
    kinds = {tuple(pq.read_schema(file).names[:1]) for file in (tmp_path / "inbound").iterdir()}
    assert kinds == {("podset",), ("rack",)}
    assert sum(pq.read_metadata(file).num_rows for file in (tmp_path / "inbound").iterdir()) == 32


def test_summaries_of_other_streams_stay_as_they_are(tmp_path):
    other = SummarySink(tmp_path, NAMES, "0000")
    for number in range(10):
        other.write(number, summaries(number))
    before = files(tmp_path)
    written(CASES["summaries"], tmp_path, range(10, 20))
    assert before.items() <= files(tmp_path).items()


@both_sinks
def test_where_folders_cannot_be_exchanged_files_stay_apart(case, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(folder_exchange.sys, "platform", "other")
    root = tmp_path / "results"
    written(case, root, range(12))
    assert len(case.names(root)) == 12 and len(caplog.records) == 1
    assert "cannot exchange folders: small files stay apart" in caplog.text and list(tmp_path.iterdir()) == [root]


@both_sinks
def test_old_files_are_where_no_reader_of_the_folder_looks_and_the_next_write_removes_them(case, tmp_path):
    """Polars, and DuckDB with **, read hidden folders too. Where there is only the folder itself, they go at once."""
    root = tmp_path / "results"
    sink = written(case, root, range(12), tidy=False)
    sink.tidy()
    places = {path.name for path in tmp_path.rglob("*.parquet")} - {path.name for path in root.rglob("*.parquet")}
    assert len(places) == 5 and {path.name for path in tmp_path.iterdir()} == {"results", ".results.compacting"}
    assert sorted(map(str, root.rglob("*.parquet"))) == sorted(map(str, case.folder(root).iterdir()))
    sink.write(12, case.batch(12))
    assert list(tmp_path.iterdir()) == [root]
    with mock.patch.object(joined_files, "work_place", lambda root: root / ".compacting"):
        sink.tidy()
    assert sum(path.name.startswith("compacted-") for path in case.folder(root).iterdir()) == 2
    assert sorted(map(str, root.rglob("*.parquet"))) == sorted(map(str, case.folder(root).iterdir()))


def test_where_nothing_can_be_put_beside_the_folder_the_place_is_in_it(tmp_path):
    for name in ("results", "other", "real"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert work_place(tmp_path / "results") == tmp_path / ".results.compacting"
    assert work_place(tmp_path / "link") == tmp_path / ".real.compacting"
    with mock.patch.object(Path, "rename", side_effect=OSError(errno.EXDEV, "another file system")):
        assert work_place(tmp_path / "other") == tmp_path / "other" / ".compacting"
    assert {path.name for path in tmp_path.rglob("*")} == {"results", "other", "real", "link"}


@both_sinks
def test_a_full_disk_leaves_all_files_and_is_no_error(case, tmp_path, caplog):
    sink = written(case, tmp_path, range(12), tidy=False)
    before = files(tmp_path)
    with full_disk(1000), caplog.at_level(logging.WARNING):
        sink.tidy()
    assert files(tmp_path) == before and "cannot be joined" in caplog.text
    with mock.patch.object(small_files, "_PAUSE", 0):
        assert len(caplog.records) == 1
        for _ in range(200):
            sink.tidy()
    assert len(files(tmp_path)) < 12


def test_a_piece_of_work_is_bounded_by_files_and_bytes(tmp_path):
    def file(first: int, last: int, size: int = 10) -> BatchFile:
        name = f"batch-{first}" if first == last else f"compacted-{first}-{last}"
        path = tmp_path / name
        with path.open("wb") as raw:
            raw.truncate(size)
        return BatchFile(first, last, path)

    with mock.patch.multiple(small_files, MOST_FILES=5, _SMALL=100, _MOST_BYTES=150):
        singles = [file(n, n) for n in range(20)]
        assert next_run(reversed(singles), 10, 5) == singles[:5]
        assert next_run(singles, 3, 5) == []
        assert next_run(singles, 3, 2) == singles[:4]
        large = [file(n, n, 60) for n in range(30, 40)]
        assert next_run(large, 50, 5) == large[:2]
        huge = [file(n, n, 101) for n in range(40, 50)]
        assert next_run(huge, 50, 5) == []
        assert next_run([*singles[:3], *huge, *singles[3:]], 50, 5) == singles[:5]
        joined = [file(10 * n + 100, 10 * n + 109) for n in range(5)]
        assert next_run([*joined[:4], *singles[:3]], 999, 5) == []
        assert next_run([*joined, *singles[:3]], 999, 5) == joined
        between = [*joined[:3], file(125, 125), *joined[3:]]  # what is between would be out of order
        assert next_run(between, 999, 5) == []
        assert next_run(singles[:6], 99, 2, {"batch-2"}) == singles[:2]


def test_the_monitor_tidies_after_every_batch(tmp_path):
    from web.monitor_files import monitor_files

    monitor = monitor_files(tmp_path, keys=2, windows=20, summaries=True)
    for folder in (monitor.results / "day=2026-11-16", tmp_path / "summaries" / "inbound"):
        names = [path.name for path in folder.iterdir()]
        assert len(names) < 12 and any(name.startswith("compacted-") for name in names)
