"""Follows the monitor's health: `state/health.jsonl`, the quarantine's counts, the checkpoint's age.

Batches that are repeated after a crash count once. Damaged lines are skipped.
"""

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from aomg.monitor.config.model import Config
from aomg.monitor.run.health import FILE, OLDER
from aomg.monitor.sinks.quarantine import by_number, read_counts
from aomg.times import time_of, time_text
from aomg.web.follow.lines import LineReader
from aomg.web.views.health import HealthSnapshot, lag_seconds

MOST_BATCHES = 500
_CHECKPOINT_SECONDS = 1.0
_BATCH = ("events", "seconds", "rows", "late", "state_rows", "state_bytes")


class HealthLog:
    """Follows a monitor's state and quarantine folders; each may be None, or not exist yet.

    every
        Microseconds between micro-batches.
    by_clock
        Whether event times follow the clock, so that there is a meaningful lag.

    Call `step` from one thread only: it costs a few stat calls. `snapshot` is safe from any.
    """

    def __init__(self, state: Path | None, quarantine: Path | None, every: int = 0, by_clock: bool = True) -> None:
        self._state, self._quarantine = state, quarantine
        self._every, self._by_clock = every, by_clock
        self._lines = LineReader(state / FILE) if state is not None else None
        self._batches: dict[int, dict[str, Any]] = {}
        self._last_rows: int | None = None
        self._newest: int | None = None  # end of the newest window that a batch reported
        self._started: int | None = None
        self._ended: tuple[int, str] | None = None
        self._totals: dict[str, Any] = {"events": 0, "rows": 0, "late": None}
        self._undelivered: dict[str, int] = {}
        self._refused: dict[str, int] = {}
        self._counts_file: tuple[int, int, int] | None = None
        self._checkpoint: int | None = None
        self._planned: int | None = None
        self._begun: int | None = None
        self._checkpoint_read = -_CHECKPOINT_SECONDS
        self._changed = False  # something was read that the snapshot does not have yet
        self._snapshot = HealthSnapshot(every, by_clock, state is not None)
        self.problem: str | None = None
        """What cannot be read, and what to do; None without a problem."""
        self._read_older()

    @classmethod
    def of(cls, config: Config) -> "HealthLog":
        """Return the log of a configuration's monitor."""
        by_clock = config.clock is not None and config.source.kind != "generate"
        return cls(config.state, config.quarantine.folder, config.every, by_clock)

    def step(self) -> bool:
        """Read what is new; True if anything changed except a sign of life or an age."""
        self.problem = None
        for read in (self._read_lines, self._read_refused):
            self._changed |= read()
        self._read_checkpoint()
        totals = {**self._totals, "refused": sum(self._refused.values()), "refused_by_reason": dict(self._refused)}
        self._snapshot = HealthSnapshot(
            self._every,
            self._by_clock,
            self._state is not None,
            self._sign(),
            self._started,
            self._ended,
            self._last_rows,
            tuple(self._batches.values()) if self._changed else self._snapshot.batches,
            totals,
            self._undelivered,
            self._checkpoint,
            self._planned,
            self._begun,
        )
        changed, self._changed = self._changed, False
        return changed

    def snapshot(self) -> HealthSnapshot:
        """Return the health as of the last step."""
        return self._snapshot

    def _read_older(self) -> None:
        try:
            lines = (self._state / OLDER).read_bytes().splitlines() if self._state is not None else []
        except OSError:
            return
        for line in lines[-MOST_BATCHES:]:
            self._take(line)

    def _read_lines(self) -> bool:
        if self._lines is None:
            return False
        try:
            _, lines = self._lines.read()  # after a rotation, what was read before still holds
        except OSError as error:
            self.problem = f"{self._lines.file} cannot be read ({error.strerror}); check its permissions"
            return False
        for line in lines:
            self._take(line)
        return bool(lines)

    def _take(self, line: bytes) -> None:
        """Take over a line of the monitor; skips a damaged one."""
        try:
            fields = json.loads(line)
            moment = time_of(fields["at"])
            if "event" in fields:
                self._ended = (moment, str(fields["because"])) if fields["event"] == "ended" else None
                self._started = moment if fields["event"] == "started" else self._started
                return
            number = int(fields["batch"])
            batch: dict[str, Any] = {"batch": number, "at": time_text(moment)}
            batch |= {name: _number(fields.get(name)) for name in _BATCH}
            batch["refused"] = sum(int(count) for count in fields["refused"].values())
            batch["phases"] = {str(name): round(float(seconds), 6) for name, seconds in fields["phases"].items()}
            totals = {name: int(fields["totals"][name]) for name in ("events", "rows")}
            undelivered = {str(name): int(count) for name, count in fields["undelivered"].items()}
            events, seconds = batch["events"], batch["seconds"]
            # as precise as its parts are known
            batch["events_per_second"] = float(f"{events / seconds:.4g}") if events is not None and seconds else None
            newest = fields.get("newest_end")
            self._newest = self._newest if newest is None else time_of(newest)
        except Exception:  # a damaged line must not stop those after it
            return
        batch["lag_seconds"] = lag_seconds(moment, self._newest) if self._by_clock else None
        for later in [known for known in self._batches if known >= number]:
            del self._batches[later]  # the monitor repeats it
        self._batches[number] = batch
        if len(self._batches) > MOST_BATCHES:
            del self._batches[next(iter(self._batches))]
        self._last_rows = moment if batch["rows"] else self._last_rows
        self._totals = {**totals, "late": batch["late"]}
        self._undelivered, self._ended = undelivered, None

    def _read_refused(self) -> bool:
        """Read the quarantine's counts of refused rows by reason."""
        if self._quarantine is None:
            return False
        file = self._quarantine / "counts.json"
        try:
            status = file.stat()
            mark = (status.st_ino, status.st_size, status.st_mtime_ns)
            if mark == self._counts_file:
                return False
            counts = read_counts(file)
        except FileNotFoundError:
            return False
        except OSError as error:
            self.problem = f"{file} cannot be read ({error.strerror}); check its permissions"
            return False
        if counts is None:
            self.problem = f"{file} is damaged; the monitor writes it anew when it starts"
            return False
        self._counts_file = mark
        self._refused = by_number(counts)
        return True

    def _read_checkpoint(self) -> None:
        """Read when Spark created the checkpoint, and when it last began and committed a micro-batch."""
        if self._state is None or time.monotonic() - self._checkpoint_read < _CHECKPOINT_SECONDS:
            return
        self._checkpoint_read = time.monotonic()
        folder = self._state / "checkpoint"
        self._planned = _newest([folder / "metadata"]) or self._planned
        self._begun = _newest(_files(folder / "offsets")) or self._begun
        self._checkpoint = _newest(_files(folder / "commits")) or self._checkpoint

    def _sign(self) -> int | None:
        if self._lines is None:
            return None
        try:
            return self._lines.file.stat().st_mtime_ns // 1000
        except OSError:
            return None


def _files(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.name.isdecimal()]
    except OSError:
        return []


def _newest(files: list[Path]) -> int | None:
    """Return when the newest of some files was written, in microseconds; None if there is none."""
    times = []
    for file in files:
        with suppress(OSError):
            times.append(file.stat().st_mtime_ns // 1000)
    return max(times, default=None)


def _number(value: Any) -> float | int | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
