"""CMQS: continuously maintained quantile summaries of a sliding window (Lin, Lu, Xu, Yu; ICDE 2004).

The stream is split into buckets of eps N / 2 events, independent of sub-windows. A bucket's summary has an error of
eps / 4 while it is open and, pruned, of eps / 2 when it is full. The bucket expires with its first event. So the error
of all summaries together is at most eps / 2 of the covered events, and fewer than eps N / 2 events are not covered.
"""

from math import ceil
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from aomg.errors import InputError
from aomg.policies.base import Policy, Values, unbounded
from aomg.policies.gk import Gk
from aomg.policies.kernels.gk import pruned
from aomg.policies.rank_bounds import LiveBounds, RankBounds, each_exact, refuse_epsilon, select
from aomg.query import Query


class Cmqs(Policy):
    """Buckets of GK summaries. Costs O(log(1 / eps)) per event, O(1 / eps^2) per bucket and per answer.

    epsilon
        The largest rank error, as a share of the window's size N. A last window that is shorter than N has the same
        error in events; one shorter than a bucket is answered from the newest bucket, which has older events, too.
    rule
        The rank selected among the n' covered events: "scaled" selects ceil(phi n'); "lift" (as published) selects
        ceil(phi N) and adds the missing events to the largest rank of every value. Both keep the promise; "scaled"
        has smaller errors if the stream does not drift.
    buffered
        Our variant: the open bucket keeps raw values, a closed one every (eps n)-th value, whose rank is implied. The
        same promise with a fifth of the variables.
    """

    name: ClassVar[str] = "cmqs"
    title: ClassVar[str] = "CMQS"
    promise: ClassVar[str] = "rank error at most epsilon of the window's size, by GK summaries of buckets of eps N / 2"

    def __init__(
        self,
        query: Query,
        epsilon: float = 0.015,
        rule: Literal["scaled", "lift"] = "scaled",
        buffered: bool = False,
    ) -> None:
        super().__init__(query)
        refuse_epsilon(epsilon)
        if rule not in ("scaled", "lift"):
            raise InputError(f"rule={rule!r} must be 'scaled' or 'lift'")
        self.epsilon, self.rule, self.buffered = float(epsilon), rule, bool(buffered)
        self.capacity = max(1, int(self.epsilon * query.size / 2))
        self._open = Raw(ceil(1 / epsilon), self.capacity) if buffered else Gk(epsilon / 4, ceil(2 / epsilon))
        self._live = LiveBounds()
        self._events = 0  # events of the stream so far
        self._window_start = 0  # position of the window's first event
        self._first_covered = 0  # position of the first covered event

    def accumulate(self, values: Values) -> None:
        """Add the values to the open bucket; close it whenever it is full."""
        done = 0
        while done < values.size:
            piece = values[done : done + self.capacity - self._open.events]
            self._open.take(piece)
            done += piece.size
            self._events += piece.size
            if self._open.events == self.capacity:
                self._cover_from(self._events - self.query.size)
                self._live.add(self._open.close(), self._events - self.capacity, self._first_covered)

    def close(self) -> None:
        """Do nothing: buckets do not end with sub-windows."""

    def expire(self) -> None:
        """Drop every bucket with an event of the expired sub-window."""
        self._window_start += self.query.period
        newest = (self._events - 1) // self.capacity * self.capacity
        if self._cover_from(min(self._window_start, newest)):
            self._live.drop(self._first_covered)

    def _cover_from(self, oldest: int) -> bool:
        """Set the oldest position to cover; return whether buckets must be dropped."""
        before = self._first_covered
        self._first_covered = max(before, -(-oldest // self.capacity) * self.capacity)
        return self._first_covered > before

    def covered(self) -> int:
        """Return the number of covered events: of a window of n, more than n - eps N / 2."""
        return self._events - self._first_covered

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Select each rank in the merged order of all buckets and the open one. O(1 / eps^2)."""
        covered = self.covered()
        scaled = self.rule == "scaled"
        ranks = self.quantiles.ranks(covered if scaled else count)
        lift = 0 if scaled else max(0, count - covered)
        return unbounded(select(ranks, self._live.bounds(), self._open.view(), lift))

    def variables(self) -> int:
        """Count three per tuple of a closed bucket (one if buffered: ranks are implied), and one per bucket."""
        buckets = (self._events - self._first_covered) // self.capacity
        return (1 if self.buffered else 3) * len(self._live) + buckets + self._open.variables() + 3

    @property
    def nbytes(self) -> int:
        """Return the bytes of the same state; each tuple also stores the start of its bucket."""
        return self._live.nbytes + self._open.nbytes + 24

    def analytical(self) -> int:
        """Return the variables if all buckets are full and nothing of the open one is compressed."""
        buckets, per_tuple = int(self.query.size) // self.capacity, 1 if self.buffered else 3
        closed = buckets * (per_tuple * min(self.capacity, self._open.parts + 1) + 1)
        return closed + per_tuple * self.capacity + (0 if self.buffered else self._open.batch) + 5

    def parameters(self) -> dict[str, Any]:
        """Return the error, the rule and the size of a bucket."""
        return {"epsilon": self.epsilon, "rule": self.rule, "buffered": self.buffered, "bucket": self.capacity}


class Raw:
    """An open bucket that stores its events: the methods of `Gk`, without error until it closes."""

    batch = 0

    def __init__(self, parts: int, capacity: int) -> None:
        self.parts = parts
        self.events = 0
        self._values = np.empty(capacity)

    def take(self, values: Values) -> None:
        """Store values."""
        self._values[self.events : self.events + values.size] = values
        self.events += values.size

    def view(self) -> RankBounds:
        """Return all values with their exact ranks."""
        return each_exact(np.sort(self._values[: self.events]))

    def close(self) -> RankBounds:
        """Return the values of at most parts + 1 evenly spread ranks."""
        bounds = self.view()
        self.events = 0
        return RankBounds(*pruned(*bounds, self.parts)) if bounds.values.size > self.parts + 1 else bounds

    def variables(self) -> int:
        """Count one per value, and the number of values."""
        return self.events + 1

    @property
    def nbytes(self) -> int:
        """Return the bytes of the same state."""
        return 8 * self.variables()
