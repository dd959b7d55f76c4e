"""Reads what a plot draws from a table of results: of Arrow, pandas, Polars or Spark, with or without keys."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from aomg.errors import InputError, UnknownQuantileError
from aomg.names import estimate_title, quantile_name, quantile_of, threshold_of
from aomg.query import decimal_of
from aomg.tables.curves import Curve, Curves, Integers, Reals, chosen_quantiles
from aomg.tables.keys import key_ids
from aomg.tables.results import flat_table, table_of_results

MOST_KEYS = 40
"""Keys that one plot may have: more lines cannot be told apart."""

_FIXED = ("window_start", "window_end", "count", "min", "max", "sub_windows", "burst")
_PARTS = ("", "_low", "_high", "_method", "_bound", "_bound_corrected")
_LONGEST_KEY = 40  # characters of a key in a legend


def curves_of_table(given: Any, quantiles: Any, by: Sequence[str] | None, keys: Any, most: int) -> Curves:
    """Return the curves of a table of results: of `keys`, or of all, or of the `most` worst ones if there are more.

    The worst key has the largest value of the quantile that ranks keys: p99 if it is there, otherwise the last. With by
    columns this is also the only quantile, unless `quantiles` has others.
    """
    table = _without_views(flat_table(table_of_results(given, "plot")))
    names = _quantile_names(table)
    by = _by_columns(table, names) if by is None else _checked_by(table, by)
    if quantiles is not None:
        names = _chosen_names(names, quantiles)
    rank_by = "p99" if "p99" in names else names[-1]
    if quantiles is None and by:
        names = [rank_by]
    ends, counted = _moments(table["window_end"])
    steps = np.diff(np.sort(_moments(table["window_end"].unique())[0]))  # of all keys: one alone may have gaps
    if not table.num_rows:
        return Curves([], counted, 0, 0, by)
    ids, columns = key_ids([table[name] for name in by], table.num_rows)
    every_key = list(zip(*(column.to_pylist() for column in columns), strict=True)) if by else [()]
    if keys is not None:
        chosen, choice = _ids_of(keys, every_key, by), ""
    else:
        chosen, choice = _worst(ids, _reals(table[rank_by]), len(every_key), most, estimate_title(rank_by))
    position = np.full(len(every_key), -1)
    position[chosen] = np.arange(len(chosen))
    rows = np.flatnonzero(position[ids] >= 0)
    rows = rows[np.lexsort((ends[rows], position[ids[rows]]))]
    edges = np.searchsorted(position[ids[rows]], np.arange(len(chosen) + 1)).tolist()
    table, ends = table.take(pa.array(rows)), ends[rows]
    curves = [
        _curve(table.slice(edges[i], edges[i + 1] - edges[i]), _key_text(every_key[key]), name)
        for i, key in enumerate(chosen)
        for name in names
    ]
    size = int(ends[0] - _moments(table["window_start"])[0][0]) if "window_start" in table.column_names else 0
    return Curves(curves, counted, size, int(steps.min()) if steps.size else 0, by, choice)


def _without_views(table: pa.Table) -> pa.Table:
    """Replace the views that Polars gives for texts: Arrow cannot yet select rows of them."""
    for index, column in enumerate(table.columns):
        if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
            kind = pa.large_string() if pa.types.is_string_view(column.type) else pa.large_binary()
            table = table.set_column(index, table.column_names[index], column.cast(kind))
    return table


def _quantile_names(table: pa.Table) -> list[str]:
    """The columns of quantiles. A column with such a name and no interval is another one."""
    columns = set(table.column_names)
    names = [name for name in table.column_names if quantile_of(name) is not None and f"{name}_low" in columns]
    missing = [name for name, there in (("window", "window_end" in columns), ("p99", bool(names))) if not there]
    if missing:
        raise InputError(
            f"this is not a table of results: there is no column such as {missing[0]}; "
            "give plot what aomg.quantiles, aomg.spark.quantiles or results.to_arrow() returns"
        )
    return names


def _by_columns(table: pa.Table, quantiles: Sequence[str]) -> list[str]:
    """The columns that a result does not have."""
    columns = set(table.column_names)
    thresholds = [name for name in columns if threshold_of(name) is not None and f"{name}_low" in columns]
    known = {*_FIXED, *(name + part for name in (*quantiles, *thresholds) for part in _PARTS)}
    return [name for name in table.column_names if name not in known]


def _checked_by(table: pa.Table, by: Sequence[str]) -> list[str]:
    names = [by] if isinstance(by, str) else list(by)
    for name in names:
        if name not in table.column_names:
            raise InputError(f"by: there is no column {name!r}; there are {', '.join(table.column_names)}")
    return names


def _chosen_names(names: Sequence[str], quantiles: Any) -> list[str]:
    chosen = list(dict.fromkeys(quantile_name(decimal_of(quantile)) for quantile in chosen_quantiles(quantiles)))
    for name in chosen:
        if name not in names:
            known = ", ".join(str(quantile_of(column)) for column in names)
            raise UnknownQuantileError(f"{quantile_of(name)} is not a quantile of this table; it has {known}")
    return chosen


def _worst(ids: Integers, values: Reals, number: int, most: int, title: str) -> tuple[list[int], str]:
    """The ids of the keys with the largest values, the worst first, and their choice in words."""
    if not (isinstance(most, int) and 1 <= most <= MOST_KEYS):
        raise InputError(f"most={most!r} must be 1 to {MOST_KEYS}; more lines cannot be told apart")
    largest = np.full(number, -np.inf)
    np.fmax.at(largest, ids, values)
    order = np.argsort(-largest, kind="stable")[:most].tolist()
    return order, f"the {most:,} of {number:,} keys with the largest {title}" if number > most else ""


def _ids_of(keys: Any, every_key: Sequence[tuple[Any, ...]], by: Sequence[str]) -> list[int]:
    """The ids of keys: values, or with several by columns tuples of values."""
    if not by:
        raise InputError("keys: the table has no by columns, so it has no keys; leave keys out")
    wanted = [keys] if isinstance(keys, (str, bytes)) or not hasattr(keys, "__iter__") else list(keys)
    if not 1 <= len(wanted) <= MOST_KEYS:
        raise InputError(f"keys has {len(wanted):,} keys; give 1 to {MOST_KEYS}: more lines cannot be told apart")
    ids = []
    for key in wanted:
        values = key if isinstance(key, tuple) else (key,)
        if len(values) != len(by):
            raise InputError(f"the key {key!r} must be a tuple with a value for each of {', '.join(by)}")
        if values not in every_key:
            known = ", ".join(repr(other if len(by) > 1 else other[0]) for other in every_key[:5])
            raise InputError(f"there is no key {key!r}; there are {known}{', ...' if len(every_key) > 5 else ''}")
        ids.append(every_key.index(values))
    return list(dict.fromkeys(ids))


def _curve(table: pa.Table, key: str, name: str) -> Curve:
    """The curve of one key, whose rows these are."""
    methods, method_names = np.zeros(table.num_rows, np.int64), [""]
    if f"{name}_method" in table.column_names:
        method_ids, (distinct,) = key_ids([table[f"{name}_method"]], table.num_rows)
        methods, method_names = method_ids, [text or "" for text in distinct.to_pylist()]
    bursts = np.zeros(table.num_rows, np.bool_)
    if "burst" in table.column_names:
        bursts = np.asarray(table["burst"]).astype(np.bool_)
    ends, _ = _moments(table["window_end"])
    values, lows, highs = (_reals(table[f"{name}{part}"]) for part in _PARTS[:3])
    return Curve(key, name, ends, values, lows, highs, bursts, methods, method_names)


def _moments(column: pa.ChunkedArray | pa.Array) -> tuple[Integers, bool]:
    """Microseconds since 1970, or numbers of events, and whether these are events."""
    if pa.types.is_integer(column.type):
        return np.asarray(column).astype(np.int64), True
    if not pa.types.is_timestamp(column.type):
        raise InputError(f"the end of a window must be a timestamp or a whole number, not {column.type}")
    return np.asarray(column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())), False


def _reals(column: pa.ChunkedArray) -> Reals:
    return np.asarray(column.cast(pa.float64())).astype(np.float64)


def _key_text(key: tuple[Any, ...]) -> str:
    text = ", ".join("null" if value is None else str(value) for value in key)
    return text if len(text) <= _LONGEST_KEY else text[: _LONGEST_KEY - 1] + "…"
