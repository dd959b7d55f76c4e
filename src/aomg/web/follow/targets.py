"""The newest headroom of every target, from the file in which the monitor puts it."""

import json
from pathlib import Path
from typing import Any

from aomg.monitor.sinks.result_rows import plain

_PARTS = ("target", "group", "end", "labels", "headroom")


class TargetFile:
    """Follows a file of targets; None where there is none. `step` is for one thread, `targets` for any."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._seen: tuple[int, int, int] | None = None
        self.targets: tuple[dict[str, Any], ...] = ()
        """The objects of /api/targets."""
        self.problem: str | None = None
        """What cannot be read, and what to do; None while all is well."""

    def step(self) -> bool:
        """Read it if it is another than before; True if it was."""
        if self._file is None:
            return False
        try:
            told = self._file.stat()
            seen = (told.st_ino, told.st_mtime_ns, told.st_size)
            if seen == self._seen:
                return False
            records = json.loads(self._file.read_text("utf-8"))["targets"]
            self.targets = tuple(plain({part: record[part] for part in _PARTS}) for record in records)
        except FileNotFoundError:
            self.problem = None  # there is nothing to read yet, or no more
            return False
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.problem = (
                f"{self._file} cannot be read ({type(error).__name__}); remove it, the monitor writes it anew"
            )
            return False
        self._seen, self.problem = seen, None
        return True
