"""The Parquet sink of summaries, a folder for each query: `summaries/inbound/batch-3f9a...-0000000123.parquet`.

`aomg.spark.windows` reads such a folder: the labels as columns, and the columns of `aomg.spark.summaries`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from aomg.monitor.atomic_files import SinkError, put, reason
from aomg.monitor.config import values
from aomg.monitor.config.model import SinkConfig
from aomg.monitor.config.schema import key
from aomg.monitor.journal.entry import Written
from aomg.monitor.sinks.base import SinkContext
from aomg.monitor.sinks.parquet import content, stored_file


@dataclass(frozen=True, kw_only=True)
class SummarySinkConfig(SinkConfig):
    """A sink of summaries as configured."""

    kind = "parquet"
    stores = ("summaries",)
    writes_folder = True

    path: Path = key(values.path, name="parquet", help="a folder of Parquet files, by query")

    def build(self, context: SinkContext) -> "SummarySink":
        """Return the sink."""
        return SummarySink(self.path, context.label_names, context.stream)


class SummarySink:
    """Writes a file for each query and batch, a few milliseconds each. A repeated batch replaces its own.

    File names contain the stream: batches of different state folders never replace each other, and a summary that is
    stored twice counts once.
    """

    def __init__(self, folder: Path, label_names: Mapping[str, Sequence[str]], stream: str) -> None:
        self._folder = folder
        self._label_names = label_names
        self._stream = stream

    def write(self, batch: int, table: pa.Table) -> Written:
        """Store the rows of a micro-batch that have a summary (`aomg.monitor.run.plan` lists the columns)."""
        files, removed = [], []
        for query, labels in self._label_names.items():
            rows = table.filter(pc.equal(table["query"], query))
            file = self._folder / query / f"batch-{self._stream}-{batch:010d}.parquet"
            if rows.num_rows:
                text = content(_stored(rows, labels))
                put(file, text)
                files.append(stored_file(self._folder, file, text, rows.num_rows))
            elif file.exists():
                removed.append(str(file.relative_to(self._folder)))
                try:
                    file.unlink(missing_ok=True)
                except OSError as error:
                    raise SinkError(reason(error, file)) from error
        return Written(self._folder, tuple(files), tuple(removed))


def _stored(rows: pa.Table, labels: Sequence[str]) -> pa.Table:
    """The rows with the columns of `aomg.spark.summaries`, in an order that depends on their content alone."""
    texts = rows["labels"].combine_chunks()
    columns = {name: pc.list_element(texts, index) for index, name in enumerate(labels)}
    whole = {name: rows[name].combine_chunks() for name in ("start", "end", "count", "min", "max", "summary")}
    span = pa.StructArray.from_arrays([whole["start"], whole["end"]], names=["start", "end"])
    table = pa.table(
        {
            **columns,
            "sub_window": span,
            "count": whole["count"],
            "min": whole["min"],
            "max": whole["max"],
            "summary": whole["summary"],
            "query": rows["written_by"].combine_chunks(),
        }
    )
    order = pc.sort_indices(
        pa.table({**columns, "start": whole["start"]}), [(name, "ascending") for name in (*columns, "start")]
    )
    return table.take(order)
