"""Guesses which columns are the time, the value and the key, from their names and from what is in them."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from aomg.monitor.draft import names
from aomg.monitor.draft.sample import Sample
from aomg.monitor.draft.time_texts import LEAST_READABLE, TimeGuess, times_in, times_of
from aomg.monitor.errors import ConfigError
from aomg.suggestions import suggestion

MOST_KEYS = 1_000
_MOST_LABELS = 200
_FEW = 12
_NUMBER = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*")
_EXACT = 1 << 53


@dataclass(frozen=True)
class TimeRole:
    """The time column, and how to read it. `others` may be meant, too."""

    name: str
    guess: TimeGuess
    others: tuple[str, ...]
    is_stored: bool = False
    """Whether the files store times, so that no format is needed."""
    nanoseconds: bool = False


@dataclass(frozen=True)
class ValueRole:
    """The column of values, as numbers in the order of the rows; None where there is none."""

    name: str
    numbers: list[float | None]
    others: tuple[str, ...]
    why: str
    has_large: bool
    """Whether it has whole numbers that a double would round."""


@dataclass(frozen=True)
class KeyRole:
    """A column that may be a key, and how many values it has in the sample."""

    name: str
    distinct: int
    score: float


def time_role(sample: Sample, column: str | None, time_format: str | None) -> TimeRole:
    """Find the time column, or take the given one. Raises ConfigError if no column has times."""
    if column is not None:
        require(sample, column, "--time")
        return _given_time(sample, column, time_format)
    candidates: list[tuple[float, str, TimeGuess]] = []
    for name, values in sample.columns.items():
        if name in sample.unusable or not names.is_writable(name) or name in sample.folder_columns:
            continue
        guess = _stored(sample, name) or times_of(values)
        if guess is None or (sample.kind == "parquet" and _lacks_format(sample, name, values, guess)):
            continue
        candidates.append((_time_score(name, guess, name in sample.times), name, guess))
    if not candidates:
        raise ConfigError(
            f"no column has times: {_shown(sample)}. Times are numbers since 1970, ISO 8601 or texts such as "
            "2024-05-01 12:00:00,123 and 01/May/2024:12:00:00 +0000; name the column with --time, and its format with "
            "--time-format (a pattern of Spark)"
        )
    best = max(score for score, _, _ in candidates)
    _, name, guess = next(one for one in candidates if one[0] == best)
    if time_format is not None:
        guess = _with_format(sample.columns[name], guess, time_format)
    others = tuple(other for score, other, _ in candidates if other != name and score == best)
    times = sample.times.get(name)
    return TimeRole(name, guess, others, times is not None, times is not None and times.nanoseconds)


def _given_time(sample: Sample, column: str, time_format: str | None) -> TimeRole:
    values = sample.columns[column]
    guess = _stored(sample, column) or times_of(values)
    if time_format is not None:
        guess = _with_format(values, guess, time_format)
    if guess is None:
        example = next((value for value in values if value is not None), None)
        raise ConfigError(
            f"the times of {column!r} are in no format that is known, such as {str(example)[:60]!r}; add --time-format "
            "with a pattern of Spark such as 'dd.MM.yyyy HH:mm'"
        )
    times = sample.times.get(column)
    return TimeRole(column, guess, (), times is not None, times is not None and times.nanoseconds)


def _with_format(values: Sequence[Any], guess: TimeGuess | None, time_format: str) -> TimeGuess:
    micros = times_in(values, time_format) or [None] * len(values)
    has_zone = time_format.startswith("epoch") or bool(re.search("[VzOXxZ]", re.sub("'[^']*'", "", time_format)))
    return TimeGuess(time_format, guess.has_zone if guess and time_format == "iso" else has_zone, micros)


def _stored(sample: Sample, name: str) -> TimeGuess | None:
    times = sample.times.get(name)
    return None if times is None else TimeGuess("iso", times.has_zone, sample.columns[name])


def _lacks_format(sample: Sample, name: str, values: Sequence[Any], guess: TimeGuess) -> bool:
    """Whether the times of a Parquet file are numbers that only a pattern could read."""
    is_text = any(isinstance(value, str) for value in values)
    return name not in sample.times and not is_text and not guess.format.startswith("epoch")


def _time_score(name: str, guess: TimeGuess, is_stored: bool) -> float:
    parts = set(names.words(name))
    score = 3.0 if name.lower() in names.BEST_TIMES else 2.0 if parts & names.TIMES else 0.0
    score += 1.0 if is_stored else 0.0
    known = [time for time in guess.micros if time is not None]
    rising = sum(after >= before for before, after in pairwise(known))
    score += 0.5 if known and rising >= 0.9 * (len(known) - 1) else 0.0
    whole_days = all(time % 86_400_000_000 == 0 for time in known)
    return score - (3.0 if whole_days else 0.0)


def numbers_of(values: Sequence[Any]) -> list[float | None] | None:
    """The numbers in a column; None if less than nine in ten values are numbers."""
    numbers: list[float | None] = []
    known = fits = 0
    for value in values:
        number = _number(value)
        known += value is not None
        fits += number is not None
        numbers.append(number)
    return numbers if fits and fits >= LEAST_READABLE * known else None


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def value_role(sample: Sample, time: str, column: str | None) -> ValueRole:
    """Find the column of values, or take the given one. Raises ConfigError if no column has numbers."""
    if column is not None:
        require(sample, column, "--value")
        numbers = numbers_of(sample.columns[column])
        if numbers is None or column == time:
            raise ConfigError(f"--value {column}: quantiles need a column of numbers; {_shown(sample)}")
        return ValueRole(column, numbers, (), "set by --value", _has_large(sample.columns[column]))
    candidates: list[tuple[float, str, list[float | None], str]] = []
    for name, values in sample.columns.items():
        if name in (time, *sample.unusable, *sample.folder_columns) or not names.is_writable(name):
            continue
        if any(isinstance(value, bool) for value in values) or name in sample.times:
            continue
        numbers = numbers_of(values)
        epoch = times_of(values) if numbers is not None else None
        if numbers is not None and not (epoch is not None and epoch.format.startswith("epoch")):
            score, why = _value_score(name, [number for number in numbers if number is not None])
            candidates.append((score, name, numbers, why))
    if not candidates:
        commas = any(
            isinstance(value, str) and re.fullmatch(r"-?\d+,\d+", value)
            for values in sample.columns.values()
            for value in values[:100]
        )
        hint = "; decimal commas are not numbers: write 1.5 for 1,5" if commas else ""
        raise ConfigError(f"no column has numbers besides the times, so there is no value: {_shown(sample)}{hint}")
    best = max(score for score, _, _, _ in candidates)
    _, name, numbers, why = next(one for one in candidates if one[0] == best)
    others = tuple(other for score, other, _, _ in candidates if other != name and score >= best - 1)
    return ValueRole(name, numbers, others, why, _has_large(sample.columns[name]))


def _has_large(values: Sequence[Any]) -> bool:
    for value in values:
        text = str(value).strip() if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
        if len(text) > 15 and re.fullmatch(r"[-+]?\d+", text) and int(float(text)) != int(text):
            return True
    return False


def _value_score(name: str, known: Sequence[float]) -> tuple[float, str]:
    parts = set(names.words(name))
    unit, word = names.unit_of(name)
    distinct = len(set(known))
    reasons = []
    score = 0.0
    if unit or word:
        score += 4.0
        reasons.append("the name has a unit")
    if name.lower() == "value":
        score += 8.0
        reasons.append("it is called so")
    elif parts & names.VALUES:
        score += 3.0
        reasons.append("the name is that of a measurement")
    if any(not number.is_integer() for number in known[:1_000]):
        score += 1.0
        reasons.append("it has fractions")
    if distinct > _FEW:
        score += 1.0
        reasons.append(f"{distinct:,} different numbers")
    else:
        score -= 1.0
    if parts & names.IDENTITIES and not (unit and len(parts) > 1):
        score -= 3.0
    rising = all(after > before for before, after in pairwise(known))
    if len(known) > 2 and rising:
        score -= 4.0
    if distinct == 1:
        score -= 2.0
    return score, ", ".join(reasons) or "the only column of numbers"


def key_roles(sample: Sample, taken: Sequence[str]) -> list[KeyRole]:
    """The columns that may be keys, the most plausible first: few distinct values that are repeated."""
    candidates = []
    for name, values in sample.columns.items():
        if name in taken or name in sample.unusable or name in sample.times or not names.can_be_label(name):
            continue
        known = [value for value in values if value is not None]
        distinct = len({str(value) for value in known})
        if not 2 <= distinct <= min(MOST_KEYS, max(len(known) // 3, 2)) or distinct >= len(known):
            continue
        texts = any(isinstance(value, str) and _number(value) is None for value in known)
        if not texts and any(isinstance(value, float) for value in known):
            continue
        if not texts and any(isinstance(value, str) and not value.strip().lstrip("-").isdigit() for value in known):
            continue
        if texts and times_of(known) is not None:
            continue
        if max(len(str(value)) for value in known) > _MOST_LABELS:
            continue
        candidates.append(KeyRole(name, distinct, _key_score(name, distinct, texts, len(known) / len(values))))
    return sorted((key for key in candidates if key.score > 0), key=lambda key: -key.score)


def _key_score(name: str, distinct: int, texts: bool, share: float) -> float:
    parts = set(names.words(name))
    is_named = bool(parts & (names.KEYS | names.IDENTITIES))
    score = (3.0 if is_named else 0.0) + (2.0 if texts else 0.0)
    score += 1.0 if score and 3 <= distinct <= _MOST_LABELS else 0.0
    score -= 2.0 if share < 0.5 else 0.0
    return score - (2.0 if names.unit_of(name) != (None, "") or parts & {"day", "month", "year", "hour"} else 0.0)


def require(sample: Sample, column: str, option: str) -> None:
    """Raise ConfigError if a column does not exist, or no query can read it."""
    if column in sample.unusable:
        raise ConfigError(f"{option} {column}: it cannot be used, because {sample.unusable[column]}")
    if column not in sample.columns:
        hint = suggestion(column, sample.columns, _shown(sample))
        raise ConfigError(f"{option} {column}: there is no such column; {hint}")
    if not names.is_writable(column):
        raise ConfigError(f"{option}: the configuration cannot name the column {column!r}; rename it in the data")


def _shown(sample: Sample) -> str:
    shown = list(sample.columns)[:12]
    more = f" and {len(sample.columns) - 12} more" if len(sample.columns) > 12 else ""
    return f"the columns are {', '.join(shown)}{more}"
