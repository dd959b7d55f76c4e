"""Builds the responses of /api/status, /api/health and /api/events."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aomg.monitor.config.model import QueryConfig
from aomg.monitor.sinks.result_folder import days
from aomg.names import estimate_title, quantile_of
from aomg.times import time_text
from aomg.web.follow.live import LiveData, Snapshot, clock
from aomg.web.memory.time_columns import ends_of, period_of


def status(live: LiveData, snapshot: Snapshot) -> dict[str, Any]:
    """Return the JSON object of /api/status: all queries in the configuration's order, with or without results."""
    health = health_json(live, snapshot)
    return {
        "version": snapshot.version,
        "now": time_text(clock()),
        "title": live.places.title,
        "loading": {"done": snapshot.loading[0], "of": snapshot.loading[1]},
        "live": health["live"],
        "starting": health["starting"],
        "stale": health["stale"],
        "note": health["note"],
        # while the monitor starts, that nothing is written yet is no problem
        "problems": [
            follower.problem
            for follower in snapshot.followers
            if follower.problem is not None and (follower.failing or health["starting"] is None)
        ],
        "queries": [_query_status(live, snapshot, name) for name in query_names(live, snapshot)],
        "alerts": alert_counts(snapshot),
        "histograms": live.places.summaries is not None,
    }


def health_json(live: LiveData, snapshot: Snapshot) -> dict[str, Any]:
    """Return the JSON object of /api/health."""
    newest = [window for query in snapshot.queries.values() if (window := query.newest) is not None]
    periods = [
        period for name in query_names(live, snapshot) if (period := _times(live, snapshot, name)[1]) is not None
    ]
    end = max((window.end for window in newest), default=None)
    monitor, now = live.health(), clock()
    reported = monitor.to_json(now, end, min(periods, default=None), _last_written(live.places.results))
    start = monitor.start(now, end is not None) if reported["stale"] is None else None
    return {
        "version": snapshot.version,
        **reported,
        "starting": None if start is None else start.to_json(now, live.places.config),
        "server": {
            "history_bytes": live.history.bytes(),
            "most_bytes": live.history.most_bytes,
            "viewers": live.viewers,
        },
    }


def change_event(snapshot: Snapshot) -> tuple[int, dict[str, Any]]:
    """Return a `changed` event: the version, the end of each query's newest window, and the counts of active alerts."""
    newest = {name: time_text(query.newest.end) for name, query in snapshot.queries.items() if query.newest is not None}
    return snapshot.version, {"version": snapshot.version, "newest": newest, "alerts": alert_counts(snapshot)}


def alert_counts(snapshot: Snapshot) -> dict[str, int] | None:
    """Count firing and pending alerts; None where only a folder of results is served."""
    if snapshot.alerts is None:
        return None
    return {state: snapshot.alerts.counts[state] for state in ("firing", "pending")}


def query_names(live: LiveData, snapshot: Snapshot) -> list[str]:
    """Return the names of all queries: in the order of the configuration, then others with results, by name."""
    configured = list(live.places.config.queries) if live.places.config is not None else []
    return configured + sorted(set(snapshot.queries) - set(configured))


def unit_of(live: LiveData, name: str) -> str | None:
    """Return the unit of a query's values, where the configuration names one."""
    config = _query_config(live, name)
    return None if config is None else config.unit


def _quantile(name: str) -> float | None:
    quantile = quantile_of(name)
    return None if quantile is None else float(quantile)


def _query_config(live: LiveData, name: str) -> QueryConfig | None:
    return None if live.places.config is None else live.places.config.queries.get(name)


def _last_written(folder: Path) -> int | None:
    """Return when the newest day of results was last written, in microseconds of the clock."""
    try:
        folders = days(folder)
        return (folder / f"day={folders[-1]}").stat().st_mtime_ns // 1000 if folders else None
    except OSError:
        return None


def _times(live: LiveData, snapshot: Snapshot, name: str) -> tuple[int | None, int | None]:
    """Return size and period of a query's windows: from the configuration, or else from the windows themselves."""
    config, history = _query_config(live, name), snapshot.queries.get(name)
    if config is not None and not config.query.counted:
        return config.query.size, config.query.period
    if history is None or history.newest is None:
        return None, None
    return history.newest.end - history.newest.start, period_of(ends_of(history.windows))


def _query_status(live: LiveData, snapshot: Snapshot, name: str) -> dict[str, Any]:
    history, config = snapshot.queries.get(name), _query_config(live, name)
    windows = history.windows if history is not None else ()
    size, period = _times(live, snapshot, name)
    labels: Sequence[str] = history.keys.names if history is not None else config.labels if config is not None else ()
    return {
        "name": name,
        "labels": list(labels),
        "unit": None if config is None else config.unit,
        "estimates": [
            {"name": estimate, "title": estimate_title(estimate), "quantile": _quantile(estimate)}
            for estimate in (history.estimates if history is not None else ())
        ],
        "size_seconds": None if size is None else size / 1e6,
        "period_seconds": None if period is None else period / 1e6,
        "keys": len(windows[-1].keys) if windows else 0,
        "windows": len(windows),
        "first_end": time_text(windows[0].end) if windows else None,
        "newest_end": time_text(windows[-1].end) if windows else None,
    }
