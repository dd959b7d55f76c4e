import errno
import hashlib
import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import MINUTE, NAMES, NOON, Killed, dying, files, full_disk, quick_disk, row, table

from aomg.errors import InputError
from aomg.monitor.atomic_files import SinkError
from aomg.monitor.sinks.parquet import ParquetSink
from aomg.monitor.sinks.result_rows import SCHEMA, labels_key, stored
from aomg.tables.parquet_files import digest_in, name_without

quick = pytest.fixture(quick_disk, scope="module", autouse=True)

DAY = 1440 * MINUTE
MIDNIGHT = NOON + DAY // 2


def test_a_day_is_a_folder_and_a_batch_is_a_file(tmp_path):
    sink = ParquetSink(tmp_path, NAMES)
    sink.write(123, table(row(end=MIDNIGHT - 1), row(end=MIDNIGHT), row(end=MIDNIGHT + MINUTE)))
    contents = files(tmp_path)
    assert [name_without(name) for name in contents] == [
        "day=2026-11-16/batch-0000000123.parquet",
        "day=2026-11-17/batch-0000000123.parquet",
    ]
    for name, content in contents.items():
        assert digest_in(name.partition("/")[2]) == hashlib.blake2b(content, digest_size=8).hexdigest()
    assert pq.ParquetFile(next((tmp_path / "day=2026-11-17").iterdir())).metadata.num_rows == 2


def test_a_partitioned_dataset_is_read_as_it_is(tmp_path):
    sink = ParquetSink(tmp_path, NAMES)
    sink.write(1, table(row(("17",)), row(("a", None), query="pairs"), row((), query="all")))
    sink.write(2, table(row(("18",), end=NOON + DAY, burst=True)))
    (tmp_path / "day=2026-11-16" / ".batch-0000000009.parquet.partial").write_bytes(b"half")
    stored = ds.dataset(tmp_path, partitioning="hive").to_table()
    assert stored.schema.remove(stored.schema.get_field_index("day")).equals(SCHEMA)
    assert stored["day"].to_pylist() == ["2026-11-16"] * 3 + ["2026-11-17"]
    assert stored["batch"].to_pylist() == [1, 1, 1, 2]
    assert stored["labels"].to_pylist() == [[], ["17"], ["a", None], ["18"]]
    assert stored["label_names"].to_pylist() == [[], ["podset"], ["src", "dst"], ["podset"]]
    assert stored["estimates"].to_pylist()[1] == row()["estimates"]


labels = st.lists(st.none() | st.sampled_from(["", "a", "b", "\x00", "\x01", "\x02", "\x03", "\x01a"]), max_size=3)


@given(st.lists(labels, max_size=8))
def test_labels_have_equal_keys_only_if_they_are_equal(many):
    keys = labels_key(pa.array(many, pa.list_(pa.string()))).to_pylist()
    for one, key in zip(many, keys, strict=True):
        assert [other == one for other in many] == [other == key for other in keys]


@given(st.lists(st.tuples(labels, st.integers(0, 3), st.sampled_from("qr")), unique_by=str, max_size=8), st.randoms())
def test_the_order_in_which_rows_come_changes_nothing(keys, random):
    rows = [row(key, NOON + end, query) for key, end, query in keys]
    with tempfile.TemporaryDirectory() as folder:
        contents = []
        for name in "ab":
            ParquetSink(Path(folder) / name).write(5, table(*rows))
            contents.append(files(Path(folder) / name))
            random.shuffle(rows)
    assert contents[0] == contents[1]


batches = st.lists(st.lists(st.integers(0, 2), max_size=3, unique=True), min_size=1, max_size=3)


def days_of(number: int, days: list[int]) -> pa.Table:
    return table(*(row(end=NOON + day * DAY + number) for day in days))


