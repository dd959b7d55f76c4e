"""Expected results for the tests on Spark, from local operators key by key; and how the tests run a stream."""

import datetime as dt
import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import aomg.spark
from aomg import Operator, Query
from aomg.result import METHODS, Results
from aomg.spark import quantiles

SECOND = 1_000_000
MINUTE = 60 * SECOND
NOON = 1_700_049_600 * SECOND  # 2023-11-15 12:00 UTC

Row = tuple[Any, ...]


def start_session(directory: Path) -> SparkSession:
    """A session on two cores that leaves nothing outside of `directory`."""
    from aomg.spark.session import session

    settings = {
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.warehouse.dir": directory / "warehouse",
        "spark.local.dir": directory / "scratch",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # short tests gain nothing by the best code
    }
    spark = session("aomg tests", cores=2, memory="2g", **settings)
    spark.sparkContext.setLogLevel("OFF")  # the tests look at the errors that Python raises
    return spark


def without_java(directory: Path) -> dict[str, str]:
    """An environment for a process that finds no Java but the packaged one, and no Python for its workers."""
    programs = directory / "programs"
    programs.mkdir()
    for place in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in place.iterdir() if place.is_dir() else ():
            if not program.name.startswith("java") and not (programs / program.name).is_symlink():
                (programs / program.name).symlink_to(program)
    hidden = ("JAVA_HOME", "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_IP", "PYSPARK_DRIVER_PYTHON")
    return {name: value for name, value in os.environ.items() if name not in hidden} | {
        "PATH": str(programs),
        "XDG_CACHE_HOME": str(directory / "cache"),
        "PYSPARK_PYTHON": "a-python-that-is-not-there",
    }


@contextmanager
def setting(spark: SparkSession, name: str, value: Any) -> Iterator[None]:
    """Change a setting, and restore it afterwards."""
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, before)


# -- rows that can be compared bit for bit -----------------------------------------------------------------------------


def bits(numbers: pa.ChunkedArray | pa.Array | np.ndarray) -> list[int | None]:
    """Doubles as the integers of the same bits; null stays null."""
    column = pa.array(numbers) if isinstance(numbers, np.ndarray) else numbers
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return column.cast(pa.float64()).view(pa.int64()).to_pylist()


def key_text(value: Any) -> str:
    """One text for all values that a groupBy treats as equal."""
    if isinstance(value, float):
        return (value + 0.0).hex()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {key_text(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(key_text, value)) + "]"
    if isinstance(value, dt.datetime):
        return str(value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value)
    return str(value.normalize()) if isinstance(value, Decimal) else repr(value)


def _texts(column: pa.ChunkedArray) -> list[str]:
    if pa.types.is_nested(column.type):
        return list(map(key_text, column.to_pylist()))
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    texts = list(map(key_text, encoded.dictionary.to_pylist()))
    return [texts[code] for code in encoded.indices.to_pylist()]


def keys_of(table: pa.Table, by: Sequence[str]) -> list[tuple[str, ...]]:
    """The key of each row, as texts."""
    return list(zip(*(_texts(table[name]) for name in by), strict=True)) if by else [()] * table.num_rows


def _leaves(column: pa.ChunkedArray) -> Iterator[list[Any]]:
    if pa.types.is_struct(column.type):
        for part in column.combine_chunks().flatten():
            yield from _leaves(pa.chunked_array([part]))
    elif pa.types.is_floating(column.type):
        yield bits(column)
    elif pa.types.is_timestamp(column.type):
        yield column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64()).to_pylist()
    else:
        yield column.to_pylist()


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows by key and end."""
    return sorted(rows, key=lambda row: (row[0], row[2]))


def rows_of(results: DataFrame | pa.Table, by: Sequence[str] = ()) -> list[Row]:
    """The rows of a result: key, start and end of the window (integers), then everything else, doubles as bits."""
    table = results if isinstance(results, pa.Table) else results.toArrow()
    names = [name for name in table.column_names if name not in by]
    leaves = [leaf for name in names for leaf in _leaves(table[name])]
    return in_order(zip(keys_of(table, by), *leaves, strict=True))


def end_of(row: Row) -> int:
    return row[2]


def closed(rows: Iterable[Row], watermark: int) -> list[Row]:
    """Those whose window ends at or before the watermark."""
    return [row for row in rows if end_of(row) <= watermark]


def assert_same(rows: list[Row], expected: list[Row]) -> None:
    """Each row once, and no bit of it different."""
    if rows == expected:
        return
    mine, theirs = Counter(rows), Counter(expected)
    extra, missing = list((mine - theirs).elements()), list((theirs - mine).elements())
    lines = [f"{len(rows)} rows, {len(expected)} expected; {len(extra)} too many, {len(missing)} missing"]
    lines += [f"  too many {row}" for row in extra[:3]] + [f"  missing  {row}" for row in missing[:3]]
    raise AssertionError("\n".join(lines))


# -- the local operator ------------------------------------------------------------------------------------------------


def local_rows(results: Results, key: tuple[str, ...]) -> list[Row]:
    """The rows of a local operator's results."""
    query = results.query
    ends = (results.rows[:, 0] + 1) * query.period
    columns: list[Any] = [[key] * len(results), (ends - query.size).tolist(), ends.tolist(), results.counts.tolist()]
    columns += [bits(results.minima), bits(results.maxima), results.sub_windows.tolist(), results.bursts.tolist()]
    for index, quantile in enumerate(query.quantiles):
        columns += [bits(np.ascontiguousarray(results.estimates(index)[:, i])) for i in range(3)]
        columns.append([METHODS[method] for method in results.methods(index)])
        if query.guarantee is None:
            estimates = [result[quantile] for result in results]
            columns.append(bits(pa.array([estimate.bound for estimate in estimates], pa.float64())))
            columns.append(bits(pa.array([estimate.bound_corrected for estimate in estimates], pa.float64())))
    for limit in query.thresholds:
        columns += [bits(np.ascontiguousarray(results.shares(limit)[:, i])) for i in range(3)]
    return list(zip(*columns, strict=True))


