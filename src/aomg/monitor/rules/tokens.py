"""Splits a condition into tokens: names, numbers with their units, signs. Each has its position."""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from aomg.durations import MICROSECONDS
from aomg.monitor.errors import ConfigError

LONGEST_TEXT = 1_000
LARGEST_NUMBER = Fraction(10) ** 300

_TIMES = {unit: MICROSECONDS[unit] for unit in ("us", "µs", "μs", "ms", "s", "m", "h")}
_WORD = re.compile(
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)(?:\s*(?P<unit>%|[^\W\d_]+))?"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)"
    r"|(?P<sign>>=|<=|==|!=|[-+*/()<>])"
)
_INSTEAD = {"=": "==", "&&": "and", "&": "and", "||": "or", "|": "or", "!": "not"}
WORDS = ("and", "or", "not")

Kind = Literal["number", "duration", "name", "sign", "end"]


@dataclass(frozen=True)
class Token:
    """A token: its kind, its text, its position (from 1), and a number's exact value."""

    kind: Kind
    text: str
    position: int
    value: Fraction = Fraction(0)


def tokens(text: str) -> list[Token]:
    """Return the tokens of a condition; the last is the end. Durations are in microseconds, 10% is 1/10.

    >>> [(t.kind, t.text) for t in tokens("p99 > 4ms")]
    [('name', 'p99'), ('sign', '>'), ('duration', '4ms'), ('end', 'the end')]
    """
    if len(text) > LONGEST_TEXT:
        raise ConfigError(
            f"the condition has {len(text):,} characters; the limit is {LONGEST_TEXT:,}: split it into several rules"
        )
    parts: list[Token] = []
    start = 0
    while (start := _past_spaces(text, start)) < len(text):
        word = _WORD.match(text, start)
        if word is None:
            raise _unknown_sign(text, start)
        if word["number"] is not None:
            token = _number(word, text)
            start += len(token.text)
        else:
            kind: Kind = "name" if word["name"] is not None else "sign"
            token = Token(kind, word[0], start + 1)
            start = word.end()
        parts.append(token)
    return [*parts, Token("end", "the end", len(text) + 1)]


def _past_spaces(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _number(word: re.Match[str], text: str) -> Token:
    """A number with its unit; it may also be followed by `and`, `or` or `not`."""
    start, unit, written = word.start(), word["unit"], word[0]
    if unit is not None and unit.lower() in WORDS:
        unit, written = None, word["number"]
    after = text[start + len(written) : start + len(written) + 1]
    if unit not in (None, "%", *_TIMES) or (after and (after.isalnum() or after in "_.")):
        raise ConfigError(
            f"{written + after!r} at character {start + 1} is not a number; its unit may be us, ms, s, m, h or %"
        )
    value = Fraction(Decimal(word["number"]))
    if value > LARGEST_NUMBER:
        raise ConfigError(f"{written!r} at character {start + 1} is too large")
    if unit == "%":
        return Token("number", written, start + 1, value / 100)
    if unit is None:
        return Token("number", written, start + 1, value)
    return Token("duration", written, start + 1, value * _TIMES[unit])


def _unknown_sign(text: str, start: int) -> ConfigError:
    sign = text[start : start + 2] if text[start : start + 2] in _INSTEAD else text[start]
    remedy = f"write {_INSTEAD[sign]}" if sign in _INSTEAD else "use names, numbers, + - * / and comparisons"
    return ConfigError(f"{sign!r} at character {start + 1} is not allowed; {remedy}")
