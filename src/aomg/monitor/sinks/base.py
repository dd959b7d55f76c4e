"""Defines what every sink of results, summaries and alerts promises."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
from rich.console import Console

from aomg.monitor.alert import Alert
from aomg.monitor.journal.entry import Appended, Written
from aomg.monitor.sinks.result_rows import LabelNames, records, stored


class Sink(Protocol):
    """Stores each micro-batch: an Arrow table of results or summaries, or alerts.

    A batch that is written again replaces what it wrote before, so repeating batches after a crash leaves the same
    files as if nothing had happened. Raises SinkError if nothing can be written; the batch is then repeated.
    """

    def write(self, batch: int, rows: pa.Table | Sequence[Alert], /) -> Written | Appended | None:
        """Store a whole batch on the disk. Returns its files or lines, for the journal, if there are any."""


@runtime_checkable
class TidySink(Protocol):
    """A sink whose small files are joined while the monitor runs."""

    def tidy(self) -> Written | None:
        """Do a bounded piece of work between batches: about a second at most. Never fails. Returns what it joined."""


@dataclass(frozen=True)
class SinkContext:
    """What a sink may need besides its own keys.

    console
        Where the monitor prints.
    label_names
        The names of the labels of each query.
    stream
        Identifies the state folder (`journal.stream.stream_of`).
    spark
        Returns the Spark session.
    """

    console: Console
    label_names: LabelNames
    stream: str
    spark: Callable[[], Any]


def lines_of(batch: int, rows: pa.Table | Sequence[Alert], label_names: LabelNames | None) -> Iterator[dict[str, Any]]:
    """The results or alerts of a batch as JSON objects that begin with the batch."""
    if isinstance(rows, pa.Table):
        yield from records(stored(batch, rows, label_names))
        return
    for alert in rows:
        record = alert.to_json()
        del record["batch"]
        yield {"batch": batch, **record}


def labels_text(labels: Any) -> str:
    """{podset=17}, or the values alone where the names are unknown."""
    pairs = labels.items() if isinstance(labels, dict) else ((None, value) for value in labels or ())
    return (
        "{"
        + ", ".join(("" if name is None else f"{name}=") + ("-" if v is None else str(v)) for name, v in pairs)
        + "}"
    )


def title_of(name: str) -> str:
    """The name of an estimate as people write it: p99_9 is p99.9."""
    return name.replace("_", ".") if name.startswith("p") else name
