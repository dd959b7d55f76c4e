"""All that the page shows, together: one thread follows the files, everyone else reads what is immutable.

`Live.now()` is a consistent view of one version. Whoever wants to know of the next version listens.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aomg.web.follow.alerts import AlertLog
from aomg.web.follow.health import HealthLog
from aomg.web.follow.results import Follower, Loading
from aomg.web.follow.targets import TargetFile
from aomg.web.memory.history import History, QueryHistory
from aomg.web.metrics.exposition import MOST_SERIES
from aomg.web.places import Places
from aomg.web.views.alerts import Alerts
from aomg.web.views.health import Health
from aomg.web.views.histogram import Histograms
from aomg.web.views.limits import limits_of

EVERY_SECONDS = 0.3
_AFTER_FAILURE = 5.0
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
    """

    since: str
    version: int
    queries: Mapping[str, QueryHistory] = field(default_factory=dict)
    alerts: Alerts | None = None
    targets: tuple[dict[str, Any], ...] = ()
    loading: Loading = _NOTHING
    problems: tuple[str, ...] = ()


class Live:
    """Follows places. `start` begins to follow in a thread of its own, `stop` ends it; `step` is what it repeats.

    most_bytes, most_series
        Of windows that are kept in memory, and of what /metrics tells.
    """

    def __init__(self, places: Places, most_bytes: int = 1 << 30, most_series: int = MOST_SERIES) -> None:
        self.places, self.history, self.most_series = places, History(most_bytes), most_series
        self._follower = Follower(places.results, self.history)
        self._alerts = AlertLog.of(places.config) if places.config is not None else None
        self._health = HealthLog.of(places.config) if places.config is not None else HealthLog(None, None)
        self._health.step()
        self._targets = TargetFile(places.targets)
        self.histograms = Histograms(places.summaries)
        self.limits = limits_of(places.config) if places.config is not None else ()
        self.is_dismissing = False
        self._listeners: set[Listener] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._now = Now(secrets.token_hex(4), 0, alerts=None if self._alerts is None else self._alerts.snapshot())

    def now(self) -> Now:
        """The newest version; costs nothing."""
        return self._now

    def step(self) -> bool:
        """Look once at all files; True if results were read, of which there may be more. Called by one thread only."""
        read = self._follower.step()
        logs: list[HealthLog | TargetFile | AlertLog] = [self._health, self._targets]
        logs += [self._alerts] if self._alerts is not None else []
        changed = [log.step() for log in logs]
        said = [self._follower.problem, *(log.problem for log in logs)]
        problems, loading = tuple(one for one in said if one is not None), self._follower.loading
        if read or any(changed) or (loading, problems) != (self._now.loading, self._now.problems):
            self._now = Now(
                self._now.since,
                self._now.version + 1,
                self.history.snapshot(),
                None if self._alerts is None else self._alerts.snapshot(),
                self._targets.targets,
                loading,
                problems,
            )
            self._tell()
        return read

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
            except Exception:
                # what is shown stays as it was; the next step may do better
                _LOG.exception("the files cannot be followed")
                pause = _AFTER_FAILURE

    def _tell(self) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener()


def clock() -> int:
    """The time of the wall, in microseconds."""
    return time.time_ns() // 1000