def _usable(events: pa.Table, value: str, time: str) -> pa.Array:
    finite = pc.fill_null(pc.is_finite(events[value].cast(pa.float64(), safe=False)), False)
    return pc.and_(finite, pc.is_valid(events[time])).combine_chunks()


def latest_of(events: pa.Table, value: str = "v", time: str = "ts") -> int:
    """The latest time of an event that counts, in microseconds."""
    return pc.max(events[time].cast(pa.int64()).filter(_usable(events, value, time))).as_py()


def expected_rows(
    query: Query, events: pa.Table, by: Sequence[str] = (), value: str = "v", time: str = "ts"
) -> list[Row]:
    """The results of local operators, one for each key: every window up to the latest time of all keys.

    For windows counted in events, `time` numbers the events of each key without a gap.
    """
    values = events[value].combine_chunks()
    times = events[time].cast(pa.int64()).combine_chunks()
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, key in enumerate(keys_of(events, by)):
        groups.setdefault(key, []).append(index)
    rows: list[Row] = []
    latest = None if query.counted else latest_of(events, value, time)
    for key, indexes in groups.items():
        own, when = values.take(pa.array(indexes)), times.take(pa.array(indexes))
        if query.counted:
            operator = Operator(query)
            results = operator.push(own.take(pc.sort_indices(when)))
        else:
            operator = Operator(query.replace(lateness="1000000 days"))
            results = operator.push(own, when.cast(pa.timestamp("us")))
            if operator.open:
                operator._latest = latest
        rows += local_rows(results + operator.finish(), key)
    return in_order(rows)


# -- events ------------------------------------------------------------------------------------------------------------


def instants(micros: Any) -> pa.Array:
    """Timestamps, from microseconds since 1970; None is null."""
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", tz="UTC"))


def events_of(seed: int, size: int, keys: int, seconds: float, start: int = NOON, disorder: float = 0.0) -> pa.Table:
    """Skewed latencies `v` of several keys `k`, ordered by their times `ts` but for `disorder` seconds."""
    random = np.random.default_rng(seed)
    times = np.sort(random.uniform(0, seconds, size))
    times = times[np.argsort(times + random.uniform(0, disorder, size), kind="stable")]
    values = np.rint(random.lognormal(6.7, 0.6, size) * np.where(random.random(size) < 0.02, 10, 1)).astype(np.int64)
    own = (keys * random.random(size) ** 2).astype(np.int64)  # some keys are hot, some rare
    names = np.array([f"pod-{i:03}" for i in range(keys)])[own]
    return pa.table({"k": names, "ts": instants(start + np.rint(times * SECOND).astype(np.int64)), "v": values})


