"""Reads sections of the configuration: known keys, types, values. Every error has its line.

A `Field` is a value and its name (queries.inbound.size). A *parser* turns a Field into what it means, such as `text` or
`duration` (values.py). A `Section` is a Field that is a mapping: `take` reads one of its keys, `close` refuses unknown
ones. A section reads all its keys before it closes, so one run reports all its problems; after `close` every value that
was taken is valid.

A kind of rule, sink or receiver is a dataclass whose fields are its keys, declared with `key`.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar, overload

from aomg.monitor.config.node import Node
from aomg.monitor.config.secret import names_a_secret, redacted
from aomg.monitor.errors import MOST_PROBLEMS, ConfigError
from aomg.suggestions import suggestion

T = TypeVar("T")
NEEDED: Any = object()
"""The default of a key that must be set."""


class InvalidSection(Exception):  # noqa: N818 (its problems are recorded already)
    """A section has problems. Caught by the section around it, which reads on."""


class TooManyProblems(Exception):  # noqa: N818
    """As many problems as are reported at once. Caught by `load` alone."""


@dataclass
class Problems:
    """The problems so far, ten at most."""

    errors: list[ConfigError] = dataclasses.field(default_factory=list)

    def add(self, problem: ConfigError) -> None:
        """Record a problem; with the tenth, raise TooManyProblems."""
        self.errors += problem.problems
        if len(self.errors) >= MOST_PROBLEMS:
            raise TooManyProblems


@dataclass(frozen=True)
class Field:
    """A value of the configuration, its name, and where its problems are recorded.

    environment
        Where ${NAME} is looked up.
    folder
        Relative paths start here.
    """

    node: Node
    name: str
    problems: Problems
    environment: Mapping[str, str]
    folder: Path = Path()
    key: str = ""

    def refuse(self, message: str) -> NoReturn:
        """Raise an error about this value; the message continues its name."""
        raise ConfigError(f"{self.name} {message}" if self.name else f"the configuration {message}", self.node.line)

    def inner(self, key: str | int, node: Node) -> "Field":
        """A value in this mapping or list."""
        name = f"{self.name}[{key}]" if isinstance(key, int) else f"{self.name}.{key}" if self.name else key
        return dataclasses.replace(self, node=node, name=name, key=str(key))

    def excerpt(self) -> str:
        """The value for a message, shortened; `***` where it may be a secret."""
        if isinstance(self.node.value, (dict, list)) or self.node.value is None:
            return self.node.kind
        excerpt = "***" if names_a_secret(self.name) else redacted(self.node.text)
        return repr(excerpt if len(excerpt) <= 60 else excerpt[:57] + "...")


Parser = Callable[[Field], T]
"""Returns what a Field means, or raises ConfigError."""


@dataclass(frozen=True)
class Key:
    """A key of a section: its name in the file, its parser, its default, and a line of help for the docs."""

    name: str
    parser: Parser[Any]
    default: Any
    help: str


def key(parser: Parser[Any], default: Any = NEEDED, *, help: str, name: str = "") -> Any:
    """Declare a field of a dataclass as a key of the file. `name` is its name there, where it differs."""
    metadata = {"key": Key(name, parser, default, help)}
    if default is NEEDED:
        return dataclasses.field(metadata=metadata)
    if isinstance(default, dict):
        return dataclasses.field(default_factory=lambda: dict(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def keys_of(kind: type) -> dict[str, Key]:
    """The keys that a dataclass declares, by the name of the field."""
    declared = {part.name: part.metadata["key"] for part in dataclasses.fields(kind) if "key" in part.metadata}
    return {
        name: dataclasses.replace(declaration, name=declaration.name or name) for name, declaration in declared.items()
    }


class Section:
    """A mapping whose keys are read one by one."""

    def __init__(self, field: Field) -> None:
        if not isinstance(field.node.value, dict):
            field.refuse(f"must have keys and values (key: value), and is {field.node.kind}")
        self.field = field
        self._entries = field.node.value
        self._known: list[str] = []
        self._valid = True

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    @overload
    def take(self, key: str, parser: Parser[T], default: None) -> T | None: ...

    @overload
    def take(self, key: str, parser: Parser[T], default: Any = NEEDED) -> T: ...

    def take(self, key: str, parser: Parser[T], default: Any = NEEDED) -> T | None:
        """Return the value of a key. On a problem, record it and return None: use the value only after `close`."""
        self._known.append(key)
        try:
            if key in self._entries:
                return parser(self.field.inner(key, self._entries[key]))
            if default is NEEDED:
                self.field.refuse(f"lacks the key '{key}'; add it")
            return default  # type: ignore[no-any-return]
        except ConfigError as problem:
            self.report(problem)
        except InvalidSection:
            self._valid = False
        return None

    def take_all(self, kind: type) -> dict[str, Any]:
        """Return the values of all keys that a dataclass declares, by the names of its fields."""
        return {
            name: self.take(declaration.name, declaration.parser, declaration.default)
            for name, declaration in keys_of(kind).items()
        }

    def choose(self, names: Iterable[str]) -> str:
        """Return the one key of `names` that is set. Refuses none and several."""
        known = list(names)
        present = [key for key in known if key in self._entries]
        if len(present) == 1:
            return present[0]
        choices = f"one of {', '.join(known)}"
        if present:
            self.field.refuse(f"has {' and '.join(present)}; keep only {choices}")
        for key in self._entries:
            if question := suggestion(key, known, ""):
                raise ConfigError(f"{self.field.name} needs {choices}; {question}", self.line_of(key))
        self.field.refuse(f"needs {choices}")

    def line_of(self, key: str) -> int:
        """The line of a key, or of the section if the key is not set."""
        return self._entries[key].line if key in self._entries else self.field.node.line

    def lines(self) -> dict[str, int]:
        """The line of every key that is set."""
        return {key: node.line for key, node in self._entries.items()}

    def report(self, problem: ConfigError) -> None:
        """Record a problem of this section."""
        self._valid = False
        self.field.problems.add(problem.placed(self.field.node.line))

    def close(self, also: Iterable[str] = (), why: Mapping[str, str] | None = None) -> None:
        """Refuse keys that were not read, with a suggestion; raise InvalidSection if the section has any problem.

        also
            Keys that are read elsewhere, or whose problem is reported elsewhere.
        why
            The message for keys that exist, but not here.
        """
        known = [*self._known, *also]
        where = f" in {self.field.name}" if self.field.name else ""
        for key, node in self._entries.items():
            if key in known:
                continue
            if why and key in why:
                self.report(ConfigError(f"'{key}'{where} {why[key]}", node.line))
            else:
                remedy = suggestion(key, known, f"the keys are {', '.join(known)}")
                self.report(ConfigError(f"unknown key {key[:60]!r}{where}; {remedy}", node.line))
        if not self._valid:
            raise InvalidSection


def one_kind(kinds: Sequence[type[T]]) -> Parser[T]:
    """Parse a section whose kind is the key that it has: `parquet: results/` is a section of the kind parquet.

    Each kind is a dataclass with a class attribute `kind`, a field `line`, and a key named like the kind.
    """

    def parse(field: Field) -> T:
        section = Section(field)
        by_name: dict[str, Any] = {kind.kind: kind for kind in kinds}  # type: ignore[attr-defined]
        name = section.choose(by_name)
        values = section.take_all(by_name[name])
        others = {declaration.name for kind in kinds for declaration in keys_of(kind).values()}.difference(by_name)
        section.close(why=dict.fromkeys(others, f"is not for {name}"))
        return by_name[name](line=section.line_of(name), **values)  # type: ignore[no-any-return]

    return parse
