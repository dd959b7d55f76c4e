"""Joins the rows of several queries: one row for each key that any of them has at a window end."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aomg.monitor.rules.intervals import Flags, Interval
from aomg.monitor.rules.rows import Labels, WindowRows


class Joined:
    """The rows of some queries at one window end, joined on equal labels. Conditions read its columns.

    `names` are the names of the labels in the order of `labels`; `orders` has each query's own order of them.
    """

    def __init__(
        self, names: tuple[str, ...], orders: Mapping[str, tuple[str, ...]], windows: Mapping[str, WindowRows]
    ) -> None:
        self._windows = {query: windows.get(query) or None for query in orders}
        keys = {
            query: _reordered(rows.labels, orders[query], names)
            for query, rows in self._windows.items()
            if rows is not None
        }
        first: tuple[Labels, ...] = next(iter(keys.values()), ())
        if all(key == first for key in keys.values()):
            self.labels = first
            self._positions: dict[str, NDArray[np.intp]] | None = None
        else:
            self.labels = tuple(dict.fromkeys(label for key in keys.values() for label in key))
            self._positions = {}
            for query, key in keys.items():
                row_of = {label: row for row, label in enumerate(key)}
                places = (row_of.get(label, -1) for label in self.labels)
                self._positions[query] = np.fromiter(places, np.intp, len(self.labels))

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def row_of(self) -> dict[Labels, int]:
        """The row of each key."""
        return {label: row for row, label in enumerate(self.labels)}

    def interval(self, query: str, name: str) -> Interval:
        """Return a quantity of every row; any number where the query has no row."""
        rows = self._windows[query]
        if rows is None:
            return Interval.exactly(np.zeros(len(self)))
        interval = rows.interval(name)
        return interval if self._positions is None else interval.take(self._positions[query])

    def flag(self, query: str, name: str) -> Flags:
        """Return whether each row has a burst; any flag where the query has no row."""
        rows = self._windows[query]
        if rows is None:
            return np.zeros(len(self), dtype=np.bool_)
        return rows.burst if self._positions is None else rows.burst[self._positions[query]]

    def counts(self, query: str) -> NDArray[np.int64]:
        """Return the number of events of each row; 0 where the query has no row."""
        rows = self._windows[query]
        if rows is None:
            return np.zeros(len(self), dtype=np.int64)
        if self._positions is None:
            return rows.count
        positions = self._positions[query]
        return np.where(positions < 0, 0, rows.count[positions])

    def present(self, query: str) -> Flags:
        """Return which rows this query has."""
        return self.counts(query) > 0


class Sufficient:
    """The same rows without those that have fewer than `least` events."""

    def __init__(self, joined: Joined, least: int) -> None:
        self._joined = joined
        self._least = max(least, 1)
        self.interval = joined.interval
        self.flag = joined.flag

    def present(self, query: str) -> Flags:
        """Return which rows this query has with enough events."""
        return self._joined.counts(query) >= self._least

    def fewest(self, queries: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of events of each row: the fewest of the queries that have it; 0 if none has."""
        none = np.iinfo(np.int64).max
        fewest = np.full(len(self._joined), none)
        for query in queries:
            counts = self._joined.counts(query)
            fewest = np.minimum(fewest, np.where(counts >= self._least, counts, none))
        return np.where(fewest == none, 0, fewest)


def _reordered(labels: tuple[Labels, ...], order: tuple[str, ...], names: tuple[str, ...]) -> tuple[Labels, ...]:
    if order == names:
        return labels
    places = [order.index(name) for name in names]
    return tuple(tuple(label[place] for place in places) for label in labels)
