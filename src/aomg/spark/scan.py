"""Plans one reading of events for one or several queries, in a batch or in a stream.

Every event is read once, and tallied for each query (Level 1). Parcels carry the place of their query. In a batch, a
shard answers them one query after the other; in a stream, one stateful operator has the state of all queries.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from aomg.errors import InputError
from aomg.query import Query
from aomg.spark import settings
from aomg.spark.file_events import level1_parcels
from aomg.spark.intake import Source
from aomg.spark.keys import shard_ids
from aomg.spark.level1 import Level1
from aomg.spark.level2 import Level2
from aomg.spark.parcels import REFUSED, batches_of
from aomg.spark.scan_columns import NO_MARKS, Marks, ScanColumns
from aomg.spark.stream.processor import StreamedQuery, stream_outputs, warm_state
from aomg.spark.summary_store import StoredSummaries
from aomg.spark.time_policy import TimePolicy
from aomg.spark.worker import freeze_loaded_objects
from aomg.tables.level2 import Answer
from aomg.tables.long import refused_table, with_row
from aomg.tables.rows import unpack

SHARDS = 8
MOST_SHARDS = 1024
_WINDOWS = 4  # a batch works through this many window lengths at once
_ONE_EPOCH = 1 << 62


@dataclass(frozen=True)
class PlannedQuery:
    """A query of a scan: the columns that it reads, what it puts out, and when. `name` is that of its state."""

    source: Source
    answer: Answer
    policy: TimePolicy
    name: str = ""


@dataclass(frozen=True)
class LongRows:
    """The by columns of all queries, the type of times, and the columns of refused rows in a long table."""

    keys: pa.Schema
    time: pa.DataType
    row: pa.Schema | None = None


def scanned(
    queries: Sequence[PlannedQuery],
    schema: t.StructType,
    shards: int,
    *,
    marks: Marks = NO_MARKS,
    warm: DataFrame | None = None,
    long: LongRows | None = None,
) -> DataFrame:
    """The rows of all queries, whose sources have the same events. `schema` is that of what they put out.

    marks
        What is known about events before they are read.
    warm
        Stored summaries that a stream of one query starts with.
    long
        If the queries put out a long table, its columns.
    """
    shards, first = checked_shards(shards), queries[0].source
    streaming = first.events.isStreaming
    settings.check(first.events.sparkSession, streaming=streaming)
    columns = ScanColumns.of([query.source for query in queries])
    epochs = [0 if streaming else epoch_of(query.answer.query) for query in queries]
    parts = zip(queries, epochs, strict=True)
    scanned = tuple(columns.scanned(query.source, query.policy, epoch) for query, epoch in parts)
    level1 = Level1(scanned, shard_ids(shards), columns.texts, marks.reasons)
    parcels = level1_parcels(columns, level1, queries[0].policy, [query.name for query in queries], marks)
    if not streaming:
        if warm is not None:
            raise InputError("warm=... is for streams; a batch reads all events, so leave it out")
        return answered(parcels, [query.answer for query in queries], epochs, schema, shards)
    start = None if warm is None else _warm(warm, queries[0], shards)
    streamed = [
        StreamedQuery.of(query.name, query.source.query, query.answer, query.policy, query.source.by, shards)
        for query in queries
    ]
    return stream_outputs(parcels, streamed, start).mapInArrow(_Unpack(long), schema)


def _warm(summaries: DataFrame, query: PlannedQuery, shards: int) -> DataFrame:
    """The state of a stream that starts with these summaries."""
    stored = StoredSummaries.of(summaries, query.answer.query, query.source.by, "warm")
    parcels = stored.parcels(shard_ids(shards), _ONE_EPOCH)
    return warm_state(_gathered(parcels, shards), query.answer)


def answered(
    parcels: DataFrame, answers: Sequence[Answer], epochs: Sequence[int], schema: t.StructType, shards: int
) -> DataFrame:
    """The rows of a batch."""
    return _gathered(parcels, shards).mapInArrow(Level2(tuple(answers), tuple(epochs)), schema)


def _gathered(parcels: DataFrame, shards: int) -> DataFrame:
    """Each shard's parcels in one partition, sorted by query and epoch. Adaptive execution joins small shards."""
    adaptive = settings.value_of(parcels.sparkSession, "spark.sql.adaptive.enabled") == "true"
    gathered = parcels.repartition("shard") if adaptive else parcels.repartition(shards, "shard")
    return gathered.sortWithinPartitions("shard", "query", "epoch")


def epoch_of(query: Query) -> int:
    """Sub-windows that a batch works through at once. Windows counted in events have no common time: all of them."""
    return _ONE_EPOCH if query.counted else max(_WINDOWS * query.sub_windows, 64)


def checked_shards(shards: Any) -> int:
    """The number of shards. Raises InputError if it cannot be one."""
    if isinstance(shards, bool) or not isinstance(shards, int) or not 1 <= shards <= MOST_SHARDS:
        raise InputError(f"shards={shards!r} must be a whole number from 1 to {MOST_SHARDS}")
    return shards


@dataclass(frozen=True)
class _Unpack:
    """Unpacks the tables that the stateful operator puts out."""

    long: LongRows | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Outputs in, rows out."""
        freeze_loaded_objects()
        for batch in batches:
            contents = (content.as_buffer() for content in batch["content"])
            for place, content in zip(batch["query"].to_pylist(), contents, strict=True):
                table = unpack(content)
                if place == REFUSED and self.long is not None:
                    table = refused_table(table, self.long.keys, self.long.time, self.long.row)
                elif self.long is not None and self.long.row is not None:
                    table = with_row(table, self.long.row)
                yield from batches_of([table])
