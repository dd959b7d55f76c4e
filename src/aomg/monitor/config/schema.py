"""Checks what the configuration says against what is known: keys, types, values. Every complaint has its line.

A `Field` is a value and its name (queries.inbound.size). A *kind* is a function from a Field to what it means, such as
`text` or `duration` (kinds.py). A `Section` is a Field that is a mapping; `take` reads one key of it and `close`
refuses the rest. A section reads all its keys before it closes, so that one run tells all that is wrong in it; after
`close` every value that was taken is good.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar, overload

from aomg.monitor.config.secret import names_a_secret, redacted
from aomg.monitor.config.yaml_lines import Node
from aomg.monitor.errors import MOST_PROBLEMS, ConfigError
from aomg.suggestions import suggestion

T = TypeVar("T")
NEEDED: Any = object()
"""The default of a key that must be there."""


class Refused(Exception):  # noqa: N818 (no error of its own: its problems are recorded already)
    """A section is not good. Caught by the one above it, which reads on."""


class Enough(Exception):  # noqa: N818
    """As many problems were found as are told at once. Caught by `load` alone."""


@dataclass
class Problems:
    """What was found so far, up to ten."""

    found: list[ConfigError] = field(default_factory=list)

    def add(self, problem: ConfigError) -> None:
        """Record a problem; with the tenth, raise Enough."""
        self.found += problem.problems
        if len(self.found) >= MOST_PROBLEMS:
            raise Enough


@dataclass(frozen=True)
class Field:
    """A value of the configuration, its name, and where its problems go."""

    node: Node
    name: str
    problems: Problems
    environment: Mapping[str, str]
    key: str = ""

    def refuse(self, message: str) -> NoReturn:
        """Complain about this value; the message continues its name."""
        raise ConfigError(f"{self.name} {message}" if self.name else f"the configuration {message}", self.node.line)

    def inner(self, key: str | int, node: Node) -> "Field":
        """A value in this mapping or list."""
        name = f"{self.name}[{key}]" if isinstance(key, int) else f"{self.name}.{key}" if self.name else key
        return Field(node, name, self.problems, self.environment, str(key))

    def shown(self) -> str:
        """The value for a message, shortened; nothing of it where it may be a secret."""
        if isinstance(self.node.value, (dict, list)) or self.node.value is None:
            return self.node.kind
        shown = "***" if names_a_secret(self.name) else redacted(self.node.text)
        return repr(shown if len(shown) <= 60 else shown[:57] + "...")


Kind = Callable[[Field], T]


class Section:
    """A mapping whose keys are read one by one."""

    def __init__(self, given: Field) -> None:
        if not isinstance(given.node.value, dict):
            given.refuse(f"must have keys and values (key: value), and is {given.node.kind}")
        self.field = given
        self._entries = given.node.value
        self._known: list[str] = []
        self._good = True

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    @overload
    def take(self, key: str, kind: Kind[T], default: None) -> T | None: ...

    @overload
    def take(self, key: str, kind: Kind[T], default: Any = NEEDED) -> T: ...

    def take(self, key: str, kind: Kind[T], default: Any = NEEDED) -> T | None:
        """Return what a key says. What is wrong with it is recorded, and None returned: use it after `close` only."""
        self._known.append(key)
        try:
            if key in self._entries:
                return kind(self.field.inner(key, self._entries[key]))
            if default is NEEDED:
                self.field.refuse(f"lacks the key '{key}'; add it")
            return default  # type: ignore[no-any-return]
        except ConfigError as problem:
            self.complain(problem)
        except Refused:
            self._good = False
        return None

    def choose(self, kinds: Iterable[str]) -> str:
        """Return which one of some keys is there. Refuses none and several."""
        known = list(kinds)
        there = [key for key in known if key in self._entries]
        if len(there) == 1:
            return there[0]
        of = f"one of {', '.join(known)}"
        if there:
            self.field.refuse(f"has {' and '.join(there)}; give only {of}")
        for key in self._entries:
            if question := suggestion(key, known, ""):
                raise ConfigError(f"{self.field.name} needs {of}; {question}", self.line_of(key))
        self.field.refuse(f"needs {of}")

    def line_of(self, key: str) -> int:
        """The line of a key, or of the section if it is not there."""
        return self._entries[key].line if key in self._entries else self.field.node.line

    def complain(self, problem: ConfigError) -> None:
        """Record a problem of this section."""
        self._good = False
        self.field.problems.add(problem.placed(self.field.node.line))

    def close(self, also: Iterable[str] = (), why: Mapping[str, str] | None = None) -> None:
        """Refuse the keys that were not read, with a suggestion; raise Refused if anything here was not good.

        also
            Keys that are read elsewhere, or whose problem is told elsewhere.
        why
            What to say of keys that exist, but not here.
        """
        known = [*self._known, *also]
        where = f" in {self.field.name}" if self.field.name else ""
        for key, node in self._entries.items():
            if key in known:
                continue
            if why and key in why:
                self.complain(ConfigError(f"'{key}'{where} {why[key]}", node.line))
            else:
                remedy = suggestion(key, known, f"there are {', '.join(known)}")
                self.complain(ConfigError(f"unknown key {key[:60]!r}{where}; {remedy}", node.line))
        if not self._good:
            raise Refused
