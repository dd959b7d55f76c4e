"""Checks a state folder and all files that its journal names, and repairs what can be rebuilt from the rest.

What can be repaired: the counts of refused rows and the positions of receivers, which the journal has too; a journal
whose older entries are damaged, with the files of those entries; files of sinks that are lost, by accepting the loss.
What cannot: the newest alert state, Spark's checkpoint, results and summaries.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from aomg.errors import StateError
from aomg.monitor.alerts.judge import firing_ids
from aomg.monitor.alerts.state import State
from aomg.monitor.atomic_files import locked, put
from aomg.monitor.delivery.outbox import no_longer_firing
from aomg.monitor.delivery.queue_files import (
    FIRING,
    Position,
    known_positions,
    sealed_position,
    stored_firing,
    stored_position,
)
from aomg.monitor.journal.checkpoint import Checkpoint
from aomg.monitor.journal.entry import Entry, LaterVersionError
from aomg.monitor.journal.journal import FOLDER, KEEP, Journal, all_entries, entry_file
from aomg.monitor.journal.queries import FILE as QUERIES
from aomg.monitor.journal.queries import queries_problem
from aomg.monitor.journal.remedies import NEW_FOLDERS, RESTORE_STATE, numbered
from aomg.monitor.journal.stream import FILE, stored_stream
from aomg.monitor.run.checkpoint_files import files_to_read, lost_changes
from aomg.monitor.run.checkpoint_logs import log_problems, read_problems
from aomg.monitor.run.checksums import NO_CHECKSUMS, damaged_among, damaged_files, without_checksums
from aomg.monitor.run.lost_entries import take_back
from aomg.monitor.run.state_check import (
    accept_joined,
    checkpoint_problems,
    compare_files,
    compare_lines,
    lost_lines,
    rival_files,
    set_aside,
)
from aomg.monitor.sinks.quarantine import Quarantine, is_of_others

_DAMAGED = "it is missing or damaged"


@dataclass(frozen=True)
class Damage:
    """A file that is damaged: what is wrong, and what to do, or what was done.

    can_repair
        Whether --repair goes on without it, or rebuilds it.
    """

    file: Path
    problem: str
    remedy: str
    can_repair: bool = False
    repaired: bool = False

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object."""
        parts = {"file": str(self.file), "problem": self.problem, "remedy": self.remedy}
        return {**parts, "can_repair": self.can_repair, "repaired": self.repaired}


