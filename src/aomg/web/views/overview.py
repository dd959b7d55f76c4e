"""The overview: a page of matching keys, with their estimates, alerts and sparklines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aomg.times import time_text
from aomg.web.memory.history import QueryHistory, Window
from aomg.web.memory.silent_keys import RowSelection, row_selection, silent_keys
from aomg.web.memory.span import PERIODS, Span, span_of
from aomg.web.memory.time_columns import Integers, between
from aomg.web.views.decimals import down, intervals, listed, nearest, up
from aomg.web.views.estimate_names import default_estimate
from aomg.web.views.key_order import (
    AlertMarks,
    Filter,
    Marks,
    Order,
    Rank,
    marks_by_key,
    matching_rows,
    sort_of,
    widths,
)

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
    rank
        Whether to sort by an estimate in the window, or by its highest value in the span of the sparklines.
    """

    sort: str | None = None
    order: Order = "desc"
    filter: Filter = field(default_factory=Filter)
    time: int | None = None
    offset: int = 0
    limit: int = 100
    spark: int = PERIODS
    rank: Rank = "window"


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
    bursts, shares_burst = 0, False
    page: list[dict[str, Any]] = []
    drawn = sort if sort in history.estimates else default_estimate(history)
    spark: dict[str, Any] = {"estimate": drawn, "first": None, "last": None, "windows": 0, "low": None, "high": None}
    if window is not None:
        selection = row_selection(history, window, request.filter.silent)
        total = len(selection.rows)
        silent = total if request.filter.silent else silent_keys(history, window)
        bursts, shares_burst = int(np.count_nonzero(window.burst)), window.shares_burst
        span = None
        if drawn is not None and request.spark > 0:
            span = span_of(history, selection.rows, history.estimate(drawn), request.spark)
        ranked = span if request.rank == "span" else None
        rows = matching_rows(history, selection.rows, request.filter, sort, request.order, by_key, ranked)
        page_rows = rows[request.offset : request.offset + request.limit]
        page = key_rows(history, selection, page_rows, sort, by_key)
        for row, trend in zip(page, _trends(history, span, page_rows), strict=True):
            row |= trend
        if span is not None and len(span.columns.ends):
            low, high = span.bounds or (None, None)
            ends = span.columns.ends
            spark |= {"first": time_text(int(ends[0])), "last": time_text(int(ends[-1])), "windows": len(ends)}
            spark |= {"low": _number(low), "high": _number(high)}
    return {
        "version": version,
        "query": history.name,
        "sort": sort,
        "order": request.order,
        "rank": request.rank,
        "at": None if window is None else time_text(window.end),
        "total": total,
        "silent": silent,
        "bursts": bursts,
        "shares_burst": shares_burst,
        "matching": len(rows),
        "offset": request.offset,
        "columns": list(history.estimates),
        "rows": page,
        "spark": spark,
    }


def _trends(history: QueryHistory, span: Span | None, rows: Integers) -> list[dict[str, Any]]:
    """Return the sparkline of each row, None for a period without a value, and where it was highest."""
    if span is None:
        return [{"spark": [], "worst": None} for _ in rows]
    lines = listed(nearest(span.values[rows]))
    peaks = [span.peak(row) for row in rows.tolist()]
    worst = [
        None
        if peak is None
        else {
            "end": time_text(peak.end),
            **dict(zip(("value", "low", "high"), listed(intervals(peak.numbers)), strict=True)),
            "method": history.methods[peak.method],
        }
        for peak in peaks
    ]
    return [{"spark": line, "worst": one} for line, one in zip(lines, worst, strict=True)]


def _number(value: float | None) -> float | None:
    return None if value is None else float(nearest(np.array(value, np.float32)))


def _alert(alerts: Sequence[tuple[str, str]]) -> dict[str, Any] | None:
    if not alerts:
        return None
    rule, state = alerts[0]
    return {"state": state, "rule": rule, "more": len(alerts) - 1}
