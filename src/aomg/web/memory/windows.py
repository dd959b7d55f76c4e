"""What is in memory of a window: its rows as arrays, by key; and a query as all of its windows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aomg.web.memory.columns import Rows
from aomg.web.memory.keys import Keys

_OBJECTS = 2048  # bytes that Python takes for the objects of a window


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Window(Rows):
    """All rows of one query and one window end, ascending by key number: columns `keys`, `count` and so on of `Rows`.

    Times are microseconds UTC, `end` exclusive. Keys are numbers of `QueryHistory.keys`, and methods are places in
    `QueryHistory.methods`, of the same snapshot. Low is rounded down to float32 and high up, so that
    low <= exact <= high still holds; NaN where a row lacks an estimate.
    """

    start: int
    end: int

    def __len__(self) -> int:
        return len(self.keys)

    def row(self, key: int) -> int | None:
        """The row of a key, or None if the window lacks it. Costs a binary search."""
        at = int(self.keys.searchsorted(key))
        return at if at < len(self.keys) and self.keys[at] == key else None

    def rows(self, keys: ArrayLike) -> NDArray[np.int64]:
        """The row of each key; -1 where the window lacks it."""
        asked = np.asarray(keys)
        if not len(self.keys):
            return np.full(asked.shape, -1, np.int64)
        at = np.minimum(self.keys.searchsorted(asked), len(self.keys) - 1)
        return np.where(self.keys[at] == asked, at, -1)

    def bytes(self) -> int:
        """How much room it takes, if it shares its keys with no other."""
        return Rows.bytes(self) + _OBJECTS


@dataclass(frozen=True, eq=False)
class QueryHistory:
    """One query as it was when the snapshot was taken; never changes.

    `windows` ascend by end. `methods` are the ways in which estimates were found; "" where none was told.
    """

    name: str
    keys: Keys
    estimates: tuple[str, ...]
    methods: tuple[str, ...]
    windows: tuple[Window, ...]

    @property
    def newest(self) -> Window | None:
        """The window that ended last."""
        return self.windows[-1] if self.windows else None

    def estimate(self, name: str) -> int:
        """The column of an estimate. Raises KeyError if there is none of that name."""
        if name not in self.estimates:
            raise KeyError(name)
        return self.estimates.index(name)
