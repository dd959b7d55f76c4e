"""The summary of Greenwald and Khanna (2001): ranks of a block of events within epsilon n, in any order of arrival.

A tuple is a value, the gap from the least rank of the previous tuple to its own, and the spread between its least and
its largest rank. Gap and spread together never exceed floor(2 epsilon n), so every rank is within epsilon n of some
tuple. Values are inserted in sorted batches. A new value gets its spread from the old tuple above it, because new
values below that tuple raise both of its bounds equally. Compression is greedy, without the bands of the original:
smaller in practice, but the space bound of the original is not proven for it.

Equal values waste tuples but cannot share one: its least rank would no longer say where the equal values start. So
while a block has few distinct values, they are counted. Each becomes two tuples with exact ranks, for its first and its
last occurrence.
"""

from math import ceil

import numpy as np

from aomg.policies.base import Integers, Values
from aomg.policies.kernels.gk import GK_COUNTS, GK_EVENTS, GK_TUPLES, add_to_gk, pruned, steps_of_gk
from aomg.policies.rank_bounds import RankBounds, each_exact, merged


class Gk:
    """Summary of an open block. Costs O(log b + tuples / b) per event, in batches of b = 1 / (2 epsilon).

    epsilon
        The error of the open summary.
    parts
        A closed summary has at most parts + 1 values, which adds 1 / (2 parts) to its error.
    """

    def __init__(self, epsilon: float, parts: int) -> None:
        self.width = 2 * epsilon
        self.batch = max(1, ceil(1 / self.width))
        self.parts = parts
        self._registers = np.zeros(3, np.int64)
        self._registers[GK_COUNTS] = 1
        capacity = ceil(2 / self.width) + 4 + 2 * self.batch  # also for the tuples that replace too many counts
        self._keys = np.empty(capacity)
        self._gaps, self._spreads = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
        self._waiting, self._filled = np.empty(self.batch), 0

    @property
    def events(self) -> int:
        """The number of events in the block."""
        return int(self._registers[GK_EVENTS]) + self._filled

    @property
    def counts(self) -> bool:
        """Whether tuples are still (value, count, 0), one per distinct value."""
        return bool(self._registers[GK_COUNTS])

    @property
    def tuples(self) -> tuple[Values, Integers, Integers]:
        """Value, gap and spread of every tuple, without the values that wait for their batch."""
        size = self._registers[GK_TUPLES]
        return self._keys[:size], self._gaps[:size], self._spreads[:size]

    def take(self, values: Values) -> None:
        """Insert values. Batches depend on the number of events alone, not on how values are split into calls."""
        remaining = values
        if self._filled:
            remaining = values[self.batch - self._filled :]
            self._wait(values[: self.batch - self._filled])
            if self._filled == self.batch:
                self._insert_waiting()
        whole = remaining.size // self.batch * self.batch
        if whole:
            self._insert(np.sort(remaining[:whole].reshape(-1, self.batch), axis=1))
        self._wait(remaining[whole:])

    def _wait(self, values: Values) -> None:
        self._waiting[self._filled : self._filled + values.size] = values
        self._filled += values.size

    def _insert_waiting(self) -> None:
        batch = np.sort(self._waiting[: self._filled])
        self._filled = 0
        self._insert(batch[None, :])

    def _insert(self, batches: Values) -> None:
        done = 0
        while True:
            done += add_to_gk(
                batches[done:], self.width, self.parts // 2, self._registers, self._keys, self._gaps, self._spreads
            )
            if done == len(batches):
                return
            for name in ("_keys", "_gaps", "_spreads"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))

    def view(self) -> RankBounds:
        """Return the rank bounds of all events so far. O(tuples + b log b)."""
        bounds = RankBounds(*steps_of_gk(self._registers, self._keys, self._gaps, self._spreads))
        return merged([bounds, each_exact(np.sort(self._waiting[: self._filled]))])

    def close(self) -> RankBounds:
        """Return the pruned summary, of at most parts + 1 values, and open the next block."""
        if self._filled:
            self._insert_waiting()
        bounds = self.view()
        if bounds.values.size > self.parts + 1:
            bounds = RankBounds(*pruned(*bounds, self.parts))
        self._registers[:] = 0
        self._registers[GK_COUNTS] = 1
        return bounds

    def variables(self) -> int:
        """Count three per tuple or two per counted value, one per waiting value, the number of events and the mode."""
        return (2 if self.counts else 3) * int(self._registers[GK_TUPLES]) + self._filled + 2

    @property
    def nbytes(self) -> int:
        """Return the bytes of the same state."""
        return 24 * int(self._registers[GK_TUPLES]) + 8 * self._filled + self._registers.nbytes
