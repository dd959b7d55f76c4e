"""Keys that fell silent: they were in earlier windows, and the window that is shown has none of them."""

from dataclasses import dataclass

import numpy as np

from aomg.web.memory.columns import Rows
from aomg.web.memory.time_columns import Integers, between
from aomg.web.memory.windows import QueryHistory, Window


@dataclass(frozen=True, eq=False)
class ShownRows:
    """A row for each key that is shown, and the start and the end of the window that each of them is of.

    rows
        Ascending by key. Those of silent keys are of several windows; its own start and end are of the window shown.
    """

    rows: Window
    starts: Integers
    ends: Integers


def shown_rows(history: QueryHistory, window: Window, silent: bool) -> ShownRows:
    """The rows of a window; or, for each key that it lacks and an earlier one has, the newest row of that key."""
    if not silent:
        starts, ends = (np.broadcast_to(np.int64(time), len(window)) for time in (window.start, window.end))
        return ShownRows(window, starts, ends)
    windows = between(history, None, window.end)
    last = _last_seen(history, windows)
    keys = np.flatnonzero((last >= 0) & (last < len(windows) - 1))
    where = last[keys]
    pieces = [windows[at].take(windows[at].rows(keys[where == at])).parts() for at in np.unique(where).tolist()]
    nothing = window.take(np.empty(0, np.int64)).parts()
    together = Rows(*(np.concatenate(column) for column in zip(nothing, *pieces, strict=True)))
    rows = together.take(np.argsort(together.keys))
    starts = np.array([windows[at].start for at in where.tolist()], np.int64)
    ends = np.array([windows[at].end for at in where.tolist()], np.int64)
    return ShownRows(Window(*rows.parts(), start=window.start, end=window.end), starts, ends)


def silent_keys(history: QueryHistory, window: Window) -> int:
    """How many keys an earlier window has that this one lacks. Windows with the same keys cost next to nothing."""
    windows = between(history, None, window.end)
    last = _last_seen(history, windows)
    return int(np.count_nonzero((last >= 0) & (last < len(windows) - 1)))


def _last_seen(history: QueryHistory, windows: tuple[Window, ...]) -> Integers:
    """The place of the newest window that has each key; -1 where none has it."""
    last, left, before = np.full(len(history.keys), -1, np.int64), len(history.keys), None
    for at in range(len(windows) - 1, -1, -1):
        keys = windows[at].keys
        if keys is before:
            continue
        new = keys[last[keys] < 0]
        last[new], before, left = at, keys, left - len(new)
        if not left:
            break
    return last
