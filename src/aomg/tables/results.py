"""Converts results of one stream to tables of Arrow, pandas and Polars.

The columns are those of `aomg.tables.columns`, without by columns. Times are `timestamp[us, UTC]`, as on Spark: pandas
has them as `datetime64[us, UTC]`, Polars as `Datetime("us", "UTC")`. No number is rounded. Takes about a second for a
million windows of four quantiles, and three to pandas.
"""

from typing import Any

import pyarrow as pa

from aomg.errors import InputError
from aomg.names import quantile_of, threshold_of
from aomg.packages import optional
from aomg.result import Results
from aomg.tables.columns import flat_name, result_table


def arrow_table(results: Results, flat: bool) -> pa.Table:
    """Return results as an Arrow table; `flat` gives each part of a struct a column of its own."""
    time = pa.int64() if results.query.counted else pa.timestamp("us", tz="UTC")
    table = result_table(results, [], [], time)
    return flat_table(table) if flat else table


def pandas_table(results: Results, flat: bool) -> Any:
    """Return results as a DataFrame of pandas. Raises SettingsError where pandas is missing."""
    optional("pandas", "pip install pandas")
    return arrow_table(results, flat).to_pandas()


def polars_table(results: Results, flat: bool) -> Any:
    """Return results as a DataFrame of Polars. Raises SettingsError where Polars is missing."""
    return optional("polars", "pip install polars").from_arrow(arrow_table(results, flat))


def flat_table(results: Any) -> pa.Table:
    """Return a table of results, with or without by columns, in which each part of a struct is a column.

    `window` becomes `window_start` and `window_end`, `p99` becomes `p99`, `p99_low`, `p99_high` and `p99_method`,
    `below_500` becomes `below_500`, `below_500_low` and `below_500_high`. Other columns are left alone. Takes what
    `aomg.quantiles` returns, and the same as a table of pandas, Polars or Spark.
    """
    table = table_of_results(results, "flat_table")
    columns: dict[str, pa.ChunkedArray] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_struct(column.type) and is_struct_of_results(name):
            parts = zip(column.type, column.flatten(), strict=True)
            columns |= {flat_name(name, part.name): values for part, values in parts}
        else:
            columns[name] = column
    return pa.table(columns)


def table_of_results(results: Any, caller: str) -> pa.Table:
    """Return any table of results as an Arrow table, without the index of pandas. Raises InputError if it is none."""
    if hasattr(results, "toArrow"):  # a DataFrame of Spark
        return results.toArrow()
    if not isinstance(results, pa.Table) and not hasattr(results, "__arrow_c_stream__"):
        raise InputError(f"{caller} takes results, or a table of results, not {type(results).__name__}")
    table = pa.table(results)
    return table.select([name for name in table.column_names if not name.startswith("__index_level_")])


def is_struct_of_results(name: str) -> bool:
    """Whether this is the name of a struct column of results: a window, a quantile or a threshold."""
    return name == "window" or quantile_of(name) is not None or threshold_of(name) is not None
