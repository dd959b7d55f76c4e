"""How the monitor fares, from what it leaves: `state/health.jsonl`, the quarantine's counts, the checkpoint's age.

What is repeated after a crash counts once; what is damaged is left out.
"""

import json
import time
from pathlib import Path
from typing import Any

from aomg.monitor.config.model import Config
from aomg.monitor.run.health import FILE, OLDER
from aomg.times import time_of, time_text
from aomg.web.follow.lines import Appended
from aomg.web.views.health import Health, lag_seconds

MOST_BATCHES = 500
_CHECKPOINT_EVERY = 5.0
_BATCH = ("events", "seconds", "rows", "late", "state_rows", "state_bytes")


class HealthLog:
    """Follows the files of a monitor; each may be None, or not there yet.

    every
        Microseconds between micro-batches.
    by_clock
        Whether event times are those of the clock, so that the lag behind it means something.

    `step` is for one thread and costs a few stats; the rest is for any.
    """

    def __init__(self, state: Path | None, quarantine: Path | None, every: int = 0, by_clock: bool = True) -> None:
        self._state, self._quarantine = state, quarantine
        self._every, self._by_clock = every, by_clock
        self._lines = Appended(state / FILE) if state is not None else None
        self._batches: dict[int, dict[str, Any]] = {}
        self._brought: int | None = None
        self._newest: int | None = None  # the end of the newest window of which a batch told
        self._started: int | None = None
        self._ended: tuple[int, str] | None = None
        self._totals: dict[str, Any] = {"events": 0, "rows": 0, "late": None}
        self._undelivered: dict[str, int] = {}
        self._refused: dict[str, int] = {}
        self._counts_file: tuple[int, int, int] | None = None
        self._checkpoint: int | None = None
        self._checkpoint_at = -_CHECKPOINT_EVERY
        self._changed = False  # something was read that is not shown yet
        self._shown = Health(every, by_clock, state is not None)
        self.problem: str | None = None
        """What cannot be read, and what to do; None while all is well."""
        self._read_older()

    @classmethod
    def of(cls, config: Config) -> "HealthLog":
        """The log of a configuration's monitor."""
        by_clock = config.clock is not None and config.source.kind != "generate"
        return cls(config.state, config.quarantine.folder, config.every, by_clock)

    def step(self) -> bool:
        """Read what is new; True if anything changed but a sign of life or an age."""
        self.problem = None
        for read in (self._read_lines, self._read_refused):
            self._changed |= read()
        self._read_checkpoint()
        totals = {**self._totals, "refused": sum(self._refused.values()), "refused_by_reason": dict(self._refused)}
        self._shown = Health(
            self._every,
            self._by_clock,
            self._state is not None,
            self._sign(),
            self._started,
            self._ended,
            self._brought,
            tuple(self._batches.values()) if self._changed else self._shown.batches,
            totals,
            self._undelivered,
            self._checkpoint,
        )
        changed, self._changed = self._changed, False
        return changed

    def snapshot(self) -> Health:
        """All that is known at this moment."""
        return self._shown

    def told(self, now: int, newest_end: int | None, period: int | None, written: int | None = None) -> dict[str, Any]:
        """What `Health.told` says of this moment."""
        return self._shown.told(now, newest_end, period, written)

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
            _, lines = self._lines.read()  # a file that became the older one: what it said still holds
        except OSError as error:
            self.problem = f"{self._lines.file} cannot be read ({error.strerror}); look at its permissions"
            return False
        for line in lines:
            self._take(line)
        return bool(lines)

    def _take(self, line: bytes) -> None:
        """Take a line of the monitor; what is damaged is left out."""
        try:
            told = json.loads(line)
            at = time_of(told["at"])
            if "event" in told:
                self._ended = (at, str(told["because"])) if told["event"] == "ended" else None
                self._started = at if told["event"] == "started" else self._started
                return
            batch = int(told["batch"])
            shown: dict[str, Any] = {"batch": batch, "at": time_text(at)}
            shown |= {name: _number(told.get(name)) for name in _BATCH}
            shown["refused"] = sum(int(count) for count in told["refused"].values())
            shown["phases"] = {str(name): float(seconds) for name, seconds in told["phases"].items()}
            totals = {name: int(told["totals"][name]) for name in ("events", "rows")}
            undelivered = {str(name): int(count) for name, count in told["undelivered"].items()}
            events, seconds = shown["events"], shown["seconds"]
            shown["events_per_second"] = events / seconds if events is not None and seconds else None
            newest = told.get("newest_end")
            self._newest = self._newest if newest is None else time_of(newest)
        except Exception:  # whatever is wrong with a line: those after it are read all the same
            return
        shown["lag_seconds"] = lag_seconds(at, self._newest) if self._by_clock else None
        for later in [number for number in self._batches if number >= batch]:
            del self._batches[later]  # it is repeated
        self._batches[batch] = shown
        if len(self._batches) > MOST_BATCHES:
            del self._batches[next(iter(self._batches))]
        self._brought = at if shown["rows"] else self._brought
        self._totals = {**totals, "late": shown["late"]}
        self._undelivered, self._ended = undelivered, None

    def _read_refused(self) -> bool:
        """Refused rows by reason, as the quarantine counts them."""
        if self._quarantine is None:
            return False
        file = self._quarantine / "counts.json"
        try:
            seen = file.stat()
            mark = (seen.st_ino, seen.st_size, seen.st_mtime_ns)
            if mark == self._counts_file:
                return False
            told = json.loads(file.read_text("utf-8"))
            counts: dict[str, int] = {}
            for part in (told["before"], *told["batches"].values()):
                for reason, count in part.items():
                    counts[reason] = counts.get(reason, 0) + int(count)
        except FileNotFoundError:
            return False
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self.problem = f"{file} cannot be read; remove it, and refused rows are counted from 0 again"
            return False
        self._counts_file = mark
        self._refused = dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
        return True

    def _read_checkpoint(self) -> None:
        """When Spark committed a micro-batch last."""
        if self._state is None or time.monotonic() - self._checkpoint_at < _CHECKPOINT_EVERY:
            return
        self._checkpoint_at = time.monotonic()
        try:
            commits = [path.stat().st_mtime_ns for path in (self._state / "checkpoint" / "commits").iterdir()]
        except OSError:
            return
        self._checkpoint = max(commits, default=0) // 1000 or self._checkpoint

    def _sign(self) -> int | None:
        if self._lines is None:
            return None
        try:
            return self._lines.file.stat().st_mtime_ns // 1000
        except OSError:
            return None


def _number(value: Any) -> float | int | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
