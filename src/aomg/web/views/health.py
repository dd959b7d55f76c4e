"""How the monitor fares at one moment, as /api/health tells it, and whether its results are stale.

Results are stale when the monitor failed, or should be running and has brought no window for three periods, three
micro-batches and a minute since it started, by the clock. Event times do not count for that: a replayed stream has
those of another day.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aomg.monitor.run.health import FAILED, SIGN_OF_LIFE_SECONDS
from aomg.times import time_of, time_text
from aomg.web.views.reasons import lasting

_SECOND = 1_000_000
_LEAST_STALE = 60 * _SECOND
_SILENT = 3 * SIGN_OF_LIFE_SECONDS * _SECOND
_FAR = 86_400 * _SECOND


@dataclass(frozen=True, eq=False)
class Health:
    """What is known at one moment. Times are microseconds of the clock.

    sign
        The last sign of life of the monitor, None if there was never one.
    started
        When the monitor said that it began, the last time.
    ended
        When the monitor said that it ended, and why; None while it runs, or since it vanished.
    brought
        When a batch brought rows of results last.
    """

    every: int = 0
    by_clock: bool = True
    runs_here: bool = False
    sign: int | None = None
    started: int | None = None
    ended: tuple[int, str] | None = None
    brought: int | None = None
    batches: tuple[dict[str, Any], ...] = ()
    totals: Mapping[str, Any] = field(default_factory=dict)
    undelivered: Mapping[str, int] = field(default_factory=dict)
    checkpoint: int | None = None

    def told(self, now: int, newest_end: int | None, period: int | None, written: int | None = None) -> dict[str, Any]:
        """The JSON object of /api/health, but for its version and the server's own numbers.

        newest_end, period
            The end of the newest window of any query, and the shortest period, in microseconds.
        written
            When the newest results were written, by the clock, where the monitor does not tell.
        """
        last = self.batches[-1] if self.batches else {}
        live = self._lives(now)
        return {
            "live": live,
            "newest_end": None if newest_end is None else time_text(newest_end),
            "lag_seconds": self._lag(now, newest_end),
            "stale": self._stale(now, period, written),
            "note": self._note(now, written),
            "batches": list(self.batches),
            "totals": dict(self.totals),
            "state_rows": last.get("state_rows"),
            "state_bytes": last.get("state_bytes"),
            "checkpoint_age_seconds": None if self.checkpoint is None else max((now - self.checkpoint) / _SECOND, 0.0),
            "undelivered": dict(self.undelivered),
        }

    def _lives(self, now: int) -> bool:
        return self.ended is None and self.sign is not None and now - self.sign <= _SILENT

    def _lag(self, now: int, newest_end: int | None) -> float | None:
        return lag_seconds(now, newest_end) if self.by_clock and self._lives(now) else None

    def _stale(self, now: int, period: int | None, written: int | None) -> dict[str, Any] | None:
        """Why results do not move although they should, and what to do; None where all is well, or nothing is due."""
        if not self.runs_here or self.sign is None:
            return None
        if self.ended is not None:
            return self._failed(now) if self.ended[1] == FAILED else None
        since = max((time for time in (self.brought, written, self.started) if time is not None), default=None)
        waited = now - (since if since is not None else self._began(now))
        if waited <= max(3 * self.every, 3 * (period or 0), _LEAST_STALE):
            return None
        for_so_long = lasting(waited)
        if not self._lives(now):
            because = f"the monitor has given no sign of life for {lasting(now - self.sign)}"
            what = "start it again with aomg run: it goes on where it was; its output says why it ended"
        elif self.batches and now - _at(self.batches[-1]) <= max(3 * self.every, _LEAST_STALE):
            because = f"events come, but no window was closed for {for_so_long}"
            what = "look at the times of the events: windows close when later events come; late ones are left out"
        else:
            because = f"the monitor runs, but no micro-batch was done for {for_so_long}"
            what = "look whether events come; if they do, a batch takes too long: see spark.log in the state folder"
        return {"seconds": waited / _SECOND, "because": because, "what_to_do": what}

    def _failed(self, now: int) -> dict[str, Any]:
        ago = max(now - self.ended[0], 0) if self.ended is not None else 0
        return {
            "seconds": ago / _SECOND,
            "because": f"the monitor failed {lasting(ago)} ago",
            "what_to_do": "its output and spark.log in the state folder say why; then start it again with aomg run: "
            "it goes on where it was",
        }

    def _note(self, now: int, written: int | None) -> str | None:
        """What is good to know of results that do not move, and need not."""
        age = max((time for time in (self.brought, written) if time is not None), default=None)
        old = "" if age is None else f"; the newest results are {lasting(max(now - age, 0))} old"
        if self.ended is not None:
            return f"the monitor ended {lasting(max(now - self.ended[0], 0))} ago: {self.ended[1]}{old}"
        if not self.runs_here:
            return f"only results are served, not the monitor that writes them{old}"
        return "no monitor has run with this state folder yet" if self.sign is None else None

    def _began(self, now: int) -> int:
        return _at(self.batches[0]) if self.batches else self.sign if self.sign is not None else now


def lag_seconds(now: int, newest_end: int | None) -> float | None:
    """How far the newest window is behind the clock; None where event times are of another day than the clock's.

    >>> lag_seconds(5_000_000, 3_500_000), lag_seconds(5_000_000, None)
    (1.5, None)
    """
    return None if newest_end is None or abs(now - newest_end) > _FAR else (now - newest_end) / _SECOND


def _at(batch: Mapping[str, Any]) -> int:
    return time_of(batch["at"])
