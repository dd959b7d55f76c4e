"""Reads YAML and keeps the line of everything, so that every error can name it.

Only the part of YAML that configurations need: mappings with text keys, lists, texts, numbers, true and false, null.
Aliases, anchors, tags, duplicate keys and second documents are refused. Nothing is ever constructed but those, so no
file can run code, and what a file can cost is bounded by its size.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from aomg.monitor.errors import ConfigError

MOST_BYTES = 1_000_000
MOST_VALUES = 100_000
DEEPEST = 20

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the compiled one is much faster
_WHOLE = re.compile(r"[-+]?[0-9]{1,30}")
_REAL = re.compile(r"[-+]?(?:[0-9]{1,30}\.[0-9]{0,30}|\.[0-9]{1,30}|[0-9]{1,30}(?=[eE]))(?:[eE][-+]?[0-9]{1,4})?")
_HINTS = {
    "mapping values are not allowed": "put texts that hold ': ' into quotes, and look at the indentation",
    "could not find expected ':'": "write 'key: value', with a space after the colon",
    "did not find expected key": "look at the indentation, and for a quote or bracket that is not closed",
    "did not find expected '-' indicator": "look at the indentation of the list",
    "did not find expected ',' or": "a bracket that is opened here, or before, is not closed",
    "block sequence entries are not allowed": "begin a list on the line after its key",
    "cannot start any token": "put the text into quotes",
    "unexpected end of stream": "a quote or bracket is not closed",
}


@dataclass(frozen=True)
class Node:
    """A value of the file and where it stands.

    value
        dict of Nodes by key (in the order of the file), list of Nodes, str, int, float, bool or None.
    line
        From 1 on: of its key in a mapping, else where it begins.
    text
        Of a scalar: as it was written, so that 0.999 and 1.10 keep their digits.
    """

    value: "dict[str, Node] | list[Node] | str | int | float | bool | None"
    line: int
    text: str = ""

    @property
    def kind(self) -> str:
        """What it is, in a word or two, for messages that must not show it."""
        if isinstance(self.value, bool):
            return "true or false"
        names = {dict: "a mapping", list: "a list", str: "text", int: "a number", float: "a number"}
        return names.get(type(self.value), "nothing")


def read(path: Path) -> Node:
    """Read a file. Raises ConfigError, with the line where there is one, for whatever is not right with it."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError("there is no such file; look at the name and the folder") from None
    except IsADirectoryError:
        raise ConfigError("this is a folder; give the file in it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"it cannot be read ({reason}); look at its owner and rights") from None
    if len(raw) > MOST_BYTES:
        raise ConfigError(
            f"the file is larger than {MOST_BYTES:,} bytes; a configuration is not: is it the right file?"
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError("the file is not UTF-8 here; save it as UTF-8", line) from None
    return parse(text)


def parse(text: str) -> Node:
    """Return what a text says. Costs time and memory in proportion to its length.

    >>> parse("quantiles: [0.5, 0.999]").value["quantiles"].value[1]
    Node(value=0.999, line=1, text='0.999')
    """
    try:
        return _document(_Events(text))
    except yaml.YAMLError as error:
        raise _not_yaml(error, text) from None


class _Events:
    """The events of a text, one at a time, each looked at for what is refused."""

    def __init__(self, text: str) -> None:
        self._events = yaml.parse(text, Loader=_PARSER)
        self._values = 0

    def next(self) -> Any:
        event = next(self._events)
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise ConfigError("anchors (&) and aliases (*) are not read here; write the value out, or quote it", line)
        if isinstance(event, yaml.NodeEvent):
            if event.tag is not None:
                raise ConfigError("tags (!) are not read here; leave the tag out, or quote the text", line)
            self._values += 1
            if self._values > MOST_VALUES:
                raise ConfigError(f"more than {MOST_VALUES:,} values; a configuration has fewer", line)
        return event


def _document(events: _Events) -> Node:
    events.next()  # the stream's start
    if isinstance(events.next(), yaml.StreamEndEvent):
        raise ConfigError("the file is empty; start from the example: source, state, queries", 1)
    root = _node(events, events.next(), None, 1)
    events.next()  # the document's end
    further = events.next()
    if not isinstance(further, yaml.StreamEndEvent):
        raise ConfigError("a second document begins; one file is one configuration", further.start_mark.line + 1)
    return root


def _node(events: _Events, event: Any, key_line: int | None, depth: int) -> Node:
    line = key_line or event.start_mark.line + 1
    if depth > DEEPEST:
        raise ConfigError(f"nested more than {DEEPEST} levels deep; is a bracket not closed?", line)
    if isinstance(event, yaml.ScalarEvent):
        plain = event.implicit[0]
        return Node(_scalar(event.value) if plain else event.value, line, event.value)
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not isinstance(event := events.next(), yaml.SequenceEndEvent):
            items.append(_node(events, event, None, depth + 1))
        return Node(items, line)
    entries: dict[str, Node] = {}
    while not isinstance(event := events.next(), yaml.MappingEndEvent):
        at = event.start_mark.line + 1
        if not isinstance(event, yaml.ScalarEvent) or not event.value:
            raise ConfigError("a key must be text, such as 'name:'", at)
        key = event.value
        if key in entries:
            raise ConfigError(
                f"the key {key[:60]!r} is here twice, first in line {entries[key].line}; remove or rename one", at
            )
        entries[key] = _node(events, events.next(), at, depth + 1)
    return Node(entries, line)


def _scalar(text: str) -> str | int | float | bool | None:
    """Return what a text without quotes is. Unlike YAML 1.1, yes, no, on, off, 1:30 and 2024-05-01 are texts."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text.lower() == "true"
    if _WHOLE.fullmatch(text):
        return int(text)
    if _REAL.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


def _not_yaml(error: Any, text: str) -> ConfigError:
    """What the parser found, without the text around it: that may be a secret."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:  # a character that no YAML may hold
        found = re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
        line = text.count("\n", 0, found.start()) + 1 if found else 1
        return ConfigError("a control character is here; remove it", line)
    lines = text.splitlines()
    line = min(mark.line + 1, max(len(lines), 1))
    before = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())] if lines else ""
    if "\t" in before:
        return ConfigError("a tab is in the indentation; YAML is indented with spaces", line)
    problem = error.problem or error.context or "cannot be read"
    hint = next((hint for said, hint in _HINTS.items() if said in problem), "look at this line and the one before")
    return ConfigError(f"this is no YAML ({problem}); {hint}", line)
