"""Opens any table as a sequence of Arrow tables: PyArrow, pandas, Polars, DuckDB, or anything with Arrow's interface.

Tables in memory come in one piece, unless they are very large. Everything else is read as a stream, some million rows
at a time, and no more of it is in memory. No package but PyArrow is imported: tables come through Arrow's PyCapsule
interface (`__arrow_c_stream__`, `__arrow_c_array__`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from aomg.errors import InputError
from aomg.value_types import Casts

_IN_MEMORY = 1 << 25  # rows of a table that are taken at once: they need some 30 bytes each besides
_OF_STREAM = 1 << 22

ARROW = Casts(
    "pyarrow.compute.round(events[{name!r}], {places}).cast(pyarrow.decimal128(15, {places}))",
    "events[{name!r}].cast('int64')",
    "events[{name!r}].cast('double')",
)
_CASTS = {
    "pandas": Casts(
        "events[{name!r}].round({places}).astype(pandas.ArrowDtype(pyarrow.decimal128(15, {places})))",
        "events[{name!r}].astype('int64')",
        "events[{name!r}].astype('float64')",
    ),
    "polars": Casts(
        "polars.col({name!r}).cast(polars.Decimal(15, {places}))",
        "polars.col({name!r}).cast(polars.Int64)",
        "polars.col({name!r}).cast(polars.Float64)",
    ),
    "duckdb": Casts('CAST("{name}" AS DECIMAL(15, {places}))', 'CAST("{name}" AS BIGINT)', 'CAST("{name}" AS DOUBLE)'),
}

_ANY_HINT = "pass a table of pandas, Polars, PyArrow or DuckDB"
_SPARK_HINT = "use aomg.spark.quantiles(...), aomg.spark.summaries(...) or aomg.spark.windows(...)"
_HINTS = {
    "LazyFrame": "collect it first: events.collect()",
    "Dataset": "pass events.scanner(columns=[...]).to_reader()",
    "Scanner": "pass events.to_reader()",
    "dict": "pass pa.table(events)",
    "list": "pass pa.Table.from_batches(events), or pa.Table.from_pylist(events)",
    "generator": "pass pa.RecordBatchReader.from_batches(schema, events)",
    "Series": "pass a DataFrame with the columns of values, times and keys",
    "ndarray": "pass pa.table({'name': array, ...}); for one stream use aomg.Operator(query).push(values, times)",
}


@dataclass(frozen=True)
class TableSource:
    """The schema of a table, the table in pieces, which can be read once, and how its library casts a column."""

    schema: pa.Schema
    tables: Iterator[pa.Table]
    casts: Casts = ARROW


def open_source(data: Any, names: Sequence[str] | None) -> TableSource:
    """Open a table of which these columns are needed (None: all). Raises InputError if it is none."""
    kinds = type(data).__mro__
    packages = {kind.__module__.partition(".")[0] for kind in kinds}
    hint = next((_HINTS[kind.__name__] for kind in kinds if kind.__name__ in _HINTS), _ANY_HINT)
    kind = type(data).__name__
    if "pyspark" in packages:  # its frames are streams, which would be collected
        raise InputError(f"the first argument must be a table, not a DataFrame of Spark; {_SPARK_HINT}")
    try:
        source = None if kind == "Series" else _opened(data, names, packages)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"this {kind} cannot be read as an Arrow table: {error}; {_remedy(error)}") from error
    if source is None:
        raise InputError(f"the first argument must be a table, not {kind}; {hint}")
    return replace(source, casts=next((_CASTS[name] for name in packages if name in _CASTS), ARROW))


def _remedy(error: Exception) -> str:
    """What to do about a table that Arrow cannot read."""
    if isinstance(error, OverflowError):
        return "a column has integers beyond 64 bits: convert it to doubles, if rounding does not matter"
    if "_pli128" in str(error) or "_plu128" in str(error):
        return "a column has integers of 128 bits: cast it to Int64, or leave it out with events.select(...)"
    return "cast that column to a type of Arrow, or leave it out"


def _opened(data: Any, names: Sequence[str] | None, packages: set[str]) -> TableSource | None:
    """Open a table; None if it is none."""
    if "pandas" in packages and hasattr(data, "columns"):
        return _of_pandas(data, names)
    if isinstance(data, pa.RecordBatch) or (
        not isinstance(data, pa.Array) and hasattr(data, "__arrow_c_array__") and not _is_stream(data)
    ):
        return _of_table(pa.Table.from_batches([pa.record_batch(data)]))
    if isinstance(data, pa.Table) or ("polars" in packages and _is_stream(data)):
        return _of_table(pa.table(data))
    if not isinstance(data, pa.ChunkedArray) and _is_stream(data):
        return _of_stream(pa.RecordBatchReader.from_stream(data))
    return None


def _is_stream(data: Any) -> bool:
    return hasattr(data, "__arrow_c_stream__")


def _of_pandas(frame: Any, names: Sequence[str] | None) -> TableSource:
    """Only the columns that are needed; the index only if one of these names is its own."""
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise InputError(
            "the columns of this DataFrame have several levels; give each one name first: "
            "events.columns = ['_'.join(map(str, names)) for names in events.columns]"
        )
    if names is None:
        return _of_table(pa.Table.from_pandas(frame, preserve_index=False))
    wanted = [name for name in dict.fromkeys(names) if name in frame.columns]
    if len(wanted) < len(set(names)) and not set(names) <= {*frame.columns, *frame.index.names}:
        return TableSource(pa.schema([(str(name), pa.null()) for name in frame.columns]), iter(()))
    whole = len(wanted) == len(set(names))
    if not frame.columns.is_unique:  # PyArrow refuses the others, too
        frame = frame[wanted]
    table = pa.Table.from_pandas(frame, columns=wanted, preserve_index=not whole)
    return _of_table(table if table.num_rows else _without_types(table))


def _without_types(table: pa.Table) -> pa.Table:
    """An empty table whose doubles have no type: pandas makes doubles of empty columns."""
    kinds = [pa.null() if kind == pa.float64() else kind for kind in table.schema.types]
    return pa.table([pa.array([], kind) for kind in kinds], names=table.schema.names)


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
