"""The console sink: prints a line for each result or alert."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from rich.console import Console

from aomg.monitor.alert import Alert
from aomg.monitor.config.model import SinkConfig
from aomg.monitor.config.schema import Field, key
from aomg.monitor.config.values import boolean
from aomg.monitor.sinks.base import SinkContext, labels_text, lines_of
from aomg.monitor.sinks.result_rows import LabelNames
from aomg.numbers import number_texts
from aomg.terminal import printable


def _true(field: Field) -> bool:
    if not boolean(field):
        field.refuse("is false; remove the sink instead")
    return True


@dataclass(frozen=True, kw_only=True)
class ConsoleSinkConfig(SinkConfig):
    """A console sink as configured."""

    kind = "console"
    stores = ("results", "alerts")

    console: bool = key(_true, help="`true`: print a line for each result or alert")

    def build(self, context: SinkContext) -> "ConsoleSink":
        """Return the sink."""
        return ConsoleSink(context.console, context.label_names)


class ConsoleSink:
    """Prints a line for each result or alert. A repeated batch is printed again."""

    def __init__(self, console: Console, label_names: LabelNames | None = None) -> None:
        self._console = console
        self._label_names = label_names

    def write(self, batch: int, rows: pa.Table | Sequence[Alert]) -> None:
        """Print a whole batch."""
        text_of = _result if isinstance(rows, pa.Table) else _alert
        for line in lines_of(batch, rows, self._label_names):
            self._console.print(_one_line(text_of(line)), markup=False, highlight=False, soft_wrap=True)


def _result(line: dict[str, Any]) -> str:
    estimates = "  ".join(f"{name} {_estimate(part)}" for name, part in line["estimates"].items())
    burst = "  burst" if line["burst"] else ""
    return f"{line['end']}  {line['query']} {labels_text(line['labels'])}  n={line['count']:,}  {estimates}{burst}"


def _estimate(part: dict[str, Any]) -> str:
    texts = number_texts(part.get("value"), part.get("low"), part.get("high"), digits=6)
    return f"{texts.value} ({texts.interval})"


def _alert(line: dict[str, Any]) -> str:
    """One line: the summary if there is one, else all annotations."""
    annotations = line.get("annotations") or {}
    text = annotations.get("summary") or (json.dumps(annotations, ensure_ascii=False) if annotations else "")
    name = f"{line['rule']} {labels_text(line['labels'])}"
    return f"{line['end']}  {line['transition'].upper()}  {name}  {text}".strip()


def _one_line(text: str) -> str:
    """A text without line breaks: a key with one must not look like another line."""
    return printable(text.replace("\n", " "))
