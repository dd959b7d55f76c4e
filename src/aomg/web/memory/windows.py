"""A window in memory, as arrays by key; and an immutable query history."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aomg.web.memory.columns import ResultColumns
from aomg.web.memory.keys import Keys

LEAST_SHARING = 4
"""Of fewer keys, bursts at the same time may be a coincidence."""
_OBJECTS = 2048  # bytes of a window's Python objects


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Window(ResultColumns):
    """All rows of one query and one window end, ascending by key number, in the columns of `ResultColumns`.

    Times are microseconds UTC, `end` exclusive. Keys are numbers of `QueryHistory.keys`, and methods are indexes of
    `QueryHistory.methods`, of the same snapshot. Low is rounded down to float32 and high up, so that
    low <= exact <= high still holds; NaN where a row lacks an estimate.
    """

    start: int
    end: int

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def shares_burst(self) -> bool:
        """Whether at least half of several keys have a burst at once: one cause that they share, not one for each."""
        return len(self.keys) >= LEAST_SHARING and 2 * int(np.count_nonzero(self.burst)) >= len(self.keys)

    def row(self, key: int) -> int | None:
        """Return the row of a key, or None if the window lacks it. Costs a binary search."""
        row = int(self.keys.searchsorted(key))
        return row if row < len(self.keys) and self.keys[row] == key else None

    def rows(self, keys: ArrayLike) -> NDArray[np.int64]:
        """Return the row of each key; -1 where the window lacks it."""
        numbers = np.asarray(keys)
        if numbers is self.keys:
            return np.arange(len(numbers))
        if not len(self.keys):
            return np.full(numbers.shape, -1, np.int64)
        rows = np.minimum(self.keys.searchsorted(numbers), len(self.keys) - 1)
        return np.where(self.keys[rows] == numbers, rows, -1)

    def bytes(self) -> int:
        """Return its memory, as if it shared its keys with no other window."""
        return ResultColumns.bytes(self) + _OBJECTS


@dataclass(frozen=True, eq=False)
class QueryHistory:
    """One query in a snapshot; immutable.

    `windows` ascend by end. `methods` are the names of the estimates' methods; "" for none.
    """

    name: str
    keys: Keys
    estimates: tuple[str, ...]
    methods: tuple[str, ...]
    windows: tuple[Window, ...]

    @property
    def newest(self) -> Window | None:
        """The window with the newest end."""
        return self.windows[-1] if self.windows else None

    def estimate(self, name: str) -> int:
        """Return the column of an estimate. Raises KeyError if there is no such estimate."""
        if name not in self.estimates:
            raise KeyError(name)
        return self.estimates.index(name)
