"""What a monitor tells of itself, for those who look from outside: a line a micro-batch in `state/health.jsonl`.

===========================  ======================================================================================
batch, at                    its number, and the time of the clock at which it was done
events                       that it read; null where Spark has not told
seconds, phases              how long it took, and what for: find (looking for events), plan, compute, write (judging
                             and writing, on the driver), commit
rows, refused                rows of results, and refused rows by reason
newest_end                   the end of the newest window among them, in event time; null without rows
state_rows, state_bytes      of the stream's state
late                         events that came too late, since the stream began; null where that is not known
totals                       events and rows, since the stream began
undelivered                  alerts that wait, by receiver
===========================  ======================================================================================

Lines without a batch tell that the monitor began ("event": "started") or ended ("ended", with `because`). While it
lives, the file's time of change is never older than some seconds. Two files are kept; the older one is
`health.1.jsonl`. Nothing here can make the monitor fail: what cannot be written is said once, and left out.
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

from aomg.monitor.run.progress import Progress
from aomg.times import time_text

FILE, OLDER = "health.jsonl", "health.1.jsonl"
FAILED = "it failed"
SIGN_OF_LIFE_SECONDS = 5.0
_MOST_BYTES = 2_000_000
_PATIENCE = 10.0  # seconds that a batch waits for Spark's word
_LOOK_SECONDS = 0.2
_LATE_FIRST, _LATE_EVERY = 30.0, 60.0
_LATE_SHARE = 0.01  # of the time may be spent on counting late events
_PHASES = {
    "find": ("latestOffset", "getOffset", "setOffsetRange", "getEndOffset"),
    "plan": ("getBatch", "queryPlanning"),
    "commit": ("walCommit", "commitOffsets", "commitBatch"),
}
_LOG = logging.getLogger(__name__)


class Health:
    """Writes the lines: a watcher of the monitor (`aomg.monitor.run.progress`) that also hears what Spark reports.

    scans
        How often each event is read: Spark counts it as often.
    late
        Counts late events. It is a Spark job, so it is called once a minute at most, and more rarely the longer it
        takes: a hundredth of the time. Never again once it failed.
    waiting
        How many alerts wait, by receiver.
    """

    def __init__(
        self,
        state: Path,
        scans: int = 1,
        late: Callable[[], int] | None = None,
        waiting: Callable[[], Mapping[str, int]] | None = None,
        most_bytes: int = _MOST_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.waiting = waiting
        self._file, self._older = state / FILE, state / OLDER
        self._scans, self._late, self._most_bytes, self._clock = scans, late, most_bytes, clock
        self._lock = threading.Lock()
        self._done: dict[int, tuple[float, Progress]] = {}  # batches that Spark has not reported yet
        self._totals: dict[int, dict[str, int]] = {}
        self._late_count: int | None = None
        self._late_next = time.monotonic() + _LATE_FIRST
        self._alive = 0.0
        self._told: set[str] = set()
        self._resume()

    @property
    def late(self) -> int | None:
        """Events that came too late, when they were last counted; None where they were not yet."""
        return self._late_count

    def __call__(self, progress: Progress) -> None:
        """Take what was done with a micro-batch; its line waits for what Spark says of it."""
        with self._lock:
            self._done[progress.batch] = (self._clock(), progress)

    def started(self) -> None:
        """Say that the monitor begins."""
        self._put({"event": "started", "at": self._now()})

    def ended(self, because: str) -> None:
        """Write what is left, and say that the monitor ends: "its source ended", "it was stopped", "it failed"."""
        for batch in sorted(self._done):
            self._write(batch, None)
        self._put({"event": "ended", "at": self._now(), "because": because})

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Keep up the sign of life meanwhile: Spark takes its time to start."""
        with _again_and_again(self._live):
            yield

    @contextmanager
    def watching(self, query: Any) -> Iterator[None]:
        """Look at a streaming query again and again meanwhile, in a thread of its own."""
        try:
            with _again_and_again(lambda: self.look(query)):
                yield
        finally:
            self._late = None
            self.look(query)

    def look(self, query: Any) -> None:
        """Hear what Spark reports of a streaming query: one question while a batch waits for it, none otherwise."""
        with self._lock:
            waiting = sorted(self._done)
        try:
            reports = self._reports(query, waiting)
        except Exception as error:  # the monitor goes on, whatever Spark says
            self._tell_once("progress", f"Spark's progress cannot be read: {str(error).partition(chr(10))[0]}")
            reports = {}
        for batch in waiting:
            if batch in reports or self._clock() - self._done[batch][0] > _PATIENCE:
                self._write(batch, reports.get(batch))
        if waiting and reports:
            self._count_late()
        self._live()

    def _live(self) -> None:
        if self._clock() - self._alive >= SIGN_OF_LIFE_SECONDS:
            self._alive = self._clock()
            with suppress(OSError):  # the next line tells
                os.utime(self._file)

    def _reports(self, query: Any, waiting: list[int]) -> dict[int, Any]:
        """Spark's reports of these batches, as far as there are any."""
        last = query.lastProgress if waiting else None
        if last is None or last.batchId < waiting[0]:
            return {}
        found = [last] if waiting == [last.batchId] else [*query.recentProgress, last]
        # a trigger that found no events is reported under the number of the batch to come: it has added nothing
        return {report.batchId: report for report in found if "addBatch" in report.durationMs}

    def _write(self, batch: int, report: Any) -> None:
        with self._lock:
            at, progress = self._done.pop(batch)
        line: dict[str, Any] = {"batch": batch, "at": time_text(int(at * 1e6)), "events": None, "seconds": None}
        line["phases"] = {"write": progress.seconds}
        line |= {"rows": progress.rows, "refused": dict(progress.refused), "state_rows": None, "state_bytes": None}
        newest = max((window.end for window in progress.newest.values()), default=None)
        line["newest_end"] = None if newest is None else time_text(newest)
        if report is not None:
            try:
                line |= _spark_says(report, self._scans, progress.seconds)
            except (AttributeError, TypeError, ValueError) as error:
                self._tell_once("progress", f"Spark's progress cannot be read: {error!r}")
        line |= {"late": self._late_count, "totals": self._add(batch, line["events"] or 0, progress.rows)}
        line["undelivered"] = self._waiting()
        self._put(line)

    def _add(self, batch: int, events: int, rows: int) -> dict[str, int]:
        """Totals after a batch: those of the one before it, for a batch may be repeated after a crash."""
        before = max((number for number in self._totals if number < batch), default=None)
        base = {"events": 0, "rows": 0} if before is None else self._totals[before]
        totals = {"events": base["events"] + events, "rows": base["rows"] + rows}
        self._totals = {n: told for n, told in sorted(self._totals.items()) if n < batch}
        self._totals[batch] = totals
        for number in list(self._totals)[:-100]:
            del self._totals[number]
        return totals

    def _waiting(self) -> dict[str, int]:
        try:
            return {name: count for name, count in self.waiting().items() if count} if self.waiting else {}
        except Exception as error:
            self._tell_once("waiting", f"waiting alerts cannot be counted: {error!r}")
            return {}

    def _count_late(self) -> None:
        if self._late is None or time.monotonic() < self._late_next:
            return
        began = time.monotonic()
        try:
            self._late_count = self._late()
        except Exception as error:
            self._late = None
            _LOG.info("late events are not counted while the monitor runs: %s", str(error).partition("\n")[0])
        spent = time.monotonic() - began
        self._late_next = time.monotonic() + max(_LATE_EVERY, spent / _LATE_SHARE)

    def _resume(self) -> None:
        """Go on from the totals of a monitor that ran before."""
        for file in (self._older, self._file):
            try:
                lines = file.read_bytes().splitlines()
            except OSError:
                continue
            for line in lines[-1000:]:
                try:
                    told = json.loads(line)
                    totals = {name: int(told["totals"][name]) for name in ("events", "rows")}
                    self._totals[int(told["batch"])] = totals
                except (ValueError, KeyError, TypeError):
                    continue

    def _put(self, line: Mapping[str, Any]) -> None:
        text = json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n"
        try:
            if self._file.exists() and self._file.stat().st_size > self._most_bytes:
                self._file.replace(self._older)
            with self._file.open("ab") as raw:
                if raw.tell() and not _ends_a_line(self._file):
                    raw.write(b"\n")  # a killed monitor left half a line
                raw.write(text.encode())
            self._told.discard("file")
        except OSError as error:
            self._tell_once("file", f"{self._file} cannot be written ({error.strerror}); the page lacks the health")

    def _tell_once(self, about: str, what: str) -> None:
        if about not in self._told:
            _LOG.warning("%s", what)
        self._told.add(about)

    def _now(self) -> str:
        return time_text(int(self._clock() * 1e6))


def _spark_says(report: Any, scans: int, writing: float) -> dict[str, Any]:
    """What a StreamingQueryProgress tells, in words that people understand."""
    spent = {name: number / 1000 for name, number in dict(report.durationMs).items()}
    phases = {phase: sum(spent.get(name, 0.0) for name in names) for phase, names in _PHASES.items()}
    compute = max(spent.get("addBatch", 0.0) - writing, 0.0)
    states = list(report.stateOperators)
    return {
        "events": round((report.numInputRows or 0) / scans),
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


def _ends_a_line(file: Path) -> bool:
    with file.open("rb") as raw:
        raw.seek(-1, os.SEEK_END)
        return raw.read(1) == b"\n"


@contextmanager
def _again_and_again(act: Callable[[], None]) -> Iterator[None]:
    """Let a thread act every fifth of a second meanwhile."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(_LOOK_SECONDS):
            act()

    thread = threading.Thread(target=repeat, name="health", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_PATIENCE)