@given(batches=batches, other=st.lists(st.integers(0, 2), max_size=3, unique=True), data=st.data())
def test_a_repeat_from_any_point_leaves_the_same_files(batches, other, data):
    """Even if the batch had other days in the attempt that was killed."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, actual = Path(folder) / "wanted", Path(folder) / "found"
        sink = ParquetSink(wanted, NAMES)
        for number, days in enumerate(batches):
            sink.write(number, days_of(number, days))
        crashed = data.draw(st.integers(0, len(batches) - 1), "the batch that was being written")
        again = data.draw(st.integers(0, crashed), "the batch from which on all is repeated")
        sink = ParquetSink(actual, NAMES)
        for number, days in enumerate(batches[:crashed]):
            sink.write(number, days_of(number, days))
        attempt = data.draw(st.sampled_from([batches[crashed], other]), "the days of the attempt")
        try:
            with dying(data.draw(st.integers(0, 20), "at"), data.draw(st.booleans(), "torn")):
                sink.write(crashed, days_of(crashed, attempt))
        except Killed:
            pass
        sink = ParquetSink(actual, NAMES)
        for number in range(again, len(batches)):
            sink.write(number, days_of(number, batches[number]))
        assert files(actual) == files(wanted)
        assert sorted(path.name for path in actual.iterdir()) == sorted(path.name for path in wanted.iterdir())


def test_readers_never_see_half_a_file(tmp_path):
    sink = ParquetSink(tmp_path, NAMES)
    sink.write(0, days_of(0, [0]))
    for number in range(30):
        with dying(number, torn=True) as done:
            try:
                sink.write(1, days_of(1, [0, 1]))
            except Killed:
                counted = ds.dataset(tmp_path, partitioning="hive", format="parquet").count_rows()
                assert counted in (1, 2, 3)
            else:
                break
    assert {"fsync", "replace"} <= set(done) and ds.dataset(tmp_path, format="parquet").count_rows() == 3


def test_a_repeat_with_fewer_days_leaves_nothing_of_before(tmp_path):
    sink = ParquetSink(tmp_path, NAMES)
    sink.write(4, days_of(4, [0, 1]))
    sink.write(4, days_of(4, [1]))
    assert list(map(name_without, files(tmp_path))) == ["day=2026-11-17/batch-0000000004.parquet"]
    ParquetSink(tmp_path, NAMES).write(4, days_of(4, []))
    assert files(tmp_path) == {} and not list(tmp_path.glob("day=*"))


def test_a_full_disk_is_an_error_and_leaves_what_was_there(tmp_path):
    sink = ParquetSink(tmp_path, NAMES)
    sink.write(0, days_of(0, [0]))
    before = files(tmp_path)
    with full_disk(1000), pytest.raises(SinkError, match=r"batch-0000000001.* cannot be written \(File too large\)"):
        sink.write(1, days_of(1, [0, 1]))
    assert files(tmp_path) == before
    sink.write(1, days_of(1, [0, 1]))
    assert len(files(tmp_path)) == 3


@pytest.mark.parametrize(
    ("number", "message"),
    [(errno.ENOSPC, "no space is left"), (errno.EROFS, "change its permissions"), (errno.EIO, "Input/output")],
)
def test_what_the_disk_says_comes_with_what_to_do(tmp_path, monkeypatch, number, message):
    sink = ParquetSink(tmp_path, NAMES)

    def fails(_):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch, pytest.raises(SinkError, match=message):
        patch.setattr(os, "fsync", fails)
        sink.write(0, days_of(0, [0]))
    assert files(tmp_path) == {}


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "results").write_text("")
    with pytest.raises(SinkError, match="is a file, but results need a folder"):
        ParquetSink(tmp_path / "results")


def test_a_folder_of_another_stream_is_refused(tmp_path):
    ParquetSink(tmp_path, stream="one").write(0, table(row()))
    ParquetSink(tmp_path, stream="one").write(1, table(row()))
    with pytest.raises(SinkError, match="holds the results of another run"):
        ParquetSink(tmp_path, stream="two")
    assert ds.dataset(tmp_path, format="parquet").count_rows() == 2


@pytest.mark.parametrize("content", [bytes(range(128, 256)), b"", b"\x00one", b"one\ntwo\n", b"\x1b[2Jone"])
def test_a_damaged_mark_of_the_stream_is_named_with_what_to_do(tmp_path, content):
    ParquetSink(tmp_path, stream="one").write(0, table(row()))
    (tmp_path / "_stream").write_bytes(content)
    with pytest.raises(SinkError, match="_stream is damaged; if these are the results of this state folder, remove it"):
        ParquetSink(tmp_path, stream="one")
    (tmp_path / "_stream").unlink()
    ParquetSink(tmp_path, stream="one").write(1, table(row()))


def test_rows_of_no_query_are_not_results_and_columns_are_checked():
    assert len(stored(0, table(row(), row(query="")))) == 1
    with pytest.raises(InputError, match="lack the column 'burst'"):
        stored(0, table(row()).drop_columns("burst"))
    wrong = table(row()).set_column(4, "count", pa.array(["many"]))
    with pytest.raises(InputError, match="column 'count' of the results has the type string, not int64"):
        stored(0, wrong)
