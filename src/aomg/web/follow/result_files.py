"""Lists the files of a results folder; cheap enough to run several times a second."""

import os
import time
from pathlib import Path
from typing import NamedTuple

from aomg.monitor.sinks.result_folder import batches_in
from aomg.tables.parquet_files import listing, name_without
from aomg.times import DAY, time_of

_SETTLED = 2_000_000_000  # nanoseconds after which a folder's modification time reflects every change
_PREFIX = "day="

Name = tuple[int, str]
"""The day that a file is in, as the microseconds of its midnight, and the file's name without its digest."""
Identity = tuple[int, int, int]
"""Size, modification time and inode: a file that replaces another one has a different identity."""


class ResultFile(NamedTuple):
    """A file when it was listed. Files with newer windows, then newer batches, sort later."""

    day: int
    last: int
    first: int
    path: Path
    identity: Identity

    @property
    def name(self) -> Name:
        """Its name; a file that replaces it has the same."""
        return self.day, name_without(self.path.name)

    @property
    def ends(self) -> tuple[int, int]:
        """The times between which its windows end, the second exclusive."""
        return self.day, self.day + DAY


class Listing:
    """The files of a results folder; ignores hidden files and any other files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._changed: dict[int, int | None] = {}
        self._by_day: dict[int, dict[Name, ResultFile]] = {}
        self.files: dict[Name, ResultFile] = {}
        self.problem: str | None = None
        """Why the folder cannot be read, and what to do."""
        self.is_missing = False
        """Whether the folder does not exist."""

    def look(self) -> bool:
        """List folders that may have changed; True if files changed. While there is a problem, `files` stays as it was.

        Files get their final names when they are complete, which changes their folder's modification time. Costs one
        stat call for each day's folder, and one for each file of folders that changed in the last seconds.
        """
        self.is_missing = False
        try:
            folders = self._day_folders()
            self.problem = None
        except FileNotFoundError:
            self.is_missing = True
            self.problem = (
                f"the folder {self._folder} does not exist yet; the monitor creates it with the first results"
            )
            return False
        except NotADirectoryError:
            self.problem = f"{self._folder} is a file; give the folder that the parquet sink writes to"
            return False
        except OSError as error:
            self.problem = f"{self._folder} cannot be read: {error.strerror or error}; check its permissions"
            return False
        before = self.files
        for day in self._by_day.keys() - folders.keys():
            del self._by_day[day], self._changed[day]
        for day, folder in folders.items():
            try:
                changed = folder.stat().st_mtime_ns
                if self._changed.get(day) != changed:
                    self._by_day[day] = _files_in(day, folder)
                    self._changed[day] = changed if time.time_ns() - changed > _SETTLED else None
            except OSError:  # removed or replaced meanwhile: list it again next time
                self._changed[day] = None
                self._by_day.setdefault(day, {})
        self.files = {name: file for files in self._by_day.values() for name, file in files.items()}
        return self.files != before

    def doubt(self, file: ResultFile) -> None:
        """List the folder of this file the next time, whatever its modification time is."""
        self._changed[file.day] = None

    def _day_folders(self) -> dict[int, Path]:
        folders = {}
        with os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name.startswith(_PREFIX):
                    try:
                        folders[time_of(entry.name.removeprefix(_PREFIX))] = Path(entry.path)
                    except ValueError:
                        continue
        return folders


def _files_in(day: int, folder: Path) -> dict[Name, ResultFile]:
    files: dict[Name, ResultFile] = {}
    for name in listing(folder):
        span = batches_in(name)
        if span is None:
            continue
        try:
            status = (folder / name).stat()
        except FileNotFoundError:
            continue
        identity = (status.st_size, status.st_mtime_ns, status.st_ino)
        file = ResultFile(day, span[1], span[0], folder / name, identity)
        if file.name not in files or files[file.name].identity[1] < status.st_mtime_ns:  # it replaces the other one
            files[file.name] = file
    return files
