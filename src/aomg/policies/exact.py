"""Exact quantiles: stores every value of the window.

`Exact` is the paper's: an ordered multiset of (value, count), from which each event is removed when it leaves the
window. `ExactSorted` is faster, and the paper does not compare with it: one sorted array per sub-window and a selection
across them, with nothing to remove.
"""

from collections import deque
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from aomg.policies.base import Policy, Values
from aomg.policies.kernels.trees import DEPTH, DISTINCT, add_to_tree, select_in_parts, select_in_tree, take_from_tree
from aomg.query import Query

_FIRST_NODES = 1024


class Exact(Policy):
    """A balanced tree of the u distinct values with their counts: O(log u) to add or remove an event, or per quantile.

    The events of the window are also stored in order of arrival, to remove them later. A tumbling window discards its
    whole tree instead.
    """

    name: ClassVar[str] = "exact"
    title: ClassVar[str] = "Exact"
    promise: ClassVar[str] = "exact, by an ordered tree of counts, events removed one by one (the paper's)"

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self._registers = np.zeros(4, np.int64)
        self._keys = np.empty(_FIRST_NODES)
        self._counts = np.zeros(_FIRST_NODES, np.int64)
        self._totals = np.zeros(_FIRST_NODES, np.int64)
        self._links = np.zeros((_FIRST_NODES, 2), np.int64)
        self._path = np.empty(DEPTH, np.int64)
        self._tumbling = query.sub_windows == 1
        self._open: list[Values] = []
        self._closed: deque[Values] = deque()

    def accumulate(self, values: Values) -> None:
        """Insert each value. O(n log u)."""
        if self._tumbling:
            if not self._open:
                self._registers[:] = 0
            self._open.append(values[:0])
        else:
            self._open.append(values.copy())
        done = 0
        while done < values.size:
            done += add_to_tree(
                values[done:], self._registers, self._keys, self._counts, self._totals, self._links, self._path
            )
            if done < values.size:
                self._grow()

    def _grow(self) -> None:
        """Double the arrays."""
        for name in ("_keys", "_counts", "_totals", "_links", "_path"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros_like(array)]))

    def close(self) -> None:
        """Store the sub-window's values for their removal."""
        self._closed.append(np.concatenate(self._open))
        self._open = []

    def expire(self) -> None:
        """Remove every value of the oldest sub-window from the tree. O(P log u)."""
        expired = self._closed.popleft()
        if not self._tumbling:
            take_from_tree(expired, self._registers, self._keys, self._counts, self._totals, self._links)

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Select each rank by the counts of subtrees. O(log u)."""
        values = [
            select_in_tree(rank, self._registers, self._keys, self._counts, self._totals, self._links)
            for rank in self.quantiles.ranks(count)
        ]
        return np.repeat(np.array(values)[:, None], 3, axis=1)

    def _stored_events(self) -> int:
        return sum(part.size for part in (*self._closed, *self._open))

    def variables(self) -> int:
        """Count two per distinct value, and one per stored event."""
        return 2 * int(self._registers[DISTINCT]) + self._stored_events()

    @property
    def nbytes(self) -> int:
        """Return the bytes; a node is a value, a count, a total and two links."""
        return 40 * int(self._registers[DISTINCT]) + 8 * self._stored_events()

    def analytical(self) -> int:
        """Return the variables if all values of a full window and the open sub-window are distinct."""
        return 3 * int(self.query.size + self.query.period)


class ExactSorted(Policy):
    """One sorted array per sub-window: O(log P) per event, O(W log^2 P) per quantile, nothing to remove."""

    name: ClassVar[str] = "exact-sorted"
    title: ClassVar[str] = "Exact (sorted)"
    promise: ClassVar[str] = "exact, by one sorted array for each sub-window and a selection across them"

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self._open: list[Values] = []
        self._closed: deque[Values] = deque()

    def accumulate(self, values: Values) -> None:
        """Store the values."""
        self._open.append(values.copy())

    def close(self) -> None:
        """Sort the sub-window."""
        self._closed.append(np.sort(np.concatenate(self._open)))
        self._open = []

    def expire(self) -> None:
        """Drop the oldest array."""
        self._closed.popleft()

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Select each rank across the sorted arrays."""
        values = np.concatenate(self._closed)
        ends = np.cumsum([part.size for part in self._closed])
        starts = ends - np.array([part.size for part in self._closed])
        selected = [select_in_parts(values, starts, ends, rank) for rank in self.quantiles.ranks(count)]
        return np.repeat(np.array(selected)[:, None], 3, axis=1)

    def variables(self) -> int:
        """Count the events of the window and of the open sub-window."""
        return sum(part.size for part in (*self._closed, *self._open))

    @property
    def nbytes(self) -> int:
        """Return the bytes of the same state."""
        return 8 * self.variables()

    def analytical(self) -> int:
        """Return the events of a full window and a sub-window."""
        return int(self.query.size + self.query.period)
