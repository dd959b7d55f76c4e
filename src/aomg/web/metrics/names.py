"""Names and help texts of all metrics. docs/metrics.md describes them in detail."""

PARTS = ("", "_low", "_high")
"""Suffixes of an estimate's three metrics: its value, and the interval that contains the exact value."""

COUNTERS = ("aomg_events", "aomg_rows", "aomg_late_events", "aomg_refused_rows")
"""Counters; their names end in `_total` in the text. All others are gauges."""

_OF_PARTS = ("", ": lower bound of the exact value", ": upper bound of the exact value")


def _estimate(name: str, meaning: str) -> dict[str, str]:
    return {f"{name}{part}": f"{meaning}{of_part}" for part, of_part in zip(PARTS, _OF_PARTS, strict=True)}


MEANINGS: dict[str, str] = {
    **_estimate("aomg_quantile", "Quantile of a key's newest window"),
    **_estimate("aomg_share_below", "Share of events at or below a threshold, 0 to 1"),
    "aomg_window_events": "Events in a key's newest window",
    "aomg_window_burst": "1 if the tail of the newest period is larger than the one before, or remains larger; else 0",
    "aomg_window_end_seconds": "End of the newest window, in seconds since 1970 in UTC",
    "aomg_window_keys": "Keys in the newest window, including those whose series are left out",
    "aomg_alert_firing": "1 for each firing alert",
    "aomg_alerts": "Number of firing and pending alerts",
    **_estimate("aomg_target_headroom", "Headroom of a target: 1 without load, 0 at the limit"),
    "aomg_series_left_out": "Series left out because of the maximum number of series",
    "aomg_monitor_live": "1 if the monitor is running, else 0",
    "aomg_results_stale": "1 if new results are overdue, else 0",
    "aomg_lag_seconds": "How far the end of the newest window is behind the clock",
    "aomg_batch_seconds": "Duration of the newest micro-batch",
    "aomg_batch_phase_seconds": "Duration of each phase of the newest micro-batch",
    "aomg_batch_events": "Events in the newest micro-batch",
    "aomg_state_rows": "Rows in Spark's state store",
    "aomg_state_bytes": "Memory of Spark's state store",
    "aomg_checkpoint_age_seconds": "Time since the last commit to the checkpoint",
    "aomg_undelivered_alerts": "Notifications not delivered to a receiver yet",
    "aomg_history_bytes": "Memory of the windows that the page can show",
    "aomg_viewers": "Number of open pages",
    "aomg_follower_failing": "1 if the page cannot read these files of the monitor, else 0",
    "aomg_events": "Events received",
    "aomg_rows": "Result rows written",
    "aomg_late_events": "Events that arrived after their window was closed",
    "aomg_refused_rows": "Refused input rows, by reason",
}
"""Help text of every metric, in the order of the output."""
