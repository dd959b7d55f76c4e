"""Finds what entries of the journal that are lost had recorded: files that sinks wrote, alerts that still wait.

The name of a file has its batch and a digest of its content. So a file of a lost entry can be verified, and be taken
back into the journal. Whether the entry had named more files cannot be told.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aomg.errors import DamagedFileError
from aomg.monitor.delivery.queue_files import stored_position
from aomg.monitor.journal.entry import Entry, StoredFile
from aomg.monitor.journal.journal import Journal
from aomg.monitor.journal.remedies import numbered
from aomg.monitor.run.state_check import accept_joined, batch_span
from aomg.monitor.sinks.parquet import owner_of
from aomg.monitor.sinks.result_folder import current
from aomg.monitor.sinks.summary_folder import batches_of
from aomg.tables.parquet_files import digest_in, open_parquet


@dataclass
class LostEntries:
    """What is left of lost entries.

    adopted
        How many files were taken back, and how many rows they have.
    damaged
        Files whose content does not have the digest in their names.
    unverified
        How many files have no digest in their names.
    waiting
        Receivers that have not passed all lost batches, and whose alerts are not in a later base.
    in_base
        Whether a later entry has all files and alerts.
    """

    files: int = 0
    rows: int = 0
    damaged: list[Path] = field(default_factory=list)
    unverified: int = 0
    waiting: list[str] = field(default_factory=list)
    in_base: bool = False

    @property
    def text(self) -> str:
        """What becomes of them if the journal goes on without these entries."""
        if self.in_base:
            return "a later entry has everything that it recorded"
        parts = []
        if self.files:
            files, rows = numbered(self.files, "file"), numbered(self.rows, "row")
            fits = "whose content has the digest in the name; whether it named others cannot be told"
            parts.append(f"the journal takes back {files} with {rows}, {fits}")
        else:
            parts.append("no file of it is there; whether it named any cannot be told")
        if self.unverified:
            parts.append(f"{numbered(self.unverified, 'file')} without a digest cannot be checked")
        if self.waiting:
            parts.append(f"its alerts that wait for {', '.join(self.waiting)} are lost")
        else:
            parts.append("no alert of it waits for a receiver")
        return "; ".join(parts)


def take_back(state: Path, journal: Journal, lost: Iterable[int]) -> LostEntries:
    """Add the files of lost batches to the files of a journal that was read without them. Writes nothing."""
    batches = sorted(lost)
    outcome = LostEntries(in_base=any(_has_all(entry, batches) for entry in journal.entries.values()))
    if outcome.in_base or not batches:
        return outcome
    newest = journal.next - 1
    for place, files in journal.files.items():
        folder = Path(place)
        accept_joined(folder, files)
        for path in _unknown_files(folder, journal.stream, files):
            span = batch_span(path.name)
            if (
                span is None
                or span[1] > newest
                or all(number in journal.entries for number in range(span[0], span[1] + 1))
            ):
                continue
            if digest_in(path.name) is None:
                outcome.unverified += 1
                continue
            try:
                rows = open_parquet(path).metadata.num_rows
            except (DamagedFileError, OSError):
                outcome.damaged.append(path)
                continue
            name = str(path.relative_to(folder))
            files[name] = StoredFile(name, path.stat().st_size, rows, digest_in(path.name) or "")
            outcome.files, outcome.rows = outcome.files + 1, outcome.rows + rows
    assert journal.last is not None
    for name, known in journal.last.positions.items():
        position = max(known, stored_position(state / "outbox" / f"{name}.json") or known)
        if position[0] <= batches[-1]:
            outcome.waiting.append(name)
    return outcome


def _has_all(entry: Entry, lost: list[int]) -> bool:
    """Whether an entry is a base that is younger than all lost ones."""
    return entry.base is not None and bool(lost) and entry.batch > lost[-1]


def _unknown_files(folder: Path, stream: str, known: Mapping[str, StoredFile]) -> list[Path]:
    """The files of a stream in a sink's folder that are not known. Of those that replace each other, the newest."""
    paths = [path for path in folder.glob("*/*.parquet") if not path.name.startswith(".")]
    if owner_of(folder) is None:
        paths = [path for path in paths if (span := batches_of(path.name)) is not None and span.stream == stream]
    elif owner_of(folder) != stream:
        return []
    return sorted(path for path in current(paths) if str(path.relative_to(folder)) not in known)
