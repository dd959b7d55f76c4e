"""The overview: a page of matching keys, with their estimates, alerts and sparklines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aomg.times import time_text
from aomg.web.memory.history import QueryHistory, Window
from aomg.web.memory.silent_keys import RowSelection, row_selection, silent_keys
from aomg.web.memory.time_columns import Integers, between, ends_of, highest, period_of, time_columns
from aomg.web.views.decimals import down, intervals, listed, nearest, up
from aomg.web.views.estimate_names import default_estimate
from aomg.web.views.key_order import AlertMarks, Filter, Marks, Order, marks_by_key, matching_rows, sort_of, widths

__all__ = ["AlertMarks", "Filter", "KeysRequest", "Marks", "key_rows", "keys_answer", "marks_by_key", "window_at"]


@dataclass(frozen=True)
class KeysRequest:
    """A page of the overview.

    sort
        An estimate, or count, width, key, alert. None is p99, or the highest quantile.
    time
        Microseconds: the newest window that ends then or before. None is the newest.
    spark
        Number of periods in the sparklines; 0 for none.
    """

    sort: str | None = None
    order: Order = "desc"
    filter: Filter = field(default_factory=Filter)
    time: int | None = None
    offset: int = 0
    limit: int = 100
    spark: int = 60


def window_at(history: QueryHistory, time: int | None) -> Window | None:
    """Return the newest window that ends at `time` or before, or None."""
    windows = between(history, None, time)
    return windows[-1] if windows else None


def key_rows(
    history: QueryHistory, selection: RowSelection, rows: Integers, sort: str, marks: Marks
) -> list[dict[str, Any]]:
    """Return some of the selected rows as JSON objects of /api/keys, without sparklines."""
    window = selection.rows
    labels = [history.keys.labels(key) for key in window.keys[rows].tolist()]
    numbers, methods = listed(intervals(window.numbers[rows])), window.methods[rows].tolist()
    columns = zip(
        window.keys[rows].tolist(),
        labels,
        selection.ends[rows].tolist(),
        window.count[rows].tolist(),
        window.burst[rows].tolist(),
        listed(down(window.minimum[rows])),
        listed(up(window.maximum[rows])),
        window.sub_windows[rows].tolist(),
        listed(nearest(widths(history, window, rows, sort))),
        numbers,
        methods,
        strict=True,
    )
    return [
        {
            "key": key,
            "end": time_text(end),
            "count": count,
            "burst": burst,
            "min": minimum,
            "max": maximum,
            "sub_windows": sub_windows,
            "estimates": {
                name: {"value": value, "low": low, "high": high, "method": history.methods[method]}
                for name, (value, low, high), method in zip(history.estimates, parts, row_methods, strict=True)
            },
            "width": width,
            "alert": _alert(marks.get(number, ())),
        }
        for number, key, end, count, burst, minimum, maximum, sub_windows, width, parts, row_methods in columns
    ]


def keys_answer(history: QueryHistory, request: KeysRequest, marks: AlertMarks | None, version: int) -> dict[str, Any]:
    """Return the JSON object of /api/keys: a page of matching keys. Raises BadRequest for an unknown sort."""
    sort, window = sort_of(history, request.sort), window_at(history, request.time)
    rows, by_key, total, silent = np.empty(0, np.int64), marks_by_key(marks, history.keys), 0, 0
    page: list[dict[str, Any]] = []
    drawn = sort if sort in history.estimates else default_estimate(history)
    spark: dict[str, Any] = {"estimate": drawn, "first": None, "last": None, "windows": 0}
    if window is not None:
        selection = row_selection(history, window, request.filter.silent)
        total = len(selection.rows)
        silent = total if request.filter.silent else silent_keys(history, window)
        rows = matching_rows(history, selection.rows, request.filter, sort, request.order, by_key)
        page_rows = rows[request.offset : request.offset + request.limit]
        page = key_rows(history, selection, page_rows, sort, by_key)
        lines, times = _sparks(history, window, selection.rows.keys[page_rows], drawn, request.spark)
        for row, line in zip(page, lines, strict=True):
            row["spark"] = line
        if times:
            spark |= {"first": time_text(times[0]), "last": time_text(times[-1]), "windows": len(times)}
    return {
        "version": version,
        "query": history.name,
        "sort": sort,
        "order": request.order,
        "at": None if window is None else time_text(window.end),
        "total": total,
        "silent": silent,
        "matching": len(rows),
        "offset": request.offset,
        "columns": list(history.estimates),
        "rows": page,
        "spark": spark,
    }


def _sparks(
    history: QueryHistory, window: Window, keys: NDArray[Any], drawn: str | None, periods: int
) -> tuple[list[list[float | None]], list[int]]:
    """Return a value for each of the last periods up to a window, None for none; and the ends of the periods."""
    if drawn is None or periods < 1:
        return [[] for _ in keys], []
    period = period_of(ends_of(history.windows))
    windows: tuple[Window, ...] = (window,)
    if periods > 1 and period is not None:
        windows = between(history, window.end - (2 * periods - 1) * period // 2 + 1, window.end)
    columns = time_columns(windows, period, periods)
    values, _ = highest(columns, keys, history.estimate(drawn))
    return listed(nearest(values)), columns.ends.tolist()


def _alert(alerts: Sequence[tuple[str, str]]) -> dict[str, Any] | None:
    if not alerts:
        return None
    rule, state = alerts[0]
    return {"state": state, "rule": rule, "more": len(alerts) - 1}
