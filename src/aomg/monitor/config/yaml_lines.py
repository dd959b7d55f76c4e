"""Reads YAML and keeps the line of every value, so that every error can name it.

Only the part of YAML that configurations need: mappings with text keys, lists, texts, numbers, true and false, null.
Aliases, anchors, tags, duplicate keys and second documents are refused. No other objects are constructed, so no file
can run code, and time and memory are bounded by the file's size.
"""

import math
import re
from pathlib import Path
from typing import Any

import yaml

from aomg.monitor.config.node import Node
from aomg.monitor.errors import ConfigError

MOST_BYTES = 1_000_000
MOST_VALUES = 100_000
DEEPEST = 20

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the compiled one is much faster
_WHOLE = re.compile(r"[-+]?[0-9]{1,30}")
_REAL = re.compile(r"[-+]?(?:[0-9]{1,30}\.[0-9]{0,30}|\.[0-9]{1,30}|[0-9]{1,30}(?=[eE]))(?:[eE][-+]?[0-9]{1,4})?")
_HINTS = {
    "mapping values are not allowed": "quote texts that contain ': ', and check the indentation",
    "could not find expected ':'": "write 'key: value', with a space after the colon",
    "did not find expected key": "check the indentation, and look for an unclosed quote or bracket",
    "did not find expected '-' indicator": "check the indentation of the list",
    "did not find expected ',' or": "a bracket is not closed, here or before",
    "block sequence entries are not allowed": "begin a list on the line after its key",
    "cannot start any token": "quote the text",
    "unexpected end of stream": "a quote or bracket is not closed",
}


def read(path: Path) -> Node:
    """Read a file. Raises ConfigError, with the line if there is one."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError("there is no such file; check the name and the folder") from None
    except IsADirectoryError:
        raise ConfigError("this is a folder; give a file in it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"it cannot be read ({reason}); check its owner and permissions") from None
    if len(raw) > MOST_BYTES:
        raise ConfigError(
            f"the file is larger than {MOST_BYTES:,} bytes, the limit of a configuration; is it the right file?"
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError("the file is not UTF-8 here; save it as UTF-8", line) from None
    return parse(text)


def parse(text: str) -> Node:
    """Parse a text. Takes time and memory in proportion to its length.

    >>> parse("quantiles: [0.5, 0.999]").value["quantiles"].value[1]
    Node(value=0.999, line=1, text='0.999')
    """
    try:
        return _document(_Events(text))
    except yaml.YAMLError as error:
        raise _not_yaml(error, text) from None


class _Events:
    """The parser's events of a text, one at a time; refuses what is not supported."""

    def __init__(self, text: str) -> None:
        self._events = yaml.parse(text, Loader=_PARSER)
        self._values = 0

    def next(self) -> Any:
        event = next(self._events)
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise ConfigError("anchors (&) and aliases (*) are not supported; repeat the value, or quote it", line)
        if isinstance(event, yaml.NodeEvent):
            if event.tag is not None:
                raise ConfigError("tags (!) are not supported; remove the tag, or quote the text", line)
            self._values += 1
            if self._values > MOST_VALUES:
                raise ConfigError(f"more than {MOST_VALUES:,} values, the limit of a configuration", line)
        return event


def _document(events: _Events) -> Node:
    events.next()  # the stream's start
    if isinstance(events.next(), yaml.StreamEndEvent):
        raise ConfigError("the file is empty; it needs source, state and queries", 1)
    root = _node(events, events.next(), None, 1)
    events.next()  # the document's end
    further = events.next()
    if not isinstance(further, yaml.StreamEndEvent):
        raise ConfigError("a second document begins; a file has one configuration", further.start_mark.line + 1)
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
        line_of_key = event.start_mark.line + 1
        if not isinstance(event, yaml.ScalarEvent) or not event.value:
            raise ConfigError("a key must be text, such as 'name:'", line_of_key)
        key = event.value
        if key in entries:
            raise ConfigError(
                f"the key {key[:60]!r} appears twice, first in line {entries[key].line}; remove or rename one",
                line_of_key,
            )
        entries[key] = _node(events, events.next(), line_of_key, depth + 1)
    return Node(entries, line)


def _scalar(text: str) -> str | int | float | bool | None:
    """Return the value of an unquoted text. Unlike in YAML 1.1, yes, no, on, off, 1:30 and 2024-05-01 are texts."""
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
    """The parser's error, without the text around it: that may be a secret."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:  # a character that no YAML may hold
        match = re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
        line = text.count("\n", 0, match.start()) + 1 if match else 1
        return ConfigError("there is a control character; remove it", line)
    lines = text.splitlines()
    line = min(mark.line + 1, max(len(lines), 1))
    before = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())] if lines else ""
    if "\t" in before:
        return ConfigError("there is a tab in the indentation; YAML needs spaces", line)
    problem = error.problem or error.context or "cannot be read"
    hint = next((hint for part, hint in _HINTS.items() if part in problem), "check this line and the one before")
    return ConfigError(f"this is not YAML ({problem}); {hint}", line)
