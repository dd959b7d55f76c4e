"""The summary of Greenwald and Khanna (2001) of a block of elements: ranks within epsilon n, whatever their order.

A tuple is a value, the gap from the least rank of the tuple before it to its own, and the spread between its least and
its largest rank. Gap and spread together never exceed floor(2 epsilon n), so some tuple is within epsilon n of every
rank. Values are inserted in sorted batches: each takes its spread from the old tuple above it, because the new values
below that tuple move both of its bounds alike. Compression is greedy, without the bands of the original: in practice
smaller, but the original's bound of space is not proven for it.

Equal values waste tuples, and cannot share one: its least rank would no longer describe where the equal values begin.
So while a block has few distinct values they are counted, and become two tuples each, the first and the last of the
equal values, with exact ranks.
"""

from math import ceil

import numpy as np

from aomg.policies.base import Integers, Values
from aomg.policies.kernels.gk import GK_COUNTS, GK_ELEMENTS, GK_TUPLES, add_to_gk, pruned, steps_of_gk
from aomg.policies.rank_bounds import RankBounds, each_exact, merged


class Gk:
    """An open block, summarised as it comes. O(log b + tuples / b) an element in batches of b = 1 / (2 epsilon).

    epsilon
        The summary's own error.
    parts
        A closed summary has at most parts + 1 values, which adds 1 / (2 parts) to its error.
    """

    def __init__(self, epsilon: float, parts: int) -> None:
        self.width = 2 * epsilon
        self.batch = max(1, ceil(1 / self.width))
        self.parts = parts
        self._registers = np.zeros(3, np.int64)
        self._registers[GK_COUNTS] = 1
        room = ceil(2 / self.width) + 4 + 2 * self.batch  # also what the counts can become when there are too many
        self._keys, self._gaps, self._spreads = np.empty(room), np.zeros(room, np.int64), np.zeros(room, np.int64)
        self._waiting, self._filled = np.empty(self.batch), 0

    @property
    def elements(self) -> int:
        """How many have come since the block was opened."""
        return int(self._registers[GK_ELEMENTS]) + self._filled

    @property
    def counts(self) -> bool:
        """Whether the tuples are still (value, count, 0) of every distinct value."""
        return bool(self._registers[GK_COUNTS])

    @property
    def tuples(self) -> tuple[Values, Integers, Integers]:
        """Value, gap and spread of every tuple; what waits for its batch is not in them."""
        size = self._registers[GK_TUPLES]
        return self._keys[:size], self._gaps[:size], self._spreads[:size]

    def take(self, values: Values) -> None:
        """Insert values. Batches are cut by the count of elements, so it does not matter how values are handed in."""
        rest = values
        if self._filled:
            rest = values[self.batch - self._filled :]
            self._wait(values[: self.batch - self._filled])
            if self._filled == self.batch:
                self._insert_waiting()
        whole = rest.size // self.batch * self.batch
        if whole:
            self._insert(np.sort(rest[:whole].reshape(-1, self.batch), axis=1))
        self._wait(rest[whole:])

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
                known = getattr(self, name)
                setattr(self, name, np.concatenate([known, np.zeros_like(known)]))

    def view(self) -> RankBounds:
        """What is known of the block so far. O(tuples + b log b)."""
        known = RankBounds(*steps_of_gk(self._registers, self._keys, self._gaps, self._spreads))
        return merged([known, each_exact(np.sort(self._waiting[: self._filled]))])

    def close(self) -> RankBounds:
        """Return what is kept of the block, at most parts + 1 values, and open the next one."""
        if self._filled:
            self._insert_waiting()
        known = self.view()
        if known.values.size > self.parts + 1:
            known = RankBounds(*pruned(*known, self.parts))
        self._registers[:] = 0
        self._registers[GK_COUNTS] = 1
        return known

    def variables(self) -> int:
        """Three for each tuple, two for each counted value, one for each that waits; the count, and which it is."""
        return (2 if self.counts else 3) * int(self._registers[GK_TUPLES]) + self._filled + 2

    @property
    def nbytes(self) -> int:
        """Bytes of the same."""
        return 24 * int(self._registers[GK_TUPLES]) + 8 * self._filled + self._registers.nbytes
