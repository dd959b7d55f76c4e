"""Describes a monitor's start: which step it is at, and when the first window is due.

A start takes half a minute on an idle machine: Spark's JVM starts, the queries are planned, and the first micro-batch
reads events and loads compiled code. Until then nothing is overdue.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from aomg.durations import duration_text
from aomg.monitor.config.model import Config, QueryConfig
from aomg.times import time_text

SPARK_SECONDS = 30
"""How long a start takes from its beginning to the end of the first micro-batch, on an idle machine."""
_SECOND = 1_000_000
_STEPS = {
    "spark": "Spark is starting",
    "plan": "Spark is running and prepares the queries",
    "batch": "the first micro-batch is running: it reads events, counts them, and loads compiled code",
    "window": "events are read, and the first window is not complete yet",
}
"""The steps of a start, in their order."""


@dataclass(frozen=True)
class Start:
    """A start that has not brought a window yet; `since` is in microseconds of the clock."""

    step: str
    since: int

    def to_json(self, now: int, config: Config | None) -> dict[str, Any]:
        """Return `starting` of /api/status."""
        query = _first(config.queries.values()) if config is not None else None
        due = None if config is None or query is None else self._due(config, query)
        return {
            "step": self.step,
            "steps": list(_STEPS),
            "what": _STEPS[self.step],
            "seconds": max(now - self.since, 0) / _SECOND,
            "first_window": None if query is None else _needs(query),
            "due": None if due is None else time_text(due),
        }

    def _due(self, config: Config, query: QueryConfig) -> int | None:
        """Estimate when the first window comes; None if that depends on how many events arrive."""
        running, window = self.since + SPARK_SECONDS * _SECOND, query.query
        if window.counted:
            return None
        if config.source.generate is not None:
            return running + config.every + int((window.period + window.lateness) / config.source.generate.speed)
        if config.source.kind != "kafka":
            return running + config.every  # files have events of a whole period already
        end: int = -(-self.since // window.period) * window.period + window.lateness
        return max(running, end) + config.every


def _first(queries: Iterable[QueryConfig]) -> QueryConfig | None:
    """Return the query whose first window comes first, if windows are of time."""
    return min(queries, key=lambda query: (query.query.counted, query.query.period), default=None)


def _needs(query: QueryConfig) -> str:
    """Say which events the first window needs."""
    window = query.query
    if window.counted:
        return f"query {query.name} has its first window after {window.period:,} events of a key"
    late = f" and of {duration_text(window.lateness)} after it" if window.lateness else ""
    period = duration_text(window.period)
    return f"query {query.name} has its first window once the events of a period ({period}){late} are read"
