"""Builds the samples of all metrics: keys of a query, targets, alerts, and monitor health."""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aomg.web.memory.history import QueryHistory, Window
from aomg.web.metrics.labels import clean, label_names, label_values
from aomg.web.metrics.names import PARTS
from aomg.web.metrics.series_cap import Labels, Sample, SeriesGroup
from aomg.web.views.decimals import intervals

JsonObject = Mapping[str, Any]
"""A JSON object of the API."""

_ESTIMATE = re.compile(r"(p|below_)(minus_)?([0-9]+)(?:_([0-9]+))?")


def of_query(history: QueryHistory, unit: str | None, firing: Sequence[JsonObject]) -> Iterator[SeriesGroup]:
    """Yield the keys of a query's newest window: those with a firing alert first, then by first arrival."""
    window, keys = history.newest, history.keys
    if window is None or not len(window.keys):
        return
    ours = {"query": clean(history.name)}
    order = _firing_first(history, window, firing)
    metrics = [(column, *_metric(name, unit)) for column, name in enumerate(history.estimates)]
    metrics = [(column, name, of) for column, name, of in metrics if name]
    estimates = window.numbers[:, [column for column, _, _ in metrics]]
    costs = 2 + np.count_nonzero(~np.isnan(estimates), axis=(1, 2))[order]
    numbers = intervals(estimates)
    names = label_names(keys.names)

    def labels_of(index: int) -> Labels:
        return {**ours, **label_values(keys.labels(int(window.keys[order[index]])), names)}

    def samples_of(index: int, labels: Labels) -> Iterator[Sample]:
        row = order[index]
        yield "aomg_window_events", labels, int(window.count[row])
        yield "aomg_window_burst", labels, int(window.burst[row])
        for three, (_, name, of) in zip(numbers[row].tolist(), metrics, strict=True):
            for part, value in zip(PARTS, three, strict=True):
                if value == value:
                    yield name + part, {**labels, **of}, value

    yield SeriesGroup(ours, costs, labels_of, samples_of)


def of_targets(targets: Sequence[JsonObject]) -> Iterator[SeriesGroup]:
    """Yield the headroom of every key, for each target."""
    by_target: dict[tuple[str, str], list[JsonObject]] = {}
    for record in targets:
        by_target.setdefault((record["target"], record["group"]), []).append(record)
    for (target, group), records in by_target.items():
        yield _of_target({"target": clean(target), "group": clean(group)}, records)


def _of_target(ours: Labels, records: Sequence[JsonObject]) -> SeriesGroup:
    def labels_of(index: int) -> Labels:
        return {**ours, **_labels(records[index])}

    def samples_of(index: int, labels: Labels) -> Iterator[Sample]:
        low, value, high = records[index]["headroom"]
        for part, number in zip(PARTS, (value, low, high), strict=True):
            if number is not None:
                yield f"aomg_target_headroom{part}", labels, number

    costs = [sum(part is not None for part in record["headroom"]) for record in records]
    return SeriesGroup(ours, np.array(costs, np.int64), labels_of, samples_of)


def of_alerts(firing: Sequence[JsonObject]) -> Iterator[SeriesGroup]:
    """Yield one series per firing alert, in the given order."""

    def labels_of(index: int) -> Labels:
        alert = firing[index]
        return {"alertname": clean(alert["rule"]), "alertgroup": clean(alert["group"]), **_labels(alert)}

    def samples_of(index: int, labels: Labels) -> Iterator[Sample]:
        yield "aomg_alert_firing", labels, 1

    if firing:
        yield SeriesGroup({"alerts": "firing"}, np.ones(len(firing), np.int64), labels_of, samples_of)


def of_health(health: JsonObject) -> Iterator[Sample]:
    """Yield the samples of monitor health. They are few, and never left out."""
    batch = (health.get("batches") or [{}])[-1]
    totals, server = (health.get("totals") or {}) if batch else {}, health.get("server") or {}
    if batch or health.get("live"):  # a folder of results alone does not show whether a monitor runs
        yield "aomg_monitor_live", {}, int(bool(health.get("live")))
    if "stale" in health:
        yield "aomg_results_stale", {}, int(health["stale"] is not None)
    known = {
        "aomg_lag_seconds": health.get("lag_seconds"),
        "aomg_batch_seconds": batch.get("seconds"),
        "aomg_batch_events": batch.get("events"),
        "aomg_state_rows": health.get("state_rows"),
        "aomg_state_bytes": health.get("state_bytes"),
        "aomg_checkpoint_age_seconds": health.get("checkpoint_age_seconds"),
        "aomg_history_bytes": server.get("history_bytes"),
        "aomg_viewers": server.get("viewers"),
        "aomg_events": totals.get("events"),
        "aomg_rows": totals.get("rows"),
        "aomg_late_events": totals.get("late"),
    }
    yield from ((name, {}, value) for name, value in known.items() if value is not None)
    by_label = {
        ("aomg_batch_phase_seconds", "phase"): batch.get("phases"),
        ("aomg_undelivered_alerts", "receiver"): health.get("undelivered"),
        ("aomg_refused_rows", "reason"): totals.get("refused_by_reason"),
    }
    for (name, label), values in by_label.items():
        for of, value in (values or {}).items():
            if value is not None:
                yield name, {label: clean(of)}, value


def _firing_first(history: QueryHistory, window: Window, firing: Sequence[JsonObject]) -> NDArray[np.int64]:
    """Return the rows of the window in the order of the output. Key numbers ascend by first arrival."""
    names = history.keys.names
    ours = [alert["labels"] for alert in firing if history.name in alert["queries"]]
    alarmed = {tuple(map(labels.get, names)) for labels in ours if set(names) <= labels.keys()}
    rows = np.arange(len(window.keys))
    if not alarmed or not names:
        return rows
    quiet = [tuple(history.keys.labels(key).values()) not in alarmed for key in window.keys.tolist()]
    return np.argsort(quiet, kind="stable")


def _metric(estimate: str, unit: str | None) -> tuple[str, Labels]:
    """Return the metric of an estimate and its labels: p99_9 is the quantile 0.999, below_0_25 the share below 0.25."""
    match = _ESTIMATE.fullmatch(estimate)
    if match is None:
        return "", {}
    kind, minus, whole, decimals = match.groups()
    number = Decimal(f"{'-' if minus else ''}{whole}.{decimals or 0}")
    if kind == "below_":
        return "aomg_share_below", {"threshold": format(number.normalize(), "f")}
    quantile = {"quantile": format((number / 100).normalize(), "f")}
    return "aomg_quantile", {**quantile, "unit": clean(unit)} if unit else quantile


def _labels(record: JsonObject) -> Labels:
    labels = record.get("labels") or {}
    return label_values(labels, label_names(labels))
