"""Windows in equal columns of time, so that an outage looks like an outage: its columns are there, and empty."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aomg.web.memory.windows import QueryHistory, Window

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TimeColumns:
    """Columns of `windows_per_column` periods each, without gaps; the last holds the newest window.

    ends
        Of each column, in microseconds; that of the last is the newest window's, though more may come into it.
    column
        Of each window: ascending.
    """

    windows: tuple[Window, ...]
    column: Integers
    ends: Integers
    windows_per_column: int


def ends_of(windows: Sequence[Window]) -> Integers:
    """The ends of windows, in microseconds."""
    return np.fromiter((window.end for window in windows), np.int64, len(windows))


def period_of(ends: Integers) -> int | None:
    """The time from one window to the next: the smallest distance of ends that is not a rare exception.

    A distance is an exception if less than one in twenty is like it: one odd end, where somebody changed a period, must
    not make gaps of all that follow. None for fewer than two windows.
    """
    distances, how_often = np.unique(np.diff(ends), return_counts=True)
    if not distances.size:
        return None
    usual = distances[how_often * 20 >= how_often.sum()]
    return int(usual[0] if usual.size else distances[0])


def slots_of(ends: Integers, period: int) -> Integers:
    """The number of the period that each end belongs to: the same at every call, while windows come and go."""
    phase = int(ends[-1]) % period if ends.size else 0
    return (ends - phase + period // 2) // period


def between(history: QueryHistory, first: int | None = None, last: int | None = None) -> tuple[Window, ...]:
    """The windows whose end is from `first` to `last`, both included."""
    ends = ends_of(history.windows)
    begin = 0 if first is None else int(np.searchsorted(ends, first, "left"))
    stop = len(ends) if last is None else int(np.searchsorted(ends, last, "right"))
    return history.windows[begin:stop]


def time_columns(windows: tuple[Window, ...], period: int | None, most: int) -> TimeColumns:
    """Windows in at most `most` columns, as few windows to a column as that allows.

    Columns begin at fixed times: while time goes on, a window stays with the same neighbours, and a picture that is
    drawn again does not flicker.
    """
    ends = ends_of(windows)
    if period is None or len(ends) < 2:
        return TimeColumns(windows[-1:], np.zeros(len(ends[-1:]), np.int64), ends[-1:], 1)
    slots = slots_of(ends, period)
    distance = int(slots[-1] - slots[0])
    if most == 1:
        return TimeColumns(windows, np.zeros_like(slots), ends[-1:], distance + 1)
    # wherever the first column begins, so many periods to a column do with `most` columns
    each = 1 if distance < most else -(-distance // (most - 1))
    column = -(-slots // each)
    number = np.arange(column[0], column[-1] + 1)
    column_ends = ends[-1] - np.maximum(slots[-1] - number * each, 0) * period
    return TimeColumns(windows, column - column[0], column_ends, each)


def highest(
    columns: TimeColumns, keys: NDArray[Any], estimate: int | None
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The highest value of each key in each column (NaN where it has none), and whether any of them is in a burst.

    Both have a row for each key. Costs some ten microseconds for each window, for a hundred keys.
    """
    values = np.full((len(columns.windows), len(keys)), np.nan, np.float32)
    bursts = np.zeros(values.shape, np.bool_)
    for at, window in enumerate(columns.windows):
        if not len(window.keys):
            continue
        rows = window.rows(keys)
        there = rows >= 0
        # a row of -1 reads the last one, which `there` takes out again
        if estimate is not None:
            values[at] = np.where(there, window.numbers[rows, estimate, 0], np.nan)
        bursts[at] = window.burst[rows] & there
    values[np.isinf(values)] = np.nan
    shape = (len(columns.ends), len(keys))
    worst, any_burst = np.full(shape, np.nan, np.float32), np.zeros(shape, np.bool_)
    if len(columns.windows):
        begins = np.flatnonzero(np.diff(columns.column, prepend=-1))
        held = columns.column[begins]
        worst[held] = np.fmax.reduceat(values, begins, axis=0)
        any_burst[held] = np.logical_or.reduceat(bursts, begins, axis=0)
    return worst.T, any_burst.T
