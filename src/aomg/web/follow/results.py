"""Follows a folder of results: the newest rows first, then older ones, then what comes.

The history holds what reading all files would give, as far back as it goes. A file that a repeated batch replaced takes
the place of what was read of it. What compaction joined is not read again, if the joined file has as many rows as those
that were read. A file that went, and was not joined, takes its rows along; while the whole folder is away, all stays.
A file that cannot be read, or whose rows cannot be taken, is a problem until it can; all others are read meanwhile.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from aomg.monitor.sinks.result_folder import batches_in, is_compacted
from aomg.times import DAY
from aomg.web.follow.result_files import Identity, Listing, Name, ResultFile
from aomg.web.follow.result_tables import tables
from aomg.web.follow.supervision import described
from aomg.web.memory.history import History

_FIRST_ROWS, _MOST_ROWS = 1 << 13, 1 << 17
_MOST_FILES = 500
_FIRST_WAIT, _LONGEST_WAIT = 5.0, 600.0  # seconds until a damaged file is read again
_DAMAGE = (OSError, pa.ArrowException, KeyError)  # what a file that is damaged, or of another kind, raises
_LOG = logging.getLogger("aomg.web")


class Loading(NamedTuple):
    """How many files are done with, of those that are there."""

    done: int
    of: int


class _Known(NamedTuple):
    """A file that was read: as which one, its rows if they were all read, and whether they are to be read again."""

    identity: Identity
    rows: int | None = None
    again: bool = False


@dataclass
class _Reading:
    """A file at work."""

    file: ResultFile
    tables: Iterator[pa.Table]
    replaces: bool
    """Whether what was read under its name before has to go, when the first rows are there."""
    joins: bool
    """Whether it holds what was read from other files; they may have been replaced before they were joined."""
    rows: int = 0
    failed: bool = False
    """Whether some of its rows could not be taken."""


class _Damaged(NamedTuple):
    """A file that cannot be read, and why.

    known
        As which file it is known when it is read again.
    wait, until
        How long it is not read again, and until when, in seconds of the clock.
    """

    file: ResultFile
    because: str
    known: _Known
    wait: float
    until: float


class Follower:
    """Brings what is in a folder into a history, step by step. Used by one thread.

    A step that finds nothing new costs a look at each day's folder. While there is much to read, each step reads some
    100,000 rows, and holds no more than that in memory besides the history.
    """

    def __init__(self, folder: Path, history: History, clock: Callable[[], float] = time.monotonic) -> None:
        self._history, self._clock = history, clock
        self._listing = Listing(folder)
        self._known: dict[Name, _Known] = {}
        self._waiting: list[ResultFile] = []
        self._at_work: list[_Reading] = []
        self._damaged: dict[Name, _Damaged] = {}
        self._gone: set[Name] = set()
        self._again = False
        self._rows = _FIRST_ROWS

    @property
    def loading(self) -> Loading:
        """How far it is."""
        of = len(self._listing.files)
        return Loading(of - len(self._waiting) - len(self._at_work), of)

    @property
    def problem(self) -> str | None:
        """What is wrong with the folder or with a file in it, and what to do; None if all is well."""
        if self._listing.problem is not None:
            return self._listing.problem
        for damaged in self._damaged.values():
            more = f", and {len(self._damaged) - 1} more" if len(self._damaged) > 1 else ""
            said = f"{damaged.file.path} cannot be read ({damaged.because}){more}"
            return f"{said}; it is tried again; if it stays so, move it away: all other results are shown"
        return None

    @property
    def is_waiting(self) -> bool:
        """Whether the folder is not there yet, and never was."""
        return self._listing.is_missing and not self._known

    def step(self) -> bool:
        """Look for new files and read some; True if the history changed.

        Where it raises, the next step looks at all files anew, and reads again what was read and not taken.
        """
        before = self._history.snapshot()
        parts: list[tuple[_Reading, pa.Table]] = []
        try:
            self._look()
            if self._listing.problem is None:
                self._read(parts)
        except Exception:
            for reading in (*self._at_work, *(reading for reading, _ in parts)):
                self._known[reading.file.name] = _UNKNOWN
            self._at_work, self._again = [], True
            raise
        return self._history.snapshot() is not before

    def _read(self, parts: list[tuple[_Reading, pa.Table]]) -> None:
        """Read some rows, and take them. Puts into `parts` what was read."""
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
            if not self._waiting and not self._at_work:
                pa.default_memory_pool().release_unused()
        for reading in ended:
            if not reading.failed:  # all of its rows are taken
                self._damaged.pop(reading.file.name, None)

    def _take(self, parts: list[tuple[_Reading, pa.Table]]) -> None:
        """Bring rows into the history: all at once, or file by file where some of them cannot be taken."""
        try:
            self._history.add(pa.concat_tables([table for _, table in parts]))
        except Exception:
            for reading, table in parts:
                try:
                    self._history.add(table)
                except Exception as error:
                    self._refuse(reading, error)

    def _refuse(self, reading: _Reading, error: Exception) -> None:
        """Note that a file cannot be read; it is read again after a while, less and less often."""
        if reading.failed:
            return
        reading.failed = True
        file, because = reading.file, described(error)
        before = self._damaged.get(file.name)
        if not self._damaged:  # one mistake may spoil every file: the first is enough
            trace = None if isinstance(error, _DAMAGE) else error
            _LOG.warning("%s cannot be read (%s)", file.path, because, exc_info=trace)
        wait = _FIRST_WAIT if before is None else min(2 * before.wait, _LONGEST_WAIT)
        known = _UNKNOWN if reading.replaces else _Known(file.identity, again=True)
        self._damaged[file.name] = _Damaged(file, because, known, wait, self._clock() + wait)
        self._known[file.name] = _Known(file.identity)

    def _newest(self) -> _Reading | None:
        """The file to read from: the newest, be it at work or still waiting."""
        while self._waiting and (not self._at_work or self._waiting[-1] > self._at_work[-1].file):
            file = self._waiting.pop()
            known = self._known.get(file.name)
            self._known[file.name] = _Known(file.identity)
            floor = self._history.floor
            if floor is None or file.ends[1] - 1 > floor:
                replaces = known is not None and known.identity != file.identity
                joins = not replaces and bool(self._parts_of(file))
                self._at_work.append(
                    _Reading(file, tables(file.path, _MOST_ROWS, lambda: self._history.floor), replaces, joins)
                )
        return self._at_work[-1] if self._at_work else None

    def _part_of(self, reading: _Reading) -> pa.Table | None:
        """The next rows of a file, or None if it has no more; then it is at work no longer."""
        file = reading.file
        try:
            table = next(reading.tables, None)
            if table is None and not reading.failed:
                self._known[file.name] = self._known[file.name]._replace(rows=reading.rows)
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
            self._at_work.remove(reading)
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
        """Find out what is new, what was replaced, what has gone, and which damaged files are to be read again."""
        for name, damaged in self._damaged.items():
            self._listing.doubt(damaged.file)
            if self._clock() >= damaged.until:
                self._known[name], self._again = damaged.known, True
                self._damaged[name] = damaged._replace(until=math.inf)
        if not self._listing.look() and not self._gone and not self._again:
            return
        self._again = False
        files = self._listing.files
        self._let_go()
        self._damaged = {name: damaged for name, damaged in self._damaged.items() if files.get(name) == damaged.file}
        at_work = {reading.file.name for reading in self._at_work if files.get(reading.file.name) == reading.file}
        for reading in self._at_work:
            if reading.file.name not in at_work:
                self._known[reading.file.name] = _UNKNOWN
        self._at_work = [reading for reading in self._at_work if reading.file.name in at_work]
        self._waiting = []
        for name, file in files.items():
            known = self._known.get(name)
            if name in at_work or (known is not None and known.identity == file.identity and not known.again):
                continue
            if known is not None or not self._is_joined_of_known(file):
                self._waiting.append(file)
        self._waiting.sort()

    def _let_go(self) -> None:
        """Forget the rows of files that have gone, unless others have them now.

        A file counts as gone when two looks in a row have missed it: a look may fall into the middle of a compaction.
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
        """Whether a file has the rows of others that were read and have gone, and no more: then it is read, too."""
        parts = self._parts_of(file)
        rows = [self._known[name].rows for name in parts]
        try:
            if not parts or None in rows or pq.read_metadata(file.path).num_rows != sum(filter(None, rows)):
                return False
        except (OSError, pa.ArrowException):
            return False  # reading it will say what is wrong
        for name in parts:
            del self._known[name]
        self._known[file.name] = _Known(file.identity, sum(filter(None, rows)))
        return True

    def _parts_of(self, file: ResultFile) -> list[Name]:
        """The files that were read, have gone, and may have been joined into this one."""
        if not is_compacted(file.path):
            return []
        gone = [name for name in self._known if name[0] == file.day and name not in self._listing.files]
        return [name for name in gone if _within(_span(name), file)]

    def _has_more(self, reading: _Reading) -> bool:
        """Whether the history has rows that are not in the file, though its batches wrote them."""
        file = reading.file
        held = self._history.held((file.first, file.last), file.ends)
        return held > reading.rows or self._history.overrode

    def _uncover(self, day: int) -> None:
        """Rows have gone. If any had hidden those of an older batch, read the other files of the day once more."""
        if self._history.overrode:
            self._again = True
            for name, known in self._known.items():
                if name[0] == day:
                    self._known[name] = known._replace(again=True)


_UNKNOWN = _Known((-1, -1, -1))
"""Of a file that was not read to its end: whatever comes under its name takes the place of its rows."""


def _span(name: Name) -> tuple[int, int]:
    return batches_in(name[1]) or (0, -1)


def _within(span: tuple[int, int], file: ResultFile) -> bool:
    return file.first <= span[0] and span[1] <= file.last
