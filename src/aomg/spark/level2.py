"""Level 2 on Spark: answers for the parcels of a batch, one shard after another."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import types as t

from aomg.query import Query
from aomg.spark.columns import arrow_time, result_schema, summary_schema
from aomg.spark.parcels import batches_of, by_epoch, by_shard
from aomg.spark.worker import prepare_worker
from aomg.spark.worker_errors import message_first
from aomg.tables.level2 import Answer, Shard


@dataclass(frozen=True, kw_only=True)
class SparkAnswer(Answer):
    """An answer in Spark's types: keys are the by columns, time_type is the type of times."""

    keys: tuple[t.StructField, ...]
    time_type: t.DataType

    @classmethod
    def of(
        cls, query: Query, keys: Sequence[t.StructField], time_type: t.DataType, summaries: bool = False
    ) -> "SparkAnswer":
        """The answer for these by columns."""
        names, time = tuple(key.name for key in keys), arrow_time(time_type)
        return cls(query, names, time, summaries, keys=tuple(keys), time_type=time_type)

    @property
    def schema(self) -> t.StructType:
        """The schema of the output, as described in aomg.tables.columns."""
        if self.summaries:
            return summary_schema(self.keys, self.time_type)
        return result_schema(self.query, self.keys, self.time_type)


@dataclass(frozen=True)
class Level2:
    """Level 2 of a batch: the outputs of each query, for the parcels of a partition, sorted by shard, query and epoch.

    answers, epochs
        What each query puts out, and how many sub-windows its parcels have.
    """

    answers: tuple[Answer, ...]
    epochs: tuple[int, ...]

    @message_first
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Parcels in, output rows out."""
        prepare_worker(*(answer.query for answer in self.answers))
        for _, place, parcels in by_shard(batches):
            answer, length = self.answers[place], self.epochs[place]
            shard = Shard(answer)
            latest, epochs = by_epoch(parcels)
            for epoch, tables in epochs:
                yield from batches_of(shard.close(tables, min((epoch + 1) * length, latest + 1)))
            if not answer.query.counted and answer.windowed:
                yield from batches_of(shard.close([], latest + 1))
