"""Reads Spark's checkpoint: which batches it has, and which files or offsets each of them reads.

Spark writes `offsets/12` before batch 12 begins and `commits/12` after it. The line of a file source in `offsets/12` is
`{"logOffset":7}`: the batch reads what `sources/0/` lists up to number 7, after the number of the batch before.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from aomg.errors import StateError
from aomg.monitor.journal.entry import SourceFile, SourceRead
from aomg.monitor.journal.remedies import RESTORE_STATE

_NUMBER = re.compile(r"(\d+)")
_HEAD_LINES = 2  # the version, and the settings of the batch
_NO_OFFSET = "-"


@dataclass(frozen=True)
class Plan:
    """What Spark has planned for a batch: the files as it has listed them, and the offsets of other sources."""

    files: tuple[Mapping[str, Any], ...] = ()
    offsets: tuple[str, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the files, as the journal has them."""
        return frozenset(_path_of(listed) for listed in self.files)


@dataclass(frozen=True)
class Checkpoint:
    """Spark's checkpoint in a folder of this machine."""

    folder: Path

    @property
    def planned(self) -> int:
        """The newest batch that Spark has begun; -1 if there is none."""
        return self._newest("offsets")

    @property
    def committed(self) -> int:
        """The newest batch that Spark has completed; -1 if there is none."""
        return self._newest("commits")

    def _newest(self, log: str) -> int:
        folder = self.folder / log
        names = (_NUMBER.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
        return max((int(match[1]) for match in names if match), default=-1)

    def read_by(self, batch: int) -> SourceRead:
        """What a batch reads, with the sizes that its files have now. Files that are gone are `missing`."""
        plan = self.plans([batch])[batch]
        files: dict[str, SourceFile] = {}
        missing: list[str] = []
        for listed in plan.files:
            _look_up(listed, files, missing)
        return SourceRead(tuple(files[path] for path in sorted(files)), tuple(sorted(set(missing))), plan.offsets)

    def plans(self, batches: Iterable[int]) -> dict[int, Plan]:
        """What Spark has planned for some batches. Reads each file of its logs once."""
        spans: dict[int, list[tuple[int, range]]] = {}
        others: dict[int, list[str]] = {}
        for batch in batches:
            before = self._offsets(batch - 1) if batch > 0 else []
            spans[batch], others[batch] = [], []
            for source, offset in enumerate(self._offsets(batch)):
                start = _log_offset(before[source]) if source < len(before) else None
                end = _log_offset(offset)
                if end is None:
                    if offset != _NO_OFFSET and offset not in others[batch]:
                        others[batch].append(offset)
                    continue
                if start is not None and end < start:
                    raise DamagedCheckpointError(
                        self.folder / "offsets" / str(batch), "is older than that of the batch before"
                    )
                if source > 0 and not (self.folder / "sources" / str(source)).is_dir():
                    continue  # the same source again: a plan has a line wherever it reads it
                spans[batch].append((source, range(0 if start is None else start + 1, end + 1)))
        numbers: dict[int, set[int]] = {}
        for source, span in (one for parts in spans.values() for one in parts):
            numbers.setdefault(source, set()).update(span)
        listed = {source: self._listed(source, sorted(wanted)) for source, wanted in numbers.items()}
        return {
            batch: Plan(
                tuple(one for source, span in spans[batch] for number in span for one in listed[source][number]),
                tuple(others[batch]),
            )
            for batch in spans
        }

    def _offsets(self, batch: int) -> list[str]:
        file = self.folder / "offsets" / str(batch)
        try:
            return file.read_text("utf-8").splitlines()[_HEAD_LINES:]
        except (OSError, ValueError) as error:
            raise damaged_checkpoint(file) from error

    def _listed(self, source: int, numbers: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
        """What a file source has listed under some numbers: each in a file of its own, up to a number in one file."""
        log = self.folder / "sources" / str(source)
        compacted = max((int(path.stem) for path in log.glob("*.compact") if path.stem.isdigit()), default=-1)
        wanted: dict[Path, list[int]] = {}
        for number in numbers:
            file = log / (f"{compacted}.compact" if number <= compacted else str(number))
            wanted.setdefault(file, []).append(number)
        listed: dict[int, list[dict[str, Any]]] = {number: [] for number in numbers}
        for file, inside in wanted.items():
            marks = {f'"batchId":{number}}}': number for number in inside}  # parse only what is asked for
            try:
                for line in file.read_text("utf-8").splitlines()[1:]:
                    number = marks.get(line[line.rfind('"batchId":') :].strip(), -1)
                    if number >= 0:
                        listed[number].append(json.loads(line))
                if not all(isinstance(one["path"], str) for number in inside for one in listed[number]):
                    raise damaged_checkpoint(file)
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise damaged_checkpoint(file) from error
        return listed


@dataclass(frozen=True)
class SourceReader:
    """Tells what a batch reads. Files that are gone are an error, unless they are to be skipped."""

    checkpoint: Checkpoint
    skips_missing: bool = False

    def __call__(self, batch: int) -> SourceRead:
        """Return what a batch reads, as it is now. Raises StateError if a file is missing that must not be."""
        if self.checkpoint.planned < batch:  # not a batch of Spark, as in tests
            return SourceRead()
        read = self.checkpoint.read_by(batch)
        if read.missing and not self.skips_missing:
            more = f" and {len(read.missing) - 1} more files" if len(read.missing) > 1 else ""
            raise StateError(
                f"the source file {read.missing[0]}{more}, which batch {batch} reads, is gone. Put it back and start "
                "again; or set skip_missing_files: true in the source, which leaves its events out and records that in "
                "the journal"
            )
        return read


def has_begun(checkpoint: Path) -> bool:
    """Whether Spark has recorded what to read: a micro-batch, or the files of the first one."""
    return any(checkpoint.glob("offsets/[0-9]*")) or any(checkpoint.glob("sources/*/[0-9]*"))


def _look_up(listed: Mapping[str, Any], files: dict[str, SourceFile], missing: list[str]) -> None:
    """Sort a listed file in: one that is there, or one that is missing. Files elsewhere are taken as they are."""
    path = _path_of(listed)
    if path == listed["path"] and urlsplit(path).scheme not in ("", "file"):
        files[path] = SourceFile(path, -1, int(listed["timestamp"]))
        return
    try:
        status = Path(path).stat()
    except OSError:
        missing.append(path)
        return
    files[path] = SourceFile(path, status.st_size, status.st_mtime_ns // 1_000_000)


def _path_of(listed: Mapping[str, Any]) -> str:
    """The path of a listed file; its address, if it is not on a local disk."""
    address = urlsplit(listed["path"])
    return unquote(address.path) if address.scheme in ("", "file") else str(listed["path"])


def _log_offset(text: str) -> int | None:
    """The number of a file source's offset; None for other sources."""
    try:
        number = json.loads(text)["logOffset"]
    except (ValueError, KeyError, TypeError):
        return None
    return number if isinstance(number, int) else None


class DamagedCheckpointError(StateError):
    """A file of Spark's checkpoint that cannot be trusted, and why."""

    def __init__(self, file: Path, problem: str) -> None:
        super().__init__(f"{file} of Spark's checkpoint {problem}; {RESTORE_STATE}")
        self.file, self.problem = file, problem


def damaged_checkpoint(file: Path, detail: str = "") -> DamagedCheckpointError:
    """The error for a file of Spark's checkpoint that is missing or damaged."""
    return DamagedCheckpointError(file, f"is missing or damaged{detail}")
