"""Files that workers read themselves give the rows that Spark's own reader gives, bit for bit."""

import datetime as dt
import shutil
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from local import (
    NOON,
    Replay,
    assert_same,
    closed,
    events_of,
    expected_rows,
    instants,
    rows_of,
    setting,
    slices,
    watermark,
    write_files,
)
from pyspark.errors import PythonException
from pyspark.sql import functions as f

from aomg import Query
from aomg.errors import InputError
from aomg.spark import ParquetFiles, file_events, quantiles, summaries
from aomg.spark.intake import is_weight, key_column, microseconds_of
from aomg.spark.parquet_files import arrow_type
from aomg.tables.parquet_columns import FileColumn, Use
from aomg.tables.parquet_reader import FilePart, ParquetReader

pytestmark = pytest.mark.xdist_group("spark")

QUERY = Query("3 minutes", "1 minute", quantiles=(0.5, 0.99), lateness="20 seconds")
NAN, INFINITE = float("nan"), float("inf")
COLUMNS = {
    "text": pa.array(["", "a", "ä\x00", None, "b" * 300]),
    "binary": pa.array([b"", b"\xff\xfe", None]),
    "flag": pa.array([True, False, None]),
    "day": pa.array([dt.date(2024, 2, 29), dt.date(1582, 10, 4), None]),
    "i8": pa.array([1, -128, None], pa.int8()),
    "u8": pa.array([1, 255, None], pa.uint8()),
    "i16": pa.array([2**15 - 1, 0], pa.int16()),
    "u16": pa.array([2**16 - 1, 0, None], pa.uint16()),
    "i32": pa.array([2**31 - 1, -(2**31)], pa.int32()),
    "u32": pa.array([2**32 - 1, 2**31, None], pa.uint32()),
    "i64": pa.array([2**63 - 1, -(2**63), 2**53 + 1, 7, None]),
    "u64": pa.array([2**64 - 1, 0, None], pa.uint64()),
    "f32": pa.array([0.1, -0.0, NAN, INFINITE, None, 2147483647.0, 3.0], pa.float32(), from_pandas=False),
    "f64": pa.array([0.1, 0.0, -0.0, NAN, -INFINITE, None, 5e-324, 7.0], pa.float64(), from_pandas=False),
    "money": pa.array([Decimal("-0.35"), Decimal("4.00"), None, Decimal("9999999999999.99")], pa.decimal128(15, 2)),
    "wide": pa.array([Decimal("1.00000000000000000001"), Decimal(3), None], pa.decimal128(38, 20)),
    "us": pa.array([0, -1, 10**15 + 1, None], pa.timestamp("us", "UTC")),
    "ms": pa.array([0, -1, 10**12 + 1, None], pa.timestamp("ms", "UTC")),
    "plain us": pa.array([0, -1, 10**15 + 1, None], pa.timestamp("us")),
    "plain.ms": pa.array([0, -1, 10**12 + 1, None], pa.timestamp("ms")),
    "category": pa.array(["x", "y", None, "x"]).dictionary_encode(),
    "large": pa.array(["x", None], pa.large_string()),
}
VALUES = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "f32", "f64", "money"]
TIMES = ["us", "ms", "plain us", "plain.ms", "i32", "i64"]


def local_file(row) -> FilePart:
    return FilePart(row.path, row.length)


def decoded(table: pa.Table) -> pa.Table:
    columns = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    return pa.table(columns, table.column_names)


