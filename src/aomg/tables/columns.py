"""Defines the output columns, on Spark and without it.

A result has one row for each key and window:

==================  ============================================================================================
the by columns      as in the events
window              struct<start, end>: timestamps, or longs for windows counted in events; end is exclusive
count               long: number of events in the window
min, max            double (longs beyond 2^53 are rounded outward)
sub_windows         int: sub-windows of the window that have events
burst               boolean: the newest sub-window's tail is larger than the one before, or remains larger
p50, p99_9, ...     struct<value, low, high: double, method: string> for each quantile; queries without a
                    guarantee also have bound and bound_corrected (Theorem 1)
below_500, ...      struct<value, low, high: double> for each threshold: the share of events at or below it
==================  ============================================================================================

Summaries have one row for each key and sub-window: the by columns, `sub_window` struct<start, end>, `count`, `min`,
`max`, `summary` (binary: aomg.core.summary, and a checksum behind it, aomg.core.checksums) and `query` (the text of the
query that wrote it, with its version).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aomg.core.keyed import KeyRows
from aomg.core.paper.theorem import theorem_1
from aomg.core.texts import short_texts
from aomg.errors import InputError
from aomg.names import quantile_name, threshold_name
from aomg.query import Query
from aomg.result import METHODS, Results
from aomg.tables.checksums import summary_column

FIXED = ("window", "count", "min", "max", "sub_windows", "burst")
SUMMARY = ("sub_window", "count", "min", "max", "summary", "query")
SPAN = ("start", "end")
ESTIMATE = ("value", "low", "high")
THEOREM = ("bound", "bound_corrected")
_TRANSPOSED = 1024  # rows at once


def names_of(query: Query) -> list[str]:
    """Every column of a result but the by columns."""
    return [
        *FIXED,
        *(quantile_name(q) for q in query.quantiles),
        *(threshold_name(limit) for limit in query.thresholds),
    ]


def flat_names_of(query: Query) -> list[str]:
    """Every column that a flat table of results has for a struct of these (aomg.tables.results)."""
    parts = [*ESTIMATE, "method", *(THEOREM if query.guarantee is None else ())]
    names = [flat_name("window", part) for part in SPAN]
    names += [flat_name(quantile_name(q), part) for q in query.quantiles for part in parts]
    return names + [flat_name(threshold_name(limit), part) for limit in query.thresholds for part in ESTIMATE]


def all_flat_names_of(query: Query) -> list[str]:
    """Every column of a flat table of results but the by columns, in their order."""
    parts = flat_names_of(query)
    spans = len(SPAN)
    return [*parts[:spans], *FIXED[1:], *parts[spans:]]


def flat_name(name: str, part: str) -> str:
    """The column of one part of a struct column in a flat table."""
    return name if part == "value" else f"{name}_{part}"


def refuse_clash(names: Sequence[str], by: Sequence[str]) -> None:
    """Refuse by columns that have the name of an output column."""
    outputs = {name.lower() for name in names}
    clashing = [name for name in by if name.lower() in outputs]
    if clashing:
        raise InputError(
            f"by column {clashing[0]!r} has the name of a column of the result; rename it first, for example to "
            f"{clashing[0] + '_key'!r} (on Spark: events.withColumnRenamed({clashing[0]!r}, {clashing[0] + '_key'!r}))"
        )


def summary_table(
    summaries: KeyRows, query: Query, keys: Sequence[pa.Array], names: Sequence[str], time: pa.DataType
) -> pa.Table:
    """Summaries as an Arrow table; `keys` are the by columns of each row."""
    starts = summaries.numbers * query.period
    text = query.text()
    written = pa.DictionaryArray.from_arrays(pa.array(np.zeros(starts.size, np.int32)), pa.array([text]))
    columns = [
        *keys,
        spans(starts, starts + query.period, time),
        *map(pa.array, summaries.heads()),
        summary_column(summaries.offsets, summaries.data, text),
        written.cast(pa.string()),
    ]
    return pa.table(columns, names=[*names, *SUMMARY])


def result_table(results: Results, keys: Sequence[pa.Array], names: Sequence[str], time: pa.DataType) -> pa.Table:
    """Results as an Arrow table; `keys` are the by columns of each row. Contiguous columns are not copied."""
    results = _by_column(results)
    query = results.query
    ends = (results.rows[:, 0] + 1) * query.period
    columns: dict[str, pa.Array] = dict(zip(names, keys, strict=True))
    columns["window"] = spans(ends - query.size, ends, time)
    columns["count"] = pa.array(results.counts)
    columns |= {"min": pa.array(results.minima), "max": pa.array(results.maxima)}
    columns["sub_windows"] = pa.array(results.sub_windows.astype(np.int32))
    columns["burst"] = pa.array(results.bursts)
    for index, quantile in enumerate(query.quantiles):
        parts = _estimate_parts(results.estimates(index))
        parts["method"] = _texts(METHODS, results.methods(index))
        if query.guarantee is None:
            parts |= _theorem(results, index)
        columns[quantile_name(quantile)] = _struct(parts)
    for threshold in query.thresholds:
        columns[threshold_name(threshold)] = _struct(_estimate_parts(results.shares(threshold)))
    return pa.table(columns)


def _by_column(results: Results) -> Results:
    """The same results with each column in one piece. Rows are copied while they are in a core's cache."""
    rows = results.rows
    if rows.strides[0] == rows.itemsize:
        return results
    columns = np.empty(rows.shape[::-1], np.int64)
    for start in range(0, len(rows), _TRANSPOSED):
        columns[:, start : start + _TRANSPOSED] = rows[start : start + _TRANSPOSED].T
    return Results(results.query, columns.T, results.densities)


def spans(starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], time: pa.DataType) -> pa.StructArray:
    """The column of windows or of sub-windows: starts and ends, in microseconds or in events."""
    return _struct({name: pa.array(times).cast(time) for name, times in zip(SPAN, (starts, ends), strict=True)})


def _estimate_parts(estimates: npt.NDArray[np.float64]) -> dict[str, pa.Array]:
    return {name: pa.array(np.ascontiguousarray(estimates[:, i])) for i, name in enumerate(ESTIMATE)}


def _texts(texts: Sequence[str], numbers: npt.NDArray[np.int64]) -> pa.Array:
    """A column of the texts with these numbers."""
    offsets, data = short_texts(texts, numbers)
    return pa.Array.from_buffers(pa.string(), numbers.size, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _struct(parts: dict[str, pa.Array]) -> pa.StructArray:
    return pa.StructArray.from_arrays(list(parts.values()), names=list(parts))


def _theorem(results: Results, index: int) -> dict[str, pa.Array]:
    """Theorem 1's two bounds of one quantile; null where its assumptions cannot hold."""
    bounds: npt.NDArray[np.float64] = np.full((len(results), 2), np.nan)
    if results.densities is not None:
        for row in np.flatnonzero(results.sub_windows >= 2):
            inverse, spread = results.densities[row, index]
            bounds[row] = theorem_1(
                results.query.quantiles[index],
                int(results.counts[row]),
                float(inverse),
                float(spread),
                int(results.sub_windows[row]),
            )
    unknown = np.isnan(bounds[:, 0])
    return {name: pa.array(np.ascontiguousarray(bounds[:, i]), mask=unknown) for i, name in enumerate(THEOREM)}
