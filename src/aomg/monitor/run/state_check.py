"""Checks at the start that journal, checkpoint and files of sinks fit together, and says which file does not.

A monitor that went on with less than it had would compute other results, or fire alerts again. So what is missing or
older than the rest is refused; `aomg fsck` says how to go on.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from aomg.errors import DamagedFileError, StateError
from aomg.monitor.atomic_files import put
from aomg.monitor.config.model import Config
from aomg.monitor.journal.checkpoint import Checkpoint, DamagedCheckpointError, damaged_checkpoint
from aomg.monitor.journal.digests import digest_of as digest_of_text
from aomg.monitor.journal.entry import StoredFile
from aomg.monitor.journal.journal import FOLDER, Journal
from aomg.monitor.journal.remedies import NEW_FOLDERS, fsck_command, numbered
from aomg.monitor.run.checkpoint_files import files_to_read
from aomg.monitor.run.checkpoint_logs import log_problems, read_problems
from aomg.monitor.run.checksums import NO_CHECKSUMS, damaged_among, without_checksums
from aomg.monitor.run.moved_folders import follow_moved
from aomg.monitor.sinks.joined_files import joined_parts
from aomg.monitor.sinks.jsonl import lines_of_batches, newest_line
from aomg.monitor.sinks.result_folder import batches_in, newest
from aomg.monitor.sinks.summary_folder import batches_of
from aomg.tables.parquet_files import digest_in, digest_of, name_without

_LOG = logging.getLogger(__name__)
_MOST_BYTES = 1_000_000_000  # of the checkpoint whose checksums are compared: some 2 s


@dataclass
class FileReport:
    """How the files of a sink's folder compare with the journal; lists of names.

    retired
        Gone, and all that is older too: somebody has removed old results.
    """

    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)

    @property
    def note(self) -> str:
        """What to say of the newest file that was removed with all that is older."""
        more = f" (with {numbered(len(self.retired) - 1, 'older file')})" if len(self.retired) > 1 else ""
        return f"is gone{more}; if nobody has removed old files, restore it"


def check_state(config: Config, journal: Journal, checkpoint: Checkpoint) -> None:
    """Raise StateError if something is missing, damaged, or older than the rest.

    Of sinks it looks at the sizes of files, not at their content. Of Spark's checkpoint it compares the checksums of
    the files that Spark is going to read, up to a gigabyte.
    """
    for damaged in damaged_among(files_to_read(checkpoint), _MOST_BYTES):
        detail = f": it differs from the checksums in .{damaged.name}.crc" if damaged.exists() else ""
        raise damaged_checkpoint(damaged, detail)
    for file, log_problem in log_problems(checkpoint):
        raise DamagedCheckpointError(file, log_problem)
    for problem in checkpoint_problems(config.state, journal, checkpoint):
        raise StateError(problem)
    for sink_place, what, ahead in _newest_batches(config, journal.stream):
        if ahead > journal.next:
            ends = f"ends with batch {journal.next - 1}" if journal.entries else "has no entries"
            raise StateError(
                f"{sink_place} has {what} of batch {ahead}, but {config.state / FOLDER} {ends}: "
                f"the state folder is older than the {what}. Restore the newer one, or {NEW_FOLDERS}"
            )
    for file, difference in read_problems(config.state, journal, checkpoint):
        raise DamagedCheckpointError(file, difference)
    for file in without_checksums(files_to_read(checkpoint)):
        _LOG.warning("%s %s", file, NO_CHECKSUMS)
    follow_moved(config, journal)
    repair = fsck_command(config.state, "--repair")
    configured = {str(sink.path) for sink in (*config.sinks.results, *config.sinks.summaries) if sink.writes_folder}
    for place, files in list(journal.files.items()):
        if place not in configured:
            continue
        accept_joined(Path(place), files)
        report = compare_files(Path(place), files)
        for names, what in ((report.missing, "is missing"), (report.damaged, "is damaged")):
            if names:
                more = f" ({len(names)} files in all)" if len(names) > 1 else ""
                raise StateError(
                    f"{Path(place) / names[0]} {what}{more}: the journal has it. Restore it from a backup, or run "
                    f"{repair}, which accepts the loss"
                )
        if report.retired:
            _LOG.warning("%s %s", Path(place) / report.retired[-1], report.note)
        for name in report.retired:
            del files[name]
    for sink in (*config.sinks.results, *config.sinks.alerts):
        if sink.path is not None and not sink.writes_folder:
            report_of_lines = compare_lines(sink.path, journal)
            if report_of_lines.retired is not None:
                _LOG.warning("%s %s", sink.path, report_of_lines.note)
            for batch in report_of_lines.damaged:
                raise StateError(
                    f"{sink.path} has not the lines that batch {batch} wrote: the journal has another digest of them. "
                    f"Restore the file from a backup, or run {repair}, which accepts the loss"
                )
    for place in configured.intersection(journal.files):
        for rival, known in rival_files(Path(place), journal.files[place]):
            target = set_aside(config.state, Path(place), rival)
            _LOG.warning("%s repeats %s, which is the journal's; moved to %s", rival, known, target)


def _newest_batches(config: Config, stream: str) -> Iterator[tuple[Path, str, int]]:
    """The newest batch of this stream in every sink that keeps files; -1 if there is none."""
    for folder in sink_folders(config):
        yield folder, "results", newest(folder)
    for sink in config.sinks.summaries:
        if sink.path is not None and sink.path.is_dir():
            spans = [batches_of(path.name) for path in sink.path.glob("*/*.parquet")]
            yield sink.path, "summaries", max((s.last for s in spans if s and s.stream == stream), default=-1)
    for sinks, what in ((config.sinks.results, "results"), (config.sinks.alerts, "alerts")):
        for sink in sinks:
            if sink.path is not None and not sink.writes_folder and sink.path.is_file():
                yield sink.path, what, newest_line(sink.path, stream)


@dataclass(frozen=True)
class LineReport:
    """How the lines of a file compare with the journal.

    damaged
        Batches whose lines are missing or changed.
    retired
        The newest batch whose lines are gone with all before: somebody has moved or emptied the file. None: no batch.
    """

    damaged: list[int] = field(default_factory=list)
    retired: int | None = None

    @property
    def note(self) -> str:
        """What to say of a file that was moved or emptied."""
        return (
            f"no longer has the lines of batch {self.retired} and before; if nobody has moved or emptied it, restore it"
        )


def compare_lines(file: Path, journal: Journal) -> LineReport:
    """Compare the lines of a file with the journal, whose entries are of the last 20 batches or more."""
    wanted = {
        entry.batch: part
        for entry in journal.entries.values()
        for part in entry.appended
        if part.file == file and lost_lines(file, entry.batch) not in entry.lost
    }
    if not wanted:
        return LineReport()
    try:
        stored_lines, has_older = lines_of_batches(file, journal.stream, min(wanted))
    except FileNotFoundError:
        stored_lines, has_older = {}, False
    # a file that was moved or emptied has no line from before that
    rotated = [] if has_older else [batch for batch in wanted if batch < min(stored_lines, default=journal.next)]
    damaged = [
        batch
        for batch, part in wanted.items()
        if batch not in rotated and digest_of_text(stored_lines.get(batch, b"")) != part.digest
    ]
    return LineReport(damaged, max(rotated, default=None))


def lost_lines(file: Path, batch: int) -> str:
    """How the journal records that the lines of a batch are lost."""
    return f"{file} batch {batch}"


def sink_folders(config: Config) -> list[Path]:
    """The folders of results."""
    return [sink.path for sink in config.sinks.results if sink.writes_folder and sink.path is not None]


def checkpoint_problems(state: Path, journal: Journal, checkpoint: Checkpoint) -> list[str]:
    """Say what of the journal and Spark's checkpoint does not fit; empty if all does."""
    last, folder = journal.next - 1, state / FOLDER
    restore = f"restore the whole state folder {state} from a backup, or {NEW_FOLDERS}"
    if checkpoint.committed > last:
        lost = f"ends with batch {last}" if journal.entries else "has no entries"
        return [f"{folder} {lost}, but Spark has completed batch {checkpoint.committed}: {restore}"]
    if not journal.entries:
        return []
    if checkpoint.planned < 0:
        return [f"Spark's checkpoint {checkpoint.folder} is gone, but {folder} ends with batch {last}: {restore}"]
    if checkpoint.planned < last or checkpoint.committed < last - 1:
        has = min(checkpoint.planned, checkpoint.committed + 1)
        return [
            f"Spark's checkpoint {checkpoint.folder} has lost batches: it goes on with batch {has}, but {folder} ends "
            f"with batch {last}: {restore}"
        ]
    return []