@pytest.mark.parametrize("int96", [False, True])
def test_every_column_is_read_as_spark_reads_it(spark, tmp_path, int96):
    random = np.random.default_rng(1)
    table = pa.table(
        {"id": np.arange(60)}
        | {name: column.take(pa.array(random.integers(0, len(column), 60))) for name, column in COLUMNS.items()}
    )
    first, second = slices(table, 2)
    pq.write_table(first, tmp_path / "1.parquet", row_group_size=7, use_deprecated_int96_timestamps=int96)
    pq.write_table(second.drop_columns(["u16", "category"]), tmp_path / "2.parquet", use_dictionary=False)
    if int96:  # Spark merges no schemas of other types
        pq.write_table(second, tmp_path / "2.parquet", use_deprecated_int96_timestamps=True, store_schema=False)
    files = ParquetFiles(
        spark, tmp_path, schema=None if int96 else spark.read.parquet(str(tmp_path / "1.parquet")).schema
    )
    fields = {field.name: field for field in files.schema.fields}
    types = {name: arrow_type(field.dataType, "UTC") for name, field in fields.items()}
    uses = [(name, Use.KEY) for name in fields] + [(name, Use.VALUE) for name in VALUES]
    uses += [(name, Use.TIME) for name in TIMES] + [(name, Use.WEIGHT) for name in (*VALUES, "wide")]
    columns = [FileColumn(name, types[name], f"c{i}", use) for i, (name, use) in enumerate(uses)]
    parts = map(local_file, files.files().collect())
    mine = pa.concat_tables(
        pa.table(
            [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table.columns],
            table.column_names,
        )
        for table in ParquetReader(tuple(columns)).tables(parts)
    )
    as_spark = {
        Use.KEY: lambda name: key_column(fields[name]),
        Use.VALUE: lambda name: f.col(f"`{name}`").cast("double" if name == "money" else fields[name].dataType),
        Use.TIME: lambda name: microseconds_of(f.col(f"`{name}`"), fields[name].dataType),
        Use.WEIGHT: lambda name: f.when(is_weight(f.col(f"`{name}`")), f.col(f"`{name}`")).cast("long"),
    }
    theirs = (
        files.dataframe().select(*(as_spark[use](name).alias(f"c{i}") for i, (name, use) in enumerate(uses))).toArrow()
    )
    mine, theirs = (each.sort_by("c0") for each in (mine, theirs))
    for name, (source, use) in zip(mine.column_names, uses, strict=True):
        ours, spark_column = mine[name].combine_chunks(), theirs[name].combine_chunks()
        ours = ours.view(pa.binary()) if pa.types.is_string(ours.type) else ours
        if pa.types.is_floating(ours.type):  # compared with their bits
            bits = pa.int32() if ours.type == pa.float32() else pa.int64()
            ours, spark_column = ours.view(bits), spark_column.view(bits)
        assert ours.equals(spark_column), (source, use)


def taken(column: pa.Array, seed: int, size: int) -> pa.Array:
    return column.take(pa.array(np.random.default_rng(seed).integers(0, len(column), size)))


