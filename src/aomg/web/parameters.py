"""Parses and validates query parameters against their declarations, which the OpenAPI description uses as well.

Every error is a BadRequest that says what to do: unknown names (with the nearest known one), names given twice, texts
that are too long, invalid times and numbers, numbers out of range.
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
LONGEST_TEXT = 4_096  # any key that a monitor accepts (config.source.LONGEST_KEY)
LONGEST_ADDRESS = 64_000  # such a key, with each character as four bytes of three characters
LONGEST_HEADERS = 16_000
_WHOLE = re.compile(r"-?[0-9]{1,15}")


class BadRequest(AomgError, ValueError):  # noqa: N818  HTTP calls it so
    """An invalid request. `what_to_do` is a sentence for the client."""

    status = 400

    def __init__(self, error: str, what_to_do: str = "") -> None:
        super().__init__(f"{error}; {what_to_do}" if what_to_do else error)
        self.error, self.what_to_do = error, what_to_do


class NotFound(BadRequest):
    """A request for a query, key or window that does not exist."""

    status = 404


Kind = Literal["text", "whole", "time", "choice", "flag", "labels"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a request.

    kind
        text; whole (an integer between `least` and `most`); time (ISO 8601 with a zone, parsed to microseconds);
        choice (one of `choices`); flag (true or false); labels (any number of NAME.LABEL=VALUE, parsed to a
        dictionary).
    default
        The value where the request does not give one.
    argument
        The name of the value in the result of `parse_parameters`, where it differs: `from` is a Python keyword.
    """

    name: str
    kind: Kind
    about: str
    default: Any = None
    least: int = 0
    most: int = LONGEST_TEXT
    choices: tuple[str, ...] = ()
    example: str | None = None
    argument: str = ""


def parse_parameters(parameters: Sequence[Parameter], query_string: bytes) -> dict[str, Any]:
    """Return the values of all declared parameters, by name. Raises BadRequest for any other parameter."""
    by_name = {parameter.name: parameter for parameter in parameters}
    values = {
        parameter.argument or parameter.name: dict(parameter.default or {})
        if parameter.kind == "labels"
        else parameter.default
        for parameter in parameters
    }
    names_given: set[str] = set()
    for name, text in _pairs(query_string):
        if name in names_given:
            raise BadRequest(f"{quoted(name)} is given twice", "give it once")
        names_given.add(name)
        head, dot, label = name.partition(".")
        if dot and head in by_name and by_name[head].kind == "labels":
            if not label:
                raise BadRequest(f"{quoted(name)} names no label", f"write it as {head}.LABEL=VALUE")
            if len(text) > LONGEST_TEXT:
                remedy = f"this page opens keys of up to {LONGEST_TEXT:,} characters; read it with aomg query"
                raise BadRequest(f"{quoted(name)} is too long", remedy)
            values[by_name[head].argument or head][label] = text
        elif name in by_name and by_name[name].kind != "labels":
            parameter = by_name[name]
            values[parameter.argument or name] = _value(parameter, text)
        else:
            raise BadRequest(f"there is no parameter {quoted(name)} here", _suggestion(name, by_name))
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
        raise BadRequest("the address is not UTF-8", "percent-encode other characters, such as %C3%A4") from None
    except ValueError:
        raise BadRequest("there are too many parameters", f"give at most {MOST_PARAMETERS}") from None


def _value(parameter: Parameter, text: str) -> Any:
    _text(parameter.name, text)
    if parameter.kind == "whole":
        return _number(parameter, text)
    if parameter.kind == "time":
        return parse_time(parameter.name, text) if text else None
    if parameter.kind == "flag":
        if text not in ("true", "false"):
            raise BadRequest(f"{parameter.name} is {quoted(text)}", "write true or false")
        return text == "true"
    if parameter.kind == "choice" and text not in parameter.choices:
        raise BadRequest(f"{parameter.name} is {quoted(text)}", f"write one of {', '.join(parameter.choices)}")
    if len(text) > parameter.most:
        raise BadRequest(f"{parameter.name} is too long", f"keep it within {parameter.most:,} characters")
    return text


def _text(name: str, text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise BadRequest(f"{quoted(name)} is too long", f"keep it within {LONGEST_TEXT:,} characters")
    return text


def _number(parameter: Parameter, text: str) -> int:
    if not _WHOLE.fullmatch(text) or not parameter.least <= int(text) <= parameter.most:
        bounds = f"write a whole number from {parameter.least:,} to {parameter.most:,}"
        raise BadRequest(f"{parameter.name} is {quoted(text)}", bounds)
    return int(text)


def parse_time(name: str, text: str) -> int:
    """Return the microseconds of an ISO 8601 time with a zone.

    >>> parse_time("at", "1970-01-01T01:00:00.5+01:00")
    500000
    """
    problem = BadRequest(
        f"{name} is {quoted(text)}", "write a time with its zone, such as 2024-05-01T09:00:00Z (and + as %2B)"
    )
    try:
        return microseconds_of(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise problem from None


def _suggestion(name: str, known: Mapping[str, Parameter]) -> str:
    names = [
        f"{parameter.name}.LABEL" if parameter.kind == "labels" else parameter.name for parameter in known.values()
    ]
    if not names:
        return "remove it: this address takes no parameters"
    return there_are(name, names)


def quoted(text: str) -> str:
    """Return a text of the request as an error may quote it: short, and without terminal control characters."""
    short = text if len(text) <= 60 else text[:57] + "..."
    return repr(short) if short.isprintable() else ascii(short)
