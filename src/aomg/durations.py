"""Reads and prints durations: 500ms, 90s, 5m, 1h30m, 10 seconds, 1 day. Whole microseconds inside, and exact.

Queries in Python, the configuration in YAML and the command line share this grammar. A duration is one or more numbers,
each with a unit, the largest unit first; spaces do not matter. Units are in small or capital letters, but a single M is
refused: elsewhere it means a million, or months.
"""

import math
import re
from datetime import timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from aomg.errors import DurationError

MICROSECONDS = {
    "us": 1,
    "µs": 1,  # the micro sign
    "μs": 1,  # the Greek letter
    "microsecond": 1,
    "ms": 1_000,
    "millisecond": 1_000,
    "s": 1_000_000,
    "sec": 1_000_000,
    "second": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "minute": 60_000_000,
    "h": 3_600_000_000,
    "hour": 3_600_000_000,
    "d": 86_400_000_000,
    "day": 86_400_000_000,
    "w": 604_800_000_000,
    "week": 604_800_000_000,
}
"""The length of every unit. Each may end in s: 2 hours, 5 mins."""

UNITS = {unit: MICROSECONDS[unit] for unit in ("us", "ms", "s")}
"""The units that a query's values may have, in microseconds."""

CENTURY = 100 * 366 * MICROSECONDS["day"]
LONGEST = 1 << 61
"""Microseconds: a time and a duration add up to a 64-bit integer."""

_PRINTED = ("d", "h", "m", "s")
_NUMPY_UNITS = {unit: Fraction(MICROSECONDS[unit.lower()]) for unit in ("W", "D", "h", "m", "s", "ms", "us")}
_NUMPY_UNITS |= {unit: Fraction(1, 1000**power) for power, unit in enumerate(("ns", "ps", "fs", "as"), 1)}
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([^\W\d_]+)\s*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_LONGEST_TEXT = 200
_EXAMPLES = "write a number and a unit, such as 90s, 5m, 1h30m or 10 seconds"


def microseconds(given: Any, *, limited: bool = False) -> int:
    """Return the whole microseconds of a text, a timedelta or a timedelta64. A bare number is refused.

    Raises DurationError, which quotes what was given and says what to write instead; if `limited`, also
    for more than a hundred years: no configuration and no command line means that.

    >>> microseconds("90s"), microseconds("1h30m"), microseconds("10 seconds"), microseconds("1.5 ms")
    (90000000, 5400000000, 10000000, 1500)
    """
    if isinstance(given, str):
        length = _of_text(given)
    elif isinstance(given, timedelta):
        length = given // timedelta(microseconds=1)
    elif isinstance(given, np.timedelta64) and not np.isnat(given):
        length = _of_timedelta64(given)
    elif _is_number(given):
        raise _without_unit(str(given), str(given))
    else:
        raise DurationError(f"{given!r} is not a duration; {_EXAMPLES}, or give a timedelta")
    if abs(length) > LONGEST:
        raise DurationError(f"{_shown(given)} is longer than 70,000 years; write a shorter duration")
    if limited and length > CENTURY:
        raise DurationError(f"{_shown(given)} is longer than a hundred years; write a shorter duration")
    return length


def duration_text(length: int, *, rounded: bool = False) -> str:
    """Return a duration as people write it; `microseconds` reads it back. Weeks only where nothing else is left.

    rounded
        For sentences: the two largest units, rounded down, with spaces.

    >>> duration_text(5_400_000_000), duration_text(0), duration_text(1_500)
    ('1h30m', '0s', '1500us')
    >>> duration_text(14 * MICROSECONDS["day"]), duration_text(30 * MICROSECONDS["day"])
    ('2w', '30d')
    >>> [duration_text(length, rounded=True) for length in (400_000, 45_000_000, 195_000_000, 5_400_000_000)]
    ['0.4 s', '45 s', '3 min 15 s', '1 h 30 min']
    """
    if rounded:
        return _rounded_text(length)
    if length < 0:
        return f"-{duration_text(-length)}"
    if length and length % MICROSECONDS["week"] == 0:
        return f"{length // MICROSECONDS['week']}w"
    text, rest = "", length
    for unit in _PRINTED:
        number, rest = divmod(rest, MICROSECONDS[unit])
        text += f"{number}{unit}" if number else ""
    if rest:
        text += f"{rest}us" if rest % MICROSECONDS["ms"] else f"{rest // MICROSECONDS['ms']}ms"
    return text or "0s"


def _rounded_text(length: int) -> str:
    if length < MICROSECONDS["s"]:
        return f"{length / MICROSECONDS['s']:.2g} s"
    parts: list[str] = []
    for unit in ("d", "h", "min", "s"):
        number, length = divmod(length, MICROSECONDS[unit])
        if number or parts:
            parts.append(f"{number} {unit}" if number else "")
    return " ".join(part for part in parts[:2] if part)


def _of_text(text: str) -> int:
    shown, number = _shown(text), text.strip()
    if len(number) <= 40 and _NUMBER.fullmatch(number):
        raise _without_unit(shown, number)
    exact = _exact(text) if len(text) <= _LONGEST_TEXT else None
    if exact is None:
        raise DurationError(f"{shown} is not a duration; {_EXAMPLES}")
    if exact.denominator != 1:
        raise DurationError(f"{shown} is not a whole number of microseconds, the smallest unit; round it")
    return exact.numerator


def _of_timedelta64(given: "np.timedelta64") -> int:
    unit, count = np.datetime_data(given.dtype)
    number = int(given.astype(np.int64)) * count
    if unit not in _NUMPY_UNITS:  # years, months, or none
        raise DurationError(f"{given!r} has no fixed length; give its days, hours or seconds")
    exact = number * _NUMPY_UNITS[unit]
    if exact.denominator != 1:
        raise DurationError(f"{given!r} is not a whole number of microseconds, the smallest unit; round it")
    return exact.numerator


def _exact(text: str) -> Fraction | None:
    """Microseconds, parts of them too; None for what is not a duration."""
    total, start, before = Fraction(0), 0, 0
    while start < len(text):
        part = _PART.match(text, start)
        length = _length_of(part[2]) if part else None
        if part is None or length is None or (before and length >= before):
            return None
        total += Fraction(part[1]) * length
        start, before = part.end(), length
    return total if start else None


def _length_of(unit: str) -> int | None:
    if unit == "M":
        return None
    small = unit.lower()
    return MICROSECONDS.get(small) or MICROSECONDS.get(small.removesuffix("s"))


def _shown(given: Any) -> str:
    return repr(given.strip()[:40] if isinstance(given, str) else given)


def _is_number(given: Any) -> bool:
    """Whether this is a finite number: timedelta64 is an integer to NumPy, and a bool to Python."""
    if isinstance(given, (float, np.floating)):
        return math.isfinite(given)
    return isinstance(given, (int, np.integer)) and not isinstance(given, (bool, np.timedelta64))


def _without_unit(shown: str, number: str) -> DurationError:
    return DurationError(f"{shown} has no unit, so it is not a duration; write {number}s, {number}m or {number}h")
