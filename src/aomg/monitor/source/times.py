"""Reads the time of an event, from a timestamp, a number or a text.

Times without a zone are in the source's time zone. A value that is not a time becomes null.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.monitor.config.model import SourceConfig
from aomg.monitor.errors import ConfigError
from aomg.spark.arguments import quoted

MICROSECONDS = {"epoch_s": 1_000_000, "epoch_ms": 1_000, "epoch_us": 1}
"""How many microseconds a number is, by `time_format`."""

NANOSECONDS = "epoch_ns"

_WHOLE = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)
_HAS_ZONE = r":\d{1,2}(\.\d*)?\s*[A-Za-z+-]"  # something follows the time of day; the end of a date is not an offset
_ZONE_LETTERS = frozenset("VzOXxZ")


def time_of_event(raw: DataFrame, source: SourceConfig) -> Column:
    """The event time. Raises ConfigError for numbers without an epoch `time_format`."""
    value, kind = quoted(source.time), raw.schema[source.time].dataType
    zone = f.lit(source.time_zone)
    if isinstance(kind, t.TimestampType):
        return value
    if isinstance(kind, t.TimestampNTZType):
        return f.to_utc_timestamp(value.cast("timestamp"), zone)  # the session's zone is UTC
    if source.time_format in MICROSECONDS:
        return f.timestamp_micros(_microseconds(value, kind, MICROSECONDS[source.time_format]))
    if source.time_format == NANOSECONDS:
        return f.timestamp_micros(_of_nanoseconds(value, kind))
    if not isinstance(kind, t.StringType):
        raise ConfigError(
            f"column {source.time!r} has the type {kind.simpleString()}; "
            "set time_format: epoch_s, epoch_ms, epoch_us or epoch_ns",
            source.line,
        )
    if source.time_format == "iso":
        read = f.try_to_timestamp(value)
        return f.when(value.rlike(_HAS_ZONE), read).otherwise(f.to_utc_timestamp(read, zone))
    read = f.try_to_timestamp(value, f.lit(source.time_format))
    local = without_zone(source.time_format)
    if local is None:
        return read
    shifted = f.to_utc_timestamp(f.try_to_timestamp(value, f.lit(local)), zone)
    return shifted if local == source.time_format else f.coalesce(shifted, read)


def _microseconds(value: Column, kind: t.DataType, factor: int) -> Column:
    """Microseconds of a number of units, rounded; null if it is out of range."""
    if isinstance(kind, (t.FloatType, t.DoubleType)):
        return f.rint(value.cast("double") * f.lit(float(factor))).try_cast("long")
    whole = f.try_multiply(value.try_cast("long"), f.lit(factor).cast("long"))
    if isinstance(kind, _WHOLE):
        return whole
    # decimals: a double cannot hold every microsecond of a text
    real = value.try_cast("decimal(29, 9)") * f.lit(factor).cast("decimal(7, 0)")
    rounded = f.round(real).try_cast("long")
    return f.coalesce(whole, rounded) if isinstance(kind, t.StringType) else rounded


def _of_nanoseconds(value: Column, kind: t.DataType) -> Column:
    """Microseconds of nanoseconds, rounded down as Spark does with nine digits; null if out of range."""
    if isinstance(kind, (t.FloatType, t.DoubleType)):
        return f.rint(value.cast("double") / f.lit(1000.0)).try_cast("long")  # floor makes 0 of NaN
    thousand = f.lit(1000).cast("decimal(4, 0)")
    return f.floor(value.try_cast("decimal(29, 9)") / thousand).try_cast("long")


def without_zone(pattern: str) -> str | None:
    """The pattern for times without a zone; None if all have one.

    >>> without_zone("yyyy-MM-dd HH:mm:ss"), without_zone("yyyy-MM-dd'Z'HH:mmXXX")
    ('yyyy-MM-dd HH:mm:ss', None)
    >>> without_zone("HH:mm[:ss[XXX]]"), without_zone("HH:mm[ss XXX]['Z']")
    ('HH:mm[:ss]', "HH:mm['Z']")
    """
    parts, zones = [""], [False]  # of each open section: optional ones are in brackets
    for number, piece in enumerate(pattern.split("'")):
        if number % 2:
            parts[-1] += f"'{piece}'"
            continue
        for letter in piece:
            if letter == "[":
                parts.append("")
                zones.append(False)
            elif letter == "]" and len(parts) > 1:
                section, has_zone = parts.pop(), zones.pop()
                parts[-1] += "" if has_zone else f"[{section}]"
            else:
                parts[-1] += letter
                zones[-1] |= letter in _ZONE_LETTERS
    return None if any(zones) else "[".join(parts)
