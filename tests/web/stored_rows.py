"""Stored rows of results for the tests of what is followed and remembered, and all that a history says of them."""

import numpy as np
import pyarrow as pa

from aomg.monitor.results.reader import newest_batch
from aomg.monitor.sinks.result_rows import SCHEMA
from aomg.web.memory.history import History

NOON = 1_794_830_400_000_000
MINUTE = 60_000_000


def row(key="1", end=0, batch=0, query="inbound", names=("podset",), count=10, estimates=None, **more) -> dict:
    """A stored row; `end` is in minutes after noon. Estimates are name -> (low, value, high) or (..., method)."""
    estimates = {"p50": (1.0, 2.0, 3.0, "band")} if estimates is None else estimates
    answer = [
        dict(zip(("name", "low", "value", "high", "method"), (name, *parts), strict=False))
        for name, parts in estimates.items()
    ]
    built = {"query": query, "labels": list(key) if isinstance(key, tuple) else [key], "label_names": list(names)}
    built |= {"start": NOON + (end - 2) * MINUTE, "end": NOON + end * MINUTE, "count": count, "min": 0.5, "max": 9.5}
    return built | {"sub_windows": 2, "burst": False, "estimates": answer, "batch": batch} | more


def table(*rows: dict) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMA)


def contents(history: History) -> dict:
    """All that a history says, by names: query, labels and end -> the row."""
    result = {}
    for name, query in history.snapshot().items():
        assert [window.end for window in query.windows] == sorted({window.end for window in query.windows})
        for window in query.windows:
            assert (np.diff(window.keys) > 0).all()
            for index, key in enumerate(window.keys.tolist()):
                estimates = {
                    estimate: (*window.numbers[index, column].tolist(), query.methods[window.methods[index, column]])
                    for column, estimate in enumerate(query.estimates)
                    if not np.isnan(window.numbers[index, column]).all()
                }
                labels = tuple(query.keys.labels(key).items())
                row = (
                    window.start,
                    int(window.count[index]),
                    float(window.minimum[index]),
                    float(window.maximum[index]),
                )
                row += (
                    int(window.sub_windows[index]),
                    bool(window.burst[index]),
                    int(window.batches[index]),
                    estimates,
                )
                result[name, labels, window.end] = row
    return result


def contents_of_rows(rows: pa.Table) -> dict:
    """The same from stored rows, one by one, as `aomg.monitor.results.reader` reads them."""
    result = {}
    for one in newest_batch(rows).to_pylist():
        start, end = (int(one[name].timestamp() * 1e6 + 0.5) for name in ("start", "end"))
        labels = tuple(zip(one["label_names"], one["labels"], strict=True))
        estimates = {
            part["name"]: (
                float(np.float32(part["value"])), down(part["low"]), up(part["high"]), word(**part)
            )
            for part in one["estimates"]
        }  # fmt: skip
        row = (start, one["count"], down(one["min"]), up(one["max"]), one["sub_windows"], one["burst"], one["batch"])
        result[one["query"], labels, end] = (*row, estimates)
    return result


def word(method: str | None, low: float, high: float, **_) -> str:
    """The method as the page tells it: exact only if nothing is uncertain, also of a share, which has none."""
    if low == high and method in (None, "exact", "certified", "band", "envelope"):
        return "exact"
    return "certified" if method == "exact" else method or ""


def down(number: float) -> float:
    near = np.float32(number)
    return float(near if float(near) <= number else np.nextafter(near, np.float32(-np.inf)))


def up(number: float) -> float:
    return -down(-number)
