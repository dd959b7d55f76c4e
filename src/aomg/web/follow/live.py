"""Combines all data of the page: one thread follows the files, all others read immutable snapshots.

`LiveData.snapshot()` is consistent: all its parts have one version. Listeners are called for every new version.
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
from aomg.web.follow.results import Loading, ResultFollower
from aomg.web.follow.supervision import RETRY_SECONDS, FollowerState, SupervisedFollower, describe
from aomg.web.follow.targets import TargetFile
from aomg.web.memory.history import History, QueryHistory
from aomg.web.metrics.exposition import MOST_SERIES
from aomg.web.places import Places
from aomg.web.views.alerts import Alerts
from aomg.web.views.health import HealthSnapshot
from aomg.web.views.histogram import Histograms
from aomg.web.views.limits import limits_of

EVERY_SECONDS = 0.3
_LOG = logging.getLogger("aomg.web")
Listener = Callable[[], None]
_NOTHING = Loading(0, 0)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All data at one version.

    since
        Identifies this run of the server: versions of another run are unrelated.
    alerts
        None where only a folder of results is served.
    loading
        How many of the result files are read.
    followers
        States of the followers of results, alerts, health and targets.
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
        """Current problems, each with what to do."""
        return tuple(state.problem for state in self.followers if state.problem is not None)


class LiveData:
    """Follows files and publishes snapshots. `start` runs `step` repeatedly in its own thread; `stop` ends it.

    A file that cannot be read becomes a problem on the page; all others are still read.

    most_bytes, most_series
        Maximum memory for windows, and maximum number of series at /metrics.
    """

    def __init__(self, places: Places, most_bytes: int = 1 << 30, most_series: int = MOST_SERIES) -> None:
        self.places, self.history, self.most_series = places, History(most_bytes), most_series
        self._follower = ResultFollower(places.results, self.history)
        self._alerts = AlertLog.of(places.config) if places.config is not None else None
        self._health = HealthLog.of(places.config) if places.config is not None else HealthLog(None, None)
        self._targets = TargetFile(places.targets)
        results = SupervisedFollower("results", "the results", self._follower, lambda: self._follower.is_waiting)
        health = SupervisedFollower("health", "the monitor's health", self._health)
        targets = SupervisedFollower("targets", "the headroom of targets", self._targets)
        alerts = [SupervisedFollower("alerts", "the alerts", self._alerts)] if self._alerts is not None else []
        self._supervised = (results, health, targets, *alerts)
        health.step()
        self.histograms = Histograms(places.summaries)
        self.limits = limits_of(places.config) if places.config is not None else ()
        self.is_dismissing = False
        self._listeners: set[Listener] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._snapshot = Snapshot(secrets.token_hex(4), 0, self.history.snapshot(), self._alert_snapshot())

    def snapshot(self) -> Snapshot:
        """Return the newest snapshot; costs nothing."""
        return self._snapshot

    def step(self) -> bool:
        """Check all files once; True if results were read, and there may be more. Call it from one thread only."""
        changed = [follower.step() for follower in self._supervised]
        queries, loading = self.history.snapshot(), self._follower.loading
        is_read = queries is not self._snapshot.queries
        followers = tuple(follower.state for follower in self._supervised)
        if is_read or any(changed) or (loading, followers) != (self._snapshot.loading, self._snapshot.followers):
            self._publish(
                Snapshot(
                    self._snapshot.since,
                    self._snapshot.version + 1,
                    queries,
                    self._alert_snapshot(),
                    self._targets.targets,
                    loading,
                    followers,
                )
            )
        return is_read

    def health(self) -> HealthSnapshot:
        """Return the monitor's health: not part of a snapshot, because it depends on the clock."""
        return self._health.snapshot()

    def start(self) -> None:
        """Start the follower's thread."""
        self._thread = threading.Thread(target=self._follow, name="aomg follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; waits for its current step."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(10)

    def listen(self, listener: Listener) -> None:
        """Call a listener at every new version, from the follower's thread; it must return at once and not raise."""
        with self._lock:
            self._listeners.add(listener)

    def forget(self, listener: Listener) -> None:
        """Remove a listener."""
        with self._lock:
            self._listeners.discard(listener)

    def dismiss(self) -> None:
        """Ask all listeners to leave: the server shuts down."""
        self.is_dismissing = True
        self._notify()

    @property
    def viewers(self) -> int:
        """Number of listeners."""
        return len(self._listeners)

    def _follow(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            try:
                pause = 0.01 if self.step() else EVERY_SECONDS
            except Exception as error:
                # the last snapshot stays; the next step tries again
                self._fail(error)
                pause = RETRY_SECONDS

    def _fail(self, error: Exception) -> None:
        """Publish that a step failed outside of its followers."""
        problem = f"the page cannot be updated ({describe(error)}); it retries"
        state = FollowerState("page", problem, failing=True)
        if state not in self._snapshot.followers:
            _LOG.exception("the page cannot be updated")
            followers = (*(follower for follower in self._snapshot.followers if follower.name != state.name), state)
            self._publish(replace(self._snapshot, version=self._snapshot.version + 1, followers=followers))

    def _alert_snapshot(self) -> Alerts | None:
        return None if self._alerts is None else self._alerts.snapshot()

    def _publish(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._notify()

    def _notify(self) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            try:
                listener()
            except Exception:
                _LOG.exception("a viewer cannot be notified of a change")


def clock() -> int:
    """Return the wall-clock time in microseconds."""
    return time.time_ns() // 1000