def compare_files(folder: Path, files: Mapping[str, StoredFile], content: bool = False) -> FileReport:
    """Compare the files of a folder with the journal: whether they exist, their sizes, and if wanted their content."""
    report, gone = FileReport(), set()
    for name, file in files.items():
        try:
            size = (folder / name).stat().st_size
            same = size == file.size and (not content or digest_of((folder / name).read_bytes()) == file.digest)
        except FileNotFoundError:
            gone.add(name)
            continue
        except OSError:
            same = False
        if not same:
            report.damaged.append(name)
    for parts in _by_age(files):
        oldest = next((i for i, names in enumerate(parts) if not gone.issuperset(names)), 0)  # 0: nothing is left
        report.retired += [name for names in parts[:oldest] for name in names]
        report.missing += sorted(gone.intersection(name for names in parts[oldest:] for name in names))
    return report


def rival_files(folder: Path, files: Mapping[str, StoredFile]) -> list[tuple[Path, str]]:
    """Files that repeat one that the journal has, and the names of those: with its batches, or with a part of it.

    No kill leaves one: a batch that is repeated removes what it wrote before its entry is written, and joined files
    replace their parts. So somebody has copied it there. The sink would take it for the newer one, and readers would
    have its rows twice.
    """
    known = {(_folder_of(name), name_without(Path(name).name)): name for name in files if batch_span(Path(name).name)}
    rivals = []
    for place in sorted({place for place, _ in known}):
        paths = [path for path in sorted((folder / place).glob("*.parquet")) if batch_span(path.name)]
        unknown = [path for path in paths if f"{place}/{path.name}" not in files]
        parts = _parts_of(folder, place, files) if unknown else {}
        for path in unknown:
            own = known.get((place, name_without(path.name))) or parts.get(path.name)
            if own is not None:
                rivals.append((path, own))
    return rivals


