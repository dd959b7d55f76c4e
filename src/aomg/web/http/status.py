"""What there is, how new it is, and what is wrong: the answer that every view begins with."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aomg.monitor.config.model import QueryConfig
from aomg.monitor.sinks.result_folder import days
from aomg.names import estimate_title, quantile_of
from aomg.times import time_text
from aomg.web.follow.live import Live, Now, clock
from aomg.web.memory.time_columns import ends_of, period_of


def status(live: Live, now: Now) -> dict[str, Any]:
    """What /api/status answers. Queries are in the order of the configuration; those without results are told too."""
    health = health_told(live, now)
    return {
        "version": now.version,
        "now": time_text(clock()),
        "title": live.places.title,
        "loading": {"done": now.loading[0], "of": now.loading[1]},
        "live": health["live"],
        "stale": health["stale"],
        "note": health["note"],
        "problems": list(now.problems),
        "queries": [_told(live, now, name) for name in query_names(live, now)],
        "alerts": alert_counts(now),
        "histograms": live.places.summaries is not None,
    }


def health_told(live: Live, now: Now) -> dict[str, Any]:
    """What /api/health answers."""
    newest = [window for one in now.queries.values() if (window := one.newest) is not None]
    periods = [one for name in query_names(live, now) if (one := _times(live, now, name)[1]) is not None]
    end = max((window.end for window in newest), default=None)
    return {
        "version": now.version,
        **live.health().told(clock(), end, min(periods, default=None), _written(live.places.results)),
        "server": {
            "history_bytes": live.history.bytes(),
            "most_bytes": live.history.most_bytes,
            "viewers": live.viewers,
        },
    }


def newest_told(now: Now) -> tuple[int, dict[str, Any]]:
    """What an event tells: the version, the end of each query's newest window, and how many alerts there are."""
    newest = {name: time_text(one.newest.end) for name, one in now.queries.items() if one.newest is not None}
    return now.version, {"version": now.version, "newest": newest, "alerts": alert_counts(now)}


def alert_counts(now: Now) -> dict[str, int] | None:
    """How many fire and how many may; None where no alerts are known."""
    if now.alerts is None:
        return None
    return {state: now.alerts.counts[state] for state in ("firing", "pending")}


def query_names(live: Live, now: Now) -> list[str]:
    """Every query there is: in the order of the configuration, then others whose results are there, by name."""
    asked = list(live.places.config.queries) if live.places.config is not None else []
    return asked + sorted(set(now.queries) - set(asked))


def unit_of(live: Live, name: str) -> str | None:
    """The unit of a query's values, where the configuration tells it."""
    asked = _asked(live, name)
    return None if asked is None else asked.unit


def _quantile(name: str) -> float | None:
    quantile = quantile_of(name)
    return None if quantile is None else float(quantile)


def _asked(live: Live, name: str) -> QueryConfig | None:
    return None if live.places.config is None else live.places.config.queries.get(name)


def _written(folder: Path) -> int | None:
    """When the newest day of results was written last, by the clock."""
    try:
        there = days(folder)
        return (folder / f"day={there[-1]}").stat().st_mtime_ns // 1000 if there else None
    except OSError:
        return None


def _times(live: Live, now: Now, name: str) -> tuple[int | None, int | None]:
    """Size and period of a query's windows: as asked, or as its windows are."""
    asked, found = _asked(live, name), now.queries.get(name)
    if asked is not None and not asked.query.counted:
        return asked.query.size, asked.query.period
    if found is None or found.newest is None:
        return None, None
    return found.newest.end - found.newest.start, period_of(ends_of(found.windows))


def _told(live: Live, now: Now, name: str) -> dict[str, Any]:
    found, asked = now.queries.get(name), _asked(live, name)
    windows = found.windows if found is not None else ()
    size, period = _times(live, now, name)
    labels: Sequence[str] = found.keys.names if found is not None else asked.labels if asked is not None else ()
    return {
        "name": name,
        "labels": list(labels),
        "unit": None if asked is None else asked.unit,
        "estimates": [
            {"name": one, "title": estimate_title(one), "quantile": _quantile(one)}
            for one in (found.estimates if found is not None else ())
        ],
        "size_seconds": None if size is None else size / 1e6,
        "period_seconds": None if period is None else period / 1e6,
        "keys": len(windows[-1].keys) if windows else 0,
        "windows": len(windows),
        "first_end": time_text(windows[0].end) if windows else None,
        "newest_end": time_text(windows[-1].end) if windows else None,
    }
