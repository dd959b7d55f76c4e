"""Workers read columns of Parquet files in any layout, and name the file if they cannot."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aomg.errors import DamagedFileError, InputError
from aomg.tables import parquet_reader
from aomg.tables.parquet_columns import FileColumn, Use
from aomg.tables.parquet_reader import FilePart, ParquetReader, local_path

KEY = FileColumn("k", pa.string(), "by0", Use.KEY)
TIME = FileColumn("ts", pa.timestamp("us", "UTC"), "time", Use.TIME)
VALUE = FileColumn("v", pa.int64(), "value", Use.VALUE)
READER = ParquetReader((KEY, TIME, VALUE))


def events_of(size: int) -> pa.Table:
    numbers = np.arange(size)
    keys = pa.array([None if i % 11 == 3 else f"k{i % 5}" for i in range(size)], pa.string())
    return pa.table({"k": keys, "other": numbers, "ts": pa.array(numbers * 7, pa.timestamp("us", "UTC")), "v": numbers})


def part_of(file: Path, number: int = 0, of: int = 1, **constants: pa.Scalar) -> FilePart:
    return FilePart(f"file:{file}", file.stat().st_size, number, of, constants)


def written(file: Path, table: pa.Table, **options) -> Path:
    pq.write_table(table, file, **options)
    return file


def read(reader: ParquetReader, *parts: FilePart) -> pa.Table:
    tables = [
        pa.table([plain(column) for column in table.columns], names=table.column_names)
        for table in reader.tables(parts)
    ]
    return pa.concat_tables(tables)


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@settings(max_examples=25)
@given(
    size=st.integers(0, 400),
    group=st.integers(1, 150),
    of=st.integers(1, 9),
    piece=st.integers(1, 200),
    dictionary=st.booleans(),
    version=st.sampled_from(["1.0", "2.6"]),
)
def test_parts_of_a_file_have_each_event_once_in_any_layout(folder, size, group, of, piece, dictionary, version):
    events = events_of(size)
    options = {"row_group_size": group, "use_dictionary": dictionary, "version": version, "write_page_checksum": True}
    file = written(folder / "events.parquet", events, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_reader, "PIECE", piece)
        tables = [list(READER.tables([part_of(file, number, of)])) for number in range(of)]
    assert all(table.num_rows <= piece for part in tables for table in part)
    whole = [pa.table([plain(c) for c in table.columns], ["by0", "time", "value"]) for part in tables for table in part]
    if size:
        assert pa.concat_tables(whole).combine_chunks() == pa.table(
            {"by0": events["k"], "time": events["ts"].cast(pa.int64()), "value": events["v"]}
        )
    assert sum(table.num_rows for table in whole) == size


def test_texts_come_as_dictionaries_only_if_the_file_has_their_codes(folder):
    few = written(folder / "few.parquet", events_of(100))
    none = written(folder / "none.parquet", events_of(100), use_dictionary=False)
    texts = pa.array([f"{i:040}" for i in range(100_000)])
    given_up = written(folder / "many.parquet", pa.table({"k": texts, "v": np.arange(100_000)}))
    kinds = [next(READER.tables([part_of(file)]))["by0"].type for file in (few, none, given_up)]
    assert [pa.types.is_dictionary(kind) for kind in kinds] == [True, False, False]
    joined = read(READER, part_of(few), part_of(none), part_of(few))  # of both kinds, one after the other
    assert joined["by0"].to_pylist() == 3 * events_of(100)["k"].to_pylist()


def test_small_files_are_joined_and_a_checker_sees_where_each_piece_lies(folder):
    pieces = []

    class Checker:
        def checked(self, piece):
            pieces.append((piece.part.path[-9:], piece.row_group, piece.first_row, piece.events.num_rows))
            return piece.events

    sizes = {"0.parquet": 3, "1.parquet": 10}
    parts = [part_of(written(folder / name, events_of(size), row_group_size=6)) for name, size in sizes.items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_reader, "PIECE", 5)
        assert [table.num_rows for table in READER.tables(parts, Checker())] == [3, 5, 5]
    inside = [("1.parquet", 0, 0, 5), ("1.parquet", 0, 5, 1), ("1.parquet", 1, 0, 4)]
    assert pieces == [("0.parquet", 0, 0, 3), *inside]


def test_missing_columns_are_null_and_those_of_folders_are_constant(folder):
    file = written(folder / "missing.parquet", pa.table({"TS": events_of(3)["ts"], "day": [1, 2, 3]}))
    day = FileColumn("day", pa.date32(), "by1", Use.KEY)
    reader = ParquetReader((KEY, day, TIME, VALUE))
    table = read(reader, part_of(file, day=pa.scalar(dt.date(2024, 5, 1))))
    assert table.to_pydict() == {
        "by0": [None] * 3,
        "by1": [dt.date(2024, 5, 1)] * 3,
        "time": [0, 7, 14],
        "value": [None] * 3,
    }
    assert read(ParquetReader((TIME,), case_sensitive=True), part_of(file))["time"].null_count == 3
    twice = written(folder / "twice.parquet", pa.table({"v": [1], "V": [2]}))
    with pytest.raises(InputError, match=r"twice.parquet has the columns 'v', 'V', and each could be 'v'"):
        read(READER, part_of(twice))
    assert read(ParquetReader((VALUE,), case_sensitive=True), part_of(twice))["value"].to_pylist() == [1]


def test_no_column_of_a_file_is_needed(folder):
    file = written(folder / "alone.parquet", pa.table({"x": [1, 2, 3]}), row_group_size=2)
    assert read(READER, part_of(file)).num_rows == 3


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kathmandu"])
def test_times_of_every_unit_are_floored_to_microseconds(folder, unit, zone):
    ticks = pa.array([0, 1, -1, None, 1_700_000_000_123_456_789 // 10 ** {"s": 9, "ms": 6, "us": 3, "ns": 0}[unit]])
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    expected = [None if tick is None else tick * 10**6 // per_second for tick in ticks.to_pylist()]
    for options in ({}, {"store_schema": False}):
        file = written(folder / "times.parquet", pa.table({"ts": ticks.cast(pa.timestamp(unit, zone))}), **options)
        for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")):
            reader = ParquetReader((FileColumn("ts", kind, "time", Use.TIME), FileColumn("ts", kind, "by0", Use.KEY)))
            table = read(reader, part_of(file))
            assert table["time"].to_pylist() == expected
            assert table["by0"].type == kind and table["by0"].cast(pa.int64()).to_pylist() == expected


def test_int96_beyond_the_range_of_nanoseconds_is_read(folder):
    moments = [dt.datetime(1500, 1, 1), dt.datetime(9999, 1, 1), None, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)]
    table = pa.table({"ts": pa.array(moments, pa.timestamp("us"))})
    file = written(folder / "int96.parquet", table, use_deprecated_int96_timestamps=True, store_schema=False)
    assert pq.read_metadata(file).schema.column(0).physical_type == "INT96"
    assert read(ParquetReader((TIME,)), part_of(file))["time"].to_pylist() == table["ts"].cast(pa.int64()).to_pylist()


WIDER = {
    pa.int8(): (pa.int16(), pa.int32(), pa.int64(), pa.float64(), pa.decimal128(12, 2)),
    pa.uint8(): (pa.int16(), pa.int64(), pa.float64()),
    pa.uint16(): (pa.int32(), pa.float64()),
    pa.uint32(): (pa.int64(),),
    pa.uint64(): (pa.decimal128(20, 0),),
    pa.int32(): (pa.int64(), pa.float64(), pa.decimal128(12, 2)),
    pa.float32(): (pa.float64(),),
    pa.decimal128(9, 2): (pa.decimal128(12, 3),),
    pa.date32(): (pa.timestamp("us"),),
    pa.large_string(): (pa.string(), pa.binary()),
    pa.binary(): (pa.string(),),
    pa.duration("us"): (pa.int64(),),
    pa.timestamp("ns"): (pa.int64(),),
}
OTHER = {
    pa.int64(): (pa.int32(), pa.float64(), pa.float32(), pa.string(), pa.timestamp("us"), pa.decimal128(20, 1)),
    pa.uint32(): (pa.int32(), pa.float64()),
    pa.uint64(): (pa.int64(),),
    pa.int8(): (pa.decimal128(9, 0),),
    pa.int32(): (pa.int16(), pa.float32(), pa.bool_(), pa.decimal128(12, 3)),
    pa.float64(): (pa.float32(), pa.int64()),
    pa.decimal128(9, 2): (pa.decimal128(9, 3), pa.decimal128(12, 1), pa.float64()),
    pa.date32(): (pa.timestamp("us", "UTC"), pa.int32()),
    pa.string(): (pa.int64(), pa.date32()),
    pa.bool_(): (pa.int8(),),
}


def column_of(kind: pa.DataType) -> pa.Array:
    numbers = [1, 0, 100, None]
    if pa.types.is_decimal(kind):
        return pa.array([None if number is None else Decimal(number) for number in numbers], kind)
    if pa.types.is_duration(kind) or pa.types.is_timestamp(kind):
        return pa.array(numbers, kind)
    texts = pa.types.is_large_string(kind) or pa.types.is_binary(kind)
    return pa.array(numbers, pa.int32()).cast(pa.string() if texts else pa.int32()).cast(kind)


@pytest.mark.parametrize(("kind", "wide"), [(kind, wide) for kind, wides in WIDER.items() for wide in wides], ids=str)
def test_narrower_columns_are_widened(folder, kind, wide):
    column = column_of(kind)
    file = written(folder / "narrow.parquet", pa.table({"x": column}))
    read_column = read(ParquetReader((FileColumn("x", wide, "by0", Use.KEY),)), part_of(file))["by0"]
    assert read_column.type == wide
    expected = pa.array([1, 0, 100, None], pa.int64()) if pa.types.is_duration(kind) else column.cast(wide)
    assert read_column.combine_chunks() == expected


@pytest.mark.parametrize(
    ("kind", "other"), [(kind, other) for kind, others in OTHER.items() for other in others], ids=str
)
def test_other_types_are_refused_by_file_column_and_both_types(folder, kind, other):
    file = written(folder / "other.parquet", pa.table({"x": column_of(kind)}))
    with pytest.raises(InputError) as refused:
        read(ParquetReader((FileColumn("x", other, "by0", Use.KEY),)), part_of(file))
    assert f"column 'x' is {kind} in {file}, which cannot be read as {other}" in str(refused.value)
    assert "schema=" in str(refused.value)


def test_damaged_files_are_refused_by_name_or_ignored(folder):
    sound = written(folder / "sound.parquet", events_of(1000), write_page_checksum=True, compression="none")
    content = bytearray(sound.read_bytes())
    content[300] ^= 1
    flipped, cut, text = folder / "flipped.parquet", folder / "cut.parquet", folder / "text.parquet"
    flipped.write_bytes(content)
    cut.write_bytes(content[:-100])
    text.write_text("no Parquet")
    for file in (flipped, cut, text):
        with pytest.raises(DamagedFileError, match=f"{file.name} is damaged .*restore it"):
            read(READER, part_of(file))
        careless = ParquetReader(READER.columns, ignore_damaged=True)
        assert read(careless, part_of(sound), part_of(file), part_of(sound)).num_rows == 2000


def test_files_that_changed_or_are_gone_are_refused_by_name_or_ignored(folder):
    file = written(folder / "growing.parquet", events_of(10))
    part = part_of(file)
    written(file, events_of(1000))
    with pytest.raises(InputError, match=r"growing.parquet has [\d,]+ bytes, but had [\d,]+ when Spark found it"):
        read(READER, part)
    file.unlink()
    with pytest.raises(InputError, match=r"growing.parquet was removed after Spark had found it; put it back"):
        read(READER, part)
    assert list(ParquetReader(READER.columns, ignore_missing=True).tables([part])) == []


def test_paths_are_those_of_hadoop(folder):
    for name in ("a b", "a%20b", "ü", "p#q?r=1", "x;y"):
        file = written(folder / f"{name}.parquet", events_of(3))
        assert read(READER, part_of(file)).num_rows == 3
        assert local_path(str(file)) == local_path(f"file://{file}") == file
    with pytest.raises(InputError, match=r"s3a://bucket/x is not a local file; pass spark.read.parquet"):
        read(READER, FilePart("s3a://bucket/x", 1))


def test_times_that_spark_would_move_to_another_calendar_are_refused(folder):
    times = pa.array([dt.datetime(1899, 1, 1), None], pa.timestamp("us"))
    table = pa.table({"ts": times, "k": ["a", "b"]})
    marked = table.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})
    assert read(ParquetReader((TIME,)), part_of(written(folder / "new.parquet", table)))["time"].null_count == 1
    with pytest.raises(InputError, match=r"'ts' of .*old.parquet has times before 1900"):
        read(ParquetReader((TIME,)), part_of(written(folder / "old.parquet", marked)))
    assert read(ParquetReader((KEY,)), part_of(folder / "old.parquet")).num_rows == 2


def test_zero_has_no_sign_in_keys(folder):
    file = written(folder / "zero.parquet", pa.table({"x": [0.0, -0.0, None]}))
    keys = read(ParquetReader((FileColumn("x", pa.float64(), "by0", Use.KEY),)), part_of(file))["by0"]
    assert pc.count_distinct(keys.combine_chunks().view(pa.int64())).as_py() == 1
