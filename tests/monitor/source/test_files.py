"""Which files `aomg check` looks at: those that Spark reads."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from aomg.monitor.config.model import Config
from aomg.monitor.config.reader import load
from aomg.monitor.errors import ConfigError
from aomg.monitor.run.check import inspect
from aomg.monitor.source.columns import _reads
from aomg.monitor.source.files import glob_pattern, source_files, spark_path

pytestmark = pytest.mark.xdist_group("monitor on spark")

RECURSIVE = {"recursiveFileLookup": "true"}
TREES: dict[str, tuple[list[str], dict[str, str]]] = {
    "files of the folder": (["a.parquet", "b.parquet", "c.data"], {}),
    "folders in it are not read": (["a.parquet", "old/b.parquet"], {}),
    "unless they are asked for": (["a.parquet", "old/b.parquet", "old/er/c.parquet"], RECURSIVE),
    "hidden": (["a.parquet", "_b.parquet", ".c.parquet", "_d/a.parquet", ".e/a.parquet", "f._COPYING_"], RECURSIVE),
    "days": (["day=1/a.parquet", "day=2/b.parquet"], {}),
    "days and hours": (["day=1/hour=2/a.parquet", "day=1/hour=3/b.parquet"], {}),
    "folders in a day": (["day=1/more/a.parquet", "day=1/b.parquet"], {}),
    "days without their names": (["day=1/a.parquet", "b.parquet"], RECURSIVE),
    "an underscore before a column": (["_day=1/a.parquet"], {}),
    "a pattern": (["a.parquet", "b.data", "old/c.data"], {"pathGlobFilter": "*.parquet"}),
    "a pattern in days": (["day=1/a.parquet", "day=1/b.data"], {"pathGlobFilter": "*.data"}),
    "a pattern of several": (["a.parquet", "b.data", "c.x"], {"pathGlobFilter": "{a,b}.[^x]*"}),
    "a pattern in folders": (["a.parquet", "old/b.parquet", "old/a.x"], {"pathGlobFilter": "?.parquet", **RECURSIVE}),
}
REFUSED: dict[str, tuple[list[str], str]] = {
    "a file beside days, which Spark leaves out": (["day=1/a.parquet", "b.parquet"], "b.parquet is next to"),
    "a folder beside days": (["day=1/a.parquet", "old/b.parquet"], "b.parquet is next to"),
    "different columns": (["day=1/a.parquet", "hour=1/b.parquet"], "b.parquet is next to"),
    "only folders, which Spark leaves out": (["old/a.parquet"], "recursiveFileLookup: true"),
}


def planted(folder: Path, files: list[str]) -> Path:
    for name in files:
        (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [1]}), folder / "in" / name)
    (folder / "in" / files[0]).with_name("empty.parquet").write_bytes(b"")
    return folder / "in"


def read_by_spark(spark: SparkSession, folder: Path, options: dict[str, str]) -> tuple[list[str], list[str]]:
    frame = spark.read.schema("x long").options(**options).parquet(str(folder))
    read = {row[0].removeprefix(f"file:{folder}/") for row in frame.select("_metadata.file_path").collect()}
    return sorted(read), [name for name in frame.columns if name != "x"]


@pytest.mark.parametrize("tree", TREES)
def test_the_files_that_are_looked_at_are_those_that_spark_reads(
    spark: SparkSession, tmp_path: Path, tree: str
) -> None:
    files, options = TREES[tree]
    folder = planted(tmp_path, files)
    listed = source_files(folder, options)
    mine = [str(file.relative_to(folder)) for file in listed.files]
    assert (sorted(mine), list(listed.folder_columns)) == read_by_spark(spark, folder, options)
    assert mine


@pytest.mark.parametrize("tree", REFUSED)
def test_what_spark_refuses_or_leaves_out_is_said_before_the_start(
    spark: SparkSession, tmp_path: Path, tree: str
) -> None:
    files, message = REFUSED[tree]
    folder = planted(tmp_path, files)
    with pytest.raises(ConfigError, match=message):
        source_files(folder, {})
    try:
        read, _ = read_by_spark(spark, folder, {})
        assert sorted(read) != sorted(files)
    except (PySparkException, Py4JJavaError):
        pass


ALIKE = [pa.int8(), pa.int64(), pa.uint8(), pa.float32(), pa.large_string(), pa.timestamp("ms", "UTC")]
TELLING = [pa.int32(), pa.uint32(), pa.uint64(), pa.float64(), pa.string(), pa.binary(), pa.bool_()]
TELLING += [pa.timestamp("us"), pa.timestamp("ns"), pa.decimal128(20)]


@pytest.mark.parametrize("kind", [*TELLING, *(pytest.param(kind, marks=pytest.mark.soak) for kind in ALIKE)])
def test_a_type_that_is_said_is_refused_exactly_where_neither_spark_nor_workers_read_it(
    spark: SparkSession, tmp_path: Path, kind: pa.DataType
) -> None:
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    value = "1" if text else b"1" if pa.types.is_binary(kind) else True if pa.types.is_boolean(kind) else 1000
    pq.write_table(pa.table({"x": pa.array([100 if kind == pa.int8() or kind == pa.uint8() else value], kind)}),
                   tmp_path / "a.parquet")  # fmt: skip
    for declared in ("string", "int", "long", "double", "boolean", "timestamp"):
        try:
            spark.read.schema(f"x {declared}").parquet(str(tmp_path)).collect()
            reads = True
        except (PySparkException, Py4JJavaError):
            reads = False
        workers_read = declared == "timestamp" and kind == pa.timestamp("ns")
        assert _reads(declared, kind) == (reads or workers_read), declared


CONFIG = """source: {{{source}, time: ts}}
state: state/
queries:
  rtt: {{value: rtt_us, unit: us, by: [host], size: 1 minute, period: 10 seconds, quantiles: [0.5, 0.99]}}
