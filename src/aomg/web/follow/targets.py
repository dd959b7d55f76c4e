"""Follows the file with the newest headroom of every target."""

import json
from pathlib import Path
from typing import Any

from aomg.monitor.sinks.result_rows import plain

_PARTS = ("target", "group", "end", "labels", "headroom")


class TargetFile:
    """Follows a file of targets, or none. Call `step` from one thread only; `targets` is safe from any."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._identity: tuple[int, int, int] | None = None
        self.targets: tuple[dict[str, Any], ...] = ()
        """The objects of /api/targets."""
        self.problem: str | None = None
        """What cannot be read, and what to do; None without a problem."""

    def step(self) -> bool:
        """Read the file if it changed; True if it did."""
        if self._file is None:
            return False
        try:
            status = self._file.stat()
            identity = (status.st_ino, status.st_mtime_ns, status.st_size)
            if identity == self._identity:
                return False
            records = json.loads(self._file.read_text("utf-8"))["targets"]
            self.targets = tuple(plain({part: record[part] for part in _PARTS}) for record in records)
        except FileNotFoundError:
            self.problem = None  # not written yet, or removed
            return False
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.problem = (
                f"{self._file} cannot be read ({type(error).__name__}); remove it: the monitor writes it again"
            )
            return False
        self._identity, self.problem = identity, None
        return True
