"""Keys by windows: the colours of a heat map, the worst keys first."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aomg.times import time_text
from aomg.web.memory.history import QueryHistory
from aomg.web.memory.silent import shown_rows
from aomg.web.memory.time_columns import between, ends_of, highest, period_of, time_columns
from aomg.web.views.decimals import listed, nearest
from aomg.web.views.estimate_names import usual_estimate
from aomg.web.views.key_order import AlertMarks, Filter, Order, marks_by_key, matching_rows, sort_of


@dataclass(frozen=True)
class HeatMapAsked:
    """A heat map of at most so many rows and columns.

    quantile
        What the colours tell. None is p99, or the highest quantile.
    since, until
        Microseconds: the windows that end from then to then, both included. None is all there are.
    sort, order, filter
        As in the overview, at the newest window of the map; sorted by the quantile unless something else is asked.
    """

    quantile: str | None = None
    rows: int = 60
    columns: int = 240
    since: int | None = None
    until: int | None = None
    filter: Filter = field(default_factory=Filter)
    sort: str | None = None
    order: Order = "desc"


def heat_map_answer(
    history: QueryHistory, asked: HeatMapAsked, marks: AlertMarks | None, unit: str | None, version: int
) -> dict[str, Any]:
    """What /api/heatmap answers: the highest value of each key in each column of time, null where it has none.

    The last column holds the newest window. Times without windows have columns too, all of them null. Raises BadRequest
    for a quantile or a sort that there is not. Costs some 20 microseconds for each window.
    """
    quantile = usual_estimate(history, asked.quantile)
    sort = sort_of(history, asked.sort or quantile)
    windows = between(history, asked.since, asked.until)
    columns = time_columns(windows, period_of(ends_of(history.windows)), asked.columns)
    keys, matching = np.empty(0, np.int32), 0
    if windows:
        by_key = marks_by_key(marks, history.keys)
        told = shown_rows(history, windows[-1], asked.filter.silent).rows
        rows = matching_rows(history, told, asked.filter, sort, asked.order, by_key)
        matching, keys = len(rows), told.keys[rows[: asked.rows]]
    values, bursts = highest(columns, keys, None if quantile is None else history.estimate(quantile))
    return {
        "version": version,
        "query": history.name,
        "quantile": quantile,
        "unit": unit,
        "ends": [time_text(end) for end in columns.ends.tolist()],
        "keys": [history.keys.labels(key) for key in keys.tolist()],
        "values": listed(nearest(values)),
        "bursts": np.argwhere(bursts).tolist(),
        "windows_per_column": columns.windows_per_column,
        "matching": matching,
    }
