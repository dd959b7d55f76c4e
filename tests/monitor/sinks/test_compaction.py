import tempfile
import threading
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import MINUTE, NAMES, NOON, Killed, dying, files, quick_disk, row, table

from aomg.monitor.atomic_files import SinkError
from aomg.monitor.results.reader import read
from aomg.monitor.sinks import folder_exchange
from aomg.monitor.sinks.compaction import Compacted, compact, past_days, remove_old_files
from aomg.monitor.sinks.parquet import ParquetSink
from aomg.monitor.sinks.work_folder import work_places
from aomg.tables.parquet_files import name_without

quick = pytest.fixture(quick_disk, scope="module", autouse=True)

DAY = 1440 * MINUTE
TODAY = "2026-11-16"


def write(folder: Path, batches: int = 5, sink: ParquetSink | None = None) -> ParquetSink:
    """So many batches of today, the last of them of tomorrow too."""
    sink = sink or ParquetSink(folder, NAMES)
    for number in range(batches):
        later = [row(end=NOON + DAY)] if number == batches - 1 else []
        sink.write(number, table(row(end=NOON + number), row(("2",), end=NOON + number), *later))
    return sink


def seen(folder: Path) -> list[tuple]:
    """What anybody's reader of Parquet folders sees."""
    stored = ds.dataset(folder, partitioning="hive", format="parquet").to_table()
    rows = stored.select(["labels", "end", "batch"]).to_pylist()
    return sorted((one["labels"], one["end"], one["batch"]) for one in rows)


def test_a_day_becomes_one_file_with_the_same_rows(tmp_path):
    write(tmp_path)
    before = seen(tmp_path)
    assert past_days(tmp_path) == [TODAY]
    (tmp_path / "other").mkdir()
    with pytest.raises(SinkError, match="has no results yet"):
        past_days(tmp_path / "other")
    assert compact(tmp_path, TODAY) == Compacted(TODAY, 4, 8)
    assert seen(tmp_path) == before
    assert list(map(name_without, files(tmp_path))) == [
        "day=2026-11-16/batch-0000000004.parquet",  # the newest batch may be repeated
        "day=2026-11-16/compacted-0000000000-0000000003.parquet",
        "day=2026-11-17/batch-0000000004.parquet",
    ]
    assert compact(tmp_path, TODAY) is None
    ParquetSink(tmp_path, NAMES).write(5, table(row(end=NOON + DAY + 1)))
    assert compact(tmp_path, TODAY) == Compacted(TODAY, 2, 10)


def can_exchange(monkeypatch, possible: bool) -> None:
    if not possible:
        monkeypatch.setattr(folder_exchange.sys, "platform", "other")


@pytest.mark.parametrize("possible", [True, False])
def test_killed_at_any_point_no_row_is_lost_or_doubled(tmp_path, monkeypatch, possible):
    can_exchange(monkeypatch, possible)
    killed = 0
    for number in range(100):
        folder = tmp_path / str(number)
        write(folder)
        before = seen(folder)
        try:
            with dying(number, torn=True):
                compact(folder, TODAY)
        except Killed:
            killed += 1
            if possible:
                assert seen(folder) == before
            write_again = table(row(end=NOON + 4), row(("2",), end=NOON + 4), row(end=NOON + DAY))
            ParquetSink(folder, NAMES).write(4, write_again)
            assert seen(folder) == before
            compact(folder, TODAY)
            remove_old_files(folder, 0)
            assert seen(folder) == before and not any(place.exists() for place in work_places(folder))
        else:
            break
    assert killed > 10


@settings(max_examples=25)
@given(again=st.integers(0, 4), rows=st.integers(0, 3), days=st.integers(0, 1))
def test_a_batch_that_is_repeated_after_all_replaces_its_rows_in_the_joined_file(again, rows, days):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        compact(folder, TODAY)
        new = [row((f"new {key}",), end=NOON + days * DAY) for key in range(rows)]
        others = [one for one in seen(folder) if one[2] != again]
        for _ in range(2):
            ParquetSink(folder, NAMES).write(again, table(*new))
            now = seen(folder)
            assert [one for one in now if one[2] != again] == others
            assert [one[0] for one in now if one[2] == again] == [[f"new {key}"] for key in range(rows)]


def test_who_reads_meanwhile_sees_every_row_once(tmp_path):
    """Both our reader and a plain dataset, unless files that it has listed are gone."""
    sink = write(tmp_path, 3)
    before = len(read(tmp_path))
    ended, wrong, looked = threading.Event(), [], []

    def look():
        while not ended.is_set():
            looked.append(1)
            count = len([1 for end in read(tmp_path)["end"].to_pylist() if end.second == 0 and end.day == 16])
            if count != before - 1:
                wrong.append(count)

    reader = threading.Thread(target=look)
    reader.start()
    for number in range(3, 20):
        sink.write(number, table(row(end=NOON + 3 * DAY + number)))
        compact(tmp_path, TODAY)
        write(tmp_path, 3, sink)
    ended.set()
    reader.join()
    assert not wrong and looked


def test_somebodys_file_in_a_day_stays(tmp_path):
    write(tmp_path)
    (tmp_path / f"day={TODAY}" / "notes.txt").write_text("mine")
    compact(tmp_path, TODAY)
    assert (tmp_path / f"day={TODAY}" / "notes.txt").read_text() == "mine"


def test_a_day_without_results_and_a_damaged_file_are_errors(tmp_path):
    with pytest.raises(SinkError, match="there is no folder"):
        compact(tmp_path / "nowhere", TODAY)
    write(tmp_path)
    with pytest.raises(SinkError, match=r"no results of 2026-01-01; its days are 2026-11-16, 2026-11-17"):
        compact(tmp_path, "2026-01-01")
    next((tmp_path / f"day={TODAY}").glob("batch-0000000002.*")).write_bytes(b"half of a file")
    before = files(tmp_path)
    with pytest.raises(SinkError, match="damaged"):
        compact(tmp_path, TODAY)
    assert files(tmp_path) == before
