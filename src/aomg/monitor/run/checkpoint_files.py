"""Lists the files of Spark's checkpoint that a start reads, without Spark.

Spark writes checksums beside the files of its checkpoint, and does not compare them when it reads its state. A start
compares those of the files that Spark is going to read: the newest batches of its logs, and of each part of the state
the newest snapshot with its tables, and the changes after it. What is older does not matter any more.
"""

import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from aomg.monitor.journal.checkpoint import Checkpoint

_NUMBER = re.compile(r"(\d+)(\.compact)?")
_VERSION = re.compile(r"(\d+)(?:_[^.]*)?\.(zip|changelog)")
_TABLES = "SSTs"


def files_to_read(checkpoint: Checkpoint) -> Iterator[Path]:
    """The files that Spark and this program read when they go on after the last completed batch."""
    folder, version = checkpoint.folder, checkpoint.committed + 1
    yield folder / "metadata"
    for name in ("offsets", "commits"):
        yield from (folder / name / str(number) for number in range(version - 1, checkpoint.planned + 1))
    for log in sorted(folder.glob("sources/*")):
        yield from _newest_of_log(log)
    for operator in sorted(folder.glob("state/*")):
        for part in sorted(operator.iterdir()):
            if part.name.isdigit():
                for store in (part, *(inside for inside in part.iterdir() if inside.is_dir())):
                    yield from _files_of_store(store, version)
            else:
                yield from (path for path in sorted(part.rglob("[!.]*")) if path.is_file())


def _newest_of_log(log: Path) -> Iterator[Path]:
    """The newest file that lists everything before it, and those after it."""
    numbers = [(int(match[1]), path) for path in log.iterdir() if (match := _NUMBER.fullmatch(path.name))]
    newest = max((number for number, path in numbers if path.suffix == ".compact"), default=0)
    yield from (path for number, path in sorted(numbers) if number >= newest)


def _files_of_store(folder: Path, version: int) -> Iterator[Path]:
    """Of a part of the state: the newest snapshot up to a version, its tables, and the changes up to the version."""
    files = [(int(match[1]), path) for path in folder.iterdir() if (match := _VERSION.fullmatch(path.name))]
    snapshots = [(number, path) for number, path in files if path.suffix == ".zip" and number <= version]
    newest, snapshot = max(snapshots, default=(0, None))
    if snapshot is not None:
        yield snapshot
        tables = folder / _TABLES
        named = _listed_in(snapshot)
        yield from (path for path in sorted(tables.glob("*.sst")) if named is None or path.name in named)
    yield from (path for number, path in sorted(files) if path.suffix == ".changelog" and newest < number <= version)


def _listed_in(snapshot: Path) -> str | None:
    """The list of a snapshot's tables, as text; None if it cannot be read: then any table may be one of them."""
    with suppress(OSError, KeyError, ValueError, zipfile.BadZipFile), zipfile.ZipFile(snapshot) as archive:
        return archive.read("metadata").decode()
    return None
