"""The public functions: events in, quantiles of every key's windows out, in a batch and in Structured Streaming.

`quantiles` does what `summaries` (Level 1) and `windows` (Level 2) do, in one plan.
"""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from aomg.query import Query
from aomg.spark.arguments import ColumnOrName, ColumnsOrNames, refuse_no_clock
from aomg.spark.flat import checked_flat, flat_windows
from aomg.spark.intake import source_of
from aomg.spark.keys import shard_ids
from aomg.spark.level2 import SparkAnswer
from aomg.spark.parquet_files import ParquetFiles
from aomg.spark.scan import SHARDS, PlannedQuery, answered, checked_shards, epoch_of, scanned
from aomg.spark.summary_store import StoredSummaries
from aomg.spark.time_policy import TimeBy, TimePolicy


def quantiles(
    events: DataFrame | ParquetFiles,
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
        A batch or streaming DataFrame, or ParquetFiles; the result is a DataFrame of the same kind. A batch covers all
        windows up to the sub-window of the latest event. A stream (output mode append) emits a window when the
        watermark, which is the latest time minus the query's lateness, passes the window's end: for all keys, in the
        micro-batch that has this time.
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
    refuse_no_clock(source.events, clock)
    answer = SparkAnswer.of(query, source.keys, source.time_type)
    windows = scanned([PlannedQuery(source, answer, policy)], answer.schema, shards, warm=warm)
    return flat_windows(windows, query) if flat else windows


def summaries(
    events: DataFrame | ParquetFiles,
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
    refuse_no_clock(source.events, clock)
    answer = SparkAnswer.of(query, source.keys, source.time_type, summaries=True)
    return scanned([PlannedQuery(source, answer, policy)], answer.schema, shards)


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
        more than three digits, of raw values or with few-k lists answer all but their own query at three digits:
        `query.replace(digits=3, few_k=None)`. A query that the summaries cannot answer is refused here. To know, the
        column `query` of one summary is read; of all of them, if the query has more digits, raw values or few-k lists.
    by
        The key columns: all of the summaries' (None), or fewer, which rolls the summaries up.
    shards, flat
        As for `quantiles`.
    """
    flat = checked_flat(flat)
    stored, shards = StoredSummaries.of(summaries, query, by), checked_shards(shards)
    epoch = epoch_of(query)
    answer = SparkAnswer.of(query, stored.keys, stored.time_type)
    answers = answered(stored.parcels(shard_ids(shards), epoch), [answer], [epoch], answer.schema, shards)
    return flat_windows(answers, query) if flat else answers
