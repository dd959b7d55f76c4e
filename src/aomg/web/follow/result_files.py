"""Which files of results are there now: looked at often, so at little cost."""

import os
import time
from pathlib import Path
from typing import NamedTuple

from aomg.monitor.sinks.result_folder import batches_in
from aomg.times import DAY, time_of

_SETTLED = 2_000_000_000  # nanoseconds after which a folder's time of change tells of every change
_PREFIX = "day="

Name = tuple[int, str]
"""The day that a file is in, as the microseconds of its midnight, and the file's name."""
Identity = tuple[int, int, int]
"""Size, time of the last change and inode: another file of the same name has another one."""


class ResultFile(NamedTuple):
    """A file as it was when it was listed. In order: those with newer windows, and newer batches, are greater."""

    day: int
    last: int
    first: int
    path: Path
    identity: Identity

    @property
    def name(self) -> Name:
        """What it is called; a file that replaces it is called the same."""
        return self.day, self.path.name

    @property
    def ends(self) -> tuple[int, int]:
        """Between which times its windows end, the last one not included."""
        return self.day, self.day + DAY


class Listing:
    """The files of a folder of results. Hidden files, and those of anybody else, are none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._changed: dict[int, int | None] = {}
        self._by_day: dict[int, dict[Name, ResultFile]] = {}
        self.files: dict[Name, ResultFile] = {}
        self.problem: str | None = None
        """Why the folder cannot be looked at, and what to do."""
        self.is_missing = False
        """Whether that is because there is no such folder."""

    def look(self) -> bool:
        """List anew what may have changed; True if something did. While there is a problem, all stays as it was.

        Files get their names when they are whole, which changes the time of their folder. Costs a look at each day's
        folder, and at each file of those that changed in the last seconds.
        """
        self.is_missing = False
        try:
            there = self._day_folders()
            self.problem = None
        except FileNotFoundError:
            self.is_missing = True
            self.problem = f"there is no folder {self._folder} yet; the monitor makes it with the first results"
            return False
        except NotADirectoryError:
            self.problem = f"{self._folder} is a file; give the folder that the parquet sink writes to"
            return False
        except OSError as error:
            self.problem = f"{self._folder} cannot be looked at: {error.strerror or error}; mend that"
            return False
        before = self.files
        for day in self._by_day.keys() - there.keys():
            del self._by_day[day], self._changed[day]
        for day, folder in there.items():
            try:
                changed = folder.stat().st_mtime_ns
                if self._changed.get(day) != changed:
                    self._by_day[day] = _listed(day, folder)
                    self._changed[day] = changed if time.time_ns() - changed > _SETTLED else None
            except OSError:  # it went, or was exchanged, meanwhile: the next look will tell
                self._changed[day] = None
                self._by_day.setdefault(day, {})
        self.files = {name: file for files in self._by_day.values() for name, file in files.items()}
        return self.files != before

    def doubt(self, file: ResultFile) -> None:
        """Look at the folder of this file the next time, whatever its time of change says."""
        self._changed[file.day] = None

    def _day_folders(self) -> dict[int, Path]:
        found = {}
        with os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name.startswith(_PREFIX):
                    try:
                        found[time_of(entry.name.removeprefix(_PREFIX))] = Path(entry.path)
                    except ValueError:
                        continue
        return found


def _listed(day: int, folder: Path) -> dict[Name, ResultFile]:
    found = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            span = batches_in(entry.name)
            if span is None:
                continue
            try:
                told = entry.stat()
            except FileNotFoundError:
                continue
            identity = (told.st_size, told.st_mtime_ns, told.st_ino)
            found[day, entry.name] = ResultFile(day, span[1], span[0], Path(entry.path), identity)
    return found
