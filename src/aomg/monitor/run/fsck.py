"""Checks a state folder and all files that its journal names, and repairs what can be rebuilt from the rest.

What can be repaired: the counts of refused rows and the positions of receivers, which the journal has too; a journal
whose older entries are damaged; files of sinks that are lost, by accepting the loss. What cannot: the newest alert
state, Spark's checkpoint, results and summaries.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from aomg.errors import StateError
from aomg.monitor.atomic_files import locked, put
from aomg.monitor.delivery.outbox import position_is_sound, sealed_position
from aomg.monitor.journal.checkpoint import Checkpoint
from aomg.monitor.journal.entry import Entry, LaterVersionError
from aomg.monitor.journal.journal import FOLDER, KEEP, Journal, all_entries, entry_file
from aomg.monitor.journal.stream import FILE, stored_stream
from aomg.monitor.run.checksums import damaged_files
from aomg.monitor.run.state_check import accept_joined, checkpoint_problems, compare_files, damaged_lines, lost_lines
from aomg.monitor.sinks.quarantine import Quarantine

_ANEW = "use a new state folder and new folders for the sinks"


@dataclass(frozen=True)
class Damage:
    """A file that is damaged: what is wrong, and what to do, or what was done."""

    file: Path
    problem: str
    remedy: str
    repaired: bool = False

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object."""
        parts = {"file": str(self.file), "problem": self.problem, "remedy": self.remedy}
        return {**parts, "repaired": self.repaired}


@dataclass(frozen=True)
class Checked:
    """The outcome: what was looked at, in words, and what was found."""

    looked_at: Sequence[str]
    findings: Sequence[Damage]

    @property
    def sound(self) -> bool:
        """Whether nothing is damaged, or everything was repaired."""
        return all(finding.repaired for finding in self.findings)


def check_folder(state: Path, quarantine: Path | None = None, repair: bool = False) -> Checked:
    """Check a state folder. Raises StateError if it is none, SinkError if a monitor uses it.

    quarantine
        The folder of refused rows, if it is not in the state folder.
    repair
        Repair what can be repaired.
    """
    if not (state / FOLDER).is_dir() and not (state / "alerts").is_dir():
        raise StateError(f"{state} is not the state folder of a monitor: it has no folder {FOLDER}")
    if not (state / FOLDER).is_dir():
        raise StateError(f"{state} is of a version without a journal; aomg run takes it over, then it can be checked")
    busy = f"a monitor uses the state folder {state}; stop it first"
    with locked(state / "lock", busy):
        return _StateFolder(state, quarantine or state / "quarantine", repair).check()


