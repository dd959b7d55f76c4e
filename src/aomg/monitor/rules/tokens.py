"""Cuts the text of a condition into words: names, numbers with their units, signs. Each knows where it stood."""

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
    """A word: its kind, its text, the character at which it starts (from 1), and a number's exact value."""

    kind: Kind
    text: str
    position: int
    value: Fraction = Fraction(0)


def tokens(text: str) -> list[Token]:
    """Return the words of a condition; the last is the end. Durations are in microseconds, 10% is 1/10.

    >>> [(t.kind, t.text) for t in tokens("p99 > 4ms")]
    [('name', 'p99'), ('sign', '>'), ('duration', '4ms'), ('end', 'the end')]
    """
    if len(text) > LONGEST_TEXT:
        raise ConfigError(
            f"the condition has {len(text):,} characters; at most {LONGEST_TEXT:,}: make it several rules"
        )
    found: list[Token] = []
    at = 0
    while (at := _past_spaces(text, at)) < len(text):
        word = _WORD.match(text, at)
        if word is None:
            raise _refused(text, at)
        if word["number"] is not None:
            token = _number(word, text)
            at += len(token.text)
        else:
            kind: Kind = "name" if word["name"] is not None else "sign"
            token = Token(kind, word[0], at + 1)
            at = word.end()
        found.append(token)
    return [*found, Token("end", "the end", len(text) + 1)]


def _past_spaces(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _number(word: re.Match[str], text: str) -> Token:
    """A number, with the unit that follows it; `and` and the like may follow too."""
    at, unit, shown = word.start(), word["unit"], word[0]
    if unit is not None and unit.lower() in WORDS:
        unit, shown = None, word["number"]
    after = text[at + len(shown) : at + len(shown) + 1]
    if unit not in (None, "%", *_TIMES) or (after and (after.isalnum() or after in "_.")):
        raise ConfigError(
            f"{shown + after!r} at character {at + 1} is no number; write it with us, ms, s, m, h or %, or without unit"
        )
    value = Fraction(Decimal(word["number"]))
    if value > LARGEST_NUMBER:
        raise ConfigError(f"{shown!r} at character {at + 1} is too large")
    if unit == "%":
        return Token("number", shown, at + 1, value / 100)
    if unit is None:
        return Token("number", shown, at + 1, value)
    return Token("duration", shown, at + 1, value * _TIMES[unit])


def _refused(text: str, at: int) -> ConfigError:
    sign = text[at : at + 2] if text[at : at + 2] in _INSTEAD else text[at]
    remedy = (
        f"write {_INSTEAD[sign]}" if sign in _INSTEAD else "conditions have names, numbers, + - * / and comparisons"
    )
    return ConfigError(f"{sign!r} at character {at + 1} means nothing here; {remedy}")