"""
COLUMNS = "columns: {ts: string, host: string, rtt_us: long}"
TIME = pa.array([0], pa.timestamp("us", "UTC"))


def configured(folder: Path, source: str) -> Config:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "aomg.yaml").write_text(CONFIG.format(source=source))
    return load(folder / "aomg.yaml")


def test_a_damaged_file_in_a_folder_that_is_read_is_found_and_one_that_is_not_read_is_not(tmp_path: Path) -> None:
    config = configured(tmp_path, "parquet: in/")
    pq.write_table(pa.table({"ts": TIME, "host": ["a"], "rtt_us": [1]}), tmp_path / "in" / "a.parquet")
    (tmp_path / "in" / "old").mkdir()
    (tmp_path / "in" / "old" / "b.parquet").write_text("none")
    inspect(config)
    with pytest.raises(ConfigError, match=r"line 1: .*b\.parquet cannot be read as Parquet"):
        inspect(configured(tmp_path, "parquet: in/, options: {recursiveFileLookup: true}"))
    (tmp_path / "in" / "c.csv").write_text("none")
    with pytest.raises(ConfigError, match=r"c\.csv cannot be read as Parquet"):
        inspect(config)
    inspect(configured(tmp_path, "parquet: in/, options: {pathGlobFilter: '*.parquet'}"))


def test_what_days_are_called_is_a_column(tmp_path: Path) -> None:
    config = configured(tmp_path, "parquet: in/")
    (tmp_path / "in" / "host=a").mkdir()
    pq.write_table(pa.table({"ts": TIME, "rtt_us": [1]}), tmp_path / "in" / "host=a" / "a.parquet")
    inspect(config)


def test_a_file_may_be_the_whole_source(tmp_path: Path) -> None:
    file = tmp_path / "in.d" / "a,b.csv"
    file.parent.mkdir()
    file.write_text("x")
    assert source_files(file, {}).files == (file,)
    assert spark_path(file) == str(file.with_name("[a],b.csv")) and spark_path(file.parent) == str(file.parent)
    file.write_text("")
    assert source_files(file, {}).files == ()
    hidden = file.rename(file.with_name("_a.csv"))
    with pytest.raises(ConfigError, match="Spark skips files whose names begin with"):
        source_files(hidden, {})


@pytest.mark.parametrize(
    ("columns", "message", "remedy"),
    [
        ({"rtt_us": pa.array([1.5])}, "", None),
        ({"rtt_us": pa.array([1.5])}, COLUMNS.replace("ts: string", "ts: timestamp"), "as long; use double"),
        ({"ts": pa.array([0], pa.timestamp("ns"))}, "", None),
        ({"ts": pa.array([0])}, "", "time_format: epoch_s, epoch_ms, epoch_us or epoch_ns"),
        ({"ts": pa.array([True])}, "", "has the type bool, which is not a time"),
        ({"rtt_us": pa.array([1], pa.int32())}, COLUMNS.replace("ts: string", "ts: timestamp"), None),
    ],
)
def test_types_of_parquet_files_are_looked_at(
    tmp_path: Path, columns: dict[str, pa.Array], message: str, remedy: str | None
) -> None:
    config = configured(tmp_path, f"parquet: in/, {message}" if message else "parquet: in/")
    pq.write_table(pa.table({"ts": TIME, "host": ["a"], "rtt_us": [1], **columns}), tmp_path / "in" / "a.parquet")
    if remedy is None:
        inspect(config)
        return
    with pytest.raises(ConfigError, match=remedy):
        inspect(config)


def test_files_whose_types_differ_need_the_type_said(tmp_path: Path) -> None:
    config = configured(tmp_path, "parquet: in/")
    for name, kind in (("a", pa.int32()), ("b", pa.int64())):
        pq.write_table(pa.table({"ts": TIME, "host": ["a"], "rtt_us": pa.array([1], kind)}), tmp_path / f"in/{name}")
    with pytest.raises(ConfigError, match=r"int64 in .*b, and int32 in other files; set its type under columns"):
        inspect(config)
    inspect(configured(tmp_path, "parquet: in/, columns: {ts: timestamp, host: string, rtt_us: long}"))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("ts,host,rtt_us\n", "header: true", None),
        ("TS,host,rtt_us\r\n", "header: true", None),
        ('# made by hand\n"ts";"host";"rtt_us"\n', "header: true, sep: ';', comment: '#'", None),
        (
            "ts,rtt_us,host\n",
            "header: true",
            "has the columns ts, rtt_us, host, but source.columns has ts, host",
        ),
        ("ts,host\n", "header: true", "in the order of the file"),
        ("ts,host,rtt_us;2026-03-01T12:00:00Z,a,7;", "header: true, lineSep: ';'", None),
        (
            "# by hand||ts,host,rtt_us||" + "2026-03-01T12:00:00Z,a,7||" * 9_000,
            "header: true, lineSep: '||', comment: '#'",
            None,
        ),
        ("ts,host;2026-03-01T12:00:00Z,a;", "header: true, lineSep: ';'", "has the columns ts, host, but"),
        ("ts,host,rtt_us\n", "header: false", "set options: {header: true}"),
        ("2026-03-01T12:00:00Z,a,7\n", "header: false", None),
        ("", "header: true", None),
    ],
)
def test_the_first_line_of_csv_files_is_compared_with_the_columns(
    tmp_path: Path, text: str, options: str, message: str | None
) -> None:
    config = configured(tmp_path, f"csv: in/, {COLUMNS}, options: {{{options}}}")
    (tmp_path / "in" / "a.csv").write_text(text)
    (tmp_path / "in" / "b.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "in" / "c.csv.gz").write_text("not compressed")
    if message is None:
        inspect(config)
        return
    for name in ("a.csv", "b.csv.gz"):
        with pytest.raises(ConfigError, match=rf"line 1: .*{name}.*{message}"):
            inspect(config)
        (tmp_path / "in" / name).unlink()


@pytest.mark.parametrize("glob", ["[z-a]", "{a", "a)b("])
def test_a_pattern_that_is_none_is_refused_or_taken_literally(glob: str) -> None:
    try:
        assert glob_pattern(glob).fullmatch(glob)
    except ConfigError as error:
        assert "pathGlobFilter" in str(error)
