"""What a value of the configuration may be: text, a duration, a share, one of some words, a list of them.

Each takes a Field and returns what it means, or complains with its name, its line and what to write instead.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar

from aomg.durations import microseconds
from aomg.errors import DurationError
from aomg.monitor.config.schema import Field, Kind, Refused
from aomg.monitor.config.secret import Secret, mentions_environment, names_a_secret, redacted, with_environment
from aomg.monitor.config.yaml_lines import Node
from aomg.monitor.errors import ConfigError
from aomg.suggestions import did_you_mean
from aomg.whole_numbers import count_of

T = TypeVar("T")


def text(given: Field) -> str:
    """A text that is not empty; a number is taken as it was written."""
    node = given.node
    if isinstance(node.value, (dict, list, bool)) or not node.text.strip():
        given.refuse(f"must be text, and is {node.kind if not isinstance(node.value, str) else 'empty'}")
    if mentions_environment(node.text):
        given.refuse("cannot be taken from the environment; only options, headers and addresses can")
    if not all(character.isprintable() or character in "\n\t" for character in node.text):
        given.refuse("has a control character; remove it")
    return node.text


def secret_text(given: Field) -> str | Secret:
    """A text, number or boolean; ${NAME} is taken from the environment. A Secret if so, or if it is named like one."""
    node = given.node
    if isinstance(node.value, (dict, list)) or node.value is None:
        given.refuse(f"must be text, a number, true or false, and is {node.kind}")
    plain = str(node.value).lower() if isinstance(node.value, bool) else node.text
    try:
        found = with_environment(plain, given.environment)
    except ConfigError as problem:
        given.refuse(problem.message)
    return Secret(found) if isinstance(found, str) and names_a_secret(given.name) else found


def boolean(given: Field) -> bool:
    """True or false."""
    if not isinstance(given.node.value, bool):
        given.refuse(f"must be true or false, and is {given.shown()}")
    return given.node.value


def whole(least: int = 0, most: int = 1 << 53) -> Kind[int]:
    """A whole number within limits, also as 500k or 12M."""

    def kind(given: Field) -> int:
        value = given.node.value
        if isinstance(value, (str, float)):
            value = count_of(given.node.text)
        if isinstance(value, bool) or not isinstance(value, int):
            given.refuse(f"must be a whole number such as 1000, 500k or 12M, and is {given.shown()}")
        if not least <= value <= most:
            limits = f"at least {least:,}" if most == 1 << 53 and value < least else f"{least:,} to {most:,}"
            given.refuse(f"must be {limits}, and is {given.shown()}")
        return value

    return kind


def number(above: float, most: float) -> Kind[float]:
    """A number within limits."""

    def kind(given: Field) -> float:
        value = given.node.value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not above < value <= most:
            given.refuse(f"must be a number above {above:,g} and at most {most:,g}, and is {given.shown()}")
        return float(value)

    return kind


def share(given: Field) -> float:
    """A part of a whole, above 0 and at most 1: 10% or 0.1."""
    written = given.node.text.strip()
    try:
        part = Decimal(written.removesuffix("%").strip()) / (100 if written.endswith("%") else 1)
    except (InvalidOperation, ValueError):
        part = Decimal(0)
    if isinstance(given.node.value, (dict, list, bool)) or not part.is_finite() or not 0 < part <= 1:
        given.refuse(f"must be a share such as 10% or 0.1, above 0 and at most 1, and is {given.shown()}")
    return float(part)


def duration(given: Field) -> int:
    """A duration of at most a hundred years, in microseconds."""
    node = given.node
    if isinstance(node.value, (dict, list, bool)) or node.value is None:
        given.refuse(f"must be a duration such as 90s or 5 minutes, and is {node.kind}")
    try:
        return microseconds(node.text, limited=True)
    except DurationError as error:
        if redacted(node.text) != node.text:
            given.refuse(f"must be a duration such as 90s or 5 minutes, and is {given.shown()}")
        raise ConfigError(f"{given.name}: {error}", node.line) from None


@dataclass(frozen=True)
class Folder:
    """Where relative paths start."""

    start: Path

    def path(self, given: Field) -> Path:
        """A path, absolute; the file system is not looked at."""
        written = text(given)
        if "://" in written:
            given.refuse("must be a path of this machine, and is an address; mount it, and give the path")
        if "\n" in written:
            given.refuse("must be one line")
        try:
            return Path(os.path.abspath(self.start / Path(written).expanduser()))  # noqa: PTH100 (keeps links)
        except RuntimeError:
            given.refuse("begins with ~ and the name of nobody known here; write the path out")


def one_of(*choices: str) -> Kind[str]:
    """One of some words."""

    def kind(given: Field) -> str:
        if given.node.text not in choices or isinstance(given.node.value, (dict, list)):
            hint = did_you_mean(given.node.text, choices)
            given.refuse(f"must be {' or '.join(choices)}, and is {given.shown()}{hint}")
        return given.node.text

    return kind


def optional(kind: Kind[T]) -> Kind[T | None]:
    """A kind, or null."""
    return lambda given: None if given.node.value is None else kind(given)


def listed(kind: Kind[T]) -> Kind[tuple[T, ...]]:
    """A list of things of one kind. All that is wrong in it is recorded."""

    def read(given: Field) -> tuple[T, ...]:
        if not isinstance(given.node.value, list):
            given.refuse(f"must be a list ([a, b], or lines that begin with '- '), and is {given.node.kind}")
        return tuple(_each(given, enumerate(given.node.value), kind).values())

    return read


def table(kind: Kind[T]) -> Kind[dict[str, T]]:
    """A mapping of free names to things of one kind. All that is wrong in it is recorded."""

    def read(given: Field) -> dict[str, T]:
        if not isinstance(given.node.value, dict):
            given.refuse(f"must have names and values (name: value), and is {given.node.kind}")
        return _each(given, given.node.value.items(), kind)

    return read


def _each(given: Field, items: Iterable[tuple[Any, Node]], kind: Kind[T]) -> dict[Any, T]:
    read: dict[Any, T] = {}
    good = True
    for key, node in items:
        try:
            read[key] = kind(given.inner(key, node))
        except ConfigError as problem:
            good = False
            given.problems.add(problem.placed(node.line))
        except Refused:
            good = False
    if not good:
        raise Refused
    return read
