"""Defines the long table: the results of several queries, with different keys and quantiles, in the same columns.

==============================  =====================================================================================
query                           the name of the query
the by columns of all queries   null where the query has no such column
window                          struct<start, end>; of a summary, its sub-window
count, min, max                 see `aomg.tables.columns`
sub_windows, burst              the same; null for summaries
estimates                       list of name, value, low, high and method, one for each quantile and each threshold
summary, written_by             of a sub-window, if summaries are wanted: its bytes, and the query that wrote it
refused                         of refused rows, if they are wanted: reason, text and file; `count` is their number.
                                Without a reason, `count` is the number of all events that were read
row                             of refused rows that workers have read, if they are wanted: struct<all columns>, and the
                                text is missing
==============================  =====================================================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aomg.core.keyed import ClosedWindows
from aomg.names import quantile_name, threshold_name
from aomg.result import METHODS, Results
from aomg.tables.columns import ESTIMATE, spans
from aomg.tables.level2 import Answer

REFUSED_QUERY = ""
"""The query of refused rows."""

_ESTIMATE = pa.struct([("name", pa.string()), *((part, pa.float64()) for part in ESTIMATE), ("method", pa.string())])


ROW = "row"


def long_schema(keys: pa.Schema, time: pa.DataType, row: pa.Schema | None = None) -> pa.Schema:
    """The schema of a long table; `keys` are the by columns of all queries, `row` those of refused rows."""
    return pa.schema(
        [
            ("query", pa.string()),
            *keys,
            ("window", pa.struct([("start", time), ("end", time)])),
            ("count", pa.int64()),
            ("min", pa.float64()),
            ("max", pa.float64()),
            ("sub_windows", pa.int32()),
            ("burst", pa.bool_()),
            ("estimates", pa.list_(_ESTIMATE)),
            ("summary", pa.binary()),
            ("written_by", pa.string()),
            ("refused", pa.list_(pa.string())),
            *([] if row is None else [(ROW, pa.struct(list(row)))]),
        ]
    )


@dataclass(frozen=True, kw_only=True)
class LongAnswer(Answer):
    """What a query of several puts out, as rows of a long table.

    name
        The name of the query.
    keys
        The by columns of all queries.
    stored
        Whether it puts out the summary of each sub-window, too.
    """

    name: str
    keys: pa.Schema
    stored: bool = False

    def outputs(self, closed: ClosedWindows, values: Sequence[pa.Array]) -> list[pa.Table]:
        """The windows of a step, and its summaries if they are wanted."""
        tables = []
        if len(closed.results):
            tables.append(self._windows(closed.results, self._keys_of(closed.result_keys, values)))
        if self.stored and closed.summaries.keys.size:
            tables.append(self._summaries(self.summary_table(closed.summaries, values)))
        return tables

    def _keys_of(self, ids: npt.NDArray[np.int64], values: Sequence[pa.Array]) -> dict[str, pa.Array]:
        rows = pa.array(ids)
        return {name: column.take(rows) for name, column in zip(self.names, values, strict=True)}

    def _windows(self, results: Results, keys: dict[str, pa.Array]) -> pa.Table:
        query, ends = self.query, (results.rows[:, 0] + 1) * self.query.period
        columns: dict[str, pa.Array] = {
            **keys,
            "window": spans(ends - query.size, ends, self.time),
            "count": pa.array(results.counts),
            "min": pa.array(results.minima),
            "max": pa.array(results.maxima),
            "sub_windows": pa.array(results.sub_windows.astype(np.int32)),
            "burst": pa.array(results.bursts),
            "estimates": _estimates(results),
        }
        return self._table(columns, len(results))

    def _summaries(self, stored: pa.Table) -> pa.Table:
        columns = {name: stored[name].combine_chunks() for name in (*self.names, "count", "min", "max", "summary")}
        columns |= {"window": stored["sub_window"].combine_chunks(), "written_by": stored["query"].combine_chunks()}
        return self._table(columns, stored.num_rows)

    def _table(self, columns: dict[str, pa.Array], size: int) -> pa.Table:
        """All columns of a long table; those that are missing are null."""
        names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(size, np.int32)), pa.array([self.name]))
        return _complete({"query": names.cast(pa.string()), **columns}, long_schema(self.keys, self.time), size)


def with_row(table: pa.Table, row: pa.Schema) -> pa.Table:
    """A long table of results with the column of refused rows."""
    kind = pa.struct(list(row))
    return table.append_column(pa.field(ROW, kind), pa.nulls(table.num_rows, kind))


def refused_table(refused: pa.Table, keys: pa.Schema, time: pa.DataType, row: pa.Schema | None = None) -> pa.Table:
    """Refused rows (reason, text, file, count, and perhaps the row) as rows of a long table."""
    size = refused.num_rows
    columns = [refused[name].combine_chunks() for name in ("reason", "text", "file")]
    order = np.arange(3 * size).reshape(3, size).T.ravel()
    texts = pa.concat_arrays(columns).take(pa.array(order))
    offsets = pa.array(np.arange(0, 3 * size + 1, 3, dtype=np.int32))
    columns_of = {
        "query": pa.array([REFUSED_QUERY] * size, pa.string()),
        "count": refused["count"].combine_chunks(),
        "refused": pa.ListArray.from_arrays(offsets, texts),
    }
    if ROW in refused.column_names:
        columns_of[ROW] = refused[ROW].combine_chunks()
    return _complete(columns_of, long_schema(keys, time, row), size)


def _complete(columns: dict[str, pa.Array], schema: pa.Schema, size: int) -> pa.Table:
    """A table with all columns of the schema; those that are missing are null."""
    arrays = [columns[field.name] if field.name in columns else pa.nulls(size, field.type) for field in schema]
    return pa.table(
        [array if array.type == kind else array.cast(kind) for array, kind in zip(arrays, schema.types, strict=True)],
        schema=schema,
    )


def _estimates(results: Results) -> pa.Array:
    """The quantiles and shares of each result, as a list of structs."""
    query, size = results.query, len(results)
    quantiles = range(len(query.quantiles))
    parts = [results.estimates(index) for index in quantiles] + [results.shares(limit) for limit in query.thresholds]
    names = [*map(quantile_name, query.quantiles), *map(threshold_name, query.thresholds)]
    numbers = np.stack(parts, axis=1).reshape(size * len(names), len(ESTIMATE))
    no_method = len(METHODS)
    methods = np.full((size, len(names)), no_method, np.int32)
    for index in quantiles:
        methods[:, index] = results.methods(index)
    columns = [
        _texts(np.tile(np.arange(len(names), dtype=np.int32), size), names),
        *(pa.array(np.ascontiguousarray(numbers[:, part])) for part in range(len(ESTIMATE))),
        _texts(methods.ravel(), METHODS),
    ]
    structs = pa.StructArray.from_arrays(columns, fields=list(_ESTIMATE))
    offsets = pa.array(np.arange(0, len(structs) + 1, len(names), dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, structs)


def _texts(places: npt.NDArray[np.int32], texts: Sequence[str]) -> pa.Array:
    """The text at each place; null beyond the last."""
    beyond = places >= len(texts)
    return pa.array(list(texts), pa.string()).take(pa.array(places, mask=beyond if beyond.any() else None))
