"""Follows a folder of results: the newest rows first, then older ones, then what comes.

The history holds what reading all files would give, as far back as it goes. A file that a repeated batch replaced takes
the place of what was read of it. What compaction joined is not read again, if the joined file has as many rows as those
that were read. A file that went, and was not joined, takes its rows along; while the whole folder is away, all stays.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from aomg.monitor.sinks.result_folder import batches_in, is_compacted
from aomg.times import DAY
from aomg.web.follow.result_files import Identity, Listing, Name, ResultFile
from aomg.web.follow.result_tables import tables
from aomg.web.memory.history import History

_FIRST_ROWS, _MOST_ROWS = 1 << 13, 1 << 17
_MOST_FILES = 500


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


class Follower:
    """Brings what is in a folder into a history, step by step. Used by one thread.

    A step that finds nothing new costs a look at each day's folder. While there is much to read, each step reads some
    100,000 rows, and holds no more than that in memory besides the history.
    """

    def __init__(self, folder: Path, history: History) -> None:
        self._history = history
        self._listing = Listing(folder)
        self._known: dict[Name, _Known] = {}
        self._waiting: list[ResultFile] = []
        self._at_work: list[_Reading] = []
        self._damaged: dict[Name, tuple[ResultFile, str]] = {}
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
        for file, said in self._damaged.values():
            more = f", and {len(self._damaged) - 1} more" if len(self._damaged) > 1 else ""
            return f"{file.path} cannot be read ({said}){more}; move it away: all other results are shown"
        return None

    def step(self) -> bool:
        """Look for new files and read some; True if the history changed."""
        changed = self._look()
        if self._listing.problem is not None:
            return changed
        tables: list[pa.Table] = []
        rows = files = 0
        while rows < self._rows and files < _MOST_FILES and (reading := self._newest()) is not None:
            table = self._part_of(reading)
            files += 1
            if table is None:
                continue
            reading.rows += len(table)
            rows += len(table)
            if reading.replaces:
                changed |= self._replace(reading, table)
            else:
                tables.append(table)
        if tables:
            changed |= self._history.add(pa.concat_tables(tables))
            self._rows = _MOST_ROWS
            if not self._waiting and not self._at_work:
                pa.default_memory_pool().release_unused()
        return changed

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
            if table is None:
                self._known[file.name] = self._known[file.name]._replace(rows=reading.rows)
                if reading.joins and self._has_more(reading):
                    self._known[file.name] = _UNKNOWN
                    self._again = True
        except FileNotFoundError:
            table = None
            self._known[file.name], self._again = _UNKNOWN, True
            self._listing.doubt(file)
        except (OSError, pa.ArrowException, KeyError) as error:
            table = None
            self._damaged[file.name] = (file, str(error).splitlines()[0] if str(error) else type(error).__name__)
        if table is None:
            self._at_work.remove(reading)
        return table

    def _replace(self, reading: _Reading, table: pa.Table) -> bool:
        reading.replaces = False
        file = reading.file
        changed = self._history.add(table, instead_of=((file.first, file.last), file.ends))
        self._uncover(file.day)
        self._known[file.name] = _Known(file.identity)
        return changed

    def _look(self) -> bool:
        """Find out what is new, what was replaced, and what has gone."""
        for file, _ in self._damaged.values():
            self._listing.doubt(file)
        if not self._listing.look() and not self._gone and not self._again:
            return False
        self._again = False
        files = self._listing.files
        changed = self._let_go()
        self._damaged = {name: told for name, told in self._damaged.items() if files.get(name) == told[0]}
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
        return changed

    def _let_go(self) -> bool:
        """Forget the rows of files that have gone, unless others have them now.

        A file counts as gone when two looks in a row have missed it: a look may fall into the middle of a compaction.
        """
        files, changed = self._listing.files, False
        joined = [file for file in files.values() if is_compacted(file.path)]
        gone = set()
        for name in [name for name in self._known if name not in files]:
            day, (first, last) = name[0], _span(name)
            by = [file for file in joined if file.day == day and _within((first, last), file)]
            if any(self._known.get(file.name, _UNKNOWN).rows is not None for file in by):
                del self._known[name]
            elif not by and name in self._gone:
                changed |= self._history.forget((first, last), (day, day + DAY))
                del self._known[name]
                self._uncover(day)
            elif not by:
                gone.add(name)
        self._gone = gone
        return changed

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
