"""Sorted values with bounds of their ranks, from many summaries at once.

An entry is a value and its steps (LEAST and MOST of `kernels.gk`): how far passing it raises the least rank of what
has been passed, and the largest rank of what comes next. Steps of several summaries only need to be sorted together
to bound ranks in the union; the error of the union is the sum of the errors, in elements. Nothing is lost by it, and
nothing may be thrown away afterwards: compressing a merged list would spend the error a second time.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from aomg.errors import InputError
from aomg.policies.base import Integers, Values
from aomg.policies.kernels.gk import merge_steps, select_ranks


def refuse_epsilon(epsilon: float) -> None:
    """Refuse what is no share of the window."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)) or not 0 < epsilon < 1:
        raise InputError(f"epsilon={epsilon!r} must lie in (0, 1): the rank error, as a share of the window")


class RankBounds(NamedTuple):
    """Ascending values and their steps, a row each. Each column adds up to the elements that are described."""

    values: Values
    steps: Integers


NOTHING = RankBounds(np.empty(0), np.empty((0, 2), np.int64))
_NONE_TOO_OLD = np.iinfo(np.int64).min


def each_exact(values: Values) -> RankBounds:
    """Sorted values that stand for themselves."""
    return RankBounds(values, np.ones((values.size, 2), np.int64))


def merged(parts: Sequence[RankBounds]) -> RankBounds:
    """All parts in one order, the shortest merged first: O(M) where lengths double, O(kM) at worst."""
    whole = NOTHING
    for part in sorted(parts, key=lambda part: part.values.size):
        size = whole.values.size + part.values.size
        out = RankBounds(np.empty(size), np.empty((size, 2), np.int64))
        merge_steps(*whole, *part, *out, _NONE_TOO_OLD)
        whole = out
    return whole


def select(ranks: Integers, one: RankBounds, other: RankBounds = NOTHING, lift: int = 0) -> Values:
    """For each rank, in any order, the value of the union whose bounds are closest to it. O(M).

    The largest rank of every value is taken to be higher by `lift`: so many elements may come before it, unseen.
    """
    order = np.argsort(ranks, kind="stable")
    found = np.empty(ranks.size)
    found[order] = select_ranks(*one, *other, ranks[order], lift)
    return found


class LiveBounds:
    """The steps of all live summaries in one order, so that a query sorts nothing.

    `columns` is the number of columns of their steps. O(M) for each that enters or leaves, or for both at once.
    """

    def __init__(self, columns: int = 2) -> None:
        self._size = 0
        self._now = self._room(1024, columns + 1)
        self._spare = self._room(1024, columns + 1)

    @staticmethod
    def _room(size: int, columns: int) -> RankBounds:
        return RankBounds(np.empty(size), np.empty((size, columns), np.int64))

    def __len__(self) -> int:
        return self._size

    def add(self, summary: RankBounds, start: int, oldest: int = 0) -> None:
        """Let a summary in that starts at a position, and out those that start before `oldest`."""
        most = self._size + summary.values.size
        if most > self._spare.values.size:
            self._spare = self._room(2 * most, self._spare.steps.shape[1])
        steps = np.hstack([summary.steps, np.full((summary.values.size, 1), start)])
        self._size = merge_steps(*self.entries(), summary.values, steps, *self._spare, oldest)
        self._now, self._spare = self._spare, self._now

    def drop(self, oldest: int) -> None:
        """Let out the summaries that start before `oldest`."""
        self.add(self._room(0, self._now.steps.shape[1] - 1), 0, oldest)

    def entries(self) -> RankBounds:
        """All entries; the last column of their steps is where their summary starts."""
        return RankBounds(self._now.values[: self._size], self._now.steps[: self._size])

    @property
    def nbytes(self) -> int:
        """Bytes of the entries."""
        values, steps = self.entries()
        return values.nbytes + steps.nbytes
