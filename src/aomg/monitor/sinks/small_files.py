"""Joins the small files of a sink while the monitor runs, a bounded piece of work at a time.

A window end of a few keys is a file of some kilobytes, 14,000 a day at one every six seconds. Files of one batch are
joined a hundred at a time, and a hundred files that this gave are joined again, while they are small. So a folder has
some 200 small files at most, and every row is written two or three times.

The files of the newest batches stay apart, because these batches may be repeated.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from aomg.errors import DamagedFileError
from aomg.monitor.atomic_files import SinkError
from aomg.monitor.journal.entry import StoredFile, Written
from aomg.monitor.sinks.folder_exchange import can_exchange
from aomg.monitor.sinks.joined_files import UnlikeFileError, join
from aomg.monitor.sinks.result_folder import alone
from aomg.monitor.sinks.work_folder import clean_up, work_place

MOST_FILES = 100
"""How many files are joined at once."""
APART = 20
"""How many of the newest batches stay apart: as many as there are alert states to return to."""
_SMALL = 1 << 22  # bytes: larger files are not joined again
_MOST_BYTES = 1 << 23  # that are joined at once: about a second
_MOST_FOLDERS = 20  # that are looked into at once
_PAUSE = 100  # calls after a failure
_LOG = logging.getLogger(__name__)


class BatchFile(NamedTuple):
    """A file of one batch or several, the first and the last of which are known by its name."""

    first: int
    last: int
    path: Path

    @property
    def compacted(self) -> bool:
        """Whether it may have several batches."""
        return self.path.name.startswith("compacted-")


class SmallFiles:
    """Joins files in the folders of a sink.

    root
        The folder of the sink, which has its lock.
    listed
        Returns the files of a folder that may be joined.
    name
        Returns the name of a joined file: from its first and last batch, and its digest.
    schema
        The columns of all files; None if files may have different ones, which are not joined.
    """

    def __init__(
        self,
        root: Path,
        listed: Callable[[Path], list[BatchFile]],
        name: Callable[[int, int, str], str],
        schema: pa.Schema | None = None,
    ) -> None:
        self._root, self._listed, self._name, self._schema = root, listed, name, schema
        self._folders: dict[Path, bool] = {}
        self._apart: set[str] = set()
        self._pause = 0
        self._can_join: bool | None = None

    def add(self, folder: Path, is_complete: bool = False) -> None:
        """Note that a folder may have files to join. Two files are enough where no more come: `is_complete`."""
        self._folders[folder] = is_complete

    def tidy(self, newest: int) -> Written | None:
        """Join the oldest small files of a folder, once at most; `newest` is the newest batch. Returns what it joined.

        Never fails: what cannot be joined stays as it is. A damaged file is logged, and stays for its readers to
        refuse.
        """
        if self._pause or self._can_join is False:
            self._pause = max(self._pause - 1, 0)
            return None
        try:
            with alone(self._root):
                return self._tidy(newest)
        except (SinkError, OSError) as error:
            self._pause = _PAUSE
            _LOG.warning("small files in %s cannot be joined (%s); this is tried again later", self._root, error)
            return None

    def _tidy(self, newest: int) -> Written | None:
        for folder, is_complete in list(reversed(self._folders.items()))[:_MOST_FOLDERS]:
            files = self._listed(folder) if folder.is_dir() else []
            is_settled = is_complete and all(file.last <= newest - APART for file in files)
            run = next_run(files, newest - APART, 2 if is_settled else MOST_FILES, self._apart)
            if run:
                return self._join(folder, run) if self._is_able() else None
            if is_settled or not is_complete:
                del self._folders[folder]  # until it is added again
        return None

    def _join(self, folder: Path, run: Sequence[BatchFile]) -> Written | None:
        first, last = run[0].first, max(file.last for file in run)
        digests: list[str] = []

        def name(digest: str) -> str:
            digests.append(digest)
            return self._name(first, last, digest)

        try:
            rows = join(self._root, folder, [file.path for file in run], name, self._schema)
        except (DamagedFileError, UnlikeFileError) as error:
            self._apart.add(Path(str(error.file)).name)
            if isinstance(error, DamagedFileError):
                _LOG.warning("%s", error)
            return None
        file = folder / self._name(first, last, digests[0])
        joined = StoredFile(str(file.relative_to(self._root)), file.stat().st_size, rows, digests[0])
        return Written(self._root, (joined,), tuple(str(part.path.relative_to(self._root)) for part in run))

    def _is_able(self) -> bool:
        """Whether folders can be exchanged in one step. If not, readers would miss a folder for a moment."""
        if self._can_join is None:
            place = work_place(self._root)
            try:
                place.mkdir()
                self._can_join = can_exchange(place)
            finally:
                clean_up(self._root)
            if not self._can_join:
                _LOG.warning("the file system of %s cannot exchange folders: small files stay apart", self._root)
        return self._can_join


def next_run(files: Iterable[BatchFile], last: int, least: int, apart: Iterable[str] = ()) -> list[BatchFile]:
    """The files to join next: neighbours, all of one batch or all compacted, the oldest first; empty for none.

    last
        The newest batch that may be joined.
    least
        How many files of one batch are worth it; of compacted ones it takes MOST_FILES.
    apart
        Names of files that cannot be joined.
    """
    ordered = sorted(file for file in files if file.last <= last)
    if len(ordered) < min(least, MOST_FILES):
        return []
    excluded = set(apart)

    def level(file: BatchFile) -> bool | None:
        return None if file.path.name in excluded or file.path.stat().st_size > _SMALL else file.compacted

    for compacted, group in groupby(ordered, level):
        run = list(group)
        if compacted is None or len(run) < (MOST_FILES if compacted else least):
            continue
        size = 0
        chosen: list[BatchFile] = []
        for file in run[:MOST_FILES]:
            size += file.path.stat().st_size
            if size > _MOST_BYTES and len(chosen) > 1:
                break
            chosen.append(file)
        return chosen
    return []
