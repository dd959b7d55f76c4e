"""Sorted values with bounds of their ranks, merged from many summaries.

Each value has two steps (LEAST and MOST of `kernels.gk`): by how much passing it raises the least rank of the values
passed so far, and the largest possible rank of the next one. Sorting the steps of several summaries together bounds
ranks in their union; its error in events is the sum of their errors. Merging adds no error, but a merged list must not
be compressed again: that would add the error a second time.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from aomg.errors import InputError
from aomg.policies.base import Integers, Values
from aomg.policies.kernels.gk import merge_steps, select_ranks


def refuse_epsilon(epsilon: float) -> None:
    """Raise InputError unless epsilon is a number between 0 and 1."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)) or not 0 < epsilon < 1:
        raise InputError(f"epsilon={epsilon!r} must lie in (0, 1): the rank error, as a share of the window")


class RankBounds(NamedTuple):
    """Ascending values and their steps, one row each. Each column sums to the number of summarised events."""

    values: Values
    steps: Integers


NOTHING = RankBounds(np.empty(0), np.empty((0, 2), np.int64))
_NONE_TOO_OLD = np.iinfo(np.int64).min


def each_exact(values: Values) -> RankBounds:
    """Return the exact rank bounds of sorted values."""
    return RankBounds(values, np.ones((values.size, 2), np.int64))


def merged(parts: Sequence[RankBounds]) -> RankBounds:
    """Merge all parts, the shortest first: O(M) if lengths double, O(kM) at worst."""
    whole = NOTHING
    for part in sorted(parts, key=lambda part: part.values.size):
        size = whole.values.size + part.values.size
        out = RankBounds(np.empty(size), np.empty((size, 2), np.int64))
        merge_steps(*whole, *part, *out, _NONE_TOO_OLD)
        whole = out
    return whole


def select(ranks: Integers, first: RankBounds, second: RankBounds = NOTHING, lift: int = 0) -> Values:
    """Return for each rank, in any order, the value of the union with the closest bounds. O(M).

    `lift` is added to the largest rank of every value: that many events below it may be missing.
    """
    order = np.argsort(ranks, kind="stable")
    selected = np.empty(ranks.size)
    selected[order] = select_ranks(*first, *second, ranks[order], lift)
    return selected


class LiveBounds:
    """The merged bounds of all live summaries, kept sorted.

    `columns` is the number of columns of their steps. O(M) to add a summary, to drop some, or for both at once.
    """

    def __init__(self, columns: int = 2) -> None:
        self._size = 0
        self._now = self._empty(1024, columns + 1)
        self._spare = self._empty(1024, columns + 1)

    @staticmethod
    def _empty(size: int, columns: int) -> RankBounds:
        return RankBounds(np.empty(size), np.empty((size, columns), np.int64))

    def __len__(self) -> int:
        return self._size

    def add(self, summary: RankBounds, start: int, oldest: int = 0) -> None:
        """Add a summary with its start position, and drop those that start before `oldest`."""
        most = self._size + summary.values.size
        if most > self._spare.values.size:
            self._spare = self._empty(2 * most, self._spare.steps.shape[1])
        steps = np.hstack([summary.steps, np.full((summary.values.size, 1), start)])
        self._size = merge_steps(*self.bounds(), summary.values, steps, *self._spare, oldest)
        self._now, self._spare = self._spare, self._now

    def drop(self, oldest: int) -> None:
        """Drop the summaries that start before `oldest`."""
        self.add(self._empty(0, self._now.steps.shape[1] - 1), 0, oldest)

    def bounds(self) -> RankBounds:
        """Return all bounds; the last column of their steps is the start of their summary."""
        return RankBounds(self._now.values[: self._size], self._now.steps[: self._size])

    @property
    def nbytes(self) -> int:
        """Return the bytes of the bounds."""
        values, steps = self.bounds()
        return values.nbytes + steps.nbytes
