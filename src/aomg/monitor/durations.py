"""How long: 90s, 5m, 1h30m, 10 seconds. And how much of a quantity: 4ms, in the unit that the quantity is kept in.

All of it is exact: texts are read as decimals, durations are whole microseconds.
"""

import re
from decimal import Decimal

from aomg.monitor.errors import ConfigError

UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000}
"""The units that a query's values may have, in microseconds."""

LONGEST = 100 * 366 * 86_400_000_000
_NAMES = {
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
_PART = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*([^\W\d_]{1,12})\s*")
_SAID = (("w", 604_800_000_000), ("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000))


def microseconds(text: str) -> int:
    """Whole microseconds of a duration: numbers with units, the largest unit first.

    Raises ConfigError for anything else: no unit, a unit twice, a part of a microsecond, more than a hundred years.

    >>> microseconds("90s"), microseconds("1h30m"), microseconds("10 seconds"), microseconds("1.5 ms")
    (90000000, 5400000000, 10000000, 1500)
    """
    exact = _exact(text)
    if exact != int(exact):
        raise ConfigError(f"{text.strip()!r} is a part of a microsecond; round it")
    return int(exact)


def quantity(text: str, unit: str) -> float:
    """Return the number that a duration stands for where values are kept in `unit`: us, ms or s. Correctly rounded.

    >>> quantity("4ms", "us"), quantity("4ms", "ms"), quantity("4ms", "s")
    (4000.0, 4.0, 0.004)
    """
    if unit not in UNITS:
        raise ConfigError(f"{text.strip()!r} needs a unit to be compared in; give the query unit: us, ms or s")
    return float(_exact(text) / UNITS[unit])


def said(duration: int) -> str:
    """Return a duration as people write it; `microseconds` reads it back.

    >>> said(5_400_000_000), said(0), said(1_500)
    ('1h30m', '0s', '1500us')
    """
    text, rest = "", duration
    for name, length in _SAID:
        count, rest = divmod(rest, length)
        text += f"{count}{name}" if count else ""
    for name, length in (("ms", 1_000), ("us", 1)):
        if rest and rest % length == 0:
            text, rest = f"{text}{rest // length}{name}", 0
    return text or "0s"


def _exact(text: str) -> Decimal:
    """Microseconds, parts of them too."""
    total, at, before = Decimal(0), 0, LONGEST
    while at < len(text):
        part = _PART.match(text, at)
        scale = _scale(part.group(2)) if part else 0
        if part is None or not 0 < scale < before:
            at = -1
            break
        total += Decimal(part.group(1)) * scale
        at, before = part.end(), scale
    if at < 1:
        shown = text.strip()[:40]
        if re.fullmatch(r"[0-9.]+", shown):
            raise ConfigError(f"{shown!r} has no unit; write {shown}s, {shown}m or {shown}h")
        raise ConfigError(f"{shown!r} is no duration; write a number and a unit, such as 90s, 5m, 1h30m or 10 seconds")
    if total > LONGEST:
        raise ConfigError(f"{text.strip()[:40]!r} is longer than a hundred years")
    return total


def _scale(name: str) -> int:
    """Microseconds of a unit, or 0. Single letters are small ones: M may mean a million elsewhere."""
    if len(name) > 1:
        name = name.lower()
    return _NAMES.get(name) or (_NAMES.get(name.removesuffix("s"), 0) if len(name) > 3 else 0)
