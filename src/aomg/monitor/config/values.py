"""Parses values of the configuration: text, a number, a duration, a share, one of some words, a path, a list of them.

Each parser takes a Field and returns what it means, or raises an error with its name, its line and what to write.
"""

import os
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar

from aomg.durations import microseconds
from aomg.errors import DurationError
from aomg.monitor.config.node import Node
from aomg.monitor.config.schema import Field, InvalidSection, Parser
from aomg.monitor.config.secret import Secret, mentions_environment, names_a_secret, redacted, with_environment
from aomg.monitor.errors import ConfigError
from aomg.suggestions import did_you_mean
from aomg.whole_numbers import count_of

T = TypeVar("T")


def text(field: Field) -> str:
    """A text that is not empty; a number is taken as it was written."""
    node = field.node
    if isinstance(node.value, (dict, list, bool)) or not node.text.strip():
        field.refuse(f"must be text, but is {node.kind if not isinstance(node.value, str) else 'empty'}")
    if mentions_environment(node.text):
        field.refuse("cannot use ${NAME}; only options, headers and addresses can")
    if not all(character.isprintable() or character in "\n\t" for character in node.text):
        field.refuse("has a control character; remove it")
    return node.text


def secret_text(field: Field) -> str | Secret:
    """A text, number or boolean, with ${NAME} from the environment. A Secret with ${NAME}, or if its key names one."""
    node = field.node
    if isinstance(node.value, (dict, list)) or node.value is None:
        field.refuse(f"must be text, a number, true or false, but is {node.kind}")
    plain = str(node.value).lower() if isinstance(node.value, bool) else node.text
    try:
        resolved = with_environment(plain, field.environment)
    except ConfigError as problem:
        field.refuse(problem.message)
    return Secret(resolved) if isinstance(resolved, str) and names_a_secret(field.name) else resolved


def boolean(field: Field) -> bool:
    """True or false."""
    if not isinstance(field.node.value, bool):
        field.refuse(f"must be true or false, but is {field.excerpt()}")
    return field.node.value


def whole(least: int = 0, most: int = 1 << 53) -> Parser[int]:
    """A whole number within limits, also as 500k or 12M."""

    def parse(field: Field) -> int:
        value = field.node.value
        if isinstance(value, (str, float)):
            value = count_of(field.node.text)
        if isinstance(value, bool) or not isinstance(value, int):
            field.refuse(f"must be a whole number such as 1000, 500k or 12M, but is {field.excerpt()}")
        if not least <= value <= most:
            limits = f"at least {least:,}" if most == 1 << 53 and value < least else f"{least:,} to {most:,}"
            field.refuse(f"must be {limits}, but is {field.excerpt()}")
        return value

    return parse


def number(above: float, most: float) -> Parser[float]:
    """A number within limits."""

    def parse(field: Field) -> float:
        value = field.node.value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not above < value <= most:
            field.refuse(f"must be a number above {above:,g} and at most {most:,g}, but is {field.excerpt()}")
        return float(value)

    return parse


def share(field: Field) -> float:
    """A part of a whole, above 0 and at most 1: 10% or 0.1."""
    written = field.node.text.strip()
    try:
        part = Decimal(written.removesuffix("%").strip()) / (100 if written.endswith("%") else 1)
    except (InvalidOperation, ValueError):
        part = Decimal(0)
    if isinstance(field.node.value, (dict, list, bool)) or not part.is_finite() or not 0 < part <= 1:
        field.refuse(f"must be a share such as 10% or 0.1, above 0 and at most 1, but is {field.excerpt()}")
    return float(part)


def duration(field: Field) -> int:
    """A duration of at most a hundred years, in microseconds."""
    node = field.node
    if isinstance(node.value, (dict, list, bool)) or node.value is None:
        field.refuse(f"must be a duration such as 90s or 5 minutes, but is {node.kind}")
    try:
        return microseconds(node.text, limited=True)
    except DurationError as error:
        if redacted(node.text) != node.text:
            field.refuse(f"must be a duration such as 90s or 5 minutes, but is {field.excerpt()}")
        raise ConfigError(f"{field.name}: {error}", node.line) from None


def path(field: Field) -> Path:
    """An absolute path. The file system is not read."""
    written = text(field)
    if "://" in written:
        field.refuse("must be a path on this machine, but is an address; mount it, and write the path")
    if "\n" in written:
        field.refuse("must be one line")
    try:
        return Path(os.path.abspath(field.folder / Path(written).expanduser()))  # noqa: PTH100 (keeps links)
    except RuntimeError:
        field.refuse("begins with ~ and an unknown user; write the whole path")


def one_of(*choices: str) -> Parser[str]:
    """One of some words."""

    def parse(field: Field) -> str:
        if field.node.text not in choices or isinstance(field.node.value, (dict, list)):
            hint = did_you_mean(field.node.text, choices)
            known = " or ".join(part for part in (", ".join(choices[:-1]), choices[-1]) if part)
            field.refuse(f"must be {known}, but is {field.excerpt()}{hint}")
        return field.node.text

    return parse


def optional(parser: Parser[T]) -> Parser[T | None]:
    """A value, or null."""
    return lambda field: None if field.node.value is None else parser(field)


def listed(parser: Parser[T]) -> Parser[tuple[T, ...]]:
    """A list of values. All its problems are recorded."""

    def parse(field: Field) -> tuple[T, ...]:
        if not isinstance(field.node.value, list):
            field.refuse(f"must be a list ([a, b], or lines that begin with '- '), but is {field.node.kind}")
        return tuple(_parsed(field, enumerate(field.node.value), parser).values())

    return parse


def table(parser: Parser[T]) -> Parser[dict[str, T]]:
    """A mapping of free names to values. All its problems are recorded."""

    def parse(field: Field) -> dict[str, T]:
        if not isinstance(field.node.value, dict):
            field.refuse(f"must have names and values (name: value), but is {field.node.kind}")
        return _parsed(field, field.node.value.items(), parser)

    return parse


def _parsed(field: Field, items: Iterable[tuple[Any, Node]], parser: Parser[T]) -> dict[Any, T]:
    values: dict[Any, T] = {}
    valid = True
    for key, node in items:
        try:
            values[key] = parser(field.inner(key, node))
        except ConfigError as problem:
            valid = False
            field.problems.add(problem.placed(node.line))
        except InvalidSection:
            valid = False
    if not valid:
        raise InvalidSection
    return values
