"""AM: deterministic summaries at many levels (Arasu, Manku; PODS 2004), for a window of fixed size.

The stream is cut into blocks of N0 = eps N / 4 elements, and again into blocks twice, four times... as long. Level l
summarises each of its blocks within eps_l = eps N / (4 (L + 1) N_l): the same number of elements at every level.
All blocks of level 0 inside the window are tiled by at most two blocks of each level, which are wrong by eps N / 2
together; at the ends, fewer than eps N / 4 elements each are not covered.
"""

from math import ceil, log2
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aomg.policies.base import Policy, Values, unbounded
from aomg.policies.gk import Gk
from aomg.policies.rank_bounds import RankBounds, merged, refuse_epsilon, select
from aomg.query import Query


class Level:
    """The blocks of one length: the one that fills, and the closed ones by the position of their first element."""

    def __init__(self, length: int, epsilon: float) -> None:
        self.length = length
        self.open = Gk(epsilon / 2, ceil(1 / epsilon))
        self.closed: dict[int, RankBounds] = {}

    def take(self, values: Values, position: int, size: int) -> None:
        """Summarise values from a position of the stream on, for windows of a size."""
        done = 0
        while done < values.size:
            piece = values[done : done + self.length - self.open.elements]
            self.open.take(piece)
            done += piece.size
            if self.open.elements == self.length:
                end = position + done
                self.drop(end - size)
                self.closed[end - self.length] = self.open.close()

    def drop(self, oldest: int) -> None:
        """Remove the blocks that start before `oldest`."""
        while self.closed:
            start = next(iter(self.closed))
            if start >= oldest:
                return
            del self.closed[start]

    def tuples(self) -> int:
        """Entries of all closed blocks."""
        return sum(block.values.size for block in self.closed.values())


class Am(Policy):
    """GK summaries of blocks at L + 1 levels. O((L + 1) log(1 / eps)) an element, O(L / eps) a query.

    epsilon
        The largest rank error, as a share of the window's size N. Windows that are shorter than N, the first and the
        last, have the same error in elements; one without a whole block of level 0 is answered by the newest one,
        older elements and all.
    """

    name: ClassVar[str] = "am"
    promise: ClassVar[str] = "rank error at most epsilon of the window's size, by GK summaries of blocks at many levels"

    def __init__(self, query: Query, epsilon: float = 0.015) -> None:
        super().__init__(query)
        refuse_epsilon(epsilon)
        self.epsilon = float(epsilon)
        self.shortest = max(1, int(self.epsilon * query.size / 4))
        lengths = [self.shortest]
        while 2 * lengths[-1] <= query.size:
            lengths.append(2 * lengths[-1])
        wrong = self.epsilon * query.size / (4 * len(lengths))  # elements, at every level
        self.levels = [Level(length, wrong / length) for length in lengths]
        self._seen = 0  # elements of the stream so far
        self._from = 0  # position of the window's first element

    def accumulate(self, values: Values) -> None:
        """Summarise the values at every level; close the blocks that are full."""
        for level in self.levels:
            level.take(values, self._seen, self.query.size)
        self._seen += values.size

    def close(self) -> None:
        """Do nothing: blocks do not end with sub-windows."""

    def expire(self) -> None:
        """Drop every block with an element of the sub-window that leaves."""
        self._from += self.query.period
        for level in self.levels:
            level.drop(self._first())

    def _first(self) -> int:
        """Where the first block of level 0 in the window starts; the newest one counts even if it is cut."""
        newest = (self._seen - 1) // self.shortest * self.shortest
        return min(-(-self._from // self.shortest) * self.shortest, newest)

    def tiling(self) -> list[tuple[int, int]]:
        """Level and position of the closed blocks that tile the window: always the longest that starts here. O(L)."""
        tiles = []
        here = self._first()
        end = self._seen // self.shortest * self.shortest
        while here < end:
            level = max(number for number, level in enumerate(self.levels) if here in level.closed)
            tiles.append((level, here))
            here += self.levels[level].length
        return tiles

    def covered(self) -> int:
        """Elements in the summaries: of a window of n, more than n - eps N / 4."""
        return self._seen - self._first()

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Merge the blocks of the tiling and the open block of level 0, and walk past each rank."""
        blocks = [self.levels[level].closed[start] for level, start in self.tiling()]
        whole = merged([*blocks, self.levels[0].open.view()])
        return unbounded(select(self.asked.ranks(self.covered()), whole))

    def variables(self) -> int:
        """Three for each tuple of a closed block, one for each block, and the open summaries."""
        return sum(3 * level.tuples() + len(level.closed) + level.open.variables() for level in self.levels) + 2

    @property
    def nbytes(self) -> int:
        """Bytes of the same."""
        return sum(24 * level.tuples() + 8 * len(level.closed) + level.open.nbytes for level in self.levels) + 16

    def analytical(self) -> int:
        """All closed blocks full, which is certain, and GK's bound for the open ones with a constant of one.

        That is log2(2 e n) / (2 e) tuples. The proven constant is eleven, which here is more than the elements are;
        greedy compression stays below one on every order we know.
        """
        total = 2
        for level in self.levels:
            full, width = min(level.length, level.open.parts + 1), level.open.width
            most = min(level.length, ceil(max(1, log2(max(1, width * level.length))) / width))
            total += int(self.query.size) // level.length * (3 * full + 1) + 3 * most + level.open.batch + 2
        return total

    def parameters(self) -> dict[str, Any]:
        """The error, and the lengths of blocks."""
        return {"epsilon": self.epsilon, "shortest_block": self.shortest, "levels": len(self.levels)}
