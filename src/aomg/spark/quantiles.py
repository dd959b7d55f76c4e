"""The public functions: events in, quantiles of every key's windows out, in a batch and in Structured Streaming.

`quantiles` does what `summaries` (Level 1) and `windows` (Level 2) do, in one plan.
"""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from aomg.errors import InputError
from aomg.query import Query
from aomg.spark import settings
from aomg.spark.arguments import ColumnOrName, ColumnsOrNames, refuse_no_clock
from aomg.spark.flat import checked_flat, flat_windows
from aomg.spark.intake import Source, batch_columns, source_of
from aomg.spark.keys import shard_ids
from aomg.spark.level1 import Level1
from aomg.spark.level2 import Level2, SparkAnswer
from aomg.spark.parcels import PARCELS
from aomg.spark.stream.processor import stream_answers, warm_state
from aomg.spark.summary_store import StoredSummaries
from aomg.spark.time_policy import TimeBy, TimePolicy

SHARDS = 8
MOST_SHARDS = 1024
_WINDOWS = 4  # a batch works through this many window lengths at once
_ONE_EPOCH = 1 << 62


def quantiles(
    events: DataFrame,
    query: Query,
    *,
    value: ColumnOrName,
    time: ColumnOrName,
    by: ColumnsOrNames = None,
    weight: ColumnOrName | None = None,
    shards: int = SHARDS,
    clock: Any = "processing",
    max_clock_skew: Any = "1 hour",
    time_by: TimeBy = "values",
    warm: DataFrame | None = None,
    flat: bool = False,
) -> DataFrame:
    """Compute the quantiles of each key's windows, each with its guaranteed interval: one row for each key and window.

    The rows equal those of an `aomg.Operator` for the events of each key, bit for bit, in a batch and in a stream,
    however the events are partitioned. `aomg.tables.columns` describes the columns.

    events
        A batch or streaming DataFrame; the result is of the same kind. A batch covers all windows up to the sub-window
        of the latest event. A stream (output mode append) emits a window when the watermark, which is the latest time
        minus the query's lateness, passes the window's end: for all keys, in the micro-batch that has this time.
    value, time, by, weight
        Names of columns, or Columns, such as `f.col("rtt_ns") / 1000`. A Column in `by` has the name that `select`
        gives it, so give an expression an alias.
    value
        The column of values: any type of number; decimals of at most 15 digits. Events with a null or non-finite value
        are refused and counted.
    time
        The column of times: timestamps, or for windows counted in events integers that number the events of each key.
        Events without a time are refused and counted.
    by
        The key columns: one, several, or None.
    weight
        The column that says how many events each row counts as, for rows that were sampled or counted before: whole
        numbers from 0 to 2^31 - 1. Rows with any other weight are refused and counted. A row of weight 0 moves time and
        nothing else. None: every row is one event.
    shards
        The number of parts that the keys are divided into, and so of tasks at Level 2. It does not change results. A
        stream's checkpoint requires the same number.
    clock, max_clock_skew
        In a stream, an event further than this in the future does not move the watermark and is counted as future. The
        clock is "processing" (the time at which Spark processes the event), a Column, a fixed time, or None, which
        trusts all times, as a replay needs.
    time_by
        Which events move a stream's watermark: "values", those with a usable value; "events", all that have a time and
        are not in the future. With "events", queries with the same lateness over the same events emit their windows in
        the same micro-batch.
    warm
        Stored summaries to start a new stream with, so that its first windows are full.
    flat
        Whether each part of a struct is a column: `window_start`, `window_end`, `p99`, `p99_low`, `p99_high`,
        `p99_method`, `below_500`, `below_500_low` ... as in `aomg.flat_table`. Suits `toPandas()`.
    """
    flat = checked_flat(flat)
    source = source_of(events, query, value, time, by, weight)
    policy = TimePolicy.of(query, clock, max_clock_skew, time_by)
    refuse_no_clock(events, clock)
    windows = _plan(source, SparkAnswer.of(query, source.keys, source.time_type), shards, policy, warm)
    return flat_windows(windows, query) if flat else windows


