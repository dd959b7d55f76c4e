"""Filters and sorts the keys of a window."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from aomg.web.memory.history import QueryHistory, Window
from aomg.web.memory.keys import Keys
from aomg.web.memory.span import Span
from aomg.web.memory.time_columns import Integers
from aomg.web.parameters import BadRequest
from aomg.web.views.estimate_names import default_estimate, quantiles_of, unknown_estimate

AlertMarks = Mapping[tuple[tuple[str, str | None], ...], Sequence[tuple[str, str]]]
"""Rule and state ("firing", "pending") of the active alerts of a query, by their labels: (name, value), sorted."""

Marks = Mapping[int, Sequence[tuple[str, str]]]
"""Rule and state of the active alerts of a key, by its number; firing ones first."""

Order = Literal["asc", "desc"]
Rank = Literal["window", "span"]
"""Whether keys are sorted by an estimate in the window, or by its highest value in the trend up to the window."""
OTHER_SORTS = ("count", "width", "key", "alert")
"""What keys can be sorted by besides their estimates."""

_SEVERITY = {"pending": 1, "firing": 2}
_COUNTED = {"any": (0, 1, 2), "alerting": (1, 2), "firing": (2,), "pending": (1,), "none": (0,)}


@dataclass(frozen=True)
class Filter:
    """Which keys to show: by a text in any label, label values, alert state and burst.

    silent
        Show silent keys instead: earlier windows have them, this window does not.
    """

    search: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    alert: Literal["any", "alerting", "firing", "pending", "none"] = "any"
    burst: bool | None = None
    silent: bool = False


def marks_by_key(marks: AlertMarks | None, keys: Keys) -> Marks:
    """Return the alerts of each key: those whose labels include the key's. One look-up per alert."""
    by_key: dict[int, list[tuple[str, str]]] = {}
    for labels, alerts in (marks or {}).items():
        of_alert = dict(labels)
        if all(name in of_alert for name in keys.names):
            number = keys.number({name: of_alert[name] for name in keys.names})
            if number is not None:
                by_key.setdefault(number, []).extend(alerts)
    return {key: sorted(alerts, key=lambda mark: -_SEVERITY.get(mark[1], 0)) for key, alerts in by_key.items()}


def sort_of(history: QueryHistory, requested: str | None) -> str:
    """Return what to sort keys by. Raises BadRequest for an unknown column."""
    if requested in OTHER_SORTS:
        return str(requested)
    try:
        return default_estimate(history, requested) or "count"
    except BadRequest:
        raise unknown_estimate(str(requested), (*history.estimates, *OTHER_SORTS), history.name) from None


def matching_rows(
    history: QueryHistory,
    window: Window,
    wanted: Filter,
    sort: str,
    order: Order,
    marks: Marks,
    span: Span | None = None,
) -> Integers:
    """Return the rows of a window whose keys match, sorted. Costs a few milliseconds for 10,000 keys.

    Values that are not finite come last in both orders; ties are in the natural order of the keys. With a `span` of the
    window's rows, keys are sorted by their highest value in it.
    """
    if not len(window.keys):
        return np.empty(0, np.int64)
    severity = np.zeros(int(window.keys[-1]) + 1, np.int64)
    for key, alerts in marks.items():
        if key < len(severity):
            severity[key] = max((_SEVERITY.get(state, 0) for _, state in alerts), default=0)
    severity = severity[window.keys]
    match = history.keys.matching(wanted.search, wanted.where)[window.keys]
    match &= np.isin(severity, _COUNTED[wanted.alert])
    if wanted.burst is not None:
        match &= window.burst == wanted.burst
    rows = np.flatnonzero(match)
    rank = history.keys.order()[window.keys[rows]]
    if sort == "key":
        by = rank.astype(np.float64)
    elif sort in ("alert", "count"):
        by = (severity if sort == "alert" else window.count)[rows].astype(np.float64)
    elif span is not None and sort not in OTHER_SORTS:
        by = span.highest[rows].astype(np.float64)
    elif sort == "width":
        by = widths(history, window, rows, sort)
    else:
        by = window.numbers[rows, history.estimate(sort), 0].astype(np.float64)
    by[~np.isfinite(by)] = np.nan
    return rows[np.lexsort((rank, by if order == "asc" else -by))]


def widths(history: QueryHistory, window: Window, rows: Integers, sort: str) -> NDArray[np.float64]:
    """Return interval widths relative to the value, of the sorted quantile or else the default one. NaN if unknown."""
    quantile = sort if sort in quantiles_of(history) else default_estimate(history)
    if quantile is None:
        return np.full(len(rows), np.nan)
    value, low, high = window.numbers[rows, history.estimate(quantile)].astype(np.float64).T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((high == low) & np.isfinite(value), 0.0, (high - low) / np.abs(value))
