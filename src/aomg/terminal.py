"""Prints to a terminal. Text from data cannot control it: control characters are shown as escapes.

Keys, file names and messages come from others. An escape sequence in them could move the cursor, hide lines, set the
title or, on some terminals, type commands; a bidirectional control could show a name in another order. All output of
the command line goes through `Terminal`, `report_error` or the log format of `escape_log`, which escape both. JSON
keeps the true text: `json_text` writes these characters as JSON escapes.
"""

import json
import logging
import re
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

_LAYOUT = "\n\t"
# C0, DEL and C1; marks, embeddings, overrides and isolates of direction; halves of surrogate pairs cannot be encoded
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_CONTROL_BUT_LAYOUT = re.compile(_CONTROL.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))


def printable(text: str, keep_layout: bool = False) -> str:
    r"""Return a text with its control characters as visible escapes. With `keep_layout`, line breaks and tabs stay.

    >>> print(printable("a\x1b[31mb\u202ec"))
    a\x1b[31mb\u202ec
    """
    return (_CONTROL_BUT_LAYOUT if keep_layout else _CONTROL).sub(lambda match: ascii(match[0])[1:-1], text)


def json_text(document: Any) -> str:
    r"""Return JSON on one line that is safe to print; parsing it gives the true text.

    >>> print(json_text({"key": "ä\x9b2J"}))
    {"key": "ä\u009b2J"}
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class Terminal(Console):
    """A console that escapes control characters in everything it prints, except its own for layout and colour."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"highlight": False, **settings})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render, and escape the text; Rich's own control codes are separate segments."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else printable(segment.text, keep_layout=True)
            yield segment if text == segment.text else Segment(text, segment.style)

    def out(self, *objects: Any, **settings: Any) -> None:
        """Print text as it is, without wrapping or markup, but with control characters escaped."""
        super().out(*(printable(str(part), keep_layout=True) for part in objects), **settings)


def report_error(message: str) -> None:
    """Print a message to standard error."""
    print(printable(message, keep_layout=True), file=sys.stderr, flush=True)


class _EscapedFormat(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record), keep_layout=True)


def escape_log() -> None:
    """Escape control characters in log messages that go to standard error because no handler is configured."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_EscapedFormat())
