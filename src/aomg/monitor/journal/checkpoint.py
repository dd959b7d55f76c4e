"""Reads Spark's checkpoint: which batches it has, and which files or offsets each of them reads.

Spark writes `offsets/12` before batch 12 begins and `commits/12` after it. The line of a file source in `offsets/12` is
`{"logOffset":7}`: the batch reads what `sources/0/` lists up to number 7, after the number of the batch before.
"""

import json
import re
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
        before = self._offsets(batch - 1) if batch > 0 else []
        files: dict[str, SourceFile] = {}
        missing: list[str] = []
        offsets: list[str] = []
        for source, offset in enumerate(self._offsets(batch)):
            start = _log_offset(before[source]) if source < len(before) else None
            end = _log_offset(offset)
            if end is None:
                if offset != _NO_OFFSET and offset not in offsets:
                    offsets.append(offset)
                continue
            if source > 0 and not (self.folder / "sources" / str(source)).is_dir():
                continue  # the same source again: a plan has a line wherever it reads it
            for number in range(-1 if start is None else start, end):
                for listed in self._listed(source, number + 1):
                    _look_up(listed, files, missing)
        return SourceRead(tuple(files[path] for path in sorted(files)), tuple(sorted(set(missing))), tuple(offsets))

    def _offsets(self, batch: int) -> list[str]:
        file = self.folder / "offsets" / str(batch)
        try:
            return file.read_text("utf-8").splitlines()[_HEAD_LINES:]
        except (OSError, ValueError) as error:
            raise damaged_checkpoint(file) from error

    def _listed(self, source: int, number: int) -> list[dict[str, Any]]:
        """What a file source has listed under a number: in a file of its own, or in a later one that has all before."""
        log = self.folder / "sources" / str(source)
        compacted = (int(match[1]) for path in log.glob("*.compact") if (match := _NUMBER.fullmatch(path.stem)))
        names = [str(number), *(f"{later}.compact" for later in sorted(compacted) if later >= number)]
        file = next((log / name for name in names if (log / name).exists()), log / str(number))
        mark = f'"batchId":{number}}}'  # files that list everything are long: parse only what is asked for
        try:
            lines = [line for line in file.read_text("utf-8").splitlines()[1:] if mark in line]
            listed = [json.loads(line) for line in lines]
            return [one for one in listed if one["batchId"] == number]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged_checkpoint(file) from error


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


def _look_up(listed: dict[str, Any], files: dict[str, SourceFile], missing: list[str]) -> None:
    """Sort a listed file in: one that is there, or one that is missing. Files elsewhere are taken as they are."""
    address = urlsplit(listed["path"])
    if address.scheme not in ("", "file"):
        files[listed["path"]] = SourceFile(listed["path"], -1, int(listed["timestamp"]))
        return
    path = unquote(address.path)
    try:
        status = Path(path).stat()
    except OSError:
        missing.append(path)
        return
    files[path] = SourceFile(path, status.st_size, status.st_mtime_ns // 1_000_000)


def _log_offset(text: str) -> int | None:
    """The number of a file source's offset; None for other sources."""
    try:
        number = json.loads(text)["logOffset"]
    except (ValueError, KeyError, TypeError):
        return None
    return number if isinstance(number, int) else None


def damaged_checkpoint(file: Path, detail: str = "") -> StateError:
    """The error for a file of Spark's checkpoint that cannot be trusted."""
    return StateError(f"{file} of Spark's checkpoint is missing or damaged{detail}; {RESTORE_STATE}")
