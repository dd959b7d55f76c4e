"""Results, alerts and health as the live page has them, for the tests of metrics."""

from collections.abc import Iterable, Mapping

import pyarrow as pa

from aomg.monitor.sinks.result_rows import SCHEMA
from aomg.web.memory.history import History, QueryHistory
from aomg.web.metrics.exposition import Metrics

SECOND = 1_000_000
END = 1_794_830_400 * SECOND  # 2026-11-16T12:00:00Z

Bounds = tuple[float | None, float | None, float | None]


def row(
    labels: Mapping[str, str | None], query="inbound", end=END, count=3000, burst=False, **estimates: Bounds
) -> dict:
    """A stored row; estimates are (low, value, high)."""
    told = [
        {"name": name, "value": value, "low": low, "high": high, "method": "band"}
        for name, (low, value, high) in estimates.items()
    ]
    return {
        "query": query,
        "labels": list(labels.values()),
        "label_names": list(labels),
        "start": end - 120 * SECOND,
        "end": end,
        "count": count,
        "min": 1.0,
        "max": 1e6,
        "sub_windows": 8,
        "burst": burst,
        "estimates": told,
        "batch": end // SECOND,
    }


def histories(rows: Iterable[dict]) -> Mapping[str, QueryHistory]:
    """What the page remembers of these rows."""
    history = History()
    history.add(pa.Table.from_pylist(list(rows), SCHEMA))
    return history.snapshot()


def alert(
    state="firing", rule="PodsetSwitchFault", group="network", queries=("inbound",), **labels: str | None
) -> dict:
    return {"rule": rule, "group": group, "state": state, "queries": list(queries), "labels": labels}


def target(headroom: Bounds, name="inbound_p99", group="network", **labels: str | None) -> dict:
    return {"target": name, "group": group, "end": "2026-11-16T12:00:00Z", "labels": labels, "headroom": list(headroom)}


HEALTH = {
    "live": True,
    "stale": None,
    "lag_seconds": 17.5,
    "batches": [
        {"batch": 6, "seconds": 9.0, "events": 1},
        {"batch": 7, "seconds": 2.5, "events": 30_000, "phases": {"read": 1.5, "judge": 0.25, "write": 0.75}},
    ],
    "totals": {
        "events": 900_000,
        "rows": 400,
        "late": 12,
        "refused": 5,
        "refused_by_reason": {"the time cannot be read": 3, 'a "line"\ncannot be read': 2},
    },
    "state_bytes": 1_048_576,
    "state_rows": 40,
    "checkpoint_age_seconds": 3.0,
    "undelivered": {"webhook 1": 2},
    "server": {"history_bytes": 123_456, "most_bytes": 1 << 30, "viewers": 1},
}


def example() -> Metrics:
    """A moment of the example configuration, in which everything that can be told is told."""
    rows = [
        row({"podset": podset}, query, burst=podset == "13", p50=(499, 500, 501), p90=(880, 890, 900), **tail)
        for query in ("inbound", "outbound")
        for podset, tail in {
            "6": {"p99": (4280, 4310, 4350), "p99_9": (8000, 8100, 8200), "below_4000": (0.96875, 0.96875, 0.96875)},
            "13": {"p99": (1900, 1910, 1920), "p99_9": (20_400, 20_500, 20_600), "below_4000": (1, 1, 1)},
        }.items()
    ]
    alerts = [alert(podset="6", severity="page"), alert("pending", "TailAgainstMedian", podset="13", severity="ticket")]
    targets = [target((0.13, 0.138, 0.144), podset="6"), target((0.616, 0.618, 0.62), podset="13")]
    failing = {"results": False, "alerts": True}
    return Metrics(histories(rows), {"inbound": "us", "outbound": "us"}, alerts, targets, HEALTH, failing=failing)