@settings(max_examples=max(settings.default.max_examples // 40, 1))
@given(
    seed=st.integers(0, 2**32),
    by=st.lists(st.sampled_from(["text", "i32", "f64", "day", "plain us", "money"]), max_size=2, unique=True),
    value=st.sampled_from(["i16", "i64", "f64", "money"]),
    unit=st.sampled_from(["ms", "us"]),
    zone=st.sampled_from([None, "UTC"]),
    files=st.integers(1, 3),
    group=st.sampled_from([20, 1000]),
    split=st.sampled_from([1 << 25, 500]),
)
def test_files_answer_like_a_dataframe_and_like_local_operators(
    spark, tmp_path_factory, seed, by, value, unit, zone, files, group, split
):
    folder, size = tmp_path_factory.mktemp("files"), 300
    times = np.sort(np.random.default_rng(seed).integers(0, 8 * 60_000, size)) + NOON // 1000
    table = pa.table(
        {
            "ts": pa.array(times, pa.timestamp("ms", zone)).cast(pa.timestamp(unit, zone)),
            "v": taken(COLUMNS[value], seed, size),
        }
        | {name: taken(COLUMNS[name], seed + i, size) for i, name in enumerate(by)}
    )
    for number, part in enumerate(slices(table, files)):
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=group)
    events = ParquetFiles(spark, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_events, "_SPLIT", split)
        results = quantiles(events, QUERY, value="v", time="ts", by=by, shards=2)
    reference = quantiles(events.dataframe(), QUERY, value="v", time="ts", by=by, shards=2)
    assert results.schema == reference.schema
    rows = rows_of(results, by)
    assert_same(rows, rows_of(reference, by))
    assert_same(rows, expected_rows(QUERY, table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", zone))), by))
    shutil.rmtree(folder)


def reads_itself(results, capsys) -> bool:
    """Whether workers read the files of a plan, and not Spark."""
    results.explain()
    plan = capsys.readouterr().out
    assert ("MapInArrow FileLevel1" in plan) != ("MapInArrow Level1" in plan), plan
    return "MapInArrow FileLevel1" in plan


def test_spark_reads_where_workers_cannot(spark, tmp_path, capsys, monkeypatch):
    events = events_of(3, 50, 2, 600).append_column("nested", pa.array([{"x": i % 2} for i in range(50)]))
    write_files(tmp_path, [events])
    files, columns = ParquetFiles(spark, tmp_path), {"value": "v", "time": "ts"}
    assert files.columns == ["k", "ts", "v", "nested"]
    assert reads_itself(quantiles(files, QUERY, by="k", **columns), capsys)
    assert not reads_itself(quantiles(files, QUERY, by="nested", **columns), capsys)
    assert not reads_itself(quantiles(files.dataframe(), QUERY, by="k", **columns), capsys)
    other_calendar = ParquetFiles(spark, tmp_path, options={"datetimeRebaseMode": "LEGACY"})
    assert not reads_itself(quantiles(other_calendar, QUERY, by="k", **columns), capsys)
    stream = ParquetFiles(spark, f"file://{tmp_path}", streaming=True)
    assert stream.isStreaming and stream.sizes().number == 1
    for clock, expected in (("processing", True), (dt.datetime(2030, 1, 1), True), (f.col("ts"), False)):
        assert reads_itself(quantiles(stream, QUERY, by="k", clock=clock, **columns), capsys) == expected
    (tmp_path / "length=7").mkdir()
    next(tmp_path.glob("*.parquet")).rename(tmp_path / "length=7" / "events.parquet")
    assert not reads_itself(quantiles(ParquetFiles(spark, tmp_path), QUERY, by="length", **columns), capsys)
    monkeypatch.setattr(files, "paths", ["s3a://bucket/events"])
    assert files.sizes() is None


def test_files_in_folders_and_with_any_name_are_found_as_spark_finds_them(spark, tmp_path):
    events = events_of(5, 400, 4, 600)
    names = [
        "day=2024-05-01/a b.parquet",
        "day=2024-05-01/a%20b.parquet",
        "day=2024-05-02/ü.parquet",
        "day=__HIVE_DEFAULT_PARTITION__/c#d.parquet",
    ]
    for name, part in zip(names, slices(events, 4), strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(part, tmp_path / name)
    for name in ("day=2024-05-02/_hidden.parquet", "day=2024-05-02/.hidden.parquet", "day=2024-05-02/empty.parquet"):
        (tmp_path / name).touch() if "empty" in name else shutil.copy(tmp_path / names[0], tmp_path / name)
    pq.write_table(events.slice(0, 0), tmp_path / "day=2024-05-02" / "no rows.parquet")
    files = ParquetFiles(spark, tmp_path)
    assert files.schema["day"].dataType.typeName() == "date"
    for by in (["day"], ["k", "day"]):
        rows = rows_of(quantiles(files, QUERY, value="v", time="ts", by=by), by)
        assert_same(rows, rows_of(quantiles(files.dataframe(), QUERY, value="v", time="ts", by=by), by))
    some = {"recursiveFileLookup": True, "pathGlobFilter": "*d.parquet"}
    found = ParquetFiles(spark, tmp_path, options=some).files()
    assert found.columns == ["path", "length"]
    assert [Path(row.path).name for row in found.collect()] == ["c#d.parquet"]
    text = ParquetFiles(spark, tmp_path, schema="k string, ts timestamp, v long, day string")
    assert {row.day for row in text.files().collect()} == {"2024-05-01", "2024-05-02", None}


def test_a_stream_of_one_file_at_a_time_answers_like_a_batch(spark, tmp_path):
    """With folders, refused events and one that is too far in the future; from the checkpoint of Spark's own reader."""
    events = events_of(7, 900, 5, 12 * 60).append_column("w", pa.array(np.arange(900) % 4))
    odd = pa.table({"k": ["x"] * 3, "ts": instants([NOON, None, NOON + 10**17]), "v": [None, 1, 1], "w": [1, 1, 1]})
    replay = Replay(spark, tmp_path, QUERY, by=["k", "day"], options={"weight": "w"})
    folders = [tmp_path / "source" / f"day={day}" for day in (1, 2)]
    parts = slices(events, 3)
    write_files(folders[0], [parts[0]])
    write_files(folders[1], [pa.concat_tables([parts[1], odd.cast(events.schema)]), parts[2]], first=1)

    def stream(files: int = 1) -> ParquetFiles:
        return ParquetFiles(spark, replay.source, streaming=True, options={"maxFilesPerTrigger": files})

    later = [folders[1] / f"part-000{number}.parquet" for number in (1, 2)]
    for file in later:
        file.rename(tmp_path / file.name)
    replay.run()
    for file in later:
        (tmp_path / file.name).rename(file)
    replay.events = stream
    replay.run()
    assert len(replay.commits()) >= 3
    batch = quantiles(
        spark.read.parquet(str(replay.source)).where("ts < '2100-01-01'"),
        QUERY,
        value="v",
        time="ts",
        by=replay.by,
        weight="w",
    )
    assert_same(replay.rows, closed(rows_of(batch, replay.by), watermark(QUERY, events)))
    assert replay.accounts["future"] == 1 and replay.accounts["refused"] == 2


def test_summaries_and_windows_counted_in_events_are_the_same_from_files(spark, tmp_path):
    events = events_of(11, 300, 3, 600).append_column("number", pa.array(np.arange(300)))
    write_files(tmp_path, slices(events, 2))
    files = ParquetFiles(spark, tmp_path)
    both = [summaries(each, QUERY, value="v", time="ts", by="k").toArrow() for each in (files, files.dataframe())]
    mine, theirs = (table.sort_by([("k", "ascending"), ("count", "ascending"), ("min", "ascending")]) for table in both)
    assert mine.num_rows > 20 and pc.all(pc.equal(mine["summary"], theirs["summary"])).as_py()
    counted = Query(100, 50, quantiles=(0.5,))
    rows = rows_of(quantiles(files, counted, value="v", time="number"))
    assert_same(rows, expected_rows(counted, events.drop_columns(["ts"]).rename_columns(["k", "v", "ts"])))


def test_nanoseconds_which_spark_refuses_are_floored(spark, tmp_path):
    events = events_of(13, 200, 2, 600)
    nanoseconds = pa.array(np.asarray(events["ts"].cast(pa.int64())) * 1000 + 999, pa.timestamp("ns"))
    pq.write_table(events.set_column(1, "ts", nanoseconds), tmp_path / "events.parquet")
    files = ParquetFiles(spark, tmp_path)
    assert [field.dataType.simpleString() for field in files.schema] == ["string", "timestamp_ntz", "bigint"]
    assert_same(
        rows_of(quantiles(files, QUERY, value="v", time="ts", by="k"), ["k"]), expected_rows(QUERY, events, ["k"])
    )


def test_a_damaged_file_and_other_types_are_named(spark, tmp_path):
    write_files(tmp_path, [events_of(17, 50, 2, 600)])
    files = ParquetFiles(spark, tmp_path)
    (tmp_path / "text.parquet").write_text("no Parquet")
    with pytest.raises(PythonException, match=r"text.parquet is damaged"):
        quantiles(files, QUERY, value="v", time="ts").collect()
    with setting(spark, "spark.sql.files.ignoreCorruptFiles", "true"):
        assert quantiles(files, QUERY, value="v", time="ts").count() == 10
    pq.write_table(pa.table({"v": ["a"]}), tmp_path / "text.parquet")
    with pytest.raises(PythonException, match=r"column 'v' is string in .*text.parquet, which cannot be read as int64"):
        quantiles(files, QUERY, value="v", time="ts").collect()


def test_wrong_arguments_are_refused_with_what_to_do(spark, tmp_path):
    with pytest.raises(
        InputError, match=r"'maxFilePerTrigger' is not an option of files; did you mean maxFilesPerTrigger"
    ):
        ParquetFiles(spark, tmp_path, options={"maxFilePerTrigger": 4})
    with pytest.raises(InputError, match=r"has no Parquet files yet, .* pass them: schema="):
        ParquetFiles(spark, tmp_path, streaming=True)
    with pytest.raises(InputError, match=r"there is no .*nowhere; create the folder"):
        ParquetFiles(spark, tmp_path / "nowhere")
    with pytest.raises(InputError, match="a stream reads one path, not 2"):
        ParquetFiles(spark, [tmp_path, tmp_path], streaming=True)
    with pytest.raises(InputError, match="path must be the path of a folder"):
        ParquetFiles(spark, 7)
    files = ParquetFiles(spark, tmp_path, streaming=True, schema="ts timestamp, v string, w long")
    assert files.columns == ["ts", "v", "w"]
    assert quantiles(files, QUERY, value="w", time="ts").isStreaming
    with pytest.raises(InputError, match=r"values must be numbers.* begin with events = events.dataframe\(\)"):
        quantiles(files, QUERY, value="v", time="ts")
