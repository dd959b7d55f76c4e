"""Reads and writes the journal of a state folder: `journal/0000000012.json` is the entry of batch 12.

Entries are whole objects that are written once: reading them needs no lock, and nothing is appended. The entry of a
batch is written last: if it is there, so is everything else that the batch wrote. Some 20 to 40 entries are kept.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aomg.errors import StateError
from aomg.monitor.atomic_files import SinkError, put, reason
from aomg.monitor.journal.entry import Base, Entry, Manifest, damaged
from aomg.monitor.journal.remedies import RESTORE_STATE, fsck_command

FOLDER = "journal"
KEEP = 20
_NAME = re.compile(r"(\d{10,})\.json")


class Journal:
    """The entries of a state folder, checked one by one and as a chain, and what they add up to.

    state
        The state folder.
    stream
        The id of the state folder.
    files
        All files that sinks have written and not replaced, by folder and name.
    queue
        The alerts of the last batches, and all that some receiver has yet to pass, by batch.
    """

    def __init__(self, state: Path, stream: str, readable: Sequence[Entry] | None = None) -> None:
        """Read the journal. Raises StateError if an entry is damaged or missing.

        readable
            Entries to add up instead, for a repair: some may be missing between them.
        """
        self.state, self._folder = state, state / FOLDER
        self.stream = stream
        self.entries: dict[int, Entry] = {}
        self.files: Manifest = {}
        self.queue: dict[int, Sequence[dict[str, Any]]] = {}
        self._is_moved = False
        for entry in self._stored() if readable is None else readable:
            if readable is None:
                self._check(entry)
            self._add(entry)

    def _stored(self) -> list[Entry]:
        """The entries from the newest base with enough entries after it. Older ones are being removed."""
        stored: list[Entry] = []
        for batch in reversed(batches_of(self._folder)):
            stored.insert(0, read_entry(self._folder, batch))
            if stored[0].base is not None and stored[0].batch <= stored[-1].batch - KEEP:
                break
        return stored

    @property
    def last(self) -> Entry | None:
        """The entry of the newest batch; None if there is none."""
        return self.entries[max(self.entries)] if self.entries else None

    @property
    def next(self) -> int:
        """The number of the next batch."""
        return max(self.entries, default=-1) + 1

    def entry_before(self, batch: int) -> Entry | None:
        """The entry that a batch starts from; None for the first batch. Raises StateError if it is missing."""
        if not self.entries and batch == 0:
            return None
        if batch - 1 in self.entries or (batch in self.entries and batch == min(self.entries)):
            return self.entries.get(batch - 1)
        has = f"ends with batch {self.next - 1}" if self.entries else "is empty"
        raise StateError(f"{self._folder} {has}, but Spark goes on with batch {batch}; {RESTORE_STATE}")

    def put(self, entry: Entry) -> Entry:
        """Write the entry of the next batch, chained to the last one; return it as written. Removes old entries.

        An entry gets a base if it is the first, if its number is a multiple of 20, or if a folder was moved.
        """
        last = self.last
        assert last is None or entry.batch == last.batch + 1, (entry.batch, self.next)
        entry = replace(entry, stream=self.stream, previous=None if last is None else last.digest)
        self._add(entry)
        if entry.base is None and (last is None or entry.batch % KEEP == 0 or self._is_moved):
            entry = replace(entry, base=self.base(entry.positions))
        entry = self._write(entry)
        self._is_moved = False
        self._remove_old()
        return entry

    def rebase(self, lost: Sequence[str] = ()) -> None:
        """Write the newest entry anew, as a base, and remove all others; for repairs. `lost` are files to record."""
        last = self.last
        assert last is not None
        self._write(replace(last, base=self.base(last.positions), lost=(*last.lost, *lost), written=()))
        for batch in batches_of(self._folder):
            if batch != last.batch:
                self._remove(batch)

    def move(self, folder: str, target: str) -> None:
        """Look for the files of a folder in another one from now on. The next entry records it."""
        self.files[target] = {**self.files.pop(folder), **self.files.get(target, {})}
        self._is_moved = True

    def base(self, positions: Mapping[str, tuple[int, int]]) -> Base:
        """What all entries add up to. Of the queue, the batches that some receiver has not passed."""
        oldest = min((batch for batch, _ in positions.values()), default=self.next)
        waiting = {batch: list(alerts) for batch, alerts in self.queue.items() if batch >= oldest and alerts}
        return Base({folder: dict(files) for folder, files in self.files.items()}, waiting)

    def _write(self, entry: Entry) -> Entry:
        entry = entry.sealed()
        put(entry_file(self._folder, entry.batch), entry.to_bytes())
        self.entries[entry.batch] = entry
        return entry

    def _check(self, entry: Entry) -> None:
        """Check that an entry continues those before it."""
        place, last = entry_file(self._folder, entry.batch), self.last
        if entry.stream != self.stream:
            raise StateError(f"{place} belongs to another state folder; restore the whole state folder from one backup")
        if last is None:
            if entry.base is None:
                raise StateError(f"{self._missing(entry.batch - 1)}: {place.name} continues it")
        elif entry.batch != last.batch + 1:
            raise StateError(f"{self._missing(last.batch + 1)}, but {place.name} is there")
        elif entry.previous != last.digest:
            raise damaged(entry_file(self._folder, last.batch))

    def _missing(self, batch: int) -> str:
        state = self._folder.parent
        return (
            f"{entry_file(self._folder, batch)} is missing (restore it from a backup of the state folder, or run "
            f"{fsck_command(state)})"
        )

    def _add(self, entry: Entry) -> None:
        """Add an entry up; a base replaces what was added up before."""
        self.entries[entry.batch] = entry
        if entry.base is not None:
            self.files = {folder: dict(files) for folder, files in entry.base.files.items()}
            recent = {batch: alerts for batch, alerts in self.queue.items() if batch > entry.batch - KEEP}
            self.queue = {**recent, **entry.base.waiting}
        for part in entry.written:
            files = self.files.setdefault(str(part.folder), {})
            for name in part.replaced:
                files.pop(name, None)
            files |= {file.name: file for file in part.files}
        if entry.queue:
            self.queue[entry.batch] = entry.queue
        self.queue = dict(sorted(self.queue.items()))

    def _remove_old(self) -> None:
        """Remove the entries before the newest base that has enough entries after it."""
        newest = max(self.entries)
        bases = [batch for batch, entry in self.entries.items() if entry.base is not None and batch <= newest - KEEP]
        for batch in [batch for batch in self.entries if batch < max(bases, default=0)]:
            self._remove(batch)

    def _remove(self, batch: int) -> None:
        file = entry_file(self._folder, batch)
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise SinkError(reason(error, file)) from error
        self.entries.pop(batch, None)


def entry_file(folder: Path, batch: int) -> Path:
    """The file of an entry."""
    return folder / f"{batch:010d}.json"


def batches_of(folder: Path) -> list[int]:
    """The batches that have an entry, in order."""
    if not folder.is_dir():
        return []
    matches = (_NAME.fullmatch(path.name) for path in folder.iterdir())
    return sorted(int(match[1]) for match in matches if match)


def read_entry(folder: Path, batch: int) -> Entry:
    """Read one entry. Raises StateError if it is damaged, FileNotFoundError if it is gone."""
    file = entry_file(folder, batch)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StateError(f"{file} cannot be read ({error.strerror}); check its permissions") from error
    entry = Entry.from_bytes(content, file)
    if entry.batch != batch:
        raise damaged(file)
    return entry


def newest_entry(state: Path) -> Entry | None:
    """Read the newest entry of a state folder, without a lock; None if there is none yet."""
    batches = batches_of(state / FOLDER)
    return read_entry(state / FOLDER, batches[-1]) if batches else None


def all_entries(state: Path) -> Iterator[tuple[int, Entry | StateError]]:
    """Every entry of a state folder, or why it cannot be read."""
    for batch in batches_of(state / FOLDER):
        try:
            yield batch, read_entry(state / FOLDER, batch)
        except StateError as error:
            yield batch, error
