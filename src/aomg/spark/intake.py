"""What comes in at the door of Spark: which columns, of which types, and whose clock is believed.

Native expressions only: nothing is counted here, and no event is dropped. What is not finite, has no time or lies too
far in the future goes on, marked, so that it can be counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.errors import InputError
from aomg.query import Query, duration_argument

FUTURE = (1 << 63) - 1  # the time of an event that lies too far beyond the clock
_NUMBERS = (t.ByteType, t.ShortType, t.IntegerType, t.LongType, t.FloatType, t.DoubleType, t.DecimalType)
_WHOLE = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)


@dataclass(frozen=True)
class Source:
    """The events of a query, as checked: their key columns and the type of their time."""

    events: DataFrame
    value: str
    time: str
    keys: tuple[t.StructField, ...]
    time_type: t.DataType

    @property
    def by(self) -> list[str]:
        """The names of the by columns."""
        return [key.name for key in self.keys]

    @property
    def texts(self) -> tuple[bool, ...]:
        """Which by columns are strings: they travel as bytes."""
        return tuple(isinstance(key.dataType, t.StringType) for key in self.keys)


def quoted(name: str) -> Column:
    """The column of exactly this name, dots and backticks included."""
    return f.col("`" + name.replace("`", "``") + "`")


def checked(events: DataFrame, query: Query, value: str, time: str, by: Sequence[str] | str | None) -> Source:
    """Check that the columns are there and of types that can be used."""
    if not isinstance(query, Query):
        raise InputError(f"the second argument must be an aomg.Query, not {type(query).__name__}")
    names = [by] if isinstance(by, str) else list(by or [])
    fields = {field.name: field for field in events.schema.fields}
    for name in [value, time, *names]:
        if name not in fields:
            raise InputError(f"there is no column {name!r}; the events have {', '.join(fields)}")
    if len(set(names)) < len(names):
        raise InputError(f"by={names!r} names a column twice")
    kind = fields[value].dataType
    if not isinstance(kind, _NUMBERS):
        raise InputError(
            f"column {value!r} is {kind.simpleString()}; values must be numbers: cast it first, "
            f"such as events.withColumn({value!r}, events[{value!r}].cast('double'))"
        )
    when = fields[time].dataType
    if query.counted and not isinstance(when, _WHOLE):
        raise InputError(
            f"the query's windows are counted in elements, so time={time!r} must be a column of integers that numbers "
            f"the elements of each key, not {when.simpleString()}; for windows in time give durations: Query('1 hour', "
            "'1 minute')"
        )
    if not query.counted and not isinstance(when, (t.TimestampType, t.TimestampNTZType)):
        raise InputError(
            f"column {time!r} is {when.simpleString()}; the query's windows are in time, so it must be a timestamp: "
            f"f.timestamp_micros({time!r}), f.timestamp_seconds({time!r}) or f.to_timestamp({time!r}) make one"
        )
    for name in names:
        _refuse_ungroupable(name, fields[name].dataType)
    span = t.LongType() if query.counted else when
    return Source(events, value, time, tuple(fields[name] for name in names), span)


def _refuse_ungroupable(name: str, kind: t.DataType) -> None:
    text = kind.simpleString()
    if "map<" in text or "variant" in text:
        raise InputError(f"by column {name!r} is {text}, which cannot be grouped by; take a part of it, or its text")
    if "interval year" in text or "interval month" in text:
        raise InputError(
            f"by column {name!r} is {text}, which Spark cannot hand to Python; cast it to a string or to months first"
        )
    if "collate" in text.lower():
        raise InputError(
            f"by column {name!r} is {text}; keys are compared byte by byte: "
            f"use f.collate({name!r}, 'UTF8_BINARY') first, or f.lower for keys without case"
        )


def _key(field: t.StructField) -> Column:
    """A by column as a groupBy sees it: one zero. Strings as their bytes."""
    column = quoted(field.name)
    if isinstance(field.dataType, t.StringType):
        return column.cast("binary")
    if isinstance(field.dataType, (t.FloatType, t.DoubleType)):
        return (column + f.lit(0.0).cast(field.dataType)).cast(field.dataType)
    return column


def _value(source: Source) -> Column:
    column = quoted(source.value)
    kind = source.events.schema[source.value].dataType
    return column.cast("double") if isinstance(kind, t.DecimalType) else column


def microseconds_of(column: Column, kind: t.DataType) -> Column:
    """A time as microseconds since 1970; times without a zone are taken as they read. Integers stay as they are."""
    if isinstance(kind, t.TimestampType):
        return f.unix_micros(column)
    if isinstance(kind, t.TimestampNTZType):
        # part by part: functions of whole timestamps go by way of the session's zone, and lose an hour in spring
        seconds = f.unix_date(column.cast("date")) * f.lit(86_400).cast("long")
        seconds = seconds + f.hour(column) * f.lit(3_600) + f.minute(column) * f.lit(60)
        fraction = f.date_part(f.lit("SECOND"), column) * f.lit(1_000_000)
        return seconds * f.lit(1_000_000).cast("long") + fraction.cast("long")
    return column.cast("long")


def batch_columns(source: Source) -> DataFrame:
    """Select the columns by0, by1..., time and value."""
    keys = [_key(key).alias(f"by{i}") for i, key in enumerate(source.keys)]
    return source.events.select(*keys, quoted(source.time).alias("time"), _value(source).alias("value"))


def stream_columns(source: Source, query: Query, clock: Any, max_clock_skew: Any) -> DataFrame:
    """Select the same columns of a stream, in microseconds; events too far beyond the clock have the time FUTURE."""
    if query.counted:
        return batch_columns(source)
    keys = [_key(key).alias(f"by{i}") for i, key in enumerate(source.keys)]
    micros = microseconds_of(quoted(source.time), source.time_type)
    future = f.lit(False)
    if clock is not None:
        limit = f.unix_micros(_clock(clock)) + f.lit(duration_argument(max_clock_skew, "max_clock_skew"))
        future = f.coalesce(micros > limit, f.lit(False))
    time = f.when(future, f.lit(FUTURE)).otherwise(micros)
    return source.events.select(*keys, time.alias("time"), _value(source).alias("value"))


def _clock(clock: Any) -> Column:
    """The clock as a column: Spark's own, a column of the events, or a fixed moment."""
    if isinstance(clock, Column):
        return clock
    if isinstance(clock, str) and clock == "processing":
        return f.current_timestamp()
    return f.lit(clock).cast("timestamp")