def _parts_of(folder: Path, place: str, files: Mapping[str, StoredFile]) -> dict[str, str]:
    """The names of files that were joined, and of what they were joined to."""
    parts: dict[str, str] = {}
    for name in files:
        if _folder_of(name) == place and Path(name).name.startswith("compacted-"):
            with suppress(DamagedFileError, OSError):
                parts |= dict.fromkeys((part.name for part in joined_parts(folder / name)), name)
    return parts


def set_aside(state: Path, folder: Path, file: Path) -> Path:
    """Move a file of a sink's folder to the state folder, where no reader finds it; return where it is."""
    target = state / "damaged" / file.relative_to(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    put(target, file.read_bytes())
    file.unlink()
    return target


def accept_joined(folder: Path, files: dict[str, StoredFile]) -> None:
    """Put joined files in the place of those that they were made of.

    `aomg compact` joins files without the journal, and a monitor that is killed may have joined some since its last
    entry. A joined file is verified, and lists its parts.
    """
    gone = {name for name in files if not (folder / name).exists()}
    for place in sorted({_folder_of(name) for name in gone}):
        for path in sorted((folder / place).glob("compacted-*.parquet")):
            name = f"{place}/{path.name}"
            if name in files:
                continue
            try:
                parts = joined_parts(path)
            except (DamagedFileError, OSError):
                continue  # its parts stay missing
            names = {f"{place}/{part.name}" for part in parts}
            replaced = {part for part in gone if part in names or _is_within(part, name)}
            if replaced:
                rows, digest = sum(part.rows for part in parts), digest_in(path.name) or digest_of(path.read_bytes())
                files[name] = StoredFile(name, path.stat().st_size, rows, digest)
                for part in replaced:
                    del files[part]
                gone -= replaced


def _is_within(part: str, joined: str) -> bool:
    """Whether a file that was joined itself has no other batches than a joined one of its folder."""
    inner, outer = (batch_span(Path(name).name) for name in (part, joined))
    same = _folder_of(part) == _folder_of(joined) and Path(part).name.startswith("compacted-")
    return same and inner is not None and outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def batch_span(name: str) -> tuple[int, int] | None:
    """The first and the last batch of a file of results or of summaries."""
    if (span := batches_in(name)) is not None:
        return span
    batches = batches_of(name)
    return None if batches is None else (batches.first, batches.last)


def _by_age(files: Mapping[str, StoredFile]) -> list[list[list[str]]]:
    """Names that are removed together as they age, the oldest first: days of results; for each query, summaries."""
    days = sorted(name for name in files if name.startswith("day="))
    others = sorted((name for name in files if not name.startswith("day=")), key=_age)
    groups: list[list[list[str]]] = []
    if days:
        groups.append([list(part) for _, part in groupby(days, _folder_of)])
    return [*groups, *([[name] for name in part] for _, part in groupby(others, _folder_of))]


def _age(name: str) -> tuple[str, tuple[int, int], str]:
    """The order of summaries: by folder, then by their batches; a joined file may be older than one of a batch."""
    return _folder_of(name), batch_span(Path(name).name) or (0, 0), name


def _folder_of(name: str) -> str:
    return name.rpartition("/")[0]
