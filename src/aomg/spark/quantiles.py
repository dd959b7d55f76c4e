"""The public functions: events in, the quantiles of every key's windows out; batch and Structured Streaming alike.

`quantiles` is the composition of `summaries` (Level 1) and `windows` (Level 2), in one plan.
"""

from collections.abc import Sequence
from typing import Any, get_args

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.errors import InputError
from aomg.query import Query
from aomg.spark import settings
from aomg.spark.columns import SUMMARY, arrow_time, names_of, refuse_clash, result_schema, summary_schema
from aomg.spark.intake import Source, batch_columns, checked, microseconds_of, quoted
from aomg.spark.keys import shard_ids
from aomg.spark.level1 import Level1, TimeBy
from aomg.spark.level2 import Answer, Level2
from aomg.spark.parcels import PARCELS
from aomg.spark.stored import Repack
from aomg.spark.stream.processor import stream_answers, warm_state

SHARDS = 8
MOST_SHARDS = 1024
_EPOCHS = 4  # windows' lengths that a batch works on at once
_ONE_EPOCH = 1 << 62


def quantiles(
    events: DataFrame,
    query: Query,
    *,
    value: str,
    time: str,
    by: Sequence[str] | str | None = None,
    shards: int = SHARDS,
    clock: Any = "processing",
    max_clock_skew: Any = "1 hour",
    time_by: TimeBy = "values",
    warm: DataFrame | None = None,
) -> DataFrame:
    """Quantiles of each key's windows, each with its guaranteed interval: one row for each key and window.

    The rows are those that an `aomg.Operator` gives for the events of each key, bit for bit, in a batch and in a
    stream, however the events are split. Their columns are described in `aomg.spark.columns`.

    events
        A batch or streaming DataFrame; the result is of the same kind. A batch answers up to the sub-window of the
        latest event. A stream answers (output mode append) when the watermark, the latest time less the query's
        lateness, passes a window's end: for all keys, in the micro-batch that brought that time.
    value, time, by
        Columns: numbers; timestamps, or for windows counted in elements integers that number the elements of each key;
        and any number of key columns. Events without a finite value or a time are refused and counted.
    shards
        Into how many parts the keys are divided: at most so many tasks work at Level 2. Does not change results, but
        belongs to a stream's checkpoint.
    clock, max_clock_skew
        In a stream, events further than this beyond the clock are counted as future and do not move the watermark. The
        clock is that of the processing, a Column, a moment, or None (a replay that trusts its times).
    time_by
        Which events move a stream's watermark: those whose values are used ("values"), or all whose times are believed
        ("events"): then queries with the same lateness over the same events answer in the same micro-batch.
    warm
        Stored summaries with which a new stream starts, so that its first windows are full.
    """
    source = checked(events, query, value, time, by)
    names = names_of(query)
    refuse_clash(names, source.by)
    answer = Answer(query, tuple(source.by), arrow_time(source.time_type))
    schema = result_schema(query, source.keys, source.time_type)
    return _planned(source, answer, schema, shards, clock, max_clock_skew, time_by, warm)


def summaries(
    events: DataFrame,
    query: Query,
    *,
    value: str,
    time: str,
    by: Sequence[str] | str | None = None,
    shards: int = SHARDS,
    clock: Any = "processing",
    max_clock_skew: Any = "1 hour",
    time_by: TimeBy = "values",
) -> DataFrame:
    """What remains of each key's sub-windows, a few hundred bytes each: one row for each key and sub-window.

    To be stored and appended to; `windows` answers from them later, without the events. The arguments are those of
    `quantiles`, the columns are described in `aomg.spark.columns`.
    """
    source = checked(events, query, value, time, by)
    refuse_clash(SUMMARY, source.by)
    answer = Answer(query, tuple(source.by), arrow_time(source.time_type), summaries=True)
    schema = summary_schema(source.keys, source.time_type)
    return _planned(source, answer, schema, shards, clock, max_clock_skew, time_by, None)


def windows(
    summaries: DataFrame, query: Query, *, by: Sequence[str] | str | None = None, shards: int = SHARDS
) -> DataFrame:
    """Answer from stored summaries: the rows that `quantiles` gives for the events.

    query
        May differ from the one that wrote the summaries in its size (any multiple of the period), its quantiles, and
        in having fewer thresholds. Quantiles that the summaries were not written for keep the guarantee; their
        intervals may be wider.
    by
        All key columns of the summaries, or fewer: a roll-up.
    """
    stored, shards = _stored(summaries, query, by, shards)
    keys, time = stored.keys, stored.time_type
    refuse_clash(names_of(query), [key.name for key in keys])
    answer = Answer(query, tuple(key.name for key in keys), arrow_time(time))
    epoch = _epoch_of(query)
    parcels = stored.columns.mapInArrow(Repack(query, shard_ids(shards), epoch, len(keys), stored.rolled_up), PARCELS)
    return _gathered(parcels, shards).mapInArrow(Level2(answer, epoch), result_schema(query, keys, time))


