"""Exact quantiles: every value of the window is kept.

`Exact` is the paper's: an ordered multiset of (value, count), from which each element is removed again when it leaves
the window. `ExactSorted` is the stronger form that the paper does not compare with: a sorted array for each sub-window
and a selection across them, with nothing to remove.
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
    """A balanced tree of the distinct values with their counts: O(log u) an element in and out, O(log u) a quantile.

    The elements of the window are kept in order, too: what leaves has to be known. A tumbling window has nothing to
    remove: its tree is discarded as a whole.
    """

    name: ClassVar[str] = "exact"
    promise: ClassVar[str] = "exact, by an ordered tree of counts, elements removed one by one (the paper's)"

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
        """Make room for as many nodes again, and for paths twice as long."""
        for name in ("_keys", "_counts", "_totals", "_links", "_path"):
            known = getattr(self, name)
            setattr(self, name, np.concatenate([known, np.zeros_like(known)]))

    def close(self) -> None:
        """Remember where the sub-window ends."""
        self._closed.append(np.concatenate(self._open))
        self._open = []

    def expire(self) -> None:
        """Remove every value of the oldest sub-window from the tree. O(P log u)."""
        gone = self._closed.popleft()
        if not self._tumbling:
            take_from_tree(gone, self._registers, self._keys, self._counts, self._totals, self._links)

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Select each rank by the counts of subtrees. O(log u)."""
        found = [
            select_in_tree(rank, self._registers, self._keys, self._counts, self._totals, self._links)
            for rank in self.asked.ranks(count)
        ]
        return np.repeat(np.array(found)[:, None], 3, axis=1)

    def _held(self) -> int:
        return sum(part.size for part in (*self._closed, *self._open))

    def variables(self) -> int:
        """Two for each distinct value, and the elements in the order in which they leave."""
        return 2 * int(self._registers[DISTINCT]) + self._held()

    @property
    def nbytes(self) -> int:
        """A node is a value, a count, a total and two links."""
        return 40 * int(self._registers[DISTINCT]) + 8 * self._held()

    def analytical(self) -> int:
        """All values distinct, in a full window and the sub-window that is open."""
        return 3 * int(self.query.size + self.query.period)


class ExactSorted(Policy):
    """A sorted array for each sub-window: O(log P) an element, O(W log^2 P) a quantile, nothing to expire."""

    name: ClassVar[str] = "exact-sorted"
    promise: ClassVar[str] = "exact, by one sorted array for each sub-window and a selection across them"

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self._open: list[Values] = []
        self._closed: deque[Values] = deque()

    def accumulate(self, values: Values) -> None:
        """Keep the values."""
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
        found = [select_in_parts(values, starts, ends, rank) for rank in self.asked.ranks(count)]
        return np.repeat(np.array(found)[:, None], 3, axis=1)

    def variables(self) -> int:
        """The elements of the window and of the open sub-window."""
        return sum(part.size for part in (*self._closed, *self._open))

    @property
    def nbytes(self) -> int:
        """Bytes of the same."""
        return 8 * self.variables()

    def analytical(self) -> int:
        """A full window and a sub-window."""
        return int(self.query.size + self.query.period)
