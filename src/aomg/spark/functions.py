"""Functions for SQL and for Columns that answer from stored summaries: a quantile, a share, and the sum of several.

::

    aomg.spark.register(spark)
    spark.sql("SELECT podset, aomg_quantile(summary, query, 0.99).value FROM summaries")
    spark.sql("SELECT region, aomg_quantile(aomg_merge(summary, query), 0.99) AS p99 FROM summaries GROUP BY region")

A summary belongs to the query that wrote it, so every function takes both columns, or a struct that has both. What
`aomg_merge` returns is such a struct. Summaries are verified by their checksums. The functions run in Python workers,
on Arrow.
"""

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, SparkSession
from pyspark.sql.functions import col, lit
from pyspark.sql.pandas.functions import arrow_udf

from aomg.errors import InputError
from aomg.spark.arguments import ColumnOrName, refuse_no_session
from aomg.spark.worker_errors import message_first
from aomg.tables.summary_answers import merged, quantile_column, share_column

_udf: Any = arrow_udf  # its overloads do not know functions whose type hints tell their kind
_QUANTILE = "struct<value: double, low: double, high: double, method: string>"
_SHARE = "struct<value: double, low: double, high: double>"
_MERGED = "struct<count: bigint, min: double, max: double, summary: binary, query: string>"
_ARROW = pa.struct(
    [
        ("count", pa.int64()),
        ("min", pa.float64()),
        ("max", pa.float64()),
        ("summary", pa.binary()),
        ("query", pa.string()),
    ]
)


def register(spark: SparkSession) -> None:
    """Register `aomg_quantile`, `aomg_share` and `aomg_merge` for SQL in this session.

    aomg_quantile(summary, query, quantile)
        struct<value, low, high, method>: a quantile of the events of a summary.
    aomg_share(summary, query, threshold)
        struct<value, low, high>: the share of events at or below a threshold.
    aomg_merge(summary, query)
        struct<count, min, max, summary, query>: the sum of the summaries of a group, or of a window of SQL. Every row
        counts, also one that is stored twice.

    The first two arguments may also be one struct with both, such as what `aomg_merge` returns. If an argument is NULL,
    the result is NULL; `aomg_merge` leaves such rows out.
    """
    refuse_no_session(spark)
    spark.udf.register("aomg_quantile", _udf(_quantile, _QUANTILE))
    spark.udf.register("aomg_share", _udf(_share, _SHARE))
    spark.udf.register("aomg_merge", _udf(_merge, _MERGED))


def quantile(summary: ColumnOrName, query: ColumnOrName, number: Any) -> Column:
    """Return `aomg_quantile` as a Column: struct<value, low, high, method>. `number` is a quantile, or a Column."""
    column: Column = _udf(_quantile, _QUANTILE)(_col(summary), _col(query), _lit(number))
    return column


def share(summary: ColumnOrName, query: ColumnOrName, threshold: Any) -> Column:
    """Return `aomg_share` as a Column: struct<value, low, high>. `threshold` is a number, or a Column."""
    column: Column = _udf(_share, _SHARE)(_col(summary), _col(query), _lit(threshold))
    return column


def merge(summary: ColumnOrName, query: ColumnOrName) -> Column:
    """Return `aomg_merge` as a Column, for `groupBy(...).agg(...)`: struct<count, min, max, summary, query>."""
    column: Column = _udf(_merge, _MERGED)(_col(summary), _col(query))
    return column


def _col(column: Any) -> Column:
    if not isinstance(column, Column | str):
        raise InputError(f"a column of summaries must be a Column or its name, such as 'summary', not {column!r}")
    return col(column) if isinstance(column, str) else column


def _lit(number: Any) -> Column:
    if isinstance(number, Column):
        return number
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal | np.integer | np.floating):
        raise InputError(f"{number!r} must be a number, such as 0.99, or a Column")
    try:
        return lit(float(number))
    except OverflowError:
        raise InputError(f"{number!r} must be a number that fits into a double") from None


# -- on workers --------------------------------------------------------------------------------------------------------


@message_first
def _quantile(*arguments: pa.Array) -> pa.Array:
    return quantile_column(*_arguments("aomg_quantile", arguments, "0.99"))


@message_first
def _share(*arguments: pa.Array) -> pa.Array:
    return share_column(*_arguments("aomg_share", arguments, "500"))


@message_first
def _merge(*arguments: pa.Array) -> pa.Scalar:
    return pa.scalar(merged(*_arguments("aomg_merge", arguments, None)), _ARROW)


def _arguments(name: str, arguments: tuple[pa.Array, ...], example: str | None) -> tuple[pa.Array, ...]:
    """The arguments of a function: the columns of summaries and of queries and, but for a merge, one of numbers."""
    if arguments and pa.types.is_struct(arguments[0].type):
        names = [field.name for field in arguments[0].type]
        if "summary" in names and "query" in names:
            parts = (pc.struct_field(arguments[0], part) for part in ("summary", "query"))
            arguments = (*parts, *arguments[1:])
    types = [argument.type for argument in arguments]
    expected = [_is_binary, _is_text] if example is None else [_is_binary, _is_text, _is_number]
    if len(types) != len(expected) or not all(fits(kind) for fits, kind in zip(expected, types, strict=True)):
        call = ", ".join(["summary", "query", *([] if example is None else [example])])
        raise InputError(
            f"{name} has arguments of the types {', '.join(map(str, types)) or 'none'}; write {name}({call}), with the "
            "columns summary (binary) and query (string) of stored summaries"
        )
    return arguments


def _is_binary(kind: pa.DataType) -> bool:
    return any(fits(kind) for fits in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_null))


def _is_text(kind: pa.DataType) -> bool:
    return any(fits(kind) for fits in (pa.types.is_string, pa.types.is_large_string, pa.types.is_null))


def _is_number(kind: pa.DataType) -> bool:
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    return any(fits(kind) for fits in numbers)
