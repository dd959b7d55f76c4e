"""One key over time: every estimate with its interval and method at each window end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aomg.names import estimate_title
from aomg.times import time_text
from aomg.web.memory.history import QueryHistory, Window
from aomg.web.memory.time_columns import Integers, between, ends_of, period_of, slots_of
from aomg.web.parameters import NotFound
from aomg.web.views.decimals import intervals, listed
from aomg.web.views.estimate_names import quantiles_of

Told = Sequence[Mapping[str, Any]]
"""Parts of an answer that are as JSON has them already."""


@dataclass(frozen=True)
class KeyAsked:
    """A key, by its labels, over the windows that end from `since` to `until`, both included, in microseconds.

    points
        At most so many, gaps included; at least 2. None is one for each window.
    """

    key: Mapping[str, str | None]
    since: int | None = None
    until: int | None = None
    points: int | None = 3000


def key_number(history: QueryHistory, labels: Mapping[str, str | None]) -> int:
    """The number of a key. Raises NotFound where there is no such key, saying which labels keys have."""
    number = history.keys.number(labels)
    if number is not None:
        return number
    names = history.keys.names
    if set(labels) != set(names):
        given = f"the key has {', '.join(sorted(labels)) or 'no labels'}"
        wanted = " and ".join(f"key.{name}=..." for name in names)
        raise NotFound(
            f"{given}, not what query {history.name} has", f"give {wanted}" if names else "give no labels of a key"
        )
    raise NotFound(f"query {history.name} has no such key", "look for it on the overview; its windows may be gone")


def key_answer(
    history: QueryHistory,
    asked: KeyAsked,
    unit: str | None = None,
    limits: Told = (),
    alerts: Told = (),
    version: int = 0,
) -> dict[str, Any]:
    """What /api/key answers. Raises NotFound for a key that there is not. Some 10 microseconds for each window.

    Whatever time is asked for, `first_end` and `newest_end` are of all windows of the key that are in memory.

    Where windows are missing there is one point with null for everything, so that lines break.

    Where there are more windows than points, windows of neighbouring periods share one: it is the whole row of the
    window with the highest value of the highest quantile, so that low <= value <= high, and no peak is lost. It counts
    as a burst if any of them was one.
    """
    number = key_number(history, asked.key)
    windows, rows = _with_key(between(history, asked.since, asked.until), number)
    first, newest = _first_and_newest(history.windows, number)
    period = period_of(ends_of(history.windows))
    ends = ends_of(windows)
    chosen, group, lone, each = _thinned(ends, _peaks(history, windows, rows), period, asked.points)
    flags = [bool(window.burst[row]) for window, row in zip(windows, rows, strict=True)]
    bursts = np.bincount(group, flags, len(chosen)) > 0
    points = [(windows[at], rows[at]) for at in chosen.tolist()]
    # nothing was measured a period after the last window of a point before a gap
    after = [int(end) + (period or 0) for end in ends[np.searchsorted(group, lone, "right") - 1]]
    return {
        "version": version,
        "query": history.name,
        "key": history.keys.labels(number),
        "unit": unit,
        "first_end": None if first is None else time_text(first),
        "newest_end": None if newest is None else time_text(newest),
        "silent": newest is None or newest < history.windows[-1].end,
        "ends": [time_text(end) for end in _broken(ends[chosen].tolist(), lone, after)],
        "starts_seconds": (windows[-1].end - windows[-1].start) / 1e6 if windows else None,
        "counts": _broken([int(window.count[row]) for window, row in points], lone),
        "bursts": _broken(bursts.tolist(), lone, [False] * len(lone)),
        "estimates": _estimates(history, points, lone),
        "limits": [dict(limit) for limit in limits],
        "alerts": [dict(alert) for alert in alerts],
        "windows_per_point": each,
    }


def _with_key(windows: Sequence[Window], number: int) -> tuple[list[Window], list[int]]:
    found, rows = [], []
    for window in windows:
        row = window.row(number)
        if row is not None:
            found.append(window)
            rows.append(int(row))
    return found, rows


def _first_and_newest(windows: Sequence[Window], number: int) -> tuple[int | None, int | None]:
    """The ends of the first and the last window that have a key. Looks at windows from both ends, until one has it."""
    first = next((window.end for window in windows if window.row(number) is not None), None)
    newest = next((window.end for window in reversed(windows) if window.row(number) is not None), None)
    return first, newest


def _peaks(history: QueryHistory, windows: Sequence[Window], rows: Sequence[int]) -> NDArray[np.float64]:
    """What decides which window stands for others: the highest quantile, or the first estimate, or the count."""
    quantiles = quantiles_of(history)
    if not history.estimates:
        return np.array([window.count[row] for window, row in zip(windows, rows, strict=True)], np.float64)
    column = history.estimate(quantiles[-1]) if quantiles else 0
    values = [window.numbers[row, column, 0] for window, row in zip(windows, rows, strict=True)]
    return np.array(values, np.float64)


def _thinned(
    ends: Integers, peaks: NDArray[np.float64], period: int | None, most: int | None
) -> tuple[Integers, Integers, list[int], int]:
    """Which windows are points, which point each window belongs to, after which points a gap is, periods to a point.

    There is a gap where the next window is more than one and a half periods away; where points stand for several
    periods, where such a point has no window.
    """
    alone = np.arange(len(ends))
    if period is None or len(ends) < 2:
        return alone, alone, [], 1
    gaps = np.flatnonzero(np.diff(ends) * 2 > 3 * period)
    if most is None or len(ends) + len(gaps) <= most:
        return alone, alone, gaps.tolist(), 1
    slots, each = slots_of(ends, period), len(ends) // most + 1
    steps = np.diff(-(-slots // each))
    while np.count_nonzero(steps) + np.count_nonzero(steps > 1) >= max(most, 2):
        each += each // 8 + 1
        steps = np.diff(-(-slots // each))
    group = np.concatenate([[0], np.cumsum(steps != 0)])
    # the last of each group is its highest; among equals the newest
    order = np.lexsort((alone, np.where(np.isfinite(peaks), peaks, -np.inf), group))
    chosen = order[np.flatnonzero(np.diff(group[order], append=len(ends)))]
    return chosen, group, np.flatnonzero(steps[steps != 0] > 1).tolist(), each


def _broken(values: Sequence[Any], lone: Sequence[int], fill: Sequence[Any] | None = None) -> list[Any]:
    """The values with one more, None or of `fill`, after each place of `lone`."""
    told: list[Any] = []
    begin = 0
    for at, place in enumerate(lone):
        told += values[begin : place + 1]
        told.append(None if fill is None else fill[at])
        begin = place + 1
    told += values[begin:]
    return told


def _estimates(history: QueryHistory, points: Sequence[tuple[Window, int]], lone: Sequence[int]) -> list[Any]:
    count = len(history.estimates)
    numbers = np.array([window.numbers[row] for window, row in points], np.float32).reshape(len(points), count, 3)
    methods = np.array([window.methods[row] for window, row in points], np.int64).reshape(len(points), count)
    told = intervals(numbers)
    return [
        {
            "name": name,
            "title": estimate_title(name),
            "values": _broken(listed(told[:, at, 0]), lone),
            "low": _broken(listed(told[:, at, 1]), lone),
            "high": _broken(listed(told[:, at, 2]), lone),
            "methods": _broken([history.methods[method] for method in methods[:, at].tolist()], lone),
        }
        for at, name in enumerate(history.estimates)
    ]
