"""Which keys of a window match, and in which order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from aomg.web.memory.history import QueryHistory, Window
from aomg.web.memory.keys import Keys
from aomg.web.memory.time_columns import Integers
from aomg.web.parameters import BadRequest
from aomg.web.views.estimate_names import quantiles_of, unknown_estimate, usual_estimate

AlertMarks = Mapping[tuple[tuple[str, str | None], ...], Sequence[tuple[str, str]]]
"""Rule and state ("firing", "pending") of the active alerts of a query, by their labels: (name, value), sorted."""

Marks = Mapping[int, Sequence[tuple[str, str]]]
"""Rule and state of the active alerts of a key, by its number; those that fire come first."""

Order = Literal["asc", "desc"]
OTHER_SORTS = ("count", "width", "key", "alert")
"""What keys can be sorted by besides their estimates."""

_SEVERITY = {"pending": 1, "firing": 2}
_COUNTED = {"any": (0, 1, 2), "alerting": (1, 2), "firing": (2,), "pending": (1,), "none": (0,)}


@dataclass(frozen=True)
class Filter:
    """Which keys are shown: those with the text in any label, with these values of labels, alert state and burst.

    silent
        Instead of the keys of a window those that it lacks and an earlier one has.
    """

    search: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    alert: Literal["any", "alerting", "firing", "pending", "none"] = "any"
    burst: bool | None = None
    silent: bool = False


def marks_by_key(marks: AlertMarks | None, keys: Keys) -> Marks:
    """Which keys are marked: those whose labels are among an alert's. One look-up for each alert."""
    found: dict[int, list[tuple[str, str]]] = {}
    for labels, alerts in (marks or {}).items():
        of_alert = dict(labels)
        if all(name in of_alert for name in keys.names):
            number = keys.number({name: of_alert[name] for name in keys.names})
            if number is not None:
                found.setdefault(number, []).extend(alerts)
    return {key: sorted(alerts, key=lambda one: -_SEVERITY.get(one[1], 0)) for key, alerts in found.items()}


def sort_of(history: QueryHistory, asked: str | None) -> str:
    """What keys are sorted by. Raises BadRequest where that is nothing they have."""
    if asked in OTHER_SORTS:
        return str(asked)
    try:
        return usual_estimate(history, asked) or "count"
    except BadRequest:
        raise unknown_estimate(str(asked), (*history.estimates, *OTHER_SORTS), history.name) from None


def matching_rows(
    history: QueryHistory, window: Window, wanted: Filter, sort: str, order: Order, marks: Marks
) -> Integers:
    """The rows of a window whose keys match, sorted. Some milliseconds for 10,000 keys.

    What has no finite number comes last in both orders; equals are in the natural order of the keys.
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
    elif sort == "width":
        by = widths(history, window, rows, sort)
    else:
        by = window.numbers[rows, history.estimate(sort), 0].astype(np.float64)
    by[~np.isfinite(by)] = np.nan
    return rows[np.lexsort((rank, by if order == "asc" else -by))]


def widths(history: QueryHistory, window: Window, rows: Integers, sort: str) -> NDArray[np.float64]:
    """How wide the intervals are, by their value: those of the sorted quantile, or of the usual one. NaN if unknown."""
    quantile = sort if sort in quantiles_of(history) else usual_estimate(history)
    if quantile is None:
        return np.full(len(rows), np.nan)
    value, low, high = window.numbers[rows, history.estimate(quantile)].astype(np.float64).T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((high == low) & np.isfinite(value), 0.0, (high - low) / np.abs(value))
