"""Writes the monitor's health to `state/health.jsonl`: a line for each micro-batch.

===========================  ======================================================================================
batch, at                    its number, and the clock time at which it was done
events                       events read; null if Spark has not reported them
seconds, phases              how long it took, in all and by phase: find (list new events), plan, compute, write (rules
                             and sinks, on the driver), commit
rows, refused                rows of results, and refused rows by reason
newest_end                   the end of its newest window, in event time; null without rows
state_rows, state_bytes      of the stream's state
late                         late events since the stream began; null if not counted yet
totals                       events and rows, since the stream began
undelivered                  alerts waiting for delivery, by receiver
===========================  ======================================================================================

Lines without a batch record that the monitor started ("event": "started") or ended ("ended", with `because`). While it
runs, the file's modification time is never older than some seconds. Two files are kept; the older one is
`health.1.jsonl`. Nothing here can make the monitor fail: a write error is logged once.
"""

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from aomg.monitor.run.background import repeating
from aomg.monitor.run.progress import Progress
from aomg.times import time_text

FILE, OLDER = "health.jsonl", "health.1.jsonl"
FAILED = "it failed"
SIGN_OF_LIFE_SECONDS = 5.0
_MOST_BYTES = 2_000_000
_PATIENCE = 10.0  # seconds that a batch waits for Spark's report
_LOOK_SECONDS = 0.2
_LATE_FIRST, _LATE_EVERY = 30.0, 60.0
_LATE_SHARE = 0.01  # share of the time that may be spent on counting late events
_PHASES = {
    "find": ("latestOffset", "getOffset", "setOffsetRange", "getEndOffset"),
    "plan": ("getBatch", "queryPlanning"),
    "commit": ("walCommit", "commitOffsets", "commitBatch"),
}
_LOG = logging.getLogger(__name__)


