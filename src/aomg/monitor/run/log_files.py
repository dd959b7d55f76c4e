"""Bounds the log of Spark's JVM, which is its standard error: a file that it never opens again.

Two files are kept, each with half of the limit: `spark.log`, and `spark.1.log` with what was before. The file is copied
and then emptied in place, because the JVM and its workers keep writing to it. What they write in that moment may be
lost; between two checks the file may exceed its half.
"""

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aomg.monitor.run.background import repeating

_CHECK_SECONDS = 1.0
_LOG = logging.getLogger(__name__)


class BoundedLog:
    """A log file that other processes append to, and its older part. Nothing here can make the monitor fail.

    The writers must have opened the file with O_APPEND: otherwise emptying it would leave a hole.
    """

    def __init__(self, file: Path, most_bytes: int) -> None:
        self._file, self._most_bytes = file, most_bytes // 2
        self._older = file.with_name(f"{file.stem}.1{file.suffix}")
        self._is_failing = False

    def check(self) -> None:
        """Move the content to the older file if there is too much of it. Costs a call to the file system otherwise."""
        try:
            if self._file.stat().st_size <= self._most_bytes:
                return
        except OSError:
            return  # there is none yet
        try:
            self._move()
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                _LOG.warning("%s cannot be copied (%s); it is emptied", self._file, error.strerror)
            self._is_failing = True
        with suppress(OSError):
            os.truncate(self._file, 0)

    def _move(self) -> None:
        """Copy the newest part to the older file."""
        partial = self._older.with_name(f".{self._older.name}.partial")
        try:
            with self._file.open("rb") as log, partial.open("wb") as copy:
                if log.seek(0, os.SEEK_END) > self._most_bytes:
                    log.seek(-self._most_bytes, os.SEEK_END)
                    log.readline()
                else:
                    log.seek(0)
                shutil.copyfileobj(log, copy)
            partial.replace(self._older)
        except OSError:
            partial.unlink(missing_ok=True)
            raise

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Check the file every second meanwhile, in a thread."""
        self.check()
        with repeating(self.check, _CHECK_SECONDS, "log size"):
            yield
