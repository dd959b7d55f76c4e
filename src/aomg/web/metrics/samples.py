"""The samples of all metrics: of the keys of a query, of targets, of alerts, and of the monitor's health."""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aomg.web.memory.history import QueryHistory, Window
from aomg.web.metrics.labels import clean, label_names, label_values
from aomg.web.metrics.names import PARTS
from aomg.web.metrics.series_cap import Claim, Labels, Sample
from aomg.web.views.decimals import intervals

Told = Mapping[str, Any]
"""A record as the API has it, in JSON's types."""

_ESTIMATE = re.compile(r"(p|below_)(minus_)?([0-9]+)(?:_([0-9]+))?")


def of_query(history: QueryHistory, unit: str | None, firing: Sequence[Told]) -> Iterator[Claim]:
    """The keys of a query's newest window: those with an alert that fires first, then those that were seen first."""
    window, keys = history.newest, history.keys
    if window is None or not len(window.keys):
        return
    ours = {"query": clean(history.name)}
    order = _firing_first(history, window, firing)
    metrics = [(column, *_metric(name, unit)) for column, name in enumerate(history.estimates)]
    metrics = [(column, name, of) for column, name, of in metrics if name]
    told = window.numbers[:, [column for column, _, _ in metrics]]
    costs = 2 + np.count_nonzero(~np.isnan(told), axis=(1, 2))[order]
    numbers = intervals(told)
    names = label_names(keys.names)

    def labels_at(place: int) -> Labels:
        return {**ours, **label_values(keys.labels(int(window.keys[order[place]])), names)}

    def samples_at(place: int, labels: Labels) -> Iterator[Sample]:
        row = order[place]
        yield "aomg_window_events", labels, int(window.count[row])
        yield "aomg_window_burst", labels, int(window.burst[row])
        for three, (_, name, of) in zip(numbers[row].tolist(), metrics, strict=True):
            for part, value in zip(PARTS, three, strict=True):
                if value == value:
                    yield name + part, {**labels, **of}, value

    yield Claim(ours, costs, labels_at, samples_at)


def of_targets(targets: Sequence[Told]) -> Iterator[Claim]:
    """The headroom of every key, for each target."""
    by_target: dict[tuple[str, str], list[Told]] = {}
    for record in targets:
        by_target.setdefault((record["target"], record["group"]), []).append(record)
    for (target, group), records in by_target.items():
        yield _of_target({"target": clean(target), "group": clean(group)}, records)


def _of_target(ours: Labels, records: Sequence[Told]) -> Claim:
    def labels_at(place: int) -> Labels:
        return {**ours, **_labels(records[place])}

    def samples_at(place: int, labels: Labels) -> Iterator[Sample]:
        low, value, high = records[place]["headroom"]
        for part, number in zip(PARTS, (value, low, high), strict=True):
            if number is not None:
                yield f"aomg_target_headroom{part}", labels, number

    costs = [sum(part is not None for part in record["headroom"]) for record in records]
    return Claim(ours, np.array(costs, np.int64), labels_at, samples_at)


def of_alerts(firing: Sequence[Told]) -> Iterator[Claim]:
    """One series for each alert that fires, in the order in which they are given."""

    def labels_at(place: int) -> Labels:
        alert = firing[place]
        return {"alertname": clean(alert["rule"]), "alertgroup": clean(alert["group"]), **_labels(alert)}

    def samples_at(place: int, labels: Labels) -> Iterator[Sample]:
        yield "aomg_alert_firing", labels, 1

    if firing:
        yield Claim({"alerts": "firing"}, np.ones(len(firing), np.int64), labels_at, samples_at)


def of_health(health: Told) -> Iterator[Sample]:
    """What is known of how the monitor itself is doing. There are few of these, and they are never left out."""
    batch = (health.get("batches") or [{}])[-1]
    totals, server = (health.get("totals") or {}) if batch else {}, health.get("server") or {}
    if batch or health.get("live"):  # of results alone nobody knows whether there is a monitor
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


def _firing_first(history: QueryHistory, window: Window, firing: Sequence[Told]) -> NDArray[np.int64]:
    """The rows of the window in the order in which they are told. Numbers of keys go by when they were first seen."""
    names = history.keys.names
    ours = [alert["labels"] for alert in firing if history.name in alert["queries"]]
    alarmed = {tuple(map(labels.get, names)) for labels in ours if set(names) <= labels.keys()}
    rows = np.arange(len(window.keys))
    if not alarmed or not names:
        return rows
    quiet = [tuple(history.keys.labels(key).values()) not in alarmed for key in window.keys.tolist()]
    return np.argsort(quiet, kind="stable")


def _metric(estimate: str, unit: str | None) -> tuple[str, Labels]:
    """The metric of an estimate and its labels: p99_9 is the quantile 0.999, below_0_25 the share below 0.25."""
    match = _ESTIMATE.fullmatch(estimate)
    if match is None:
        return "", {}
    kind, minus, whole, rest = match.groups()
    number = Decimal(f"{'-' if minus else ''}{whole}.{rest or 0}")
    if kind == "below_":
        return "aomg_share_below", {"threshold": format(number.normalize(), "f")}
    quantile = {"quantile": format((number / 100).normalize(), "f")}
    return "aomg_quantile", {**quantile, "unit": clean(unit)} if unit else quantile


def _labels(record: Told) -> Labels:
    labels = record.get("labels") or {}
    return label_values(labels, label_names(labels))
