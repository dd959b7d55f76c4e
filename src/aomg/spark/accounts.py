"""Reads a stream's checkpoint: what became of every event, and the results of windows that were still open."""

import atexit
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache, reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from aomg.errors import InputError
from aomg.query import Query
from aomg.spark.arguments import checked_checkpoint, checked_operator, no_state, refuse_no_session, refuse_others
from aomg.spark.flat import flat_windows, has_flat_windows
from aomg.spark.level2 import SparkAnswer
from aomg.spark.parcels import batches_of, by_shard, parcel_columns
from aomg.spark.stream.summaries import summaries_of
from aomg.spark.versions import check_version
from aomg.spark.worker import prepare_worker
from aomg.spark.worker_errors import message_first
from aomg.tables.accounts import Accounts
from aomg.tables.columns import all_flat_names_of, names_of
from aomg.tables.level2 import slide
from aomg.tables.rows import NEVER, unpack

_COUNTS = tuple(field.name for field in fields(Accounts))


def accounts(spark: SparkSession, checkpoint: str | os.PathLike[str], operator: int = 0) -> Accounts:
    """Count what became of the events of the stream with this checkpoint. Runs a small Spark job.

    The counts are up to the last micro-batch that was committed.

    operator
        The index of the `quantiles` in the plan, for a streaming query that combines several.
    """
    counts = named_accounts(spark, checkpoint, operator)
    if len(counts) > 1:
        raise InputError(
            f"the stream has {len(counts)} queries ({', '.join(counts)}); use named_accounts(spark, checkpoint), which "
            "has the counts of each"
        )
    return next(iter(counts.values()), Accounts())


def named_accounts(spark: SparkSession, checkpoint: str | os.PathLike[str], operator: int = 0) -> dict[str, Accounts]:
    """Count what became of the events of each query of `named_quantiles`. Every query counts all events.

    The arguments are those of `accounts`.
    """
    refuse_no_session(spark)
    checkpoint, operator = checked_checkpoint(checkpoint), checked_operator(operator)
    sums = [f.sum(name).alias(name) for name in _COUNTS]
    with _explained(checkpoint, operator):
        rows = _ledgers(spark, checkpoint, operator).groupBy("name").agg(*sums).orderBy("name").collect()
    return {row["name"]: Accounts(*(int(row[name]) for name in _COUNTS)) for row in rows}


def _ledgers(spark: SparkSession, checkpoint: str, operator: int = 0) -> DataFrame:
    """The ledgers of all shards and queries, with their shard."""
    shard = f.col("key.shard").alias("shard")
    try:
        rows = _state(spark, checkpoint, "ledgers", operator).select(shard, f.inline("value.ledgers"))
        _ = rows.columns  # over Spark Connect, an error comes no earlier
        return rows
    except PySparkException:  # a version before had one query in a state
        return _state(spark, checkpoint, "ledger", operator).select(shard, "value.*", f.lit("").alias("name"))


@contextmanager
def _explained(checkpoint: str, operator: int) -> Iterator[None]:
    """Raise InputError if a checkpoint has no state of ours."""
    try:
        yield
    except PySparkException as error:
        raise no_state(checkpoint, operator, error) or error from None


def _latest(spark: SparkSession, checkpoint: str) -> int:
    """The latest sub-window of any event."""
    latest = f.coalesce(f.max("latest"), f.lit(NEVER))
    with _explained(checkpoint, 0):
        return int(_ledgers(spark, checkpoint).agg(latest).collect()[0][0])


def open_end(windows: DataFrame, query: Query, checkpoint: str | os.PathLike[str]) -> DataFrame:
    """Compute the windows that a stream had not closed when it stopped: the rows that a batch has and the stream lacks.

    Meant for a stream that has ended. A stream that continues emits these windows again, with the events that arrive
    later. The checkpoint is only read.

    windows
        The streaming DataFrame that `quantiles` returned, flat or not; only its session and its columns are used.
    checkpoint
        The stream's checkpoint directory.
    """
    refuse_others(windows, query)
    checkpoint, spark = checked_checkpoint(checkpoint), windows.sparkSession
    answer, flat = _answer_of(windows, query)
    end = _latest(spark, checkpoint) + 1
    contents = [
        _state(spark, checkpoint, name).select(
            f.col("key.shard").alias("shard"), f.col("user_map_value.content").alias("content")
        )
        for name in ("open", *summaries_of(query))
    ]
    ledger = _ledgers(spark, checkpoint).select("shard", "closed_to")
    tables = reduce(DataFrame.unionByName, contents).join(ledger, "shard", "left")
    closed_to = f.coalesce(f.col("closed_to"), f.lit(NEVER))
    parcels = tables.select(*parcel_columns(shard=f.col("shard"), latest=closed_to, content=f.col("content")))
    gathered = parcels.repartition("shard").sortWithinPartitions("shard")
    results = gathered.mapInArrow(_OpenEnd(answer, end), answer.schema)
    return flat_windows(results, query) if flat else results


def _answer_of(windows: DataFrame, query: Query) -> tuple[SparkAnswer, bool]:
    """What the query emits in windows with these columns, and whether they are flat."""
    names, flat = windows.columns, has_flat_windows(windows)
    expected = all_flat_names_of(query) if flat else names_of(query)
    if names[-len(expected) :] != expected:
        raise InputError(
            f"the first argument must be what quantiles(...) returned for this query, with the columns "
            f"{', '.join(expected)}"
        )
    keys = tuple(windows.schema[name] for name in names[: -len(expected)])
    window = windows.schema[expected[0]].dataType
    return SparkAnswer.of(query, keys, window if flat else window["start"].dataType), flat  # type: ignore[index]


@dataclass(frozen=True)
class _OpenEnd:
    """Closes every sub-window in a shard's state."""

    answer: SparkAnswer
    end: int

    @message_first
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Parcels of open and live rows in, results out."""
        prepare_worker(self.answer.query)
        for _, _, parcels in by_shard(batches):
            state = list(parcels)
            closed_to = max(parcel.latest for parcel in state)
            results, _ = slide(self.answer, [unpack(parcel.content) for parcel in state], closed_to, self.end)
            yield from batches_of(results)


def _state(spark: SparkSession, checkpoint: str, name: str, operator: int = 0) -> DataFrame:
    """One state variable of a stream's operator, as rows."""
    check_version(spark)
    reader = spark.read.format("statestore").option("stateVarName", name).option("operatorId", operator)
    return reader.load(_plain_path(checkpoint))


@cache
def _plain_path(checkpoint: str) -> str:
    """A path to a checkpoint that Spark's reader of states can open: it cannot if a space or the like is in the path.

    Then it is a link in a temporary folder that lasts as long as the process.
    """
    path = checkpoint.removeprefix("file://")
    if quote(path) == path or not Path(path).is_dir():
        return checkpoint
    folder = TemporaryDirectory(prefix="aomg-")
    atexit.register(folder.cleanup)
    link = Path(folder.name, "checkpoint")
    link.symlink_to(Path(path).absolute())
    return str(link)
