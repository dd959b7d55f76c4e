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

JsonObjects = Sequence[Mapping[str, Any]]
"""JSON objects that go into the response as they are."""


@dataclass(frozen=True)
class KeyRequest:
    """A key, by its labels, over the windows that end from `since` to `until`, inclusive, in microseconds.

    points
        Maximum number of points, gaps included; at least 2. None is one point per window.
    """

    key: Mapping[str, str | None]
    since: int | None = None
    until: int | None = None
    points: int | None = 3000


def key_number(history: QueryHistory, labels: Mapping[str, str | None]) -> int:
    """Return the number of a key. Raises NotFound for an unknown key; names the labels that keys have."""
    number = history.keys.number(labels)
    if number is not None:
        return number
    names = history.keys.names
    if set(labels) != set(names):
        requested, known = (", ".join(sorted(some)) or "no labels" for some in (labels, names))
        example = " and ".join(f"key.{name}=..." for name in names)
        raise NotFound(
            f"the request has a key with {requested}, but keys of query {history.name} have {known}",
            f"give {example}" if names else "leave out key.LABEL",
        )
    raise NotFound(
        f"query {history.name} has no such key", "look for it on the overview; its windows may no longer be in memory"
    )


def key_answer(
    history: QueryHistory,
    request: KeyRequest,
    unit: str | None = None,
    limits: JsonObjects = (),
    alerts: JsonObjects = (),
    version: int = 0,
) -> dict[str, Any]:
    """Return the JSON object of /api/key. Raises NotFound for an unknown key. Costs about 10 microseconds per window.

    `first_end` and `newest_end` are of all the key's windows in memory, whatever times are requested.

    Where windows are missing, there is one point with null values, so that lines break.

    If there are more windows than points, windows of neighbouring periods share a point: the row of the window with the
    highest value of the highest quantile, so that low <= value <= high holds and no peak is lost. The point is a burst
    if any of its windows is; the burst is shared if at least half of the keys have one in each of these windows.
    """
    number = key_number(history, request.key)
    windows, rows = _with_key(between(history, request.since, request.until), number)
    first, newest = _first_and_newest(history.windows, number)
    period = period_of(ends_of(history.windows))
    ends = ends_of(windows)
    chosen, group, gaps, periods_per_point = _thinned(ends, _peaks(history, windows, rows), period, request.points)
    flags = [bool(window.burst[row]) for window, row in zip(windows, rows, strict=True)]
    bursts = np.bincount(group, flags, len(chosen)) > 0
    alone = [flag and not window.shares_burst for window, flag in zip(windows, flags, strict=True)]
    shared = bursts & ~(np.bincount(group, alone, len(chosen)) > 0)
    points = [(windows[index], rows[index]) for index in chosen.tolist()]
    # a gap begins one period after the last window before it
    after = [int(end) + (period or 0) for end in ends[np.searchsorted(group, gaps, "right") - 1]]
    return {
        "version": version,
        "query": history.name,
        "key": history.keys.labels(number),
        "unit": unit,
        "first_end": None if first is None else time_text(first),
        "newest_end": None if newest is None else time_text(newest),
        "silent": newest is None or newest < history.windows[-1].end,
        "ends": [time_text(end) for end in _with_gaps(ends[chosen].tolist(), gaps, after)],
        "starts_seconds": (windows[-1].end - windows[-1].start) / 1e6 if windows else None,
        "counts": _with_gaps([int(window.count[row]) for window, row in points], gaps),
        "bursts": _with_gaps(bursts.tolist(), gaps, [False] * len(gaps)),
        "shared_bursts": _with_gaps(shared.tolist(), gaps, [False] * len(gaps)),
        "estimates": _estimates(history, points, gaps),
        "limits": [dict(limit) for limit in limits],
        "alerts": [dict(alert) for alert in alerts],
        "windows_per_point": periods_per_point,
    }


