"""Reads the times of events in Arrow columns: timestamps with or without a zone, or numbers of some unit.

The microseconds are those that Spark computes (`aomg.monitor.source.times`), also where clocks are put forward or back.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Integers = npt.NDArray[np.int64]

_MINUTE = 60_000_000
_CYCLE = 146_097 * 24 * 60 * _MINUTE  # 400 years, after which the calendar repeats
_LISTED = 2_114_380_800_000_000  # 2037-01-01: Arrow knows the changes of clocks that are listed, and no rules
_RULES = 4_102_444_800_000_000  # 2100-01-01: from here on, all changes follow rules
_LARGEST = (1 << 63) - 1
_TENTHS = 9  # digits after the point of a decimal that is a time
_NARROW = 40  # digits that leave room for those of a part
_WIDE = 48  # digits that hold any decimal with so many


@dataclass(frozen=True)
class TimeReading:
    """What the times of a column mean.

    unit
        Of numbers: how many microseconds one is.
    zone
        Of timestamps without a zone: the zone of their clock.
    parts
        Of numbers: how many are one `unit`; 1,000 for nanoseconds.
    """

    unit: int = 1
    zone: str = "UTC"
    parts: int = 1

    def microseconds(self, array: pa.Array) -> pa.Array:
        """Microseconds since 1970, as integers; null where that is no time."""
        kind = array.type
        if pa.types.is_timestamp(kind):
            micros = array.view(pa.int64())
            return micros if kind.tz is not None or self.zone == "UTC" else _of_clock(micros, self.zone)
        if pa.types.is_floating(kind):
            return _of_reals(array, self.unit, self.parts)
        if pa.types.is_decimal(kind):
            return _of_decimals(array, self.unit, self.parts)
        return _of_integers(array.cast(pa.int64()), self.unit, self.parts)


def _of_integers(array: pa.Array, unit: int, parts: int) -> pa.Array:
    """Integers; parts of a microsecond are rounded down."""
    numbers = _filled(array)
    if parts > 1:
        numbers = numbers // parts
    elif unit == 1:
        return array
    fits = (numbers >= -((1 << 63) // unit)) & (numbers <= _LARGEST // unit)
    return _where(fits, np.where(fits, numbers, 0) * unit, array)


def _of_reals(array: pa.Array, unit: int, parts: int) -> pa.Array:
    """Doubles, rounded to whole microseconds; 2^63 becomes the largest integer, as in Java."""
    with np.errstate(over="ignore", invalid="ignore"):
        micros = np.rint(_filled(array).astype(np.float64) * float(unit) / parts)
    fits = np.abs(micros) <= 2.0**63
    largest = micros == 2.0**63
    whole = np.where(fits & ~largest, micros, 0.0).astype(np.int64)
    return _where(fits, np.where(largest, _LARGEST, whole), array)


def _of_decimals(array: pa.Array, unit: int, parts: int) -> pa.Array:
    """Decimals: first rounded to nine digits after the point, then to whole microseconds, half away from zero.

    Parts of a microsecond are rounded down.
    """
    wide = pa.decimal256(_WIDE, max(array.type.scale, _TENTHS))
    real = pc.round(array.cast(pa.decimal256(_WIDE, array.type.scale)).cast(wide), _TENTHS, "half_towards_infinity")
    real = real.cast(pa.decimal256(_WIDE, _TENTHS))
    real = _limited(real, Decimal(10) ** 20 - Decimal(10) ** -_TENTHS)
    if parts > 1:
        part = pa.scalar(Decimal(1) / parts, pa.decimal256(4, 3))
        micros = pc.round(pc.multiply(real.cast(pa.decimal256(_NARROW, _TENTHS)), part), 0, "down")
    else:
        micros = pc.round(pc.multiply(real, pa.scalar(unit, pa.decimal256(7, 0))), 0, "half_towards_infinity")
    fits = pc.and_(
        pc.less_equal(micros, pa.scalar(Decimal(_LARGEST), micros.type)),
        pc.greater_equal(micros, pa.scalar(Decimal(-_LARGEST - 1), micros.type)),
    )
    micros = pc.if_else(fits, micros, pa.scalar(None, micros.type))
    return micros.cast(pa.decimal256(_WIDE, 0)).cast(pa.int64())


def _limited(array: pa.Array, most: Decimal) -> pa.Array:
    limit = pa.scalar(most, array.type)
    return pc.if_else(pc.less_equal(pc.abs(array), limit), array, pa.scalar(None, array.type))


def _filled(array: pa.Array) -> npt.NDArray[Any]:
    return np.asarray(array.fill_null(0) if array.null_count else array)


def _where(fits: npt.NDArray[np.bool_], numbers: Integers, array: pa.Array) -> pa.Array:
    """The numbers that fit; null for the others, and where the array is null."""
    missing = ~fits
    if array.null_count:
        missing |= np.asarray(array.is_null())
    return pa.array(numbers, mask=missing if missing.any() else None)


def _of_clock(clocks: pa.Array, zone: str) -> pa.Array:
    """The instants at which the clocks of a zone show these microseconds.

    An hour that is there twice is the first one. A time that clocks skip is as long after the change as it is after the
    last time before.
    """
    shown: Integers = np.asarray(clocks.fill_null(0) if clocks.null_count else clocks)
    listed = shown < _LISTED
    if listed.all():
        micros = _listed(shown, zone)
    else:
        micros = np.empty_like(shown)
        micros[listed] = _listed(shown[listed], zone)
        micros[~listed] = _by_rules(shown[~listed], zone)
    return _where(np.ones(micros.size, bool), micros, clocks)


def _listed(shown: Integers, zone: str) -> Integers:
    """Instants whose changes of clocks are listed in the database of time zones."""
    clocks = pa.array(shown).view(pa.timestamp("us"))
    instants = pc.assume_timezone(clocks, zone, ambiguous="earliest", nonexistent="latest")
    micros: Integers = np.array(instants.view(pa.int64()))
    skipped = np.flatnonzero(_clocks(micros, zone) != shown)
    if skipped.size:
        change = micros[skipped]
        micros[skipped] = change + shown[skipped] - (_clocks(change - 1, zone) + 1)
    return micros


def _clocks(micros: Integers, zone: str) -> Integers:
    """What clocks show at instants."""
    clocks: Integers = np.asarray(pc.local_timestamp(pa.array(micros).view(pa.timestamp("us", zone))).view(pa.int64()))
    return clocks


def _by_rules(shown: Integers, zone: str) -> Integers:
    """Instants of the far future: one look-up for each minute, in the first 400 years, whose rules go on for ever."""
    known = ZoneInfo(zone)
    like = np.where(shown < _RULES, shown, _RULES + (shown - _RULES) % _CYCLE)
    minutes, places = np.unique(like // _MINUTE, return_inverse=True)
    clocks = (datetime(1970, 1, 1, tzinfo=known) + timedelta(minutes=minute) for minute in minutes.tolist())
    offsets = [(clock.utcoffset() or timedelta()) // timedelta(microseconds=1) for clock in clocks]
    return shown - np.array(offsets, np.int64)[places]
