"""Summaries of sub-windows as Parquet, a folder for each query: `summaries/inbound/batch-3f9a...-0000000123.parquet`.

Each folder is what `aomg.spark.windows` reads: the labels as columns, and the columns of `aomg.spark.summaries`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from aomg.monitor.atomic import SinkError, put, reason
from aomg.monitor.sinks.parquet import content


class SummarySink:
    """A file for each query and batch; a batch that is repeated replaces its own. Costs a few milliseconds each.

    Files have the stream's name in theirs: batches of another state folder never replace each other, and a summary
    that is stored twice counts once.
    """

    def __init__(self, folder: Path, label_names: Mapping[str, Sequence[str]], stream: str) -> None:
        self._folder = folder
        self._label_names = label_names
        self._stream = stream

    def write(self, batch: int, table: pa.Table) -> None:
        """Take the rows of a micro-batch that have a summary (`aomg.monitor.run.plan` says which columns)."""
        for query, labels in self._label_names.items():
            rows = table.filter(pc.equal(table["query"], query))
            file = self._folder / query / f"batch-{self._stream}-{batch:010d}.parquet"
            if rows.num_rows:
                put(file, content(_stored(rows, labels)))
            else:
                try:
                    file.unlink(missing_ok=True)
                except OSError as error:
                    raise SinkError(reason(error, file)) from error

    def close(self) -> None:
        """Nothing is held."""


def _stored(rows: pa.Table, labels: Sequence[str]) -> pa.Table:
    """The rows in the columns of `aomg.spark.summaries`, in an order that depends on them alone."""
    texts = rows["labels"].combine_chunks()
    columns = {name: pc.list_element(texts, at) for at, name in enumerate(labels)}
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