def summaries(
    events: DataFrame,
    query: Query,
    *,
    value: ColumnOrName,
    time: ColumnOrName,
    by: ColumnsOrNames = None,
    weight: ColumnOrName | None = None,
    shards: int = SHARDS,
    clock: Any = "processing",
    max_clock_skew: Any = "1 hour",
    time_by: TimeBy = "values",
) -> DataFrame:
    """Summarize each key's sub-windows, a few hundred bytes each: one row for each key and sub-window.

    Store them and append to them; `windows` computes results from them later, without the events. The arguments are
    those of `quantiles`; `aomg.tables.columns` describes the columns.
    """
    source = source_of(events, query, value, time, by, weight)
    policy = TimePolicy.of(query, clock, max_clock_skew, time_by)
    refuse_no_clock(events, clock)
    return _plan(source, SparkAnswer.of(query, source.keys, source.time_type, summaries=True), shards, policy)


def windows(
    summaries: DataFrame,
    query: Query,
    *,
    by: Sequence[str] | str | None = None,
    shards: int = SHARDS,
    flat: bool = False,
) -> DataFrame:
    """Compute results from stored summaries: the rows that `quantiles` computes from the events.

    query
        May differ from the query that wrote the summaries in its size (any multiple of the period), in its quantiles,
        and in having fewer thresholds. Other quantiles keep the guarantee; their intervals may be wider. Summaries of
        more than three digits, of raw values or with few-k lists answer other quantiles and roll-ups at three digits:
        `query.replace(digits=3, few_k=None)`. A query that the summaries cannot answer is refused here. To know, the
        column `query` of one summary is read; of all of them, if the query has more digits, raw values or few-k lists.
    by
        The key columns: all of the summaries' (None), or fewer, which rolls the summaries up.
    shards, flat
        As for `quantiles`.
    """
    flat = checked_flat(flat)
    stored, shards = StoredSummaries.of(summaries, query, by), _checked_shards(shards)
    epoch = _epoch_of(query)
    parcels = stored.parcels(shard_ids(shards), epoch)
    answers = _answers(parcels, shards, SparkAnswer.of(query, stored.keys, stored.time_type), epoch)
    return flat_windows(answers, query) if flat else answers


def _plan(
    source: Source, answer: SparkAnswer, shards: int, policy: TimePolicy, warm: DataFrame | None = None
) -> DataFrame:
    shards, query, streaming = _checked_shards(shards), answer.query, source.events.isStreaming
    settings.check(source.events.sparkSession, streaming=streaming)
    if streaming:
        start = None
        if warm is not None:
            stored = StoredSummaries.of(warm, query, source.by, "warm")
            start = warm_state(_gathered(stored.parcels(shard_ids(shards), _ONE_EPOCH), shards), answer)
        return stream_answers(source, answer, shards, policy, start)
    if warm is not None:
        raise InputError("warm=... is for streams; a batch reads all events, so leave it out")
    epoch = _epoch_of(query)
    level1 = Level1(query, shard_ids(shards), epoch, source.texts, policy.on_workers())
    return _answers(batch_columns(source).mapInArrow(level1, PARCELS), shards, answer, epoch)


def _answers(parcels: DataFrame, shards: int, answer: SparkAnswer, epoch: int) -> DataFrame:
    return _gathered(parcels, shards).mapInArrow(Level2(answer, epoch), answer.schema)


def _gathered(parcels: DataFrame, shards: int) -> DataFrame:
    """Each shard's parcels in one partition, sorted by epoch. Adaptive execution joins small shards."""
    adaptive = settings.value_of(parcels.sparkSession, "spark.sql.adaptive.enabled") == "true"
    gathered = parcels.repartition("shard") if adaptive else parcels.repartition(shards, "shard")
    return gathered.sortWithinPartitions("shard", "epoch")


def _epoch_of(query: Query) -> int:
    """Sub-windows that a batch works through at once. Windows counted in events have no common time: all of them."""
    return _ONE_EPOCH if query.counted else max(_WINDOWS * query.sub_windows, 64)


def _checked_shards(shards: int) -> int:
    if isinstance(shards, bool) or not isinstance(shards, int) or not 1 <= shards <= MOST_SHARDS:
        raise InputError(f"shards={shards!r} must be a whole number from 1 to {MOST_SHARDS}")
    return shards
