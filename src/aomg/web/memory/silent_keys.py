"""Silent keys: earlier windows have them, the displayed window does not."""

from dataclasses import dataclass

import numpy as np

from aomg.web.memory.columns import ResultColumns
from aomg.web.memory.time_columns import Integers, between
from aomg.web.memory.windows import QueryHistory, Window


@dataclass(frozen=True, eq=False)
class RowSelection:
    """One row per displayed key, with the start and end of the row's window.

    rows
        Ascending by key. Rows of silent keys come from several windows; its own start and end are the displayed
        window's.
    """

    rows: Window
    starts: Integers
    ends: Integers


def row_selection(history: QueryHistory, window: Window, silent: bool) -> RowSelection:
    """Return the rows of a window; if `silent`, the newest row of each silent key instead."""
    if not silent:
        starts, ends = (np.broadcast_to(np.int64(time), len(window)) for time in (window.start, window.end))
        return RowSelection(window, starts, ends)
    windows = between(history, None, window.end)
    last = _last_seen(history, windows)
    keys = np.flatnonzero((last >= 0) & (last < len(windows) - 1))
    last_window = last[keys]
    pieces = [
        windows[index].take(windows[index].rows(keys[last_window == index])).parts()
        for index in np.unique(last_window).tolist()
    ]
    nothing = window.take(np.empty(0, np.int64)).parts()
    columns = ResultColumns(*(np.concatenate(column) for column in zip(nothing, *pieces, strict=True)))
    sorted_columns = columns.take(np.argsort(columns.keys))
    starts = np.array([windows[index].start for index in last_window.tolist()], np.int64)
    ends = np.array([windows[index].end for index in last_window.tolist()], np.int64)
    return RowSelection(Window(*sorted_columns.parts(), start=window.start, end=window.end), starts, ends)


def silent_keys(history: QueryHistory, window: Window) -> int:
    """Return the number of silent keys. Windows with the same keys cost next to nothing."""
    windows = between(history, None, window.end)
    last = _last_seen(history, windows)
    return int(np.count_nonzero((last >= 0) & (last < len(windows) - 1)))


def _last_seen(history: QueryHistory, windows: tuple[Window, ...]) -> Integers:
    """Return the index of the newest window that has each key; -1 where none has it."""
    last, remaining, previous = np.full(len(history.keys), -1, np.int64), len(history.keys), None
    for index in range(len(windows) - 1, -1, -1):
        keys = windows[index].keys
        if keys is previous:
            continue
        new = keys[last[keys] < 0]
        last[new], previous, remaining = index, keys, remaining - len(new)
        if not remaining:
            break
    return last
