"""Defines the schemas of the output in Spark's types. `aomg.tables.columns` describes the columns and fills them."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import types as t

from aomg.names import quantile_name, threshold_name
from aomg.query import Query
from aomg.tables.columns import ESTIMATE, SUMMARY


def result_schema(query: Query, keys: Sequence[t.StructField], time: t.DataType) -> t.StructType:
    """The schema of the rows of a query."""
    real = t.DoubleType()
    estimate = [t.StructField(name, real) for name in ESTIMATE]
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


def long_schema(keys: Sequence[t.StructField], time: t.DataType) -> t.StructType:
    """The schema of a long table (aomg.tables.long)."""
    real, text = t.DoubleType(), t.StringType()
    estimate = [t.StructField("name", text), *(t.StructField(name, real) for name in ESTIMATE)]
    kinds: dict[str, t.DataType] = {
        "window": _span_type(time),
        "count": t.LongType(),
        "min": real,
        "max": real,
        "sub_windows": t.IntegerType(),
        "burst": t.BooleanType(),
        "estimates": t.ArrayType(t.StructType([*estimate, t.StructField("method", text)])),
        "summary": t.BinaryType(),
        "written_by": text,
        "refused": t.ArrayType(text),
    }
    fields = [t.StructField(name, kind) for name, kind in kinds.items()]
    return t.StructType([t.StructField("query", text), *_nullable(keys), *fields])


def _nullable(keys: Sequence[t.StructField]) -> list[t.StructField]:
    return [t.StructField(key.name, key.dataType, True) for key in keys]


def _span_type(time: t.DataType) -> t.StructType:
    return t.StructType([t.StructField("start", time), t.StructField("end", time)])


def arrow_time(time: t.DataType) -> pa.DataType:
    """The Arrow type of a Spark type of times."""
    if isinstance(time, t.TimestampType):
        return pa.timestamp("us", tz="UTC")
    return pa.timestamp("us") if isinstance(time, t.TimestampNTZType) else pa.int64()
