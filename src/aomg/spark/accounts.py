"""What became of every event of a stream, and the windows that were still open: read from its checkpoint."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from aomg.errors import InputError
from aomg.query import Query
from aomg.spark.columns import FIXED, arrow_time, names_of
from aomg.spark.level2 import Answer, by_shard, slide
from aomg.spark.parcels import NEVER, PARCELS, unpack
from aomg.spark.stream.summaries import summaries_of


@dataclass(frozen=True)
class Accounts:
    """Events by what became of them, up to the last micro-batch that was committed.

    came = used + late + refused + future + open, always.
    """

    came: int
    used: int
    late: int
    refused: int
    future: int
    open: int

    @property
    def reconcile(self) -> bool:
        """Whether every event is accounted for, once."""
        return self.came == self.used + self.late + self.refused + self.future + self.open


_COUNTS = tuple(field.name for field in fields(Accounts))


def accounts(spark: SparkSession, checkpoint: str, operator: int = 0) -> Accounts:
    """Count what became of the events of the stream with this checkpoint. Runs a small Spark job.

    operator
        Which one, in the order of the plan, where a streaming query unites several `quantiles`.
    """
    sums = [f.coalesce(f.sum(f"value.{name}"), f.lit(0)) for name in _COUNTS]
    return Accounts(*map(int, _state(spark, checkpoint, "ledger", operator).agg(*sums).collect()[0]))


def _latest(spark: SparkSession, checkpoint: str) -> int:
    """The latest sub-window that the stream has seen."""
    latest = f.coalesce(f.max("value.latest"), f.lit(NEVER))
    return int(_state(spark, checkpoint, "ledger").agg(latest).collect()[0][0])


def open_end(windows: DataFrame, query: Query, checkpoint: str) -> DataFrame:
    """Answer for what a stream had not closed when it stopped: the rows that the same batch has besides.

    windows
        The streaming DataFrame that `quantiles` gave; only its session and its columns are used.
    checkpoint
        Where the stream kept its state. It is only read, but these windows are answered early: go on with the stream
        and it answers for them again, with the events that come then. Meant for a stream that has ended.
    """
    names = windows.columns
    if names[-len(names_of(query)) :] != names_of(query):
        raise InputError(f"these are no windows of this query: it has columns {', '.join(names_of(query))}")
    by = tuple(names[: names.index(FIXED[0])])
    time = windows.schema["window"].dataType["start"].dataType  # type: ignore[index]
    spark = windows.sparkSession
    latest = _latest(spark, checkpoint)
    contents = [
        _state(spark, checkpoint, name).select(
            f.col("key.shard").alias("shard"), f.col("user_map_value.content").alias("content")
        )
        for name in ("open", *summaries_of(query))
    ]
    ledger = _state(spark, checkpoint, "ledger").select(
        f.col("key.shard").alias("shard"), f.col("value.closed_to").alias("latest")
    )
    parcels = reduce(lambda known, more: known.unionByName(more), contents).join(ledger, "shard", "left")
    nothing = {name: f.lit(0).cast("long").alias(name) for name in ("epoch", "clock", "came", "refused", "future")}
    columns = [nothing.get(name, f.col(name)) for name in PARCELS.names]
    answer = Answer(query, by, arrow_time(time))
    gathered = parcels.select(*columns).repartition("shard").sortWithinPartitions("shard")
    return gathered.mapInArrow(_OpenEnd(answer, latest + 1), windows.schema)


@dataclass(frozen=True)
class _OpenEnd:
    """Close everything that a shard's state holds."""

    answer: Answer
    end: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Parcels of open and live rows in, results out."""
        for _, epochs in by_shard(batches):
            for _, parcels in epochs:
                closed_to = max(NEVER if told is None else told for told, _ in parcels)
                answers, _ = slide(self.answer, [unpack(content) for _, content in parcels], closed_to, self.end)
                if answers is not None:
                    yield from answers.to_batches(max_chunksize=1 << 16)


def _state(spark: SparkSession, checkpoint: str, name: str, operator: int = 0) -> DataFrame:
    """One of the things that a stream's operator keeps, as rows."""
    reader = spark.read.format("statestore").option("stateVarName", name).option("operatorId", operator)
    return reader.load(checkpoint)
