"""What every metric is called and means. docs/metrics.md tells more of them."""

PARTS = ("", "_low", "_high")
"""Ends of the names of an estimate's three numbers: its value, and the interval that holds the exact one."""

COUNTERS = ("aomg_events", "aomg_rows", "aomg_late_events", "aomg_refused_rows")
"""These only grow; their names get `_total` in the text. All others are gauges."""

_OF_PARTS = ("", ", low: the exact one is not below it", ", high: the exact one is not above it")


def _estimate(name: str, meaning: str) -> dict[str, str]:
    return {f"{name}{part}": f"{meaning}{of_part}" for part, of_part in zip(PARTS, _OF_PARTS, strict=True)}


MEANINGS: dict[str, str] = {
    **_estimate("aomg_quantile", "Quantile of the newest window of a key"),
    **_estimate("aomg_share_below", "Share of events at or below a threshold, 0 to 1"),
    "aomg_window_events": "Events in the newest window of a key",
    "aomg_window_burst": "Whether the tail of the newest period is larger than the one before: 0 or 1",
    "aomg_window_end_seconds": "End of the newest window, in seconds since 1970 in UTC",
    "aomg_window_keys": "Keys in the newest window, whether their series are told or not",
    "aomg_alert_firing": "1 for each alert that fires",
    "aomg_alerts": "Alerts that fire, or are pending",
    **_estimate("aomg_target_headroom", "What is left to the limit of a target: 1 without load, 0 at the limit"),
    "aomg_series_left_out": "Series that are not told because there would be too many",
    "aomg_monitor_live": "Whether the monitor runs: 0 or 1",
    "aomg_results_stale": "Whether results should have come and have not: 0 or 1",
    "aomg_lag_seconds": "How far the end of the newest window is behind the clock",
    "aomg_batch_seconds": "How long the newest micro-batch took",
    "aomg_batch_phase_seconds": "How long each part of the newest micro-batch took",
    "aomg_batch_events": "Events in the newest micro-batch",
    "aomg_state_rows": "Rows in the state of the stream",
    "aomg_state_bytes": "Memory of the state of the stream",
    "aomg_checkpoint_age_seconds": "Time since the checkpoint was written",
    "aomg_undelivered_alerts": "Alerts that a receiver has not been told of yet",
    "aomg_history_bytes": "Memory of the windows that the page can show",
    "aomg_viewers": "Pages that are open",
    "aomg_follower_failing": "Whether the page cannot read what it follows: 0 or 1",
    "aomg_events": "Events that came",
    "aomg_rows": "Rows of results that were written",
    "aomg_late_events": "Events that came after their window was told",
    "aomg_refused_rows": "Rows that could not be used, by reason",
}
"""Of every metric, in the order in which they are told."""
