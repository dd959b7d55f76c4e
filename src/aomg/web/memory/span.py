"""One estimate of all keys of a window over the periods up to it: the trends, and the highest value in that span."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aomg.web.memory.time_columns import TimeColumns, between, ends_of, highest, period_of, time_columns
from aomg.web.memory.windows import QueryHistory, Window

PERIODS = 60
"""Number of periods in a trend, by default."""
_CACHED = 4


class Peak(NamedTuple):
    """The window in which a key's estimate was highest: its end, the value with its interval, and the method."""

    end: int
    numbers: NDArray[np.float32]
    method: int


@dataclass(frozen=True, eq=False)
class Span:
    """The values of one estimate, a row for each key of `rows` and a column for each period; NaN for none.

    highest
        The highest value of each key; NaN for none.
    """

    rows: Window
    estimate: int
    columns: TimeColumns
    values: NDArray[np.float32]
    highest: NDArray[np.float32]

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The lowest and the highest value of all keys: a scale that makes trends comparable. None without values."""
        if not np.isfinite(self.highest).any():
            return None
        return float(np.nanmin(self.values)), float(np.nanmax(self.highest))

    def peak(self, row: int) -> Peak | None:
        """Return where the value of a key was highest, the newest of equal ones; None without values."""
        value, key = self.highest[row], int(self.rows.keys[row])
        column = int(np.flatnonzero(self.values[row] == value)[-1]) if np.isfinite(value) else -1
        for index in np.flatnonzero(self.columns.column == column)[::-1].tolist():
            window = self.columns.windows[index]
            place = window.row(key)
            if place is not None and window.numbers[place, self.estimate, 0] == value:
                return Peak(window.end, window.numbers[place, self.estimate], int(window.methods[place, self.estimate]))
        return None


def ranking_span(history: QueryHistory, rows: Window, rank: str, sort: str, periods: int) -> Span | None:
    """Return the span to sort keys by; None where they are sorted by the window alone, or by another column."""
    if rank != "span" or sort not in history.estimates or periods < 1:
        return None
    return span_of(history, rows, history.estimate(sort), periods)


@lru_cache(_CACHED)
def span_of(history: QueryHistory, rows: Window, estimate: int, periods: int) -> Span:
    """Return the values of the keys of `rows` over the periods up to its end.

    Cached for the newest snapshots, because every block of rows of a table needs it. Costs about 50 ms for 10,000 keys
    by 60 windows.
    """
    period = period_of(ends_of(history.windows))
    since = None if period is None else rows.end - (2 * periods - 1) * period // 2 + 1
    columns = time_columns(between(history, since, rows.end), period, periods)
    values, _ = highest(columns, rows.keys, estimate)
    worst = np.fmax.reduce(values, axis=1) if values.shape[1] else np.full(len(values), np.nan, np.float32)
    return Span(rows, estimate, columns, values, worst)