def _with_key(windows: Sequence[Window], number: int) -> tuple[list[Window], list[int]]:
    with_key, rows = [], []
    for window in windows:
        row = window.row(number)
        if row is not None:
            with_key.append(window)
            rows.append(int(row))
    return with_key, rows


def _first_and_newest(windows: Sequence[Window], number: int) -> tuple[int | None, int | None]:
    """Return the ends of the first and the last window that have a key."""
    first = next((window.end for window in windows if window.row(number) is not None), None)
    newest = next((window.end for window in reversed(windows) if window.row(number) is not None), None)
    return first, newest


def _peaks(history: QueryHistory, windows: Sequence[Window], rows: Sequence[int]) -> NDArray[np.float64]:
    """Return what decides which window represents a point: the highest quantile, or first estimate, or count."""
    quantiles = quantiles_of(history)
    if not history.estimates:
        return np.array([window.count[row] for window, row in zip(windows, rows, strict=True)], np.float64)
    column = history.estimate(quantiles[-1]) if quantiles else 0
    values = [window.numbers[row, column, 0] for window, row in zip(windows, rows, strict=True)]
    return np.array(values, np.float64)


def _thinned(
    ends: Integers, peaks: NDArray[np.float64], period: int | None, most: int | None
) -> tuple[Integers, Integers, list[int], int]:
    """Return the windows that become points, the point of each window, the points before a gap, and periods per point.

    A gap is where the next window is more than one and a half periods away; if points have several periods, where a
    point would have no window.
    """
    alone = np.arange(len(ends))
    if period is None or len(ends) < 2:
        return alone, alone, [], 1
    gaps = np.flatnonzero(np.diff(ends) * 2 > 3 * period)
    if most is None or len(ends) + len(gaps) <= most:
        return alone, alone, gaps.tolist(), 1
    slots, periods = slots_of(ends, period), len(ends) // most + 1
    steps = np.diff(-(-slots // periods))
    while np.count_nonzero(steps) + np.count_nonzero(steps > 1) >= max(most, 2):
        periods += periods // 8 + 1
        steps = np.diff(-(-slots // periods))
    group = np.concatenate([[0], np.cumsum(steps != 0)])
    # the last of each group is its highest; among ties the newest
    order = np.lexsort((alone, np.where(np.isfinite(peaks), peaks, -np.inf), group))
    chosen = order[np.flatnonzero(np.diff(group[order], append=len(ends)))]
    return chosen, group, np.flatnonzero(steps[steps != 0] > 1).tolist(), periods


def _with_gaps(values: Sequence[Any], gaps: Sequence[int], fill: Sequence[Any] | None = None) -> list[Any]:
    """Return the values with None, or a value of `fill`, after each index of `gaps`."""
    values_and_gaps: list[Any] = []
    begin = 0
    for index, gap in enumerate(gaps):
        values_and_gaps += values[begin : gap + 1]
        values_and_gaps.append(None if fill is None else fill[index])
        begin = gap + 1
    values_and_gaps += values[begin:]
    return values_and_gaps


def _estimates(history: QueryHistory, points: Sequence[tuple[Window, int]], gaps: Sequence[int]) -> list[Any]:
    count = len(history.estimates)
    numbers = np.array([window.numbers[row] for window, row in points], np.float32).reshape(len(points), count, 3)
    methods = np.array([window.methods[row] for window, row in points], np.int64).reshape(len(points), count)
    rounded = intervals(numbers)
    return [
        {
            "name": name,
            "title": estimate_title(name),
            "values": _with_gaps(listed(rounded[:, column, 0]), gaps),
            "low": _with_gaps(listed(rounded[:, column, 1]), gaps),
            "high": _with_gaps(listed(rounded[:, column, 2]), gaps),
            "methods": _with_gaps([history.methods[method] for method in methods[:, column].tolist()], gaps),
        }
        for column, name in enumerate(history.estimates)
    ]
