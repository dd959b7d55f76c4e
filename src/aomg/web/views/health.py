"""Monitor health for /api/health, and whether results are stale.

Results are stale when the monitor failed, or should be running and has written no window for three periods, three
micro-batches and a minute of clock time. Until the first micro-batch after its start it has five minutes: Spark starts,
and code may have to be compiled. Event times do not count: a replayed stream has those of another day.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aomg.durations import duration_text
from aomg.monitor.run.health import FAILED, SIGN_OF_LIFE_SECONDS
from aomg.times import time_of, time_text
from aomg.web.views.start import Start

_SECOND = 1_000_000
_LEAST_STALE = 60 * _SECOND
_LEAST_STALE_START = 300 * _SECOND
_SILENT = 3 * SIGN_OF_LIFE_SECONDS * _SECOND
_FAR = 86_400 * _SECOND


@dataclass(frozen=True, eq=False)
class HealthSnapshot:
    """The monitor's health at one moment. Times are microseconds of the clock.

    runs_here
        Whether the monitor's state folder is known.
    sign
        Last sign of life of the monitor, or None.
    started
        When the monitor last reported its start.
    ended
        When the monitor reported its end, and why; None while it runs, or if it crashed without a report.
    last_rows
        When a batch last wrote result rows.
    planned, begun
        When Spark created the checkpoint, and when it last began a micro-batch.
    """

    every: int = 0
    by_clock: bool = True
    runs_here: bool = False
    sign: int | None = None
    started: int | None = None
    ended: tuple[int, str] | None = None
    last_rows: int | None = None
    batches: tuple[dict[str, Any], ...] = ()
    totals: Mapping[str, Any] = field(default_factory=dict)
    undelivered: Mapping[str, int] = field(default_factory=dict)
    checkpoint: int | None = None
    planned: int | None = None
    begun: int | None = None

    def to_json(
        self, now: int, newest_end: int | None, period: int | None, written: int | None = None
    ) -> dict[str, Any]:
        """Return the JSON object of /api/health without its version and the server's own numbers.

        newest_end, period
            The end of the newest window of any query, and the shortest period, in microseconds.
        written
            When the newest results were written, by the clock, for the case that no batch reported it.
        """
        last = self.batches[-1] if self.batches else {}
        live = self._is_live(now)
        return {
            "live": live,
            "newest_end": None if newest_end is None else time_text(newest_end),
            "lag_seconds": self._lag(now, newest_end),
            "starting": None,
            "stale": self._stale(now, period, written),
            "note": self._note(now, written),
            "batches": list(self.batches),
            "totals": dict(self.totals),
            "state_rows": last.get("state_rows"),
            "state_bytes": last.get("state_bytes"),
            "checkpoint_age_seconds": None if self.checkpoint is None else max((now - self.checkpoint) / _SECOND, 0.0),
            "undelivered": dict(self.undelivered),
        }

    def start(self, now: int, has_windows: bool) -> Start | None:
        """Return the step of a start; None if the monitor is not starting, or has been for too long."""
        if self.started is None or not self._is_live(now):
            return None
        first = self._first_batch()
        if first is not None:
            is_waiting = not has_windows and now - first <= _LEAST_STALE_START
            return Start("window", self.started) if is_waiting else None
        if self.begun is not None and self.begun >= self.started:
            return Start("batch", self.started)
        return Start("plan" if self.planned is not None and self.planned >= self.started else "spark", self.started)

    def _first_batch(self) -> int | None:
        """Return when the first batch after the newest start was done; None if there is none yet."""
        times = (_time_of_batch(batch) for batch in reversed(self.batches))
        done = None
        for time in times:
            if self.started is None or time < self.started:
                break
            done = time
        return done

    def _is_live(self, now: int) -> bool:
        return self.ended is None and self.sign is not None and now - self.sign <= _SILENT

    def _lag(self, now: int, newest_end: int | None) -> float | None:
        return lag_seconds(now, newest_end) if self.by_clock and self._is_live(now) else None

    def _stale(self, now: int, period: int | None, written: int | None) -> dict[str, Any] | None:
        """Return why results are overdue, and what to do; None where none are due."""
        if not self.runs_here or self.sign is None:
            return None
        if self.ended is not None:
            return self._failed(now) if self.ended[1] == FAILED else None
        first = self._first_batch()
        times = (self.last_rows, written, self.started, first)
        since = max((time for time in times if time is not None), default=None)
        waited = now - (since if since is not None else self._began(now))
        least = _LEAST_STALE_START if self.started is not None and first is None else _LEAST_STALE
        if waited <= max(3 * self.every, 3 * (period or 0), least):
            return None
        if not self._is_live(now):
            because = f"the monitor has given no sign of life for {_text(now - self.sign)}"
            what_to_do = "restart it with aomg run: it resumes where it stopped; its output says why it ended"
        elif self.batches and now - _time_of_batch(self.batches[-1]) <= max(3 * self.every, _LEAST_STALE):
            because = f"events arrive, but no window was closed for {_text(waited)}"
            what_to_do = "check the event times: a window closes when later events arrive; late events are dropped"
        else:
            because = f"the monitor runs, but no micro-batch finished for {_text(waited)}"
            what_to_do = (
                "check that events arrive; if they do, a batch takes too long: see spark.log in the state folder"
            )
        return {"seconds": waited / _SECOND, "because": because, "what_to_do": what_to_do}

    def _failed(self, now: int) -> dict[str, Any]:
        ago = max(now - self.ended[0], 0) if self.ended is not None else 0
        return {
            "seconds": ago / _SECOND,
            "because": f"the monitor failed {_text(ago)} ago",
            "what_to_do": "see its output and spark.log in the state folder, then restart it with aomg run: "
            "it resumes where it stopped",
        }

    def _note(self, now: int, written: int | None) -> str | None:
        """Return why there are no new results, where none are due; else None."""
        age = max((time for time in (self.last_rows, written) if time is not None), default=None)
        old = "" if age is None else f"; the newest results are {_text(max(now - age, 0))} old"
        if self.ended is not None:
            if age is not None and abs(self.ended[0] - age) <= _LEAST_STALE:
                old = ""  # they are as old as its end
            return f"the monitor ended {_text(max(now - self.ended[0], 0))} ago: {self.ended[1]}{old}"
        if not self.runs_here:
            return f"this page shows a folder of results, not a running monitor{old}"
        return "no monitor has run with this state folder yet" if self.sign is None else None

    def _began(self, now: int) -> int:
        return _time_of_batch(self.batches[0]) if self.batches else self.sign if self.sign is not None else now


def lag_seconds(now: int, newest_end: int | None) -> float | None:
    """Return how far the newest window is behind the clock; None if they are more than a day apart.

    >>> lag_seconds(5_000_000, 3_500_000), lag_seconds(5_000_000, None)
    (1.5, None)
    """
    return None if newest_end is None or abs(now - newest_end) > _FAR else (now - newest_end) / _SECOND


def _text(duration: int) -> str:
    return duration_text(duration, rounded=True)


def _time_of_batch(batch: Mapping[str, Any]) -> int:
    return time_of(batch["at"])
