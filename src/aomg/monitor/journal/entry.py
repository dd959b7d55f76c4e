"""Defines an entry of the journal, one micro-batch, and its text.

An entry has the digest of the one before it, and its own digest covers that: whoever changes or removes an entry breaks
the chain. Every entry has the alert state after its batch. What grows with time is kept as changes; every twentieth
entry, and the first, is a *base* that has all of it, so that older entries can be removed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aomg.errors import StateError
from aomg.monitor.journal.digests import digest_of
from aomg.monitor.journal.remedies import fsck_command

VERSION = 1
_Alert = dict[str, Any]


class LaterVersionError(StateError):
    """An entry was written by a newer program."""


@dataclass(frozen=True)
class SourceFile:
    """A file that a batch read: its size, and when it was modified, in milliseconds since 1970."""

    path: str
    size: int
    modified: int


@dataclass(frozen=True)
class SourceRead:
    """What a batch read: files, or the offsets of other sources as Spark writes them.

    missing
        Files that Spark was going to read and that were gone; they were skipped as configured.
    """

    files: tuple[SourceFile, ...] = ()
    missing: tuple[str, ...] = ()
    offsets: tuple[str, ...] = ()

    def difference(self, other: "SourceRead") -> str:
        """Say what another reading of the same batch has read differently; empty if nothing."""
        before, now = ({file.path: file for file in read.files} for read in (self, other))
        gone, new = sorted(before.keys() - now.keys()), sorted(now.keys() - before.keys())
        changed = sorted(path for path in before.keys() & now.keys() if before[path] != now[path])
        parts = [(gone, "no longer reads"), (new, "also reads"), (changed, "reads a changed")]
        texts = [f"{words} {_first(paths)}" for paths, words in parts if paths]
        if self.offsets != other.offsets:
            texts.append(f"reads {', '.join(other.offsets)} instead of {', '.join(self.offsets)}")
        return " and ".join(texts)


@dataclass(frozen=True)
class StoredFile:
    """A file that a sink wrote: its name within the sink's folder, its size in bytes, its rows and its digest."""

    name: str
    size: int
    rows: int
    digest: str


@dataclass(frozen=True)
class Written:
    """The files that a sink wrote for a batch. `replaced` are names of files that these stand for now."""

    folder: Path
    files: tuple[StoredFile, ...] = ()
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True)
class Appended:
    """The lines that a sink appended to a file for a batch: their size in bytes, their number and their digest."""

    file: Path
    size: int
    rows: int
    digest: str


Manifest = dict[str, dict[str, StoredFile]]
"""The files of every folder of a sink, by name."""


@dataclass(frozen=True)
class Base:
    """What entries before this one have added up to: all files, and the alerts that some receiver has yet to pass."""

    files: Manifest = field(default_factory=dict)
    waiting: Mapping[int, Sequence[_Alert]] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One micro-batch.

    content
        Digests of its results, summaries and alerts.
    state
        The alert state after it, as JSON.
    queue
        Its alerts for the receivers, in order.
    refused
        Refused rows of all batches so far, by reason.
    positions
        The batch and the index of each receiver's next alert, when the entry was written.
    lost
        Files that are gone or damaged, and that somebody has accepted as lost.
    queries
        The digest of the file of the queries; empty in entries of earlier versions.
    """

    batch: int
    stream: str
    previous: str | None
    read: SourceRead = SourceRead()
    content: Mapping[str, str] = field(default_factory=dict)
    written: tuple[Written, ...] = ()
    state: Any = None
    queue: tuple[_Alert, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    positions: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    base: Base | None = None
    lost: tuple[str, ...] = ()
    program: str = ""
    appended: tuple[Appended, ...] = ()
    queries: str = ""
    digest: str = ""

    def sealed(self) -> "Entry":
        """Return the entry with its digest."""
        return replace(self, digest=digest_of(_text(self._record())))

    def to_bytes(self) -> bytes:
        """Return the JSON text of a sealed entry: the same bytes for the same entry."""
        return f"{_text({**self._record(), 'digest': self.digest})}\n".encode()

    @classmethod
    def from_bytes(cls, content: bytes, place: Path) -> "Entry":
        """Read an entry. Raises StateError if it is damaged or of a later version."""
        try:
            record = json.loads(content)
            version = record["version"]
            entry = cls._of(record) if version == VERSION else None
            same = entry is not None and entry.sealed().digest == entry.digest
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise damaged(place) from error
        if type(version) is int and version > VERSION:
            raise LaterVersionError(
                f"{place} has version {version}, but this program reads version {VERSION}; use a newer program"
            )
        if entry is None or not same:
            raise damaged(place)
        return entry

    @classmethod
    def _of(cls, record: Mapping[str, Any]) -> "Entry":
        base = record["base"]
        return cls(
            record["batch"],
            record["stream"],
            record["previous"],
            SourceRead(
                tuple(SourceFile(*file) for file in record["read"]["files"]),
                tuple(record["read"]["missing"]),
                tuple(record["read"]["offsets"]),
            ),
            record["content"],
            tuple(
                Written(
                    Path(part["folder"]), tuple(StoredFile(*file) for file in part["files"]), tuple(part["replaced"])
                )
                for part in record["written"]
            ),
            record["state"],
            tuple(record["queue"]),
            record["refused"],
            {name: (number, index) for name, (number, index) in record["positions"].items()},
            None
            if base is None
            else Base(
                {folder: {file[0]: StoredFile(*file) for file in files} for folder, files in base["files"].items()},
                {int(batch): alerts for batch, alerts in base["waiting"].items()},
            ),
            tuple(record["lost"]),
            record["program"],
            tuple(Appended(Path(file), *rest) for file, *rest in record.get("appended", ())),
            record.get("queries", ""),
            record["digest"],
        )

    def _record(self) -> dict[str, Any]:
        record = {
            "version": VERSION,
            "batch": self.batch,
            "stream": self.stream,
            "previous": self.previous,
            "program": self.program,
            "read": {
                "files": [[file.path, file.size, file.modified] for file in self.read.files],
                "missing": list(self.read.missing),
                "offsets": list(self.read.offsets),
            },
            "content": dict(self.content),
            "written": [
                {
                    "folder": str(part.folder),
                    "files": [_listed(file) for file in part.files],
                    "replaced": list(part.replaced),
                }
                for part in self.written
            ],
            "state": self.state,
            "queue": list(self.queue),
            "refused": dict(self.refused),
            "positions": {name: list(position) for name, position in self.positions.items()},
            "base": None
            if self.base is None
            else {
                "files": {
                    folder: [_listed(files[name]) for name in sorted(files)]
                    for folder, files in self.base.files.items()
                },
                "waiting": {str(batch): list(alerts) for batch, alerts in self.base.waiting.items()},
            },
            "lost": list(self.lost),
        }
        if self.appended:  # entries of earlier versions have none
            record["appended"] = [[str(part.file), part.size, part.rows, part.digest] for part in self.appended]
        if self.queries:
            record["queries"] = self.queries
        return record


def damaged(place: Path) -> StateError:
    """The error for a file of the journal that cannot be trusted."""
    return StateError(
        f"{place} is damaged; restore it from a backup of the state folder, or run {fsck_command(place.parent.parent)}"
    )


def _listed(file: StoredFile) -> list[Any]:
    return [file.name, file.size, file.rows, file.digest]


def _text(record: Mapping[str, Any]) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _first(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more files"
