"""What the rows of a result are called and hold: one per key and window.

==================  ============================================================================================
the by columns      as they came
window              struct<start, end>: timestamps, or longs for windows counted in elements; end is exclusive
count               long: events in the window
min, max            double (longs beyond 2^53 rounded outward)
sub_windows         int: sub-windows of the window that hold events
burst               boolean: the newest sub-window's tail is larger than the one before, or goes on to be
p50, p99_9, ...     struct<value, low, high: double, method: string> for each quantile; queries without a
                    guarantee have bound and bound_corrected (Theorem 1) beside
below_500, ...      struct<value, low, high: double> for each threshold: the share of events at or below it
==================  ============================================================================================

And the rows of summaries, one per key and sub-window: the by columns, `sub_window` struct<start, end>, `count`, `min`,
`max`, `summary` (binary, aomg.core.summary) and `query` (the text of the query that wrote it, with its version).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import types as t

from aomg.core.kernels.registers import HEAD_COUNT, HEAD_MAXIMUM, HEAD_MINIMUM
from aomg.core.keyed import ClosedWindows
from aomg.core.paper.theorem import theorem_1
from aomg.errors import InputError
from aomg.names import quantile_name, threshold_name
from aomg.query import Query
from aomg.result import METHODS, Results
from aomg.spark.parcels import binaries

FIXED = ("window", "count", "min", "max", "sub_windows", "burst")
SUMMARY = ("sub_window", "count", "min", "max", "summary", "query")


def names_of(query: Query) -> list[str]:
    """Every column of a result but the by columns."""
    return [
        *FIXED,
        *(quantile_name(q) for q in query.quantiles),
        *(threshold_name(limit) for limit in query.thresholds),
    ]


def refuse_clash(names: Sequence[str], by: Sequence[str]) -> None:
    """Refuse by columns that are called like a column of the result."""
    ours = {name.lower() for name in names}
    clashing = [name for name in by if name.lower() in ours]
    if clashing:
        raise InputError(
            f"by column {clashing[0]!r} has the name of a column of the result; rename it first, "
            f"such as events.withColumnRenamed({clashing[0]!r}, {clashing[0] + '_key'!r})"
        )


def result_schema(query: Query, keys: Sequence[t.StructField], time: t.DataType) -> t.StructType:
    """The schema of the rows of a query."""
    real = t.DoubleType()
    estimate = [t.StructField(name, real) for name in ("value", "low", "high")]
    quantile = [*estimate, t.StructField("method", t.StringType())]
    if query.guarantee is None:
        quantile += [t.StructField("bound", real), t.StructField("bound_corrected", real)]
    fields = [t.StructField(key.name, key.dataType, True) for key in keys]
    fields.append(t.StructField("window", t.StructType([t.StructField("start", time), t.StructField("end", time)])))
    fields.append(t.StructField("count", t.LongType()))
    fields += [t.StructField("min", real), t.StructField("max", real)]
    fields += [t.StructField("sub_windows", t.IntegerType()), t.StructField("burst", t.BooleanType())]
    fields += [t.StructField(quantile_name(q), t.StructType(quantile)) for q in query.quantiles]
    fields += [t.StructField(threshold_name(limit), t.StructType(estimate)) for limit in query.thresholds]
    return t.StructType(fields)


def summary_schema(keys: Sequence[t.StructField], time: t.DataType) -> t.StructType:
    """The schema of summaries."""
    span = t.StructType([t.StructField("start", time), t.StructField("end", time)])
    kinds = (span, t.LongType(), t.DoubleType(), t.DoubleType(), t.BinaryType(), t.StringType())
    fields = [t.StructField(key.name, key.dataType, True) for key in keys]
    return t.StructType(fields + [t.StructField(name, kind) for name, kind in zip(SUMMARY, kinds, strict=True)])


def summary_table(
    closed: ClosedWindows, query: Query, keys: Sequence[pa.Array], names: Sequence[str], time: pa.DataType
) -> pa.Table:
    """Summaries as an Arrow table; `keys` are the by columns of each row."""
    start = closed.summaries.numbers * query.period
    span = pa.StructArray.from_arrays(
        [pa.array(start).cast(time), pa.array(start + query.period).cast(time)], names=["start", "end"]
    )
    words, at = closed.summaries.data.view(np.int64), closed.summaries.offsets[:-1] // 8
    heads = [words[at + word] for word in (HEAD_COUNT, HEAD_MINIMUM, HEAD_MAXIMUM)]
    written = pa.DictionaryArray.from_arrays(pa.array(np.zeros(at.size, np.int32)), pa.array([query.text()]))
    columns = [
        *keys,
        span,
        pa.array(heads[0]),
        pa.array(heads[1].view(np.float64)),
        pa.array(heads[2].view(np.float64)),
        binaries(closed.summaries.offsets, closed.summaries.data).cast(pa.binary()),
        written.cast(pa.string()),
    ]
    return pa.table(columns, names=[*names, *SUMMARY])


def arrow_time(time: t.DataType) -> pa.DataType:
    """How times travel in Arrow."""
    if isinstance(time, t.TimestampType):
        return pa.timestamp("us", tz="UTC")
    return pa.timestamp("us") if isinstance(time, t.TimestampNTZType) else pa.int64()


def result_table(results: Results, keys: Sequence[pa.Array], names: Sequence[str], time: pa.DataType) -> pa.Table:
    """Results as an Arrow table; `keys` are the by columns of each row."""
    query, size = results.query, len(results)
    end = (results.rows[:, 0] + 1) * query.period
    window = pa.StructArray.from_arrays(
        [pa.array(end - query.size).cast(time), pa.array(end).cast(time)], names=["start", "end"]
    )
    columns: list[tuple[str, pa.Array]] = list(zip(names, keys, strict=True))
    columns.append(("window", window))
    columns.append(("count", pa.array(results.counts)))
    columns += [("min", pa.array(results.minima)), ("max", pa.array(results.maxima))]
    columns.append(("sub_windows", pa.array(results.sub_windows.astype(np.int32))))
    columns.append(("burst", pa.array(results.bursts)))
    methods = pa.array(METHODS)
    for at, quantile in enumerate(query.quantiles):
        estimates = results.estimates(at)
        parts = {
            name: pa.array(np.ascontiguousarray(estimates[:, i])) for i, name in enumerate(("value", "low", "high"))
        }
        parts["method"] = methods.take(pa.array(results.methods(at))) if size else pa.array([], pa.string())
        if query.guarantee is None:
            parts |= _theorem(results, at)
        columns.append((quantile_name(quantile), pa.StructArray.from_arrays(list(parts.values()), names=list(parts))))
    for limit in query.thresholds:
        shares = results.shares(limit)
        parts = {name: pa.array(np.ascontiguousarray(shares[:, i])) for i, name in enumerate(("value", "low", "high"))}
        columns.append((threshold_name(limit), pa.StructArray.from_arrays(list(parts.values()), names=list(parts))))
    return pa.table([column for _, column in columns], names=[name for name, _ in columns])


def _theorem(results: Results, at: int) -> dict[str, pa.Array]:
    """Theorem 1's two bounds of one quantile; null where its assumptions cannot hold."""
    bounds: npt.NDArray[np.float64] = np.full((len(results), 2), np.nan)
    if results.densities is not None:
        for row in np.flatnonzero(results.sub_windows >= 2):
            inverse, spread = results.densities[row, at]
            bounds[row] = theorem_1(
                results.query.quantiles[at],
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
