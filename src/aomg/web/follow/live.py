"""All that the page shows, together: one thread follows the files, everyone else reads what is immutable.

`Live.now()` is a consistent view of one version. Whoever wants to know of the next version listens.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from aomg.web.follow.alerts import AlertLog
from aomg.web.follow.health import HealthLog
from aomg.web.follow.results import Follower, Loading
from aomg.web.follow.supervision import RETRY_SECONDS, FollowerState, Supervised, described
from aomg.web.follow.targets import TargetFile
from aomg.web.memory.history import History, QueryHistory
from aomg.web.metrics.exposition import MOST_SERIES
from aomg.web.places import Places
from aomg.web.views.alerts import Alerts
from aomg.web.views.health import Health
from aomg.web.views.histogram import Histograms
from aomg.web.views.limits import limits_of

EVERY_SECONDS = 0.3
_LOG = logging.getLogger("aomg.web")
Listener = Callable[[], None]
_NOTHING = Loading(0, 0)


@dataclass(frozen=True, eq=False)
class Now:
    """Everything at one version.

    since
        A name for this run of the server: versions of another run are other versions.
    alerts
        None where only results are known.
    loading
        How many files of results are read, of how many.
    followers
        How those are doing that follow the results, the alerts, the monitor's health and the targets.
    """

    since: str
    version: int
    queries: Mapping[str, QueryHistory] = field(default_factory=dict)
    alerts: Alerts | None = None
    targets: tuple[dict[str, Any], ...] = ()
    loading: Loading = _NOTHING
    followers: tuple[FollowerState, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, and what to do."""
        return tuple(state.problem for state in self.followers if state.problem is not None)


class Live:
    """Follows places. `start` begins to follow in a thread of its own, `stop` ends it; `step` is what it repeats.

    What cannot be read is a problem that is shown, and all the rest goes on.

    most_bytes, most_series
        Of windows that are kept in memory, and of what /metrics tells.
    """

    def __init__(self, places: Places, most_bytes: int = 1 << 30, most_series: int = MOST_SERIES) -> None:
        self.places, self.history, self.most_series = places, History(most_bytes), most_series
        self._follower = Follower(places.results, self.history)
        self._alerts = AlertLog.of(places.config) if places.config is not None else None
        self._health = HealthLog.of(places.config) if places.config is not None else HealthLog(None, None)
        self._targets = TargetFile(places.targets)
        results = Supervised("results", "the results", self._follower, lambda: self._follower.is_waiting)
        health = Supervised("health", "the monitor's health", self._health)
        targets = Supervised("targets", "the headroom of targets", self._targets)
        alerts = [Supervised("alerts", "the alerts", self._alerts)] if self._alerts is not None else []
        self._supervised = (results, health, targets, *alerts)
        health.step()
        self.histograms = Histograms(places.summaries)
        self.limits = limits_of(places.config) if places.config is not None else ()
        self.is_dismissing = False
        self._listeners: set[Listener] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._now = Now(secrets.token_hex(4), 0, self.history.snapshot(), self._alerts_now())

    def now(self) -> Now:
        """The newest version; costs nothing."""
        return self._now

    def step(self) -> bool:
        """Look once at all files; True if results were read, of which there may be more. Called by one thread only."""
        changed = [one.step() for one in self._supervised]
        queries, loading = self.history.snapshot(), self._follower.loading
        is_read = queries is not self._now.queries
        followers = tuple(one.state for one in self._supervised)
        if is_read or any(changed) or (loading, followers) != (self._now.loading, self._now.followers):
            self._publish(
                Now(
                    self._now.since,
                    self._now.version + 1,
                    queries,
                    self._alerts_now(),
                    self._targets.targets,
                    loading,
                    followers,
                )
            )
        return is_read

    def health(self) -> Health:
        """How the monitor fares: newer than any version, because it lives by the clock."""
        return self._health.snapshot()

    def start(self) -> None:
        """Follow in a thread, until `stop`."""
        self._thread = threading.Thread(target=self._follow, name="aomg follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; waits for the step that is at work."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(10)

    def listen(self, listener: Listener) -> None:
        """Call it at every new version, from the follower's thread; it must return at once, and must not fail."""
        with self._lock:
            self._listeners.add(listener)

    def forget(self, listener: Listener) -> None:
        """Call it no more."""
        with self._lock:
            self._listeners.discard(listener)

    def dismiss(self) -> None:
        """Let all who listen know that they are to leave."""
        self.is_dismissing = True
        self._tell()

    @property
    def viewers(self) -> int:
        """How many listen now."""
        return len(self._listeners)

    def _follow(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            try:
                pause = 0.01 if self.step() else EVERY_SECONDS
            except Exception as error:
                # what is shown stays as it was; the next step may do better
                self._fail(error)
                pause = RETRY_SECONDS

    def _fail(self, error: Exception) -> None:
        """Tell that a step failed, though no follower did."""
        problem = f"the page cannot be brought up to date ({described(error)}); it is tried again"
        state = FollowerState("page", problem, failing=True)
        if state not in self._now.followers:
            _LOG.exception("the page cannot be brought up to date")
            followers = (*(one for one in self._now.followers if one.name != state.name), state)
            self._publish(replace(self._now, version=self._now.version + 1, followers=followers))

    def _alerts_now(self) -> Alerts | None:
        return None if self._alerts is None else self._alerts.snapshot()

    def _publish(self, now: Now) -> None:
        self._now = now
        self._tell()

    def _tell(self) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            try:
                listener()
            except Exception:
                _LOG.exception("a viewer cannot be told of a change")


def clock() -> int:
    """The time of the wall, in microseconds."""
    return time.time_ns() // 1000
