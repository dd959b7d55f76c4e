"""What a request asks, checked against declarations; the description of the API is made from the same ones.

Whatever is wrong is a BadRequest that says what to do: unknown names (with the nearest known one), names given twice,
texts that are too long, times and numbers that are none, or out of bounds.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import parse_qsl

from aomg.errors import AomgError
from aomg.suggestions import there_are
from aomg.times import microseconds_of

MOST_PARAMETERS = 40
LONGEST_TEXT = 1_000
LONGEST_ADDRESS = 8_000
_WHOLE = re.compile(r"-?[0-9]{1,15}")


class BadRequest(AomgError, ValueError):  # noqa: N818  HTTP calls it so
    """A request that means nothing. `what_to_do` is a sentence for whoever sent it."""

    status = 400

    def __init__(self, error: str, what_to_do: str = "") -> None:
        super().__init__(f"{error}; {what_to_do}" if what_to_do else error)
        self.error, self.what_to_do = error, what_to_do


class NotFound(BadRequest):
    """A request for what is not there: a query, a key, a window."""

    status = 404


Kind = Literal["text", "whole", "time", "choice", "flag", "labels"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a request.

    kind
        text; whole (a number between `least` and `most`); time (ISO 8601 with a zone, asked as microseconds); choice
        (one of `choices`); flag (true or false); labels (any number of NAME.LABEL=VALUE, asked as a dictionary).
    default
        What is asked where the request does not say. Needed ones have none, and `needed` is true.
    asked_as
        The name of the value in what `asked` returns, where it differs: `from` is a word of Python's.
    """

    name: str
    kind: Kind
    about: str
    default: Any = None
    needed: bool = False
    least: int = 0
    most: int = LONGEST_TEXT
    choices: tuple[str, ...] = ()
    example: str | None = None
    asked_as: str = ""


def asked(parameters: Sequence[Parameter], query_string: bytes) -> dict[str, Any]:
    """The values of all declared parameters, by name. Raises BadRequest for anything else in the request."""
    by_name = {parameter.name: parameter for parameter in parameters}
    values = {
        one.asked_as or one.name: dict(one.default or {}) if one.kind == "labels" else one.default for one in parameters
    }
    seen: set[str] = set()
    for name, text in _pairs(query_string):
        if name in seen:
            raise BadRequest(f"{shown(name)} is given twice", "give it once")
        seen.add(name)
        head, dot, label = name.partition(".")
        if dot and head in by_name and by_name[head].kind == "labels":
            if not label:
                raise BadRequest(f"{shown(name)} names no label", f"write it as {head}.LABEL=VALUE")
            values[by_name[head].asked_as or head][label] = _text(name, text)
        elif name in by_name and by_name[name].kind != "labels":
            parameter = by_name[name]
            values[parameter.asked_as or name] = _value(parameter, text)
        else:
            raise BadRequest(f"there is no parameter {shown(name)} here", _instead(name, by_name))
    for parameter in parameters:
        if parameter.needed and parameter.name not in seen:
            raise BadRequest(f"{parameter.name} is missing", f"add {parameter.name}={parameter.example or '...'}")
    return values


def _pairs(query_string: bytes) -> list[tuple[str, str]]:
    if len(query_string) > LONGEST_ADDRESS:
        raise BadRequest("the address is too long", f"keep it within {LONGEST_ADDRESS:,} characters")
    try:
        return parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_PARAMETERS,
        )
    except UnicodeDecodeError:
        raise BadRequest("the address is no UTF-8", "write other characters as %C3%A4 and the like") from None
    except ValueError:
        raise BadRequest("there are too many parameters", f"give at most {MOST_PARAMETERS}") from None


def _value(parameter: Parameter, text: str) -> Any:
    _text(parameter.name, text)
    if parameter.kind == "whole":
        return _number(parameter, text)
    if parameter.kind == "time":
        return time_asked(parameter.name, text) if text else None
    if parameter.kind == "flag":
        if text not in ("true", "false"):
            raise BadRequest(f"{parameter.name} is {shown(text)}", "write true or false")
        return text == "true"
    if parameter.kind == "choice" and text not in parameter.choices:
        raise BadRequest(f"{parameter.name} is {shown(text)}", f"write one of {', '.join(parameter.choices)}")
    if len(text) > parameter.most:
        raise BadRequest(f"{parameter.name} is too long", f"keep it within {parameter.most:,} characters")
    return text


def _text(name: str, text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise BadRequest(f"{shown(name)} is too long", f"keep it within {LONGEST_TEXT:,} characters")
    return text


def _number(parameter: Parameter, text: str) -> int:
    if not _WHOLE.fullmatch(text) or not parameter.least <= int(text) <= parameter.most:
        bounds = f"write a whole number from {parameter.least:,} to {parameter.most:,}"
        raise BadRequest(f"{parameter.name} is {shown(text)}", bounds)
    return int(text)


def time_asked(name: str, text: str) -> int:
    """Microseconds of an ISO 8601 time that says its zone.

    >>> time_asked("at", "1970-01-01T01:00:00.5+01:00")
    500000
    """
    problem = BadRequest(
        f"{name} is {shown(text)}", "write a time with its zone, such as 2024-05-01T09:00:00Z (and + as %2B)"
    )
    try:
        return microseconds_of(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise problem from None


def _instead(name: str, known: Mapping[str, Parameter]) -> str:
    names = [f"{one.name}.LABEL" if one.kind == "labels" else one.name for one in known.values()]
    if not names:
        return "leave it out: there are none"
    return there_are(name, names)


def shown(text: str) -> str:
    """A text of the request as an answer may show it: short, and without anything that could act on a terminal."""
    short = text if len(text) <= 60 else text[:57] + "..."
    return repr(short) if short.isprintable() else ascii(short)