def _planned(
    source: Source,
    answer: Answer,
    schema: t.StructType,
    shards: int,
    clock: Any,
    max_clock_skew: Any,
    time_by: TimeBy,
    warm: DataFrame | None,
) -> DataFrame:
    if time_by not in get_args(TimeBy):
        raise InputError(f"time_by={time_by!r} must be one of {', '.join(map(repr, get_args(TimeBy)))}")
    shards, query, streaming = _checked_shards(shards), answer.query, source.events.isStreaming
    settings.check(source.events.sparkSession, streaming=streaming)
    if warm is not None and not streaming:
        raise InputError("warm=... is for streams; a batch reads the events themselves")
    if streaming:
        start = None
        if warm is not None:
            stored, _ = _stored(warm, query, list(source.by), shards)
            repack = Repack(query, shard_ids(shards), _ONE_EPOCH, len(stored.keys), stored.rolled_up)
            start = warm_state(_gathered(stored.columns.mapInArrow(repack, PARCELS), shards), answer)
        return stream_answers(source, answer, schema, shards, clock, max_clock_skew, start, time_by)
    epoch = _epoch_of(query)
    parcels = batch_columns(source).mapInArrow(Level1(query, shard_ids(shards), epoch, source.texts), PARCELS)
    return _gathered(parcels, shards).mapInArrow(Level2(answer, epoch), schema)


def _gathered(parcels: DataFrame, shards: int) -> DataFrame:
    """Each shard's parcels in one partition, in the order of time. Adaptive execution puts small shards together."""
    adaptive = settings.value_of(parcels.sparkSession, "spark.sql.adaptive.enabled") == "true"
    gathered = parcels.repartition("shard") if adaptive else parcels.repartition(shards, "shard")
    return gathered.sortWithinPartitions("shard", "epoch")


def _epoch_of(query: Query) -> int:
    """Sub-windows that a batch works on at once. Windows counted in elements have no common time: all of them."""
    return _ONE_EPOCH if query.counted else max(_EPOCHS * query.sub_windows, 64)


def _checked_shards(shards: int) -> int:
    if isinstance(shards, bool) or not isinstance(shards, int) or not 1 <= shards <= MOST_SHARDS:
        raise InputError(f"shards={shards!r} must be a whole number from 1 to {MOST_SHARDS}")
    return shards


class _Stored:
    """Summaries as columns by0..., rest0..., number, summary, query."""

    def __init__(self, summaries: DataFrame, by: Sequence[str], query: Query) -> None:
        fields = {field.name: field for field in summaries.schema.fields}
        everything = [name for name in fields if name not in SUMMARY]
        rest = [name for name in everything if name not in by]
        self.keys = tuple(fields[name] for name in by)
        self.rolled_up = len(rest)
        self.time_type = fields["sub_window"].dataType["start"].dataType  # type: ignore[index]
        start = microseconds_of(f.col("sub_window.start"), self.time_type)
        period = f.lit(query.period)
        self.columns = summaries.select(
            *(quoted(name).alias(f"by{i}") for i, name in enumerate(by)),
            *(quoted(name).alias(f"rest{i}") for i, name in enumerate(rest)),
            f.call_function("div", start, period).alias("number"),  # exact: a sub-window starts at a multiple
            f.col("summary"),
            f.col("query"),
        )


def _stored(summaries: DataFrame, query: Query, by: Sequence[str] | str | None, shards: int) -> tuple[_Stored, int]:
    """Check that these are summaries, and that their key columns are there."""
    if not isinstance(query, Query):
        raise InputError(f"the second argument must be an aomg.Query, not {type(query).__name__}")
    if summaries.isStreaming:
        raise InputError("windows(...) reads stored summaries; for a stream of events use quantiles(...)")
    missing = [name for name in SUMMARY if name not in summaries.columns]
    if missing:
        raise InputError(f"these are no summaries, column {missing[0]!r} is missing; aomg.spark.summaries makes them")
    keys = [name for name in summaries.columns if name not in SUMMARY]
    names = keys if by is None else [by] if isinstance(by, str) else list(by)
    unknown = [name for name in names if name not in keys]
    if unknown:
        raise InputError(f"the summaries have no key column {unknown[0]!r}; they have {', '.join(keys) or 'none'}")
    return _Stored(summaries, names, query), _checked_shards(shards)
