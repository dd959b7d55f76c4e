"""Random: buffers of random samples (Wang, Luo, Yi, Cormode; SIGMOD 2013, VLDB Journal 2016), for windows.

A sketch has h + 1 buffers of s values. When all are full, two of the lowest level that has two are merged, and a fair
coin keeps every other value of them, with twice the weight. After s 2^h elements only one of two consecutive elements
is taken, at random, and half of that whenever the elements have doubled again.

The authors sketch a whole stream. Over a window, each sub-window has an independent sketch and a query weighs all of
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

_FAILURE = 0.1  # delta: how often an answer of one sketch may miss, as in a co-author's public code


class Random(Policy):
    """A sketch of weighted samples for each sub-window. O(log s + h) an element, O(W h s) a query.

    epsilon
        The rank error that an answer of one sketch exceeds at most one time in ten, as a share of its elements.
    seed
        Zero or more. Sub-window number j draws from the seed and j, so a replay gives the same answers.
    s, h
        Values of a buffer, and levels before sampling starts. None takes those of a co-author's public code:
        ceil(sqrt(2 log2(10)) / epsilon) and ceil(log2(5 s / 12)).
    """

    name: ClassVar[str] = "random"
    promise: ClassVar[str] = "rank error at most epsilon with high probability, by random halving of sorted buffers"

    def __init__(
        self, query: Query, epsilon: float = 0.015, seed: int = 1, s: int | None = None, h: int | None = None
    ) -> None:
        super().__init__(query)
        refuse_epsilon(epsilon)
        for name, given in (("s", s), ("h", h)):
            if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
                raise InputError(f"{name}={given!r} must be a whole number from 1, or None")
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InputError(f"seed={seed!r} must be a whole number from 0")
        self.epsilon, self.seed = float(epsilon), seed
        self.s = s or ceil(sqrt(2 * log2(1 / _FAILURE)) / self.epsilon)
        self.h = h or max(1, ceil(log2(5 * self.s / 12)))
        self._buffers = np.empty((self.h + 1, self.s))
        self._levels = np.empty(self.h + 1, np.int64)
        self._registers = np.empty(4, np.int64)
        self._live = LiveBounds(columns=1)
        self._fresh: RankBounds | None = None  # the last sketch, until it is known what leaves when it enters
        self._tags: deque[int] = deque()  # buffers in use of each closed sketch
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
        """Values in each buffer."""
        sizes = np.where(self._levels >= 0, self.s, 0)
        sizes[self._registers[FILLING]] = self._registers[FILLED]
        return sizes

    def close(self) -> None:
        """Keep the weighted values of all buffers; the last one need not be full."""
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
        """Put the last sketch into the order of the window and take those that have left out of it, in one pass."""
        oldest = self._number - len(self._tags)
        if self._fresh is not None:
            self._live.add(self._fresh, self._number - 1, oldest)
        elif oldest > self._oldest:
            self._live.drop(oldest)
        self._fresh, self._oldest = None, oldest

    def samples(self) -> RankBounds:
        """The values of all closed sub-windows in order; the first column of their steps is their weight."""
        self._settle()
        return self._live.entries()

    def weight(self) -> int:
        """All weights: the elements of the closed sub-windows, but for sampling blocks that did not end."""
        return sum(self._weights)

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """The first value up to which there is a phi of the weight there is, which need not be `count`."""
        return unbounded(select_weights(*self.samples(), self.asked.ranks(self.weight())))

    def variables(self) -> int:
        """One for each value, and one for the level of each buffer."""
        sizes = self._sizes()
        self._settle()
        closed = len(self._live) + sum(self._tags) + len(self._tags)
        return closed + int(sizes.sum()) + int(np.count_nonzero(sizes)) + self._registers.size + self._bits.size

    @property
    def nbytes(self) -> int:
        """Bytes of the same. In the common order each value also has its weight and its sub-window."""
        self._settle()
        closed = self._live.nbytes + 16 * len(self._tags)
        return closed + 8 * int(self._sizes().sum()) + self._levels.nbytes + self._registers.nbytes + self._bits.nbytes

    def analytical(self) -> int:
        """All buffers full in every sub-window and in the open one."""
        sketches = self.query.sub_windows + 1
        most = min(int(self.query.period), (self.h + 1) * self.s)
        return sketches * (most + self.h + 1) + self.query.sub_windows + 5

    def parameters(self) -> dict[str, Any]:
        """The error, s and h, the seed, and after how many elements sampling starts."""
        return {
            "epsilon": self.epsilon,
            "s": self.s,
            "h": self.h,
            "seed": self.seed,
            "sampling_after": self.s << self.h,
        }
