"""Defines the output columns on Spark.

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
`max`, `summary` (binary, aomg.core.summary) and `query` (the text of the query that wrote it, with its version).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import types as t

from aomg.core.keyed import ClosedWindows
from aomg.core.paper.theorem import theorem_1
from aomg.errors import InputError
from aomg.names import quantile_name, threshold_name
from aomg.query import Query
from aomg.result import METHODS, Results
from aomg.spark.parcels import binary_array

FIXED = ("window", "count", "min", "max", "sub_windows", "burst")
SUMMARY = ("sub_window", "count", "min", "max", "summary", "query")
_ESTIMATE = ("value", "low", "high")


def names_of(query: Query) -> list[str]:
    """Every column of a result but the by columns."""
    return [
        *FIXED,
        *(quantile_name(q) for q in query.quantiles),
        *(threshold_name(limit) for limit in query.thresholds),
    ]


def refuse_clash(names: Sequence[str], by: Sequence[str]) -> None:
    """Refuse by columns that have the name of an output column."""
    outputs = {name.lower() for name in names}
    clashing = [name for name in by if name.lower() in outputs]
    if clashing:
        raise InputError(
            f"by column {clashing[0]!r} has the name of a column of the result; rename it first, "
            f"such as events.withColumnRenamed({clashing[0]!r}, {clashing[0] + '_key'!r})"
        )


def result_schema(query: Query, keys: Sequence[t.StructField], time: t.DataType) -> t.StructType:
    """The schema of the rows of a query."""
    real = t.DoubleType()
    estimate = [t.StructField(name, real) for name in _ESTIMATE]
    quantile = [*estimate, t.StructField("method", t.StringType())]
    if query.guarantee is None:
        quantile += [t.StructField("bound", real), t.StructField("bound_corrected", real)]
    fields = _nullable(keys)
    fields.append(t.StructField("window", _span_type(time)))
    fields.append(t.StructField("count", t.LongType()))
    fields += [t.StructField("min", real), t.StructField("max", real)]
    fields += [t.StructField("sub_windows", t.IntegerType()), t.StructField("burst", t.BooleanType())]
    fields += [t.StructField(quantile_name(q), t.StructType(quantile)) for q in query.quantiles]
    fields += [t.StructField(threshold_name(limit), t.StructType(estimate)) for limit in query.thresholds]
    return t.StructType(fields)


def summary_schema(keys: Sequence[t.StructField], time: t.DataType) -> t.StructType:
    """The schema of summaries."""
    kinds = (_span_type(time), t.LongType(), t.DoubleType(), t.DoubleType(), t.BinaryType(), t.StringType())
    fields = [t.StructField(name, kind) for name, kind in zip(SUMMARY, kinds, strict=True)]
    return t.StructType(_nullable(keys) + fields)


def _nullable(keys: Sequence[t.StructField]) -> list[t.StructField]:
    return [t.StructField(key.name, key.dataType, True) for key in keys]


def _span_type(time: t.DataType) -> t.StructType:
    return t.StructType([t.StructField("start", time), t.StructField("end", time)])


def summary_table(
    closed: ClosedWindows, query: Query, keys: Sequence[pa.Array], names: Sequence[str], time: pa.DataType
) -> pa.Table:
    """Summaries as an Arrow table; `keys` are the by columns of each row."""
    starts = closed.summaries.numbers * query.period
    written = pa.DictionaryArray.from_arrays(pa.array(np.zeros(starts.size, np.int32)), pa.array([query.text()]))
    columns = [
        *keys,
        _spans(starts, starts + query.period, time),
        *map(pa.array, closed.summaries.heads()),
        binary_array(closed.summaries.offsets, closed.summaries.data).cast(pa.binary()),
        written.cast(pa.string()),
    ]
    return pa.table(columns, names=[*names, *SUMMARY])


def arrow_time(time: t.DataType) -> pa.DataType:
    """The Arrow type of a Spark type of times."""
    if isinstance(time, t.TimestampType):
        return pa.timestamp("us", tz="UTC")
    return pa.timestamp("us") if isinstance(time, t.TimestampNTZType) else pa.int64()


def result_table(results: Results, keys: Sequence[pa.Array], names: Sequence[str], time: pa.DataType) -> pa.Table:
    """Results as an Arrow table; `keys` are the by columns of each row."""
    query, size = results.query, len(results)
    ends = (results.rows[:, 0] + 1) * query.period
    columns: dict[str, pa.Array] = dict(zip(names, keys, strict=True))
    columns["window"] = _spans(ends - query.size, ends, time)
    columns["count"] = pa.array(results.counts)
    columns |= {"min": pa.array(results.minima), "max": pa.array(results.maxima)}
    columns["sub_windows"] = pa.array(results.sub_windows.astype(np.int32))
    columns["burst"] = pa.array(results.bursts)
    methods = pa.array(METHODS)
    for index, quantile in enumerate(query.quantiles):
        parts = _estimate_parts(results.estimates(index))
        parts["method"] = methods.take(pa.array(results.methods(index))) if size else pa.array([], pa.string())
        if query.guarantee is None:
            parts |= _theorem(results, index)
        columns[quantile_name(quantile)] = _struct(parts)
    for threshold in query.thresholds:
        columns[threshold_name(threshold)] = _struct(_estimate_parts(results.shares(threshold)))
    return pa.table(columns)


def _spans(starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], time: pa.DataType) -> pa.StructArray:
    return _struct({"start": pa.array(starts).cast(time), "end": pa.array(ends).cast(time)})


def _estimate_parts(estimates: npt.NDArray[np.float64]) -> dict[str, pa.Array]:
    return {name: pa.array(np.ascontiguousarray(estimates[:, i])) for i, name in enumerate(_ESTIMATE)}


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
    return {
        name: pa.array(np.ascontiguousarray(bounds[:, i]), mask=unknown)
        for i, name in enumerate(("bound", "bound_corrected"))
    }
