"""Sliding counts of every code: AOMG's Level 1 without summaries.

Each sub-window stores its (code, count) pairs, and the window stores their sums. Exact to the digits of the query on
any stream; the price is space: one pair per code of every live sub-window.
"""

from collections import deque
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from aomg.core.codes import INTEGERS, REALS, middles
from aomg.core.sliding import Sliding
from aomg.policies.base import Policy, Values
from aomg.policies.kernels.pairs import merge_in, merge_out
from aomg.policies.pairs import Pairs, sum_of_pairs
from aomg.query import Query


class CodeHistogram(Policy):
    """Counts of codes, added when a sub-window closes and subtracted when it expires. O(1) per event."""

    name: ClassVar[str] = "histogram"
    title: ClassVar[str] = "Histogram"
    promise: ClassVar[str] = "equal to the exact value in the query's digits, by counts of all values"

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self._codec = Sliding(query).codec
        self._open: list[Pairs] = []
        self._closed: deque[Pairs] = deque()
        self._whole = True  # whether all values of the open sub-window are whole numbers
        self._wholes: deque[bool] = deque()
        self._codes, self._counts, self._size = np.empty(1024, np.int64), np.empty(1024, np.int64), 0

    def accumulate(self, values: Values) -> None:
        """Count the codes of the values."""
        codes, counts = np.unique(self._codec.codes(values), return_counts=True)
        self._open.append((codes, counts))
        self._whole = self._whole and bool(np.all(np.trunc(values) == values))

    def close(self) -> None:
        """Add the sub-window's counts to the window's."""
        codes, counts = sum_of_pairs(self._open)
        self._open = []
        self._closed.append((codes, counts))
        self._wholes.append(self._whole)
        self._whole = True
        missing = self._size + codes.size - self._codes.size
        if missing > 0:
            more = np.empty(max(missing, self._codes.size), np.int64)
            self._codes, self._counts = np.concatenate([self._codes, more]), np.concatenate([self._counts, more])
        self._size = merge_in(self._codes, self._counts, self._size, codes, counts)

    def expire(self) -> None:
        """Subtract the oldest sub-window's counts from the window's."""
        self._size = merge_out(self._codes, self._counts, self._size, *self._closed.popleft())
        self._wholes.popleft()

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Scan the counts to each rank; return the middle of its code or, for whole numbers, the one in it."""
        places = np.searchsorted(np.cumsum(self._counts[: self._size]), self.quantiles.ranks(count), "left")
        codes = self._codes[places]
        domain = INTEGERS if all(self._wholes) else REALS
        lows, highs = self._codec.intervals(codes, domain)
        return np.column_stack([middles(self._codec, codes, domain), lows, highs])

    def _pairs(self) -> int:
        return sum(codes.size for codes, _ in (*self._closed, *self._open)) + self._size

    def variables(self) -> int:
        """Count two per pair, of the sub-windows and of the window, and a flag per sub-window."""
        return 2 * self._pairs() + len(self._wholes) + 1

    @property
    def nbytes(self) -> int:
        """Return the bytes of the same state."""
        return 16 * self._pairs() + len(self._wholes) + 1
