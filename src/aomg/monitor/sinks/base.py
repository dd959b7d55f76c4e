"""Where results and alerts go: what every sink promises, and the plainest of them, the console."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa
from rich.console import Console

from aomg.monitor.alert import Alert
from aomg.monitor.sinks.result_rows import LabelNames, records, stored
from aomg.numbers import number_texts

__all__ = ["Alert", "ConsoleSink", "Sink", "labels_text", "lines_of", "title_of"]


class Sink(Protocol):
    """Takes what a micro-batch gave: an Arrow table of results, or alerts.

    A batch that is written again replaces what it wrote before, so that repeating batches after a crash, from
    whichever point, leaves the same files as if nothing had happened. Raises SinkError where nothing can be written;
    then the batch is not done and is repeated.
    """

    def write(self, batch: int, rows: pa.Table | Sequence[Alert], /) -> None:
        """Take all of a batch; when this returns it is on the disk."""

    def close(self) -> None:
        """Let go of what the sink holds."""


def lines_of(batch: int, rows: pa.Table | Sequence[Alert], label_names: LabelNames | None) -> Iterator[dict[str, Any]]:
    """The results or alerts of a batch as JSON objects that begin with the batch."""
    if isinstance(rows, pa.Table):
        yield from records(stored(batch, rows, label_names))
        return
    for alert in rows:
        told = alert.to_json()
        del told["batch"]
        yield {"batch": batch, **told}


class ConsoleSink:
    """A readable line for each result or alert. A batch that is repeated is printed again."""

    def __init__(self, console: Console, label_names: LabelNames | None = None) -> None:
        self._console = console
        self._label_names = label_names

    def write(self, batch: int, rows: pa.Table | Sequence[Alert]) -> None:
        """Print all of a batch."""
        shown = _result if isinstance(rows, pa.Table) else _alert
        for line in lines_of(batch, rows, self._label_names):
            self._console.print(shown(line), markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Nothing is held."""


def _result(line: dict[str, Any]) -> str:
    estimates = "  ".join(f"{name} {_estimate(part)}" for name, part in line["estimates"].items())
    burst = "  burst" if line["burst"] else ""
    return f"{line['end']}  {line['query']} {labels_text(line['labels'])}  n={line['count']:,}  {estimates}{burst}"


def _estimate(part: dict[str, Any]) -> str:
    texts = number_texts(part.get("value"), part.get("low"), part.get("high"), digits=6)
    return f"{texts.value} ({texts.interval})"


def _alert(line: dict[str, Any]) -> str:
    """One line whatever the alert has: a summary if there is one, else its annotations."""
    told = line.get("annotations") or {}
    about = told.get("summary") or (json.dumps(told, ensure_ascii=False) if told else "")
    name = f"{line['rule']} {labels_text(line['labels'])}"
    return f"{line['end']}  {line['transition'].upper()}  {name}  {about}".replace("\n", " ").strip()


def labels_text(labels: Any) -> str:
    """{podset=17}, or the values alone where the names are not known."""
    pairs = labels.items() if isinstance(labels, dict) else ((None, value) for value in labels or ())
    return (
        "{"
        + ", ".join(("" if name is None else f"{name}=") + ("-" if v is None else str(v)) for name, v in pairs)
        + "}"
    )


def title_of(name: str) -> str:
    """The name of an estimate as people write it: p99_9 is p99.9."""
    return name.replace("_", ".") if name.startswith("p") else name
