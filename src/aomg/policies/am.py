"""AM: deterministic summaries at many levels (Arasu, Manku; PODS 2004), for a window of fixed size.

The stream is split into blocks of N0 = eps N / 4 events, and also into blocks twice, four times... as long. Level l
summarises each of its blocks with an error of eps_l = eps N / (4 (L + 1) N_l): the same number of events at every
level. At most two blocks of each level tile the window, with a total error of eps N / 2; at each end, fewer than eps N
/ 4 events are not covered.
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
    """The blocks of one length: the open one, and the closed ones by the position of their first event."""

    def __init__(self, length: int, epsilon: float) -> None:
        self.length = length
        self.open = Gk(epsilon / 2, ceil(1 / epsilon))
        self.closed: dict[int, RankBounds] = {}

    def take(self, values: Values, position: int, size: int) -> None:
        """Summarise values that start at a position; close full blocks and drop those outside the window."""
        done = 0
        while done < values.size:
            piece = values[done : done + self.length - self.open.events]
            self.open.take(piece)
            done += piece.size
            if self.open.events == self.length:
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
        """Return the number of tuples in all closed blocks."""
        return sum(block.values.size for block in self.closed.values())


class Am(Policy):
    """GK summaries of blocks at L + 1 levels. Costs O((L + 1) log(1 / eps)) per event, O(L / eps) per answer.

    epsilon
        The largest rank error, as a share of the window's size N. Shorter windows, the first and the last, have the
        same error in events. A window without a whole block of level 0 is answered from the newest one, which has
        older events, too.
    """

    name: ClassVar[str] = "am"
    title: ClassVar[str] = "AM"
    promise: ClassVar[str] = "rank error at most epsilon of the window's size, by GK summaries of blocks at many levels"

    def __init__(self, query: Query, epsilon: float = 0.015) -> None:
        super().__init__(query)
        refuse_epsilon(epsilon)
        self.epsilon = float(epsilon)
        self.shortest = max(1, int(self.epsilon * query.size / 4))
        lengths = [self.shortest]
        while 2 * lengths[-1] <= query.size:
            lengths.append(2 * lengths[-1])
        error = self.epsilon * query.size / (4 * len(lengths))  # in events, at every level
        self.levels = [Level(length, error / length) for length in lengths]
        self._events = 0  # events of the stream so far
        self._window_start = 0  # position of the window's first event

    def accumulate(self, values: Values) -> None:
        """Summarise the values at every level and close full blocks."""
        for level in self.levels:
            level.take(values, self._events, self.query.size)
        self._events += values.size

    def close(self) -> None:
        """Do nothing: blocks do not end with sub-windows."""

    def expire(self) -> None:
        """Drop every block with an event of the expired sub-window."""
        self._window_start += self.query.period
        for level in self.levels:
            level.drop(self._first())

    def _first(self) -> int:
        """Return the start of the window's first block of level 0; the newest one counts even if it starts earlier."""
        newest = (self._events - 1) // self.shortest * self.shortest
        return min(-(-self._window_start // self.shortest) * self.shortest, newest)

    def tiling(self) -> list[tuple[int, int]]:
        """Return level and start of the closed blocks that tile the window: always the longest possible. O(L)."""
        tiles = []
        position = self._first()
        end = self._events // self.shortest * self.shortest
        while position < end:
            level = max(number for number, level in enumerate(self.levels) if position in level.closed)
            tiles.append((level, position))
            position += self.levels[level].length
        return tiles

    def covered(self) -> int:
        """Return the number of covered events: of a window of n, more than n - eps N / 4."""
        return self._events - self._first()

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Merge the blocks of the tiling with the open block of level 0, and select each rank."""
        blocks = [self.levels[level].closed[start] for level, start in self.tiling()]
        whole = merged([*blocks, self.levels[0].open.view()])
        return unbounded(select(self.quantiles.ranks(self.covered()), whole))

    def variables(self) -> int:
        """Count three per tuple of a closed block, one per block, and the open summaries."""
        return sum(3 * level.tuples() + len(level.closed) + level.open.variables() for level in self.levels) + 2

    @property
    def nbytes(self) -> int:
        """Return the bytes of the same state."""
        return sum(24 * level.tuples() + 8 * len(level.closed) + level.open.nbytes for level in self.levels) + 16

    def analytical(self) -> int:
        """Return the variables if all closed blocks are full, and GK's bound for the open ones with a constant of one.

        That is log2(2 e n) / (2 e) tuples. The proven constant is eleven, which here exceeds the number of events;
        greedy compression stays below one on every order we tried.
        """
        total = 2
        for level in self.levels:
            full, width = min(level.length, level.open.parts + 1), level.open.width
            most = min(level.length, ceil(max(1, log2(max(1, width * level.length))) / width))
            total += int(self.query.size) // level.length * (3 * full + 1) + 3 * most + level.open.batch + 2
        return total

    def parameters(self) -> dict[str, Any]:
        """Return the error, the shortest block and the number of levels."""
        return {"epsilon": self.epsilon, "shortest_block": self.shortest, "levels": len(self.levels)}
