"""Queries, rules and rows for the tests of the judge, in one line each."""

import numpy as np

from aomg import Query
from aomg.monitor.config.model import QueryConfig
from aomg.monitor.registry import RULES
from aomg.monitor.rules.rows import WindowRows

MINUTE = 60_000_000


def query(name="inbound", labels=("podset",), unit="us", size="10 minutes", period="1 minute", **more):
    asked = Query(size, period, **{"quantiles": (0.5, 0.99), **more})
    return QueryConfig(name, asked, "rtt", {label: label for label in labels}, unit, 1)


def queries(*configs):
    return {config.name: config for config in configs or (query(),)}


def rule(expr="p99 > 4ms", name="Slow", kind="alert", group="network", line=7, **more):
    (config,) = (config for config in RULES if config.kind == kind)
    keys = {"expr": expr, **more} if expr is not None else more
    return config(name=name, group=group, line=line, **keys)


def rows(end, table, query="inbound", size=10 * MINUTE, width=1):
    """Rows of one window end: label, or a tuple of labels -> dict of count, burst, min, max and (low, value, high)."""
    labels = [key if isinstance(key, tuple) else (key,) for key in table]
    order = sorted(range(len(labels)), key=lambda row: [(label is not None, label or "") for label in labels[row]])
    parts = [list(table.values())[row] for row in order]
    named = {name for part in parts for name in part} - {"count", "burst", "min", "max", "sub_windows"}

    def column(name, default, dtype):
        return np.array([part.get(name, default) for part in parts], dtype=dtype)

    def estimates(name):
        nothing = (np.nan,) * 3
        bounds = [part.get(name, nothing) for part in parts]
        bounds = [each if isinstance(each, tuple) else (each,) * 3 for each in bounds]
        return np.array([(value, low, high) for low, value, high in bounds], dtype=np.float64).reshape(-1, 3)

    return WindowRows(
        query=query,
        start=end - size,
        end=end,
        labels=tuple(labels[row] for row in order),
        count=column("count", 1_000, np.int64),
        minimum=column("min", 0, np.float64),
        maximum=column("max", 1e6, np.float64),
        sub_windows=column("sub_windows", 10, np.int64),
        burst=column("burst", False, np.bool_),
        estimates={name: estimates(name) for name in sorted(named)},
    )
