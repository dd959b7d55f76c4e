"""Random: buffers of random samples (Wang, Luo, Yi, Cormode; SIGMOD 2013, VLDB Journal 2016), for windows.

A sketch has h + 1 buffers of s values. When all are full, two of the lowest level that has two are merged, and a fair
coin selects every other value, with twice the weight. After s 2^h events the sketch samples one of two consecutive
events at random, and half as many whenever the number of events doubles.

The authors sketch a whole stream. For a window, each sub-window has an independent sketch and an answer weighs all of
them together; their errors are independent and average out.
"""

from collections import deque
from math import ceil, log2, sqrt
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aomg.errors import InputError
from aomg.policies.base import Policy, Values, unbounded
from aomg.policies.kernels.random import FILLED, FILLING, add_to_random, select_weights
from aomg.policies.rank_bounds import LiveBounds, RankBounds, refuse_epsilon
from aomg.query import Query

_FAILURE = 0.1  # delta: the probability that an answer of one sketch misses epsilon, as in a co-author's public code


class Random(Policy):
    """One sketch of weighted samples per sub-window. Costs O(log s + h) per event, O(W h s) per answer.

    epsilon
        The rank error that an answer of one sketch exceeds in at most one of ten cases, as a share of its events.
    seed
        Zero or more. Sub-window j draws from the seed and j, so a replay gives the same answers.
    s, h
        Values per buffer, and levels before sampling starts. None means those of a co-author's public code:
        ceil(sqrt(2 log2(10)) / epsilon) and ceil(log2(5 s / 12)).
    """

    name: ClassVar[str] = "random"
    title: ClassVar[str] = "Random"
    promise: ClassVar[str] = "rank error at most epsilon with high probability, by random halving of sorted buffers"

    def __init__(
        self, query: Query, epsilon: float = 0.015, seed: int = 1, s: int | None = None, h: int | None = None
    ) -> None:
        super().__init__(query)
        refuse_epsilon(epsilon)
        for name, value in (("s", s), ("h", h)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InputError(f"{name}={value!r} must be a whole number from 1, or None")
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InputError(f"seed={seed!r} must be a whole number from 0")
        self.epsilon, self.seed = float(epsilon), seed
        self.s = s or ceil(sqrt(2 * log2(1 / _FAILURE)) / self.epsilon)
        self.h = h or max(1, ceil(log2(5 * self.s / 12)))
        self._buffers = np.empty((self.h + 1, self.s))
        self._levels = np.empty(self.h + 1, np.int64)
        self._registers = np.empty(4, np.int64)
        self._live = LiveBounds(columns=1)
        self._fresh: RankBounds | None = None  # the last sketch, until expiry is known: both take one pass
        self._tags: deque[int] = deque()  # used buffers of each closed sketch
        self._weights: deque[int] = deque()
        self._number = self._oldest = 0
        self._open()

    def _open(self) -> None:
        self._levels[:] = -1
        self._registers[:] = 0
        self._bits = np.random.SeedSequence((self.seed, self._number)).generate_state(1, np.uint64)

    def accumulate(self, values: Values) -> None:
        """Sample the values into the buffers."""
        add_to_random(values, self.h, self._registers, self._buffers, self._levels, self._bits)

    def _sizes(self) -> npt.NDArray[np.int64]:
        """Return the number of values in each buffer."""
        sizes = np.where(self._levels >= 0, self.s, 0)
        sizes[self._registers[FILLING]] = self._registers[FILLED]
        return sizes

    def close(self) -> None:
        """Store the weighted values of all buffers; the last one may be partly filled."""
        self._settle()
        sizes = self._sizes()
        inside = np.arange(self.s) < sizes[:, None]
        values, weights = self._buffers[inside], np.repeat(1 << np.maximum(self._levels, 0), sizes)
        order = np.argsort(values, kind="stable")
        self._fresh = RankBounds(values[order], weights[order, None])
        self._weights.append(int(weights.sum()))
        self._tags.append(int(np.count_nonzero(sizes)))
        self._number += 1
        self._open()

    def expire(self) -> None:
        """Drop the oldest sketch."""
        self._weights.popleft()
        self._tags.popleft()

    def _settle(self) -> None:
        """Merge the last sketch into the window's sorted samples and remove expired ones, in one pass."""
        oldest = self._number - len(self._tags)
        if self._fresh is not None:
            self._live.add(self._fresh, self._number - 1, oldest)
        elif oldest > self._oldest:
            self._live.drop(oldest)
        self._fresh, self._oldest = None, oldest

    def samples(self) -> RankBounds:
        """Return the sorted samples of all closed sub-windows; the first column of their steps is their weight."""
        self._settle()
        return self._live.bounds()

    def weight(self) -> int:
        """Return the total weight: the events of the closed sub-windows without incomplete sampling blocks."""
        return sum(self._weights)

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Return the first value with the share phi of the total weight, which may differ from `count`."""
        return unbounded(select_weights(*self.samples(), self.quantiles.ranks(self.weight())))

    def variables(self) -> int:
        """Count one per value, and one for the level of each buffer."""
        sizes = self._sizes()
        self._settle()
        closed = len(self._live) + sum(self._tags) + len(self._tags)
        return closed + int(sizes.sum()) + int(np.count_nonzero(sizes)) + self._registers.size + self._bits.size

    @property
    def nbytes(self) -> int:
        """Return the bytes of the same state; each sample also stores its weight and its sub-window."""
        self._settle()
        closed = self._live.nbytes + 16 * len(self._tags)
        return closed + 8 * int(self._sizes().sum()) + self._levels.nbytes + self._registers.nbytes + self._bits.nbytes

    def analytical(self) -> int:
        """Return the variables if all buffers of every sub-window and the open one are full."""
        sketches = self.query.sub_windows + 1
        most = min(int(self.query.period), (self.h + 1) * self.s)
        return sketches * (most + self.h + 1) + self.query.sub_windows + 5

    def parameters(self) -> dict[str, Any]:
        """Return the error, s, h, the seed, and the number of events after which sampling starts."""
        return {
            "epsilon": self.epsilon,
            "s": self.s,
            "h": self.h,
            "seed": self.seed,
            "sampling_after": self.s << self.h,
        }
