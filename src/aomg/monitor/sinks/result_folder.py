"""Lists the days and files of a folder of results, and locks it for writing."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aomg.monitor.atomic_files import SinkError, locked, reason

WORK = ".compacting"
_DAY = re.compile(r"day=(\d{4,}-\d{2}-\d{2})")
_BATCH = re.compile(r"batch-(\d{10,})\.parquet")
_COMPACTED = re.compile(r"compacted-(\d{10,})-(\d{10,})\.parquet")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock a folder of results for writing; first repair what a killed compaction left."""
    with locked(folder / ".lock"):
        try:
            recover(folder)
        except OSError as error:
            raise SinkError(reason(error, folder)) from error
        yield


def recover(folder: Path) -> None:
    """Finish or undo a killed compaction: restore a day that was renamed away, and remove the work folder."""
    work = folder / WORK
    if not work.exists():
        return
    for aside in (work / "old").glob("day=*"):
        if not (folder / aside.name).exists():
            aside.rename(folder / aside.name)
    shutil.rmtree(work)


def sweep(folder: Path) -> None:
    """Remove what a killed write left: partial files, and empty days."""
    try:
        for day in days(folder):
            inside = folder / f"day={day}"
            for partial in inside.glob(".*.partial"):
                partial.unlink(missing_ok=True)
            if not any(inside.iterdir()):
                inside.rmdir()
    except OSError as error:
        raise SinkError(reason(error, folder)) from error


def file_name(batch: int) -> str:
    """The name of a batch's file, in each of its days."""
    return f"batch-{batch:010d}.parquet"


def is_compacted(file: Path) -> bool:
    """Whether a file has the rows of several batches."""
    return _COMPACTED.fullmatch(file.name) is not None


def batches_in(name: str) -> tuple[int, int] | None:
    """The first and the last batch that a file may have, by its name; None for other files."""
    if single := _BATCH.fullmatch(name):
        return int(single[1]), int(single[1])
    joined = _COMPACTED.fullmatch(name)
    return (int(joined[1]), int(joined[2])) if joined else None


def newest(folder: Path) -> int:
    """The newest batch that has a file, or -1."""
    spans = (batches_in(path.name) for path in folder.glob("day=*/*.parquet"))
    return max((span[1] for span in spans if span), default=-1)


def days(folder: Path) -> list[str]:
    """The days that have a folder, in order."""
    matches = [_DAY.fullmatch(path.name) for path in folder.iterdir()] if folder.is_dir() else []
    return sorted((match[1] for match in matches if match), key=lambda day: (len(day), day))


def compacted_with(folder: Path, batch: int) -> Path | None:
    """The compacted file of a day that may have rows of a batch."""
    for path in folder.glob("compacted-*.parquet"):
        span = batches_in(path.name)
        if span is not None and span[0] <= batch <= span[1]:
            return path
    return None
