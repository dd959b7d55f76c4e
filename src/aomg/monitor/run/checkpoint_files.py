"""Lists the files of Spark's checkpoint that a start reads, without Spark.

Spark writes checksums beside the files of its checkpoint, and does not compare them when it reads its state. A start
compares those of the files that Spark is going to read: the newest batches of its logs, and of each part of the state
the newest snapshot with its tables, and the changes after it. What is older does not matter any more.

Spark removes the checksums of a file before the file. So checksums without their file say that the file was lost.
"""

import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from aomg.monitor.journal.checkpoint import Checkpoint

_NUMBER = re.compile(r"(\d+)(\.compact)?")
_VERSION = re.compile(r"(\d+)(?:_[^.]*)?\.(zip|changelog)")
_CHECKSUMS = re.compile(r"\.([^.].*)\.crc")
_TABLES = "SSTs"


def files_to_read(checkpoint: Checkpoint) -> Iterator[Path]:
    """The files that Spark and this program read when they go on after the last completed batch."""
    folder, version = checkpoint.folder, checkpoint.committed + 1
    yield folder / "metadata"
    for name in ("offsets", "commits"):
        yield from (path for path in _files_in(folder / name) if path.name.isdigit() and int(path.name) >= version - 1)
    for log in sorted(folder.glob("sources/*")):
        yield from _newest_of_log(log)
    for operator in sorted(folder.glob("state/*/")):
        for part in sorted(operator.glob("*/")):
            if part.name.isdigit():
                for store in (part, *(inside for inside in part.iterdir() if inside.is_dir())):
                    yield from _files_of_store(store, version)
            else:
                yield from (path for folder in (part, *sorted(part.rglob("*/"))) for path in _files_in(folder))


def _newest_of_log(log: Path) -> Iterator[Path]:
    """The newest file that lists everything before it, and those after it."""
    numbers = [(int(match[1]), path) for path in _files_in(log) if (match := _NUMBER.fullmatch(path.name))]
    newest = max((number for number, path in numbers if path.suffix == ".compact"), default=0)
    yield from (path for number, path in sorted(numbers) if number >= newest)


def _files_of_store(folder: Path, version: int) -> Iterator[Path]:
    """Of a part of the state: the newest snapshot up to a version, its tables, and the changes up to the version."""
    files = [(int(match[1]), path) for path in _files_in(folder) if (match := _VERSION.fullmatch(path.name))]
    snapshots = [(number, path) for number, path in files if path.suffix == ".zip" and number <= version]
    newest, snapshot = max(snapshots, default=(0, None))
    if snapshot is not None:
        yield snapshot
        named = _listed_in(snapshot)
        yield from (path for path in _files_in(folder / _TABLES) if named is None or path.name in named)
    yield from (path for number, path in sorted(files) if path.suffix == ".changelog" and newest < number <= version)


def lost_changes(checkpoint: Checkpoint) -> Iterator[Path]:
    """Files of changes that a part of the state lacks: without them, Spark cannot load its newest version."""
    version = checkpoint.committed + 1
    for part in sorted(checkpoint.folder.glob("state/*/*/")):
        files = [match for path in _files_in(part) if (match := _VERSION.fullmatch(path.name))]
        snapshots = [int(match[1]) for match in files if match[2] == "zip" and int(match[1]) <= version]
        changes = {int(match[1]) for match in files if match[2] == "changelog"}
        if part.name.isdigit() and changes:
            lost = set(range(max(snapshots, default=0) + 1, version + 1)) - changes
            yield from (part / f"{number}.changelog" for number in sorted(lost))


def _files_in(folder: Path) -> list[Path]:
    """The files of a folder, also those of which only the checksums are left."""
    names = [path.name for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
    lost = (match[1] for name in names if (match := _CHECKSUMS.fullmatch(name)))
    return [folder / name for name in sorted({*lost, *(name for name in names if not name.startswith("."))})]


def _listed_in(snapshot: Path) -> str | None:
    """The list of a snapshot's tables, as text; None if it cannot be read: then any table may be one of them."""
    with suppress(OSError, KeyError, ValueError, zipfile.BadZipFile), zipfile.ZipFile(snapshot) as archive:
        return archive.read("metadata").decode()
    return None