class Health:
    """Writes the lines: a watcher of the monitor (`aomg.monitor.run.progress`) that also reads Spark's progress.

    late
        Counts late events. It is a Spark job, so it is called once a minute at most, and takes at most a hundredth of
        the time. Not called again once it failed.
    waiting
        Counts the alerts waiting for delivery, by receiver.
    """

    def __init__(
        self,
        state: Path,
        late: Callable[[], int] | None = None,
        waiting: Callable[[], Mapping[str, int]] | None = None,
        most_bytes: int = _MOST_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.waiting = waiting
        self._file, self._older = state / FILE, state / OLDER
        self._late, self._most_bytes, self._clock = late, most_bytes, clock
        self._lock = threading.Lock()
        self._done: dict[int, tuple[float, Progress]] = {}  # batches that Spark has not reported yet
        self._totals: dict[int, dict[str, int]] = {}
        self._late_count: int | None = None
        self._late_next = time.monotonic() + _LATE_FIRST
        self._refreshed = 0.0
        self._logged: set[str] = set()
        self._resume()

    @property
    def late(self) -> int | None:
        """Late events, when they were last counted; None if they were not yet."""
        return self._late_count

    def __call__(self, progress: Progress) -> None:
        """Take the report of a micro-batch; its line waits for Spark's report."""
        with self._lock:
            self._done[progress.batch] = (self._clock(), progress)

    def started(self) -> None:
        """Write that the monitor starts."""
        self._put({"event": "started", "at": self._now()})

    def ended(self, because: str) -> None:
        """Write what is left, and that the monitor ends: "its source ended", "it was stopped", "it failed"."""
        for batch in sorted(self._done):
            self._write(batch, None)
        self._put({"event": "ended", "at": self._now(), "because": because})

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Refresh the file meanwhile: Spark takes some seconds to start."""
        with repeating(self._refresh, _LOOK_SECONDS, "health"):
            yield

    @contextmanager
    def watching(self, query: Any) -> Iterator[None]:
        """Poll a streaming query meanwhile, in a thread."""
        try:
            with repeating(lambda: self.poll(query), _LOOK_SECONDS, "health"):
                yield
        finally:
            late, self._late = self._late, None  # no more Spark jobs
            self.poll(query)
            self._late = late

    def poll(self, query: Any) -> None:
        """Read Spark's reports of a streaming query: one call while a batch waits for it, none otherwise."""
        with self._lock:
            waiting = sorted(self._done)
        try:
            reports = self._reports(query, waiting)
        except Exception as error:  # the monitor must not fail because of this
            if not _is_lost_connection(error):  # which the monitor reports
                self._log_once("progress", f"cannot read Spark's progress: {str(error).partition(chr(10))[0]}")
            reports = {}
        for batch in waiting:
            if batch in reports or self._clock() - self._done[batch][0] > _PATIENCE:
                self._write(batch, reports.get(batch))
        if waiting and reports:
            self._count_late()
        self._refresh()

    def _refresh(self) -> None:
        if self._clock() - self._refreshed >= SIGN_OF_LIFE_SECONDS:
            self._refreshed = self._clock()
            with suppress(OSError):  # the next line reports it
                os.utime(self._file)

    def _reports(self, query: Any, waiting: list[int]) -> dict[int, Any]:
        """Spark's reports of these batches, those that exist."""
        last = query.lastProgress if waiting else None
        if last is None or last.batchId < waiting[0]:
            return {}
        reports = [last] if waiting == [last.batchId] else [*query.recentProgress, last]
        # a trigger without events is reported under the number of the next batch: it has no addBatch
        return {report.batchId: report for report in reports if "addBatch" in report.durationMs}

    def _write(self, batch: int, report: Any) -> None:
        with self._lock:
            seconds, progress = self._done.pop(batch)
        time_done = time_text(int(seconds * 1e6))
        line: dict[str, Any] = {"batch": batch, "at": time_done, "events": progress.events, "seconds": None}
        line["phases"] = {"write": progress.seconds}
        line |= {"rows": progress.rows, "refused": dict(progress.refused), "state_rows": None, "state_bytes": None}
        newest = max((window.end for window in progress.newest.values()), default=None)
        line["newest_end"] = None if newest is None else time_text(newest)
        if report is not None:
            try:
                line |= _report_fields(report, progress.seconds)
            except (AttributeError, TypeError, ValueError) as error:
                self._log_once("progress", f"cannot read Spark's progress: {error!r}")
        line |= {"late": self._late_count, "totals": self._add(batch, progress.events, progress.rows)}
        line["undelivered"] = self._waiting()
        self._put(line)

    def _add(self, batch: int, events: int, rows: int) -> dict[str, int]:
        """Totals after a batch: computed from the batch before it, because a batch may be repeated after a crash."""
        before = max((number for number in self._totals if number < batch), default=None)
        base = {"events": 0, "rows": 0} if before is None else self._totals[before]
        totals = {"events": base["events"] + events, "rows": base["rows"] + rows}
        self._totals = {number: part for number, part in sorted(self._totals.items()) if number < batch}
        self._totals[batch] = totals
        for number in list(self._totals)[:-100]:
            del self._totals[number]
        return totals

    def _waiting(self) -> dict[str, int]:
        try:
            return {name: count for name, count in self.waiting().items() if count} if self.waiting else {}
        except Exception as error:
            self._log_once("waiting", f"cannot count the alerts waiting for delivery: {error!r}")
            return {}

    def _count_late(self) -> None:
        if self._late is None or time.monotonic() < self._late_next:
            return
        began = time.monotonic()
        try:
            self._late_count = self._late()
        except Exception as error:
            self._late = None
            _LOG.info("cannot count late events while the monitor runs: %s", str(error).partition("\n")[0])
        spent = time.monotonic() - began
        self._late_next = time.monotonic() + max(_LATE_EVERY, spent / _LATE_SHARE)

    def _resume(self) -> None:
        """Resume from the totals of an earlier run."""
        for file in (self._older, self._file):
            try:
                lines = file.read_bytes().splitlines()
            except OSError:
                continue
            for line in lines[-1000:]:
                try:
                    record = json.loads(line)
                    totals = {name: int(record["totals"][name]) for name in ("events", "rows")}
                    self._totals[int(record["batch"])] = totals
                except (ValueError, KeyError, TypeError):
                    continue

    def _put(self, line: Mapping[str, Any]) -> None:
        text = json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n"
        try:
            if self._file.exists() and self._file.stat().st_size > self._most_bytes:
                self._file.replace(self._older)
            with self._file.open("ab") as raw:
                if raw.tell() and not _ends_a_line(self._file):
                    raw.write(b"\n")  # a killed monitor left an incomplete line
                raw.write(text.encode())
            self._logged.discard("file")
        except OSError as error:
            self._log_once("file", f"{self._file} cannot be written ({error.strerror}); the page cannot show health")

    def _log_once(self, topic: str, message: str) -> None:
        if topic not in self._logged:
            _LOG.warning("%s", message)
        self._logged.add(topic)

    def _now(self) -> str:
        return time_text(int(self._clock() * 1e6))


def _report_fields(report: Any, writing: float) -> dict[str, Any]:
    """The fields of a line that come from a StreamingQueryProgress."""
    spent = {name: number / 1000 for name, number in dict(report.durationMs).items()}
    phases = {phase: sum(spent.get(name, 0.0) for name in names) for phase, names in _PHASES.items()}
    compute = max(spent.get("addBatch", 0.0) - writing, 0.0)
    states = list(report.stateOperators)
    return {
        "seconds": report.batchDuration / 1000,
        "phases": {
            "find": phases["find"],
            "plan": phases["plan"],
            "compute": compute,
            "write": writing,
            "commit": phases["commit"],
        },
        "state_rows": sum(state.numRowsTotal for state in states),
        "state_bytes": sum(state.memoryUsedBytes for state in states),
    }


def _is_lost_connection(error: Exception) -> bool:
    """Whether the JVM has ended. By name: the page reads this module and needs no Spark."""
    return isinstance(error, ConnectionError | EOFError) or type(error).__name__ in ("Py4JError", "Py4JNetworkError")


def _ends_a_line(file: Path) -> bool:
    with file.open("rb") as raw:
        raw.seek(-1, os.SEEK_END)
        return raw.read(1) == b"\n"
