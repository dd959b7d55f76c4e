"""The heat map: one quantile of the first keys over time."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aomg.times import time_text
from aomg.web.memory.history import QueryHistory
from aomg.web.memory.silent_keys import row_selection
from aomg.web.memory.span import PERIODS, ranking_span
from aomg.web.memory.time_columns import between, ends_of, highest, period_of, time_columns
from aomg.web.views.decimals import listed, nearest
from aomg.web.views.estimate_names import default_estimate
from aomg.web.views.key_order import AlertMarks, Filter, Order, Rank, marks_by_key, matching_rows, sort_of


@dataclass(frozen=True)
class HeatMapRequest:
    """A heat map of at most `rows` keys and `columns` columns.

    quantile
        The estimate that the colours show. None is p99, or the highest quantile.
    since, until
        Microseconds: the windows that end from `since` to `until`, inclusive. None is no bound.
    sort, order, rank, spark, filter
        As in the overview, at the newest window of the map; sorted by the quantile by default.
    """

    quantile: str | None = None
    rows: int = 60
    columns: int = 240
    since: int | None = None
    until: int | None = None
    filter: Filter = field(default_factory=Filter)
    sort: str | None = None
    order: Order = "desc"
    rank: Rank = "window"
    spark: int = PERIODS


def heat_map_answer(
    history: QueryHistory, request: HeatMapRequest, marks: AlertMarks | None, unit: str | None, version: int
) -> dict[str, Any]:
    """Return the JSON object of /api/heatmap: the highest value of each key in each column of time, null for none.

    The last column has the newest window. Times without windows have columns too, all null. Raises BadRequest for an
    unknown quantile or sort. Costs about 20 microseconds per window.
    """
    quantile = default_estimate(history, request.quantile)
    sort = sort_of(history, request.sort or quantile)
    windows = between(history, request.since, request.until)
    columns = time_columns(windows, period_of(ends_of(history.windows)), request.columns)
    keys, matching = np.empty(0, np.int32), 0
    if windows:
        by_key = marks_by_key(marks, history.keys)
        selected = row_selection(history, windows[-1], request.filter.silent).rows
        span = ranking_span(history, selected, request.rank, sort, request.spark)
        rows = matching_rows(history, selected, request.filter, sort, request.order, by_key, span)
        matching, keys = len(rows), selected.keys[rows[: request.rows]]
    shared = np.array([window.shares_burst for window in columns.windows], np.bool_)
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
        "shared_bursts": np.unique(columns.column[shared]).tolist(),
        "windows_per_column": columns.windows_per_column,
        "matching": matching,
    }