@dataclass(frozen=True)
class Note:
    """Something that may be meant, such as a file that was moved away: a start goes on, and logs it."""

    file: Path
    text: str

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object."""
        return {"file": str(self.file), "note": self.text}


@dataclass(frozen=True)
class Checked:
    """The outcome: what was looked at, in words, what is damaged, and what is only noted."""

    looked_at: Sequence[str]
    findings: Sequence[Damage]
    notes: Sequence[Note] = ()

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
        raise StateError(
            f"{state} was written by a version without a journal, and this one cannot go on with it: use that version, "
            f"or {NEW_FOLDERS}"
        )
    if quarantine is not None and not quarantine.is_dir():
        raise StateError(f"--quarantine: there is no folder {quarantine}")
    busy = f"a monitor uses the state folder {state}; stop it first"
    try:
        with locked(state / "lock", busy):
            return _StateFolder(state, quarantine or state / "quarantine", repair).check()
    except OSError as error:
        raise StateError(
            f"{error.filename or state} cannot be read ({error.strerror}); check its permissions"
        ) from error


class _StateFolder:
    """One check of a folder."""

    def __init__(self, state: Path, quarantine: Path, repair: bool) -> None:
        self._state, self._repair = state, repair
        self._refused_rows = quarantine
        self._checkpoint = Checkpoint(state / "checkpoint")
        self._looked_at: list[str] = []
        self._notes: list[Note] = []
        self._losses: list[str] = []
        self._is_broken = False
        self._is_cut = False  # whether the newest entries are damaged: what only they have cannot be compared

    def check(self) -> Checked:
        findings = list(self._entries())
        if self._journal is not None:
            parts = [self._plan, self._sinks, self._lines]
            for part in parts if self._is_cut else (*parts, self._counts, self._positions):
                findings += part(self._journal)
            if self._repair and (self._losses or self._is_broken):
                self._journal.rebase(self._losses)
        return Checked(self._looked_at, findings, self._notes)

    # -- the journal ---------------------------------------------------------------------------------------------------

    def _entries(self) -> Iterator[Damage]:
        """Check the journal itself; sets the journal that the other checks use, None if it cannot be used."""
        self._journal: Journal | None = None
        stored = dict(all_entries(self._state))
        self._looked_at.append(f"{numbered(len(stored), 'entry', 'entries')} of the journal")
        readable = [entry for entry in stored.values() if isinstance(entry, Entry)]
        self._refuse_another_quarantine(readable)
        stream = stored_stream(self._state)
        if readable and stream not in {entry.stream for entry in readable}:
            stream = readable[-1].stream
            if self._repair:
                put(self._state / FILE, f"{stream}\n".encode())
            yield self._rebuilt(self._state / FILE, _DAMAGED, "the journal has its content")
        for number, entry in stored.items():
            if isinstance(entry, LaterVersionError):
                place = entry_file(self._state / FOLDER, number)
                yield Damage(place, "it is of a later version", "use a newer program")
                return
        newest = max(stored, default=self._checkpoint.committed)
        if isinstance(stored.get(newest), StateError) and self._checkpoint.committed < newest:
            place = entry_file(self._state / FOLDER, newest)
            if self._repair:
                place.unlink()
            yield self._rebuilt(place, "it is damaged", "Spark repeats its batch, which writes it anew")
            del stored[newest]
            newest -= 1
        if not stored and newest < 0:
            return  # no batch was completed
        cut = [] if stored else [newest]
        while newest in stored and not isinstance(stored[newest], Entry):
            cut.append(newest)
            newest -= 1
        for number in cut:
            place = entry_file(self._state / FOLDER, number)
            yield Damage(place, "the newest entry is missing or damaged; it has the alert state", RESTORE_STATE)
        if cut:
            self._repair, self._is_cut = False, True
        if not readable:
            return
        self._journal = Journal(self._state, stream or "", [entry for entry in readable if entry.stream == stream])
        needed = _needed(readable)
        lost = [number for number in range(min(stored), newest) if not isinstance(stored.get(number), Entry)]
        if not lost and needed[0].base is None:
            lost = [needed[0].batch - 1]
        if lost or not _is_chain(needed):
            yield from self._lost_entries(self._journal, lost)

    def _lost_entries(self, journal: Journal, lost: Sequence[int]) -> Iterator[Damage]:
        """Go on without entries that are lost, or without the chain if an entry was changed."""
        self._is_broken = True
        outcome = take_back(self._state, journal, lost)
        if lost:
            numbers = ", ".join(map(str, lost))
            what = f"{'batch' if len(lost) == 1 else 'batches'} {numbers}"
            place = entry_file(self._state / FOLDER, lost[0])
            remedy = f"the journal goes on without the entry of {what}: {outcome.text}"
            yield self._lost(place, _DAMAGED, remedy)
        else:
            problem = "an entry was changed: the chain of digests is broken"
            yield self._lost(self._state / FOLDER, problem, "the newest entry becomes the first one of the journal")
        for path in outcome.damaged:
            self._losses.append(str(path))
            yield self._damaged_file(path.parents[1], str(path.relative_to(path.parents[1])))

    # -- Spark ---------------------------------------------------------------------------------------------------------

    def _plan(self, journal: Journal) -> Iterator[Damage]:
        """Check that the checkpoint and the journal fit, and the record of the queries."""
        self._looked_at.append("Spark's checkpoint")
        fits = () if self._is_cut else checkpoint_problems(self._state, journal, self._checkpoint)
        for problem in fits:
            cause, _, remedy = problem.rpartition(": ")
            yield Damage(self._checkpoint.folder, cause, remedy)
        needed = (file for file in files_to_read(self._checkpoint) if not file.exists())
        for file in (*damaged_among(needed), *damaged_files(self._checkpoint.folder)):
            problem = "it differs from its checksums" if file.exists() else "it is missing; its checksums are there"
            yield Damage(file, problem, RESTORE_STATE)
        for file in lost_changes(self._checkpoint):
            yield Damage(file, "it is missing", RESTORE_STATE)
        for problems in (log_problems(self._checkpoint), read_problems(self._state, journal, self._checkpoint)):
            for file, what in problems:
                yield Damage(file, f"it {what}", RESTORE_STATE)
        for file in without_checksums(files_to_read(self._checkpoint)):
            self._notes.append(Note(file, f"it {NO_CHECKSUMS}"))
        edited = queries_problem(self._state, journal.last)
        if edited is not None:
            yield Damage(self._state / QUERIES, f"it {edited}", f"restore it from a backup, or {NEW_FOLDERS}")

    # -- sinks ---------------------------------------------------------------------------------------------------------

    def _sinks(self, journal: Journal) -> Iterator[Damage]:
        """Check the digests of all files that sinks have written."""
        for place, files in journal.files.items():
            folder = Path(place)
            self._looked_at.append(f"{numbered(len(files), 'file')} in {folder}")
            if files and not folder.exists():
                rows = numbered(sum(file.rows for file in files.values()), "row")
                problem = f"the folder is missing, with {numbered(len(files), 'file')}"
                moved = "if it was moved, start the monitor with its new path in the configuration; "
                self._losses += [str(folder / name) for name in files]
                if self._repair:
                    files.clear()
                yield self._lost(folder, problem, f"accepts that {rows} are lost", moved)
                continue
            accept_joined(folder, files)
            report = compare_files(folder, files, content=True)
            for name in report.missing:
                yield self._lost(folder / name, "it is missing", _accepted(files[name].rows, "row"))
            for name in report.damaged:
                yield self._damaged_file(folder, name, files[name].rows)
            if report.retired:
                self._notes.append(Note(folder / report.retired[-1], f"it {report.note}"))
            for rival, known in rival_files(folder, files):
                if self._repair:
                    set_aside(self._state, folder, rival)
                problem = f"it repeats {known}, which is the journal's: somebody has copied it there"
                moves = f"moves it to {self._state / 'damaged'}, as the next start does"
                yield Damage(rival, problem, moves if self._repair else f"--repair: {moves}", True, self._repair)
            for name in (*report.missing, *report.damaged) if self._repair else ():
                self._losses.append(str(folder / name))
                del files[name]

    def _damaged_file(self, folder: Path, name: str, rows: int | None = None) -> Damage:
        """Move a damaged file to the state folder, where no reader finds it."""
        if self._repair and (folder / name).exists():
            set_aside(self._state, folder, folder / name)
        problem = "it is damaged: its digest is another one"
        loss = "accepts that its rows are lost" if rows is None else _accepted(rows, "row")
        return self._lost(folder / name, problem, f"{loss}, and moves it to {self._state / 'damaged'}")

    def _lines(self, journal: Journal) -> Iterator[Damage]:
        """Check the lines of the last batches in files of JSON lines."""
        appended = [part for entry in journal.entries.values() for part in entry.appended]
        for file in dict.fromkeys(part.file for part in appended):
            batches = numbered(sum(part.file == file for part in appended), "batch", "batches")
            self._looked_at.append(f"the lines of {batches} in {file}")
            report = compare_lines(file, journal)
            if report.retired is not None:
                self._notes.append(Note(file, f"it {report.note}"))
            for batch in report.damaged:
                rows = next(part.rows for part in journal.entries[batch].appended if part.file == file)
                self._losses.append(lost_lines(file, batch))
                problem = f"the lines of batch {batch} are missing or damaged"
                yield self._lost(file, problem, _accepted(rows, "line"))

    # -- copies of what the journal has --------------------------------------------------------------------------------

    def _counts(self, journal: Journal) -> Iterator[Damage]:
        """Compare the counts of refused rows with the journal."""
        self._looked_at.append("counts of refused rows")
        assert journal.last is not None
        quarantine, refused = Quarantine(self._refused_rows), journal.last.refused
        if refused and not self._refused_rows.is_dir():
            text = (
                "it is missing; if refused rows are elsewhere, name their folder with --quarantine, else the next start"
            )
            self._notes.append(Note(self._refused_rows, f"{text} writes their counts anew"))
            return
        if quarantine.differs(refused):
            if self._repair:
                quarantine.write_counts(refused)
            yield self._rebuilt(quarantine.file, "it differs from the journal", "the journal has the counts")

    def _refuse_another_quarantine(self, entries: Sequence[Entry]) -> None:
        """Raise StateError if the folder of refused rows is another one: a repair would change it."""
        if not entries or not entries[-1].refused or not self._refused_rows.is_dir():
            return
        if is_of_others(self._refused_rows, entries[-1].stream):
            raise StateError(f"--quarantine: {self._refused_rows} has the refused rows of another state folder")
        if not any(self._refused_rows.glob("counts.json")) and not any(self._refused_rows.glob("refused*.jsonl")):
            raise StateError(f"--quarantine: {self._refused_rows} has no refused rows, but the journal counts some")

    def _positions(self, journal: Journal) -> Iterator[Damage]:
        """Check the positions of the receivers."""
        assert journal.last is not None
        outbox = self._state / "outbox"
        known = known_positions(outbox, journal.last.positions, journal.next)
        self._looked_at.append(f"positions of {numbered(len(known), 'receiver')}")
        for name, position in known.items():
            file = outbox / f"{name}.json"
            if stored_position(file) is None:
                if self._repair:
                    put(file, sealed_position(name, position))
                remedy = f"the journal has an earlier position; alerts from batch {position[0]} on are delivered again"
                yield self._rebuilt(file, _DAMAGED, remedy)
            yield from self._firing(name, max(position, stored_position(file) or position), journal)

    def _firing(self, name: str, position: Position, journal: Journal) -> Iterator[Damage]:
        """Check the firing alerts that a receiver has got: each fires, or is still to be resolved there."""
        file = self._state / "outbox" / f"{name}{FIRING}"
        if not file.exists() or journal.last is None:
            return
        stored = stored_firing(file.parent, name)
        waiting = [
            alert
            for batch, alerts in sorted(journal.queue.items())
            for index, alert in enumerate(alerts)
            if (batch, index) >= position
        ]
        firing = firing_ids(State.from_json(journal.last.state))
        ended = [] if stored is None else no_longer_firing(stored, waiting, firing)
        if stored is None or ended:
            if self._repair:
                file.unlink()
            problem = f"it has {numbered(len(ended), 'alert that is', 'alerts that are')} not firing"
            yield self._rebuilt(file, "it is damaged" if stored is None else problem, "the alert state has what fires")

    # -- findings ------------------------------------------------------------------------------------------------------

    def _rebuilt(self, file: Path, problem: str, how: str) -> Damage:
        """A finding that --repair mends without a loss."""
        return Damage(file, problem, how if self._repair else f"--repair writes it anew: {how}", True, self._repair)

    def _lost(self, file: Path, problem: str, loss: str, otherwise: str = "") -> Damage:
        """A finding that --repair only accepts: whoever has a backup restores the file first."""
        advice = f"restore it from a backup; {otherwise}else --repair: {loss}"
        return Damage(file, problem, loss if self._repair else advice, True, self._repair)


def _accepted(number: int, noun: str) -> str:
    """What --repair does about rows or lines that are lost."""
    return f"accepts that its {numbered(number, noun)} {'is' if number == 1 else 'are'} lost"


def _needed(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries that a start reads: from the newest base with enough entries after it."""
    bases = [number for number, entry in enumerate(entries) if entry.base and entry.batch <= entries[-1].batch - KEEP]
    return entries[max(bases, default=0) :]


def _is_chain(entries: Sequence[Entry]) -> bool:
    """Whether each entry has the digest of the one before, and the first is a base."""
    chained = all(after.previous == before.digest for before, after in pairwise(entries))
    return chained and (not entries or entries[0].base is not None)
