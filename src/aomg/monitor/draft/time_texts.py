"""Recognises times in texts and numbers: the `time_format` that reads them, and the microseconds that they mean.

Texts are ISO 8601, or a date and a time of day in one of the usual orders; the format is then a pattern of Spark.
Numbers are seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by their size (2000 to 2100).
"""

import re
import zoneinfo
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

LEAST_READABLE = 0.9
"""The share of values that must be times."""
_MOST_TEXTS = 2_000
_EPOCHS = {"epoch_s": 1_000_000.0, "epoch_ms": 1_000.0, "epoch_us": 1.0, "epoch_ns": 0.001}
_FIRST, _LAST = 946_684_800 * 10**6, 4_102_444_800 * 10**6
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NAMED = f"(?P<b>{'|'.join(_MONTHS)})"
_DATES = {  # the parts of the pattern, and what they look like
    "Y-m-d": r"(?P<Y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})",
    "Y/m/d": r"(?P<Y>\d{4})/(?P<m>\d{1,2})/(?P<d>\d{1,2})",
    "Y.m.d": r"(?P<Y>\d{4})\.(?P<m>\d{1,2})\.(?P<d>\d{1,2})",
    "Ymd": r"(?P<Y>\d{4})(?P<m>\d{2})(?P<d>\d{2})",
    "m/d/Y": r"(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<Y>\d{4})",
    "d/m/Y": r"(?P<d>\d{1,2})/(?P<m>\d{1,2})/(?P<Y>\d{4})",
    "d-m-Y": r"(?P<d>\d{1,2})-(?P<m>\d{1,2})-(?P<Y>\d{4})",
    "m-d-Y": r"(?P<m>\d{1,2})-(?P<d>\d{1,2})-(?P<Y>\d{4})",
    "d.m.Y": r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<Y>\d{4})",
    "d/b/Y": rf"(?P<d>\d{{1,2}})/{_NAMED}/(?P<Y>\d{{4}})",
    "d-b-Y": rf"(?P<d>\d{{1,2}})-{_NAMED}-(?P<Y>\d{{4}})",
    "d b Y": rf"(?P<d>\d{{1,2}}) {_NAMED} (?P<Y>\d{{4}})",
    "b d, Y": rf"{_NAMED} (?P<d>\d{{1,2}}), (?P<Y>\d{{4}})",
}
_CLOCK = r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?P<f>[.,]\d{1,9})?)?(?: (?P<p>[AP]M))?"
_SHORT_CLOCK = r"(?P<H>\d{2})(?P<M>\d{2})(?P<S>\d{2})(?P<f>[.,]\d{1,9})?"
_ZONE = r"(?P<g> ?)(?P<z>Z|[+-]\d{2}:\d{2}|[+-]\d{4}|[+-]\d{2}|UTC|GMT|[A-Z][A-Za-z_]+/[A-Za-z_/]+)"
_SHAPES = {
    name: re.compile(
        f"{date}(?:(?P<s>{'T|' if name == 'Ymd' else 'T|, | |:|_'})"
        f"{_SHORT_CLOCK if name == 'Ymd' else _CLOCK}(?:{_ZONE})?)?"
    )
    for name, date in _DATES.items()
}


@dataclass(frozen=True)
class TimeGuess:
    """How to read a column of times.

    format
        The `time_format`.
    has_zone
        Whether the times say their zone; numbers are UTC.
    micros
        The times of all values, None where a value is none.
    doubt
        What else they may mean; empty if nothing.
    """

    format: str
    has_zone: bool
    micros: list[int | None]
    doubt: str = ""


def times_of(values: Sequence[Any]) -> TimeGuess | None:
    """Recognise the times in a column; None if less than nine in ten values are times."""
    known = [value for value in values if value is not None]
    if not known or any(isinstance(value, bool) for value in known):
        return None
    return _epochs(values, known) or _texts([None if value is None else str(value) for value in values])


def times_in(values: Sequence[Any], time_format: str) -> list[int | None] | None:
    """The times of values in a known format; None if only Spark can tell them."""
    if time_format in _EPOCHS:
        return [_micros(value, _EPOCHS[time_format]) for value in values]
    guess = _texts([None if value is None else str(value) for value in values])
    return None if guess is None else guess.micros


def _micros(value: Any, factor: float) -> int | None:
    try:
        return None if value is None else int(float(value) * factor)
    except (ValueError, OverflowError, TypeError):
        return None


def _epochs(values: Sequence[Any], known: Sequence[Any]) -> TimeGuess | None:
    for name, factor in _EPOCHS.items():
        fits = sum((micros := _micros(value, factor)) is not None and _FIRST <= micros < _LAST for value in known)
        if fits >= LEAST_READABLE * len(known):
            return TimeGuess(name, True, [_micros(value, factor) for value in values])
    return None


