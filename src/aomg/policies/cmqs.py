"""CMQS: continuously maintained quantile summaries of a sliding window (Lin, Lu, Xu, Yu; ICDE 2004).

The stream is cut into buckets of eps N / 2 elements, whatever the sub-windows are. A bucket is summarised within
eps / 4 while it fills and, pruned, within eps / 2 when it is full; it leaves with its first element. So the union
of the summaries is wrong by at most eps / 2 of the elements it covers, and fewer than eps N / 2 are not covered.
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
    """Buckets of GK summaries. O(log(1 / eps)) an element, O(1 / eps^2) a bucket and a query.

    epsilon
        The largest rank error, as a share of the window's size N. A last window that is shorter than N has the same
        error in elements; one shorter than a bucket is answered by the newest bucket, older elements and all.
    rule
        What is asked of the elements that are covered: "scaled" asks for rank ceil(phi n') of n', "lift" (as
        published) for rank ceil(phi N), with the missing ones added to the largest rank of every value. Both keep the
        promise; "scaled" is nearer the truth where the stream does not drift.
    buffered
        Ours, not the authors': keep the open bucket raw and of a closed one every (eps n)-th value, whose rank needs
        no room. The same promise in a fifth of the variables.
    """

    name: ClassVar[str] = "cmqs"
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
        self._seen = 0  # elements of the stream so far
        self._from = 0  # position of the window's first element
        self._kept = 0  # position of the first element that is covered

    def accumulate(self, values: Values) -> None:
        """Summarise the values into the open bucket; close it whenever it is full."""
        done = 0
        while done < values.size:
            piece = values[done : done + self.capacity - self._open.elements]
            self._open.take(piece)
            done += piece.size
            self._seen += piece.size
            if self._open.elements == self.capacity:
                self._keep_from(self._seen - self.query.size)
                self._live.add(self._open.close(), self._seen - self.capacity, self._kept)

    def close(self) -> None:
        """Do nothing: buckets do not end with sub-windows."""

    def expire(self) -> None:
        """Drop every bucket with an element of the sub-window that leaves."""
        self._from += self.query.period
        newest = (self._seen - 1) // self.capacity * self.capacity
        if self._keep_from(min(self._from, newest)):
            self._live.drop(self._kept)

    def _keep_from(self, oldest: int) -> bool:
        """Whether buckets have to leave when the oldest element to be covered is this one."""
        before = self._kept
        self._kept = max(before, -(-oldest // self.capacity) * self.capacity)
        return self._kept > before

    def covered(self) -> int:
        """Elements in the summaries: of a window of n, more than n - eps N / 2."""
        return self._seen - self._kept

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Walk the order of all buckets, with the open one merged in, past each rank. O(1 / eps^2)."""
        covered = self.covered()
        scaled = self.rule == "scaled"
        ranks = self.asked.ranks(covered if scaled else count)
        lift = 0 if scaled else max(0, count - covered)
        return unbounded(select(ranks, self._live.entries(), self._open.view(), lift))

    def variables(self) -> int:
        """Three for each tuple of a closed bucket (one if buffered: ranks are implied), one for each bucket."""
        buckets = (self._seen - self._kept) // self.capacity
        return (1 if self.buffered else 3) * len(self._live) + buckets + self._open.variables() + 3

    @property
    def nbytes(self) -> int:
        """Bytes of the same. In the common order each entry also says which bucket it belongs to."""
        return self._live.nbytes + self._open.nbytes + 24

    def analytical(self) -> int:
        """All buckets full, and nothing of the open one compressed."""
        buckets, each = int(self.query.size) // self.capacity, 1 if self.buffered else 3
        closed = buckets * (each * min(self.capacity, self._open.parts + 1) + 1)
        return closed + each * self.capacity + (0 if self.buffered else self._open.batch) + 5

    def parameters(self) -> dict[str, Any]:
        """The error, the rule, and the size of a bucket."""
        return {"epsilon": self.epsilon, "rule": self.rule, "buffered": self.buffered, "bucket": self.capacity}


class Raw:
    """An open bucket that keeps its elements: the verbs of `Gk`, with no error until it closes."""

    batch = 0

    def __init__(self, parts: int, capacity: int) -> None:
        self.parts = parts
        self.elements = 0
        self._values = np.empty(capacity)

    def take(self, values: Values) -> None:
        """Keep values."""
        self._values[self.elements : self.elements + values.size] = values
        self.elements += values.size

    def view(self) -> RankBounds:
        """All values, with their ranks."""
        return each_exact(np.sort(self._values[: self.elements]))

    def close(self) -> RankBounds:
        """The values of at most parts + 1 ranks, evenly spread."""
        known = self.view()
        self.elements = 0
        return RankBounds(*pruned(*known, self.parts)) if known.values.size > self.parts + 1 else known

    def variables(self) -> int:
        """One for each value."""
        return self.elements + 1

    @property
    def nbytes(self) -> int:
        """Bytes of the same."""
        return 8 * self.variables()
