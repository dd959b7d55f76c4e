"""Splits the rows of a micro-batch into columns: one WindowRows for each query and window end.

The order of rows in the table does not matter: they are sorted by their labels (missing ones first, then by text).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from aomg.errors import InputError
from aomg.monitor.config.model import QueryConfig
from aomg.monitor.rules.intervals import Flags, Interval, Reals

Labels = tuple[str | None, ...]
"""The key of a row: a value for each label of its query, None where the key is null."""

NO_QUERY = ""
"""The query name of rows that belong to no query: those of refused events."""

_EXACT = 2.0**53


@dataclass(frozen=True, eq=False)
class WindowRows:
    """All rows of one query and one window end, sorted by labels. Times are microseconds, in UTC.

    estimates have three columns (value, low, high) for each quantile ("p99") and threshold ("below_500").
    """

    query: str
    start: int
    end: int
    labels: tuple[Labels, ...]
    count: NDArray[np.int64]
    minimum: Reals
    maximum: Reals
    sub_windows: NDArray[np.int64]
    burst: Flags
    estimates: Mapping[str, Reals]
    methods: Mapping[str, list[str | None]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    def interval(self, name: str) -> Interval:
        """Return a quantity by its name in conditions. Counts are exact, as are min and max of values up to 2^53."""
        if name == "count":
            return Interval.exactly(self.count)
        if name == "sub_windows":
            return Interval.exactly(self.sub_windows)
        if name == "min":
            beyond = np.where(np.abs(self.minimum) >= _EXACT, np.nextafter(self.minimum, np.inf), self.minimum)
            return Interval.between(self.minimum, self.minimum, beyond)
        if name == "max":
            beyond = np.where(np.abs(self.maximum) >= _EXACT, np.nextafter(self.maximum, -np.inf), self.maximum)
            return Interval.between(beyond, self.maximum, self.maximum)
        if name not in self.estimates:
            raise InputError(f"the rows of {self.query} have no {name}; they have {', '.join(self.estimates)}")
        value, low, high = self.estimates[name].T
        return Interval.between(low, value, high)


def windows_of(table: pa.Table, queries: Mapping[str, QueryConfig]) -> dict[str, list[WindowRows]]:
    """Return the windows of every query, in the order of their ends; an empty list if a query has none.

    Raises InputError for rows of an unknown query, with other labels, or two rows of one key and window. Takes a few
    array operations for each query and window, and a tuple of labels for each row.
    """
    table = table.combine_chunks()
    names = table["query"].combine_chunks()
    unknown = set(pc.unique(names).to_pylist()) - {*queries, NO_QUERY}
    if unknown:
        raise InputError(f"there are rows of the query {min(map(str, unknown))!r}, which is not configured")
    return {name: list(_windows(table.filter(pc.equal(names, name)), config)) for name, config in queries.items()}


def _windows(table: pa.Table, config: QueryConfig) -> Iterator[WindowRows]:
    if not len(table):
        return
    ends = _times(table["end"])
    keys = _label_columns(table["labels"].combine_chunks(), config)
    order = np.lexsort([*(ranks for _, ranks in reversed(keys)), ends])
    ends = ends[order]
    table = table.take(pa.array(order))
    _refuse_duplicates(ends, [ranks[order] for _, ranks in keys], config)
    texts = [texts.take(pa.array(order)).to_pylist() for texts, _ in keys]
    labels: list[Labels] = list(zip(*texts, strict=True)) if texts else [()] * len(table)
    estimates, methods = _estimates(table["estimates"].combine_chunks())
    starts = _times(table["start"])
    numbers = {name: _numbers(table[name]) for name in ("count", "min", "max", "sub_windows", "burst")}
    bounds = [0, *(np.flatnonzero(np.diff(ends)) + 1).tolist(), len(ends)]
    for first, last in pairwise(bounds):
        part = slice(first, last)
        yield WindowRows(
            query=config.name,
            start=int(starts[first]),
            end=int(ends[first]),
            labels=tuple(labels[part]),
            count=numbers["count"][part].astype(np.int64, copy=False),
            minimum=numbers["min"][part].astype(np.float64, copy=False),
            maximum=numbers["max"][part].astype(np.float64, copy=False),
            sub_windows=numbers["sub_windows"][part].astype(np.int64, copy=False),
            burst=numbers["burst"][part].astype(np.bool_, copy=False),
            estimates={name: column[part] for name, column in estimates.items()},
            methods={name: column[part] for name, column in methods.items()},
        )


def _times(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Microseconds."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", tz=column.type.tz))
    return column.cast(pa.int64()).to_numpy()  # type: ignore[no-any-return]


def _numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    return column.combine_chunks().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _label_columns(labels: pa.ListArray, config: QueryConfig) -> list[tuple[pa.Array, NDArray[np.int64]]]:
    """Each label of all rows, and its rank among the label's texts; missing labels have the lowest."""
    width = len(config.labels)
    lengths = pc.list_value_length(labels)
    if lengths.null_count or not pc.all(pc.equal(lengths, width)).as_py():
        raise InputError(f"rows of {config.name} do not have the {width} labels {', '.join(config.labels)}")
    flat = labels.flatten()
    columns = []
    for label in range(width):
        texts = flat.take(pa.array(np.arange(label, len(flat), width)))
        coded = texts.dictionary_encode()
        ranks = np.empty(len(coded.dictionary) + 1, dtype=np.int64)
        ranks[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(len(coded.dictionary))
        ranks[-1] = -1  # the code of missing labels points here
        columns.append((texts, ranks[pc.fill_null(coded.indices, -1).to_numpy()]))
    return columns


def _refuse_duplicates(ends: NDArray[np.int64], ranks: list[NDArray[np.int64]], config: QueryConfig) -> None:
    same = np.diff(ends) == 0
    for rank in ranks:
        same &= np.diff(rank) == 0
    if same.any():
        raise InputError(f"two rows of {config.name} have the same labels and window; labels must identify keys")


def _estimates(column: pa.ListArray) -> tuple[dict[str, Reals], dict[str, list[str | None]]]:
    """The estimates by name, whatever their order in each row; NaN where a row has none."""
    row_of = pc.list_parent_indices(column).to_numpy()
    flat = column.flatten()
    names = pc.struct_field(flat, "name").dictionary_encode()
    codes = names.indices.to_numpy(zero_copy_only=False)
    parts = [pc.struct_field(flat, part).to_numpy(zero_copy_only=False) for part in ("value", "low", "high")]
    method_of = pc.struct_field(flat, "method")
    estimates: dict[str, Reals] = {}
    methods: dict[str, list[str | None]] = {}
    for code, name in enumerate(names.dictionary.to_pylist()):
        chosen = np.flatnonzero(codes == code)
        filled: Reals = np.full((len(column), 3), np.nan)
        for column_index, part in enumerate(parts):
            filled[row_of[chosen], column_index] = part[chosen]
        estimates[name] = filled
        places = np.full(len(column), -1)
        places[row_of[chosen]] = chosen
        methods[name] = method_of.take(pa.array(places, mask=places < 0)).to_pylist()
    return estimates, methods