def _texts(values: Sequence[str | None]) -> TimeGuess | None:
    some = [value for value in values if value is not None][:_MOST_TEXTS]
    guesses = []
    for name, shape in _SHAPES.items():
        matches = [match for value in some if (match := shape.fullmatch(value)) is not None and _instant(match)]
        if some and len(matches) >= LEAST_READABLE * len(some):
            guesses.append((name, matches))
    if not guesses:
        return None
    name, matches = min(guesses, key=lambda guess: (-len(guess[1]), _span(guess[1])))
    rivals = [other for other, rest in guesses if other != name and len(rest) == len(matches)]
    doubt = ""
    if rivals:
        other = next(guess for guess in guesses if guess[0] == rivals[0])
        doubt = f"day and month may be the other way round: {_pattern(*other)}"
    shape = _SHAPES[name]
    micros = [
        None if value is None or (match := shape.fullmatch(value)) is None else _instant(match) for value in values
    ]
    zones = sum(match["z"] is not None for match in matches)
    return TimeGuess(_pattern(name, matches), zones == len(matches), micros, doubt)


def _span(matches: Sequence[re.Match[str]]) -> int:
    """From the first time to the last: of two readings of 05/01, that with the smaller span is meant."""
    instants = [instant for match in matches if (instant := _instant(match)) is not None]
    return max(instants) - min(instants)


def _instant(match: re.Match[str]) -> int | None:
    parts = match.groupdict()
    month = int(parts["m"]) if parts.get("m") else _MONTHS.index(parts["b"]) + 1
    hour = int(parts["H"] or 0)
    if parts.get("p"):
        hour = hour % 12 + (12 if parts["p"] == "PM" else 0)
    fraction = (parts["f"] or ".0")[1:].ljust(6, "0")[:6]
    try:
        time = datetime(
            int(parts["Y"]),
            month,
            int(parts["d"]),
            hour,
            int(parts["M"] or 0),
            int(parts["S"] or 0),
            int(fraction),
            _zone(parts["z"]),
        )
        return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    except (ValueError, OverflowError, zoneinfo.ZoneInfoNotFoundError, OSError):
        return None


def _zone(text: str | None) -> Any:
    if text is None or text in ("Z", "UTC", "GMT"):
        return UTC
    if text[0] in "+-":
        digits = text[1:].replace(":", "")
        offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
        return timezone(offset if text[0] == "+" else -offset)
    return zoneinfo.ZoneInfo(text)


def _pattern(name: str, matches: Sequence[re.Match[str]]) -> str:
    """The format that reads these texts."""
    if name == "Y-m-d" and all(_is_iso(match) for match in matches):
        return "iso"

    def some(part: str) -> list[str]:
        return [piece for match in matches if (piece := match.groupdict().get(part))]

    def usual(part: str) -> str:
        return Counter(some(part)).most_common(1)[0][0]

    def digits(part: str, letter: str) -> str:
        return letter if any(len(piece) == 1 for piece in some(part)) else letter * 2

    letters = {"Y": "yyyy", "m": digits("m", "M"), "d": digits("d", "d"), "b": "MMM"}
    pattern = "".join(letters.get(letter, letter) for letter in name)
    if not some("H"):
        return pattern
    separator = usual("s") if some("s") else ""
    pattern += "'T'" if separator == "T" else separator
    between = "" if name == "Ymd" else ":"
    pattern += digits("H", "h" if some("p") else "H") + between + "mm"
    seconds = f"{between}ss"
    if some("f"):
        fraction = usual("f")[0] + "S" * (max(map(len, some("f"))) - 1)
        seconds += fraction if len(some("f")) == len(matches) else f"[{fraction}]"
    if some("S"):
        pattern += seconds if len(some("S")) == len(matches) else f"[{seconds}]"
    if some("p"):
        pattern += " a"
    if some("z"):
        zone = usual("g") if some("g") else ""
        zone += _zone_letters(some("z"))
        pattern += zone if len(some("z")) == len(matches) else f"[{zone}]"
    return pattern


def _is_iso(match: re.Match[str]) -> bool:
    """Whether Spark reads a text without a pattern."""
    if match["H"] is None:
        return True
    if match["s"] not in ("T", " ") or match["p"] or (match["f"] or ".")[0] != ".":
        return False
    return match["S"] is not None or match["z"] is None


def _zone_letters(zones: Sequence[str]) -> str:
    if any(zone[0] not in "Z+-" for zone in zones):
        return "VV" if any("/" in zone for zone in zones) else "z"
    longest = max(zones, key=len)
    return {1: "X", 3: "X", 5: "XX", 6: "XXX"}[len(longest)]