class _StateFolder:
    """One check of a folder."""

    def __init__(self, state: Path, quarantine: Path, repair: bool) -> None:
        self._state, self._repair = state, repair
        self._quarantine = Quarantine(quarantine)
        self._checkpoint = Checkpoint(state / "checkpoint")
        self._looked_at: list[str] = []

    def check(self) -> Checked:
        findings = list(self._entries())
        if self._journal is not None:
            for part in (self._plan, self._sinks, self._counts, self._positions):
                findings += part(self._journal)
        return Checked(self._looked_at, findings)

    def _entries(self) -> Iterator[Damage]:
        """Check the journal itself; sets the journal that the other checks use, None if it cannot be used."""
        self._journal: Journal | None = None
        stored = dict(all_entries(self._state))
        self._looked_at.append(f"{len(stored)} entries of the journal")
        readable = [entry for entry in stored.values() if isinstance(entry, Entry)]
        stream = stored_stream(self._state)
        if readable and stream not in {entry.stream for entry in readable}:
            stream = readable[-1].stream
            if self._repair:
                put(self._state / FILE, f"{stream}\n".encode())
            yield self._finding(self._state / FILE, "it is missing or damaged", "the journal has its content")
        for number, entry in stored.items():
            if isinstance(entry, LaterVersionError):
                place = entry_file(self._state / FOLDER, number)
                yield Damage(place, "it is of a later version", "use a newer program")
                return
        newest = max(stored, default=0)
        if isinstance(stored.get(newest), StateError) and self._checkpoint.committed < newest:
            place = entry_file(self._state / FOLDER, newest)
            if self._repair:
                place.unlink()
            yield self._finding(place, "it is damaged", "Spark repeats its batch, which writes it anew")
            del stored[newest]
            newest -= 1
        if not isinstance(stored.get(newest), Entry):
            place, remedy = (
                entry_file(self._state / FOLDER, newest),
                f"restore the state folder from a backup, or {_ANEW}",
            )
            yield Damage(place, "the newest entry is missing or damaged; it has the alert state", remedy)
            return
        self._journal = Journal(self._state, stream or "", [entry for entry in readable if entry.stream == stream])
        needed = _needed(readable)
        unreadable = [number for number in range(min(stored), newest) if not isinstance(stored.get(number), Entry)]
        if not unreadable and needed[0].base is None:
            unreadable = [needed[0].batch - 1]
        if unreadable or not _is_chain(needed):
            if self._repair:
                self._journal.rebase()
            batches = f"batch {', '.join(map(str, unreadable))}" if unreadable else "older batches"
            remedy = (
                f"the newest entry becomes a base. Files that {batches} wrote are no longer checked, and alerts of it "
                "that still wait for a receiver are lost"
            )
            place = entry_file(self._state / FOLDER, unreadable[0]) if unreadable else self._state / FOLDER
            problem = (
                "it is missing or damaged" if unreadable else "an entry was changed: the chain of digests is broken"
            )
            yield self._finding(place, problem, remedy)

    def _plan(self, journal: Journal) -> Iterator[Damage]:
        """Check that the checkpoint and the journal fit."""
        self._looked_at.append("Spark's checkpoint")
        for problem in checkpoint_problems(self._state, journal, self._checkpoint):
            cause, _, remedy = problem.rpartition(": ")
            yield Damage(self._checkpoint.folder, cause, remedy)
        for file in damaged_files(self._checkpoint.folder):
            yield Damage(file, "it differs from its checksums", f"restore the state folder from a backup, or {_ANEW}")
        file = self._state / "queries.json"
        try:
            json.loads(file.read_bytes())
        except (OSError, ValueError):
            yield Damage(file, "it is missing or damaged", f"restore it from a backup, or {_ANEW}")

    def _sinks(self, journal: Journal) -> Iterator[Damage]:
        """Check the digests of all files that sinks have written."""
        lost = []
        for place, files in journal.files.items():
            folder = Path(place)
            self._looked_at.append(f"{len(files)} files in {folder}")
            accept_joined(folder, files)
            report = compare_files(folder, files, content=True)
            for name in (*report.missing, *report.damaged):
                lost.append(str(folder / name))
                rows = files[name].rows
                if self._repair:
                    self._set_aside(folder, name)
                    del files[name]
                problem = "it is missing" if name in report.missing else "it is damaged: its digest is another one"
                yield self._finding(folder / name, problem, f"accepts that its {rows} rows are lost")
        appended = [part for entry in journal.entries.values() for part in entry.appended]
        for file in dict.fromkeys(part.file for part in appended):
            self._looked_at.append(f"lines of the last {len(journal.entries)} batches in {file}")
            for batch in damaged_lines(file, journal):
                lost.append(lost_lines(file, batch))
                rows = next(part.rows for part in journal.entries[batch].appended if part.file == file)
                problem = f"the lines of batch {batch} are missing or damaged"
                yield self._finding(file, problem, f"accepts that its {rows} lines are lost")
        if lost and self._repair:
            journal.rebase(lost)

    def _set_aside(self, folder: Path, name: str) -> None:
        """Move a damaged file to the state folder, where no reader finds it."""
        if (folder / name).exists():
            target = self._state / "damaged" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            put(target, (folder / name).read_bytes())
            (folder / name).unlink()

    def _counts(self, journal: Journal) -> Iterator[Damage]:
        """Compare the counts of refused rows with the journal."""
        self._looked_at.append("counts of refused rows")
        assert journal.last is not None
        if self._quarantine.differs(journal.last.refused):
            if self._repair:
                self._quarantine.write_counts(journal.last.refused)
            yield self._finding(self._quarantine.file, "it differs from the journal", "the journal has the counts")

    def _positions(self, journal: Journal) -> Iterator[Damage]:
        """Check the positions of the receivers."""
        assert journal.last is not None
        known = journal.last.positions
        self._looked_at.append(f"positions of {len(known)} receivers")
        for name, position in known.items():
            file = self._state / "outbox" / f"{name}.json"
            if not position_is_sound(file):
                if self._repair:
                    put(file, sealed_position(position))
                remedy = f"the journal has an earlier position; alerts from batch {position[0]} on are delivered again"
                yield self._finding(file, "it is missing or damaged", remedy)

    def _finding(self, file: Path, problem: str, remedy: str) -> Damage:
        """A finding that --repair mends."""
        return Damage(file, problem, remedy if self._repair else f"--repair: {remedy}", self._repair)


def _needed(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries that a start reads: from the newest base with enough entries after it."""
    bases = [number for number, entry in enumerate(entries) if entry.base and entry.batch <= entries[-1].batch - KEEP]
    return entries[max(bases, default=0) :]


def _is_chain(entries: Sequence[Entry]) -> bool:
    """Whether each entry has the digest of the one before, and the first is a base."""
    chained = all(after.previous == before.digest for before, after in pairwise(entries))
    return chained and (not entries or entries[0].base is not None)