def tick(seconds: float, key: str = "tick", value: int = 1) -> pa.Table:
    """One event, this many seconds after noon, to move the watermark."""
    return pa.table({"k": [key], "ts": instants([NOON + round(seconds * SECOND)]), "v": pa.array([value], pa.int64())})


def frame(spark: SparkSession, events: pa.Table, partitions: int = 2) -> DataFrame:
    """The events, dealt out to some partitions; timestamps without a zone stay without one."""
    return spark.createDataFrame(events, from_arrow_schema(events.schema, True)).repartition(partitions)


def slices(events: pa.Table, parts: int) -> list[pa.Table]:
    """The events in this many pieces, one after the other."""
    edges = np.linspace(0, events.num_rows, parts + 1).astype(int).tolist()
    return [events.slice(first, last - first) for first, last in itertools.pairwise(edges)]


def write_files(directory: Path, parts: Iterable[pa.Table], first: int = 0) -> None:
    """One Parquet file for each part; a stream reads them in this order."""
    directory.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(parts, first):
        hidden = directory / f".part-{number:04}"
        pq.write_table(part, hidden)
        os.utime(hidden, (1_600_000_000 + number,) * 2)
        hidden.rename(directory / f"part-{number:04}.parquet")


# -- streams -----------------------------------------------------------------------------------------------------------


def accounts(spark: SparkSession, checkpoint: Path) -> dict[str, int]:
    """What became of every event, over all shards."""
    return asdict(aomg.spark.accounts(spark, str(checkpoint)))


@dataclass
class Replay:
    """Files that are read as a stream to their end, `files` of them a micro-batch, and the rows of each micro-batch."""

    spark: SparkSession
    directory: Path
    query: Query
    by: Sequence[str] = ("k",)
    options: dict[str, Any] = field(default_factory=lambda: {"clock": None})
    batches: dict[int, list[Row]] = field(default_factory=dict)

    @property
    def checkpoint(self) -> Path:
        return self.directory / "checkpoint"

    @property
    def source(self) -> Path:
        return self.directory / "source"

    @property
    def sink(self) -> Path:
        return self.directory / "sink"

    def add(self, *parts: pa.Table) -> "Replay":
        """Add files to the source."""
        write_files(self.source, parts, len(list(self.source.glob("*.parquet"))))
        return self

    def events(self, files: int = 1) -> DataFrame:
        schema = self.spark.read.parquet(str(self.source)).schema
        return self.spark.readStream.schema(schema).option("maxFilesPerTrigger", files).parquet(str(self.source))

    def results(self, files: int = 1) -> DataFrame:
        return quantiles(self.events(files), self.query, value="v", time="ts", by=self.by, **self.options)

    def run(self, files: int = 1) -> "Replay":
        """Read what is there to the end."""

        def keep(rows: DataFrame, batch: int) -> None:
            results = rows_of(rows, self.by)
            assert batch not in self.batches or self.batches[batch] == results
            if results:
                self.batches[batch] = results

        self._run(self.results(files).writeStream.foreachBatch(keep))
        return self

    def run_into_files(self, files: int = 1) -> "Replay":
        """The same, with Spark's own sink of Parquet files."""
        self._run(self.results(files).writeStream.format("parquet").option("path", str(self.sink)))
        return self

    def _run(self, writer: Any) -> None:
        stream = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        try:
            stream.awaitTermination()
        finally:
            stream.stop()

    @property
    def rows(self) -> list[Row]:
        return in_order(row for rows in self.batches.values() for row in rows)

    @property
    def rows_in_files(self) -> list[Row]:
        return rows_of(self.spark.read.parquet(str(self.sink)), self.by)

    @property
    def accounts(self) -> dict[str, int]:
        """What became of every event; they always add up."""
        counts = accounts(self.spark, self.checkpoint)
        assert counts["came"] == sum(counts.values()) - counts["came"], counts
        return counts

    def commits(self) -> list[Path]:
        """The files that say which micro-batches are done, in order."""
        return sorted((self.checkpoint / "commits").glob("[0-9]*"), key=lambda file: int(file.name))


def watermark(query: Query, events: pa.Table) -> int:
    """The last watermark of a stream of these events: the latest time minus the lateness, in milliseconds."""
    return latest_of(events) // 1000 * 1000 - query.lateness
