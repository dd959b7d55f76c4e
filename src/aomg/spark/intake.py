"""Checks the columns of the events and selects them, in native Spark expressions.

Nothing is counted here, and no event is dropped: events without a finite value, without a time or too far in the future
pass, so that Level 1 can count them.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.core.weights import LARGEST_WEIGHT, refuse_weights
from aomg.errors import InputError
from aomg.query import Query
from aomg.spark.arguments import NamedColumns, quoted, refuse_others
from aomg.spark.parquet_files import ParquetFiles
from aomg.suggestions import did_you_mean
from aomg.tables.events import names_in, refuse_no_name
from aomg.value_types import Casts, check_decimal_type

_NUMBERS = (t.ByteType, t.ShortType, t.IntegerType, t.LongType, t.FloatType, t.DoubleType, t.DecimalType)
_WHOLE = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)
_CAST = "events.withColumn({name!r}, events[{name!r}].cast('KIND'))"
_CASTS = Casts(*(_CAST.replace("KIND", kind) for kind in ("decimal(15, {places})", "bigint", "double")))


@dataclass(frozen=True)
class Source:
    """The events of a query, checked: their columns, the key columns and the type of their times."""

    events: DataFrame | ParquetFiles
    query: Query
    value: str
    time: str
    keys: tuple[t.StructField, ...]
    time_type: t.DataType
    weight: str | None = None

    @property
    def by(self) -> list[str]:
        """The names of the by columns."""
        return [key.name for key in self.keys]


def source_of(
    events: DataFrame | ParquetFiles, query: Query, value: Any, time: Any, by: Any, weight: Any = None
) -> Source:
    """Check that the columns exist and that their types can be used. Columns are computed first, by Spark."""
    refuse_others(events, query, kinds=(DataFrame, ParquetFiles))
    try:
        return _checked(events, query, value, time, by, weight)
    except InputError as error:
        if isinstance(events, ParquetFiles) and "events." in str(error):
            raise InputError(f"{error}. To cast columns of files, begin with events = events.dataframe()") from None
        raise


def _checked(events: DataFrame | ParquetFiles, query: Query, value: Any, time: Any, by: Any, weight: Any) -> Source:
    named = NamedColumns.of(events, value, time, by, weight)
    events, value, time, weight = named.events, named.value, named.time, named.weight
    names = names_in(named.by)
    refuse_no_name("value", value)
    refuse_no_name("time", time)
    if weight is not None:
        refuse_no_name("weight", weight)
        refuse_weights(query)
    fields = {field.name: field for field in events.schema.fields}
    columns = Counter(events.columns)
    for name in [value, time, *names, *([] if weight is None else [weight])]:
        if name not in fields:
            raise InputError(
                f"there is no column {name!r}; the events have {', '.join(fields)}{did_you_mean(name, fields)}"
                + (f"; for a field of a struct write f.col({name!r})" if name.partition(".")[0] in fields else "")
            )
        if columns[name] > 1:
            raise InputError(f"the events have {columns[name]} columns of the name {name!r}; rename or drop the others")
    value_type, time_type = fields[value].dataType, fields[time].dataType
    if not isinstance(value_type, _NUMBERS):
        raise InputError(
            f"column {value!r} is {value_type.simpleString()}; values must be numbers: cast it first, "
            f"such as events.withColumn({value!r}, events[{value!r}].cast('double'))"
        )
    if isinstance(value_type, t.DecimalType):
        subject = f"column {value!r} is {value_type.simpleString()}"
        check_decimal_type(subject, value, value_type.precision, value_type.scale, _CASTS)
    if query.counted and not isinstance(time_type, _WHOLE):
        raise InputError(
            f"the query's windows are counted in events, so time={time!r} must be a column of integers that numbers "
            f"the events of each key, not {time_type.simpleString()}; for windows in time use durations: "
            "Query('1 hour', '1 minute')"
        )
    if not query.counted and not isinstance(time_type, (t.TimestampType, t.TimestampNTZType)):
        raise InputError(
            f"column {time!r} is {time_type.simpleString()}; the query's windows are in time, so it must be a "
            f"timestamp: convert it with f.timestamp_micros({time!r}), f.timestamp_seconds({time!r}) or "
            f"f.to_timestamp({time!r})"
        )
    for name in names:
        _refuse_ungroupable(name, fields[name].dataType)
    span = t.LongType() if query.counted else time_type
    if weight is not None and not isinstance(fields[weight].dataType, _NUMBERS):
        raise InputError(
            f"column {weight!r} is {fields[weight].dataType.simpleString()}; weights must be whole numbers: cast it "
            f"first, such as events.withColumn({weight!r}, events[{weight!r}].cast('int'))"
        )
    return Source(events, query, value, time, tuple(fields[name] for name in names), span, weight)


def _refuse_ungroupable(name: str, kind: t.DataType) -> None:
    text = kind.simpleString()
    if "map<" in text or "variant" in text:
        raise InputError(f"by column {name!r} is {text}, which Spark cannot group by; use one field of it, or its text")
    if "interval year" in text or "interval month" in text:
        raise InputError(
            f"by column {name!r} is {text}, which Spark cannot hand to Python; cast it to a string or to months first"
        )
    if "collate" in text.lower():
        raise InputError(
            f"by column {name!r} is {text}, but keys are compared byte by byte: "
            f"use f.collate({name!r}, 'UTF8_BINARY') first, or f.lower to ignore case"
        )


def is_weight(column: Column) -> Column:
    """Whether a column can be the weight of an event: a whole number from 0 to 2^31 - 1.

    Compares with doubles: as a float, the largest weight would be 2^31.
    """
    return f.coalesce(column.between(0.0, float(LARGEST_WEIGHT)) & (column % 1 == 0), f.lit(False))


def key_column(field: t.StructField) -> Column:
    """A by column as a groupBy compares it: -0.0 is 0.0. Strings as their bytes."""
    column = quoted(field.name)
    if isinstance(field.dataType, t.StringType):
        return column.cast("binary")
    if isinstance(field.dataType, (t.FloatType, t.DoubleType)):
        return (column + f.lit(0.0).cast(field.dataType)).cast(field.dataType)
    return column


def value_column(events: DataFrame, name: str) -> Column:
    """A column of values; decimals as doubles."""
    column, kind = quoted(name), events.schema[name].dataType
    return column.cast("double") if isinstance(kind, t.DecimalType) else column


def microseconds_of(column: Column, kind: t.DataType) -> Column:
    """A time as microseconds since 1970; times without a zone as if they were in UTC. Integers become longs."""
    if isinstance(kind, t.TimestampType):
        return f.unix_micros(column)
    if isinstance(kind, t.TimestampNTZType):
        # part by part: functions of whole timestamps use the session's zone, and lose an hour in spring
        seconds = f.unix_date(column.cast("date")) * f.lit(86_400).cast("long")
        seconds = seconds + f.hour(column) * f.lit(3_600) + f.minute(column) * f.lit(60)
        fraction = f.date_part(f.lit("SECOND"), column) * f.lit(1_000_000)
        return seconds * f.lit(1_000_000).cast("long") + fraction.cast("long")
    return column.cast("long")
