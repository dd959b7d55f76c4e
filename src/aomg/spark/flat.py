"""Flattens results on Spark: a column for each part of a struct, by a native select, in a batch and in a stream.

`toPandas()` turns structs into dicts; flat columns stay numbers, texts and times. The names and their order are those
of `aomg.flat_table`.
"""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as t

from aomg.errors import InputError
from aomg.query import Query
from aomg.spark.arguments import quoted
from aomg.tables.columns import SPAN, flat_name, names_of


def checked_flat(flat: Any) -> bool:
    """Return the public argument. Raises InputError if it is neither True nor False."""
    if not isinstance(flat, bool):
        raise InputError(f"flat={flat!r} must be True or False")
    return flat


def flat_windows(windows: DataFrame, query: Query) -> DataFrame:
    """Results of this query with a column for each part of a window and of an estimate; by columns are left alone."""
    by = len(windows.columns) - len(names_of(query))
    columns = [quoted(key) for key in windows.columns[:by]]
    for field in windows.schema.fields[by:]:
        parts = field.dataType.names if isinstance(field.dataType, t.StructType) else []
        columns += [quoted(field.name)[part].alias(flat_name(field.name, part)) for part in parts]
        columns += [] if parts else [quoted(field.name)]
    return windows.select(*columns)


def has_flat_windows(windows: DataFrame) -> bool:
    """Whether the windows of these results are columns of their own."""
    return "window" not in windows.columns and set(flat_spans()) <= set(windows.columns)


def flat_spans() -> list[str]:
    """The columns of a window's start and end in a flat table."""
    return [flat_name("window", part) for part in SPAN]
