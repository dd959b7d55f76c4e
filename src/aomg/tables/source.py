"""Opens any table as a sequence of Arrow tables: PyArrow, pandas, Polars, DuckDB, or anything with Arrow's interface.

Tables in memory come in one piece, unless they are very large. Everything else is read as a stream, some million rows
at a time, and no more of it is in memory. No package but PyArrow is imported: tables come through Arrow's PyCapsule
interface (`__arrow_c_stream__`, `__arrow_c_array__`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from aomg.errors import InputError

_IN_MEMORY = 1 << 25  # rows of a table that are taken at once: they need some 30 bytes each besides
_OF_STREAM = 1 << 22

_HINTS = {
    "LazyFrame": "collect it first: events.collect()",
    "Dataset": "pass events.scanner(columns=[...]).to_reader()",
    "FileSystemDataset": "pass events.scanner(columns=[...]).to_reader()",
    "Scanner": "pass events.to_reader()",
    "dict": "pass pa.table(events)",
    "list": "pass pa.Table.from_batches(events), or pa.Table.from_pylist(events)",
    "generator": "pass pa.RecordBatchReader.from_batches(schema, events)",
    "Series": "pass a DataFrame with the columns of values, times and keys",
    "ndarray": "pass pa.table({'name': array, ...}); for one stream use aomg.Operator(query).push(values, times)",
}


@dataclass(frozen=True)
class TableSource:
    """The schema of a table, and the table in pieces, which can be read once."""

    schema: pa.Schema
    tables: Iterator[pa.Table]


def open_source(data: Any, names: Sequence[str] | None) -> TableSource:
    """Open a table of which these columns are needed (None: all). Raises InputError if it is none."""
    package = type(data).__module__.partition(".")[0]
    try:
        if package == "pandas" and hasattr(data, "columns"):
            return _of_pandas(data, names)
        if isinstance(data, pa.RecordBatch) or (
            not isinstance(data, pa.Array) and hasattr(data, "__arrow_c_array__") and not _is_stream(data)
        ):
            return _of_table(pa.Table.from_batches([pa.record_batch(data)]))
        if isinstance(data, pa.Table) or (package == "polars" and _is_stream(data)):
            return _of_table(pa.table(data))
        if not isinstance(data, pa.ChunkedArray) and _is_stream(data):
            return _of_stream(pa.RecordBatchReader.from_stream(data))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError) as error:
        raise InputError(f"this {type(data).__name__} cannot be read as an Arrow table: {error}") from error
    hint = _HINTS.get(type(data).__name__, "pass a table of pandas, Polars, PyArrow or DuckDB")
    if package == "pyspark":
        hint = "use aomg.spark.quantiles(...)"
    raise InputError(f"the first argument must be a table, not {type(data).__name__}; {hint}")


def _is_stream(data: Any) -> bool:
    return hasattr(data, "__arrow_c_stream__")


def _of_pandas(frame: Any, names: Sequence[str] | None) -> TableSource:
    """Only the columns that are needed; the index only if one of these names is its own."""
    if names is None:
        return _of_table(pa.Table.from_pandas(frame, preserve_index=False))
    wanted = [name for name in dict.fromkeys(names) if name in frame.columns]
    if len(wanted) < len(set(names)) and not set(names) <= {*frame.columns, *frame.index.names}:
        return TableSource(pa.schema([(str(name), pa.null()) for name in frame.columns]), iter(()))
    whole = len(wanted) == len(set(names))
    return _of_table(pa.Table.from_pandas(frame, columns=wanted, preserve_index=not whole))


def _of_table(table: pa.Table) -> TableSource:
    return TableSource(table.schema, (table.slice(i, _IN_MEMORY) for i in range(0, table.num_rows, _IN_MEMORY)))


def _of_stream(reader: pa.RecordBatchReader) -> TableSource:
    return TableSource(reader.schema, tables_of(reader, _OF_STREAM))


def tables_of(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Join batches into tables of at least this many rows; the last may have fewer. Nothing is copied."""
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            pending.append(batch)
            size += batch.num_rows
        if size >= rows:
            yield pa.Table.from_batches(pending)
            pending, size = [], 0
    if pending:
        yield pa.Table.from_batches(pending)
