"""Follows a folder of results: reads the newest rows first, then older ones, then new files.

The history equals what reading all files would give, as far back as it reaches. A file that a repeated batch replaced
is read again, and its old rows are dropped. A compacted file is not read again if it was joined from the files that
were read: it lists their names, which have digests. One of an earlier version is not if it has as many rows as they.
If a file is removed, and was not compacted, its rows are dropped; while the whole folder is missing, all rows stay. A
file that cannot be read, or whose rows are invalid, is a problem until it can be read; all other files are read
meanwhile.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from aomg.errors import DamagedFileError
from aomg.monitor.sinks.joined_files import joined_parts
from aomg.monitor.sinks.result_folder import batches_in, is_compacted
from aomg.times import DAY
from aomg.web.follow.result_files import Identity, Listing, Name, ResultFile
from aomg.web.follow.result_tables import tables
from aomg.web.follow.supervision import describe
from aomg.web.memory.history import History

_FIRST_ROWS, _MOST_ROWS = 1 << 13, 1 << 17
_MOST_FILES = 500
_FIRST_WAIT, _LONGEST_WAIT = 5.0, 600.0  # seconds until a damaged file is read again
_DAMAGE = (OSError, pa.ArrowException, KeyError, DamagedFileError)  # what reading a damaged or foreign file raises
_LOG = logging.getLogger("aomg.web")


class Loading(NamedTuple):
    """How many of the files are read."""

    done: int
    of: int


class _Known(NamedTuple):
    """A file that was read: its identity, its number of rows if all were read, and whether to read it again.

    parts
        The names of the files that it was joined from, or its own; empty if not all was read.
    """

    identity: Identity
    rows: int | None = None
    again: bool = False
    parts: frozenset[str] = frozenset()


@dataclass
class _Reading:
    """A file that is being read."""

    file: ResultFile
    tables: Iterator[pa.Table]
    replaces: bool
    """Whether its first rows replace what was read under its name before."""
    joins: bool
    """Whether it was compacted from files that were read; these may have been replaced before."""
    rows: int = 0
    failed: bool = False
    """Whether some of its rows are invalid."""


class _Damaged(NamedTuple):
    """A file that cannot be read, and why.

    known
        What is known of the file when it is read again.
    wait, until
        How long to wait before it is read again, and until when, in seconds of the clock.
    """

    file: ResultFile
    because: str
    known: _Known
    wait: float
    until: float


class ResultFollower:
    """Reads the files of a folder into a history, step by step. Used by one thread.

    A step without news costs one stat call per day folder. While there is much to read, each step reads about 100,000
    rows, and needs memory for no more than these besides the history.
    """

    def __init__(self, folder: Path, history: History, clock: Callable[[], float] = time.monotonic) -> None:
        self._history, self._clock = history, clock
        self._listing = Listing(folder)
        self._known: dict[Name, _Known] = {}
        self._waiting: list[ResultFile] = []
        self._open: list[_Reading] = []
        self._damaged: dict[Name, _Damaged] = {}
        self._gone: set[Name] = set()
        self._again = False
        self._rows = _FIRST_ROWS

    @property
    def loading(self) -> Loading:
        """How many of the files are read."""
        of = len(self._listing.files)
        return Loading(of - len(self._waiting) - len(self._open), of)

    @property
    def problem(self) -> str | None:
        """What is wrong with the folder or a file in it, and what to do; None without a problem."""
        if self._listing.problem is not None:
            return self._listing.problem
        for damaged in self._damaged.values():
            more = f", and {len(self._damaged) - 1} more" if len(self._damaged) > 1 else ""
            message = f"{damaged.file.path} cannot be read ({damaged.because}){more}"
            return f"{message}; the page retries; if it stays damaged, move it away: all other results are shown"
        return None

    @property
    def is_waiting(self) -> bool:
        """Whether the folder does not exist, and never did."""
        return self._listing.is_missing and not self._known

    def step(self) -> bool:
        """List the files and read some rows; True if the history changed.

        If it raises, the next step lists all files again, and reads again what the history does not have.
        """
        before = self._history.snapshot()
        parts: list[tuple[_Reading, pa.Table]] = []
        try:
            self._look()
            if self._listing.problem is None:
                self._read(parts)
        except Exception:
            for reading in (*self._open, *(reading for reading, _ in parts)):
                self._known[reading.file.name] = _UNKNOWN
            self._open, self._again = [], True
            raise
        return self._history.snapshot() is not before

    def _read(self, parts: list[tuple[_Reading, pa.Table]]) -> None:
        """Read some rows into the history. Adds the tables that were read to `parts`."""
        rows, files, ended = 0, 0, []
        while rows < self._rows and files < _MOST_FILES and (reading := self._newest()) is not None:
            table = self._part_of(reading)
            files += 1
            if table is None:
                ended.append(reading)
                continue
            reading.rows += len(table)
            rows += len(table)
            if reading.replaces:
                self._replace(reading, table)
            else:
                parts.append((reading, table))
        if parts:
            self._take(parts)
            self._rows = _MOST_ROWS
            if not self._waiting and not self._open:
                pa.default_memory_pool().release_unused()
        for reading in ended:
            if not reading.failed:  # the history has all of its rows
                self._damaged.pop(reading.file.name, None)

    def _take(self, parts: list[tuple[_Reading, pa.Table]]) -> None:
        """Add rows to the history: all at once, or file by file where some are invalid."""
        try:
            self._history.add(pa.concat_tables([table for _, table in parts]))
        except Exception:
            for reading, table in parts:
                try:
                    self._history.add(table)
                except Exception as error:
                    self._refuse(reading, error)

    def _refuse(self, reading: _Reading, error: Exception) -> None:
        """Note that a file cannot be read; retries wait longer and longer."""
        if reading.failed:
            return
        reading.failed = True
        file = reading.file
        because = error.reason if isinstance(error, DamagedFileError) else describe(error)
        before = self._damaged.get(file.name)
        if not self._damaged:  # one cause may damage every file: logging the first is enough
            trace = None if isinstance(error, _DAMAGE) else error
            _LOG.warning("%s cannot be read (%s)", file.path, because, exc_info=trace)
        wait = _FIRST_WAIT if before is None else min(2 * before.wait, _LONGEST_WAIT)
        known = _UNKNOWN if reading.replaces else _Known(file.identity, again=True)
        self._damaged[file.name] = _Damaged(file, because, known, wait, self._clock() + wait)
        self._known[file.name] = _Known(file.identity)

    def _newest(self) -> _Reading | None:
        """Return the file to read from: the newest, whether open or still waiting."""
        while self._waiting and (not self._open or self._waiting[-1] > self._open[-1].file):
            file = self._waiting.pop()
            known = self._known.get(file.name)
            self._known[file.name] = _Known(file.identity)
            floor = self._history.floor
            if floor is None or file.ends[1] - 1 > floor:
                replaces = known is not None and known.identity != file.identity
                joins = not replaces and bool(self._parts_of(file))
                self._open.append(
                    _Reading(file, tables(file.path, _MOST_ROWS, lambda: self._history.floor), replaces, joins)
                )
        return self._open[-1] if self._open else None

    def _part_of(self, reading: _Reading) -> pa.Table | None:
        """Return the next rows of a file; None, and close it, if it has no more."""
        file = reading.file
        try:
            table = next(reading.tables, None)
            if table is None and not reading.failed:
                parts = part_names(file.path) if is_compacted(file.path) else frozenset([file.path.name])
                self._known[file.name] = self._known[file.name]._replace(rows=reading.rows, parts=parts)
                if reading.joins and self._has_more(reading):
                    self._known[file.name] = _UNKNOWN
                    self._again = True
        except FileNotFoundError:
            table = None
            self._known[file.name], self._again = _UNKNOWN, True
            self._listing.doubt(file)
        except Exception as error:
            table = None
            self._refuse(reading, error)
        if table is None:
            self._open.remove(reading)
        return table

    def _replace(self, reading: _Reading, table: pa.Table) -> None:
        reading.replaces = False
        file = reading.file
        try:
            self._history.add(table, instead_of=((file.first, file.last), file.ends))
        except Exception as error:
            self._refuse(reading, error)
        self._uncover(file.day)
        self._known[file.name] = _Known(file.identity)

    def _look(self) -> None:
        """Find files that are new, replaced or removed, and damaged files that are due for a retry."""
        for name, damaged in self._damaged.items():
            self._listing.doubt(damaged.file)
            if self._clock() >= damaged.until:
                self._known[name], self._again = damaged.known, True
                self._damaged[name] = damaged._replace(until=math.inf)
        if not self._listing.look() and not self._gone and not self._again:
            return
        self._again = False
        files = self._listing.files
        self._drop_removed()
        self._damaged = {name: damaged for name, damaged in self._damaged.items() if files.get(name) == damaged.file}
        open_names = {reading.file.name for reading in self._open if files.get(reading.file.name) == reading.file}
        for reading in self._open:
            if reading.file.name not in open_names:
                self._known[reading.file.name] = _UNKNOWN
        self._open = [reading for reading in self._open if reading.file.name in open_names]
        self._waiting = []
        for name, file in files.items():
            known = self._known.get(name)
            if name in open_names or (known is not None and known.identity == file.identity and not known.again):
                continue
            if known is not None or not self._is_joined_of_known(file):
                self._waiting.append(file)
        self._waiting.sort()

    def _drop_removed(self) -> None:
        """Drop the rows of removed files, unless a compacted file has them now.

        A file counts as removed when two listings in a row lack it: one may fall into the middle of a compaction.
        """
        files = self._listing.files
        joined = [file for file in files.values() if is_compacted(file.path)]
        gone = set()
        for name in [name for name in self._known if name not in files]:
            day, (first, last) = name[0], _span(name)
            by = [file for file in joined if file.day == day and _within((first, last), file)]
            if any(self._known.get(file.name, _UNKNOWN).rows is not None for file in by):
                del self._known[name]
            elif not by and name in self._gone:
                self._history.forget((first, last), (day, day + DAY))
                del self._known[name]
                self._uncover(day)
            elif not by:
                gone.add(name)
        self._gone = gone

    def _is_joined_of_known(self, file: ResultFile) -> bool:
        """Whether a file was compacted from files that were read, and has no other rows: then it counts as read.

        If one of these was read in part, or replaced before, the file will replace all rows of its batches.
        """
        known = [self._known[name] for name in self._parts_of(file)]
        if not known:
            return False
        try:
            parts = joined_parts(file.path)
        except (OSError, DamagedFileError):
            return False  # reading it will report the error
        names, rows = frozenset(part.name for part in parts), sum(part.rows for part in parts)
        is_whole = all(part.rows is not None for part in known)
        if names != {file.path.name}:  # an earlier version did not list them
            before = frozenset().union(*(part.parts for part in known))
            if not is_whole or not before <= names:
                self._known[file.name] = _UNKNOWN
            is_whole &= before == names
        if not is_whole or rows != sum(part.rows or 0 for part in known):
            return False
        for name in self._parts_of(file):
            del self._known[name]
        self._known[file.name] = _Known(file.identity, rows, parts=names)
        return True

    def _parts_of(self, file: ResultFile) -> list[Name]:
        """Return the files that were read, were removed, and may have been compacted into this one."""
        if not is_compacted(file.path):
            return []
        gone = [name for name in self._known if name[0] == file.day and name not in self._listing.files]
        return [name for name in gone if _within(_span(name), file)]

    def _has_more(self, reading: _Reading) -> bool:
        """Whether the history has rows of the file's batches that the file lacks."""
        file = reading.file
        stored = self._history.count((file.first, file.last), file.ends)
        return stored > reading.rows or self._history.overrode

    def _uncover(self, day: int) -> None:
        """After rows were dropped: if any had overridden an older batch, read the other files of the day again."""
        if self._history.overrode:
            self._again = True
            for name, known in self._known.items():
                if name[0] == day:
                    self._known[name] = known._replace(again=True)


_UNKNOWN = _Known((-1, -1, -1))
"""Of a file that was not read to its end: the next file of its name replaces its rows."""


def part_names(file: Path) -> frozenset[str]:
    """The names of the files that a compacted file was joined from; its own if it does not say, or is gone."""
    try:
        return frozenset(part.name for part in joined_parts(file))
    except (OSError, DamagedFileError):
        return frozenset([file.name])


def _span(name: Name) -> tuple[int, int]:
    return batches_in(name[1]) or (0, -1)


def _within(span: tuple[int, int], file: ResultFile) -> bool:
    return file.first <= span[0] and span[1] <= file.last
