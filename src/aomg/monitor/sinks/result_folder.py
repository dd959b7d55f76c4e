"""Lists the days and files of a folder of results, and locks it for writing.

A day has files of one batch (`batch-0000000012.3f9a5c7e01234567.parquet`) and of several
(`compacted-0000000000-0000000099.7e01234567890abc.parquet`); the hexadecimal digits are a digest of the file
(aomg.tables.parquet_files). Files of earlier versions have none.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aomg.monitor.atomic_files import SinkError, locked, reason
from aomg.monitor.sinks.work_folder import clean_up
from aomg.tables.parquet_files import DIGEST, digest_of, listing, name_with, name_without

_DAY = re.compile(r"day=(\d{4,}-\d{2}-\d{2})")
_BATCH = re.compile(r"batch-(\d{10,})" + DIGEST)
_COMPACTED = re.compile(r"compacted-(\d{10,})-(\d{10,})" + DIGEST)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock a folder for writing; first remove or repair what a compaction left."""
    with locked(folder / ".lock"):
        try:
            clean_up(folder)
        except OSError as error:
            raise SinkError(reason(error, folder)) from error
        yield


def sweep(folder: Path) -> None:
    """Remove what a killed write left: partial files, files that others replace, and empty days."""
    try:
        for day in days(folder):
            inside = folder / f"day={day}"
            for partial in inside.glob(".*.partial"):
                partial.unlink(missing_ok=True)
            files = [path for path in inside.iterdir() if batches_in(path.name)]
            for file in set(files).difference(current(files)):
                file.unlink(missing_ok=True)
            if not any(inside.iterdir()):
                inside.rmdir()
    except OSError as error:
        raise SinkError(reason(error, folder)) from error


def current(files: Iterable[Path]) -> list[Path]:
    """Of files that differ in their digests alone, the one last written: a kill may leave the one that it replaces."""
    newest_files: dict[Path, Path] = {}
    for file in files:
        name = file.with_name(name_without(file.name))
        other = newest_files.get(name)
        if other is None or file.stat().st_mtime_ns > other.stat().st_mtime_ns:
            newest_files[name] = file
    return list(newest_files.values())


def file_name(batch: int, content: bytes) -> str:
    """The name of a batch's file with this content."""
    return name_with(f"batch-{batch:010d}", digest_of(content))


def compacted_name(first: int, last: int, digest: str) -> str:
    """The name of a file with the rows of several batches."""
    return name_with(f"compacted-{first:010d}-{last:010d}", digest)


def is_compacted(file: Path) -> bool:
    """Whether a file has the rows of several batches."""
    return _COMPACTED.fullmatch(file.name) is not None


def batches_in(name: str) -> tuple[int, int] | None:
    """The first and the last batch that a file may have, by its name; None for other files.

    >>> batches_in("compacted-0000000000-0000000099.7e01234567890abc.parquet"), batches_in("batch-0000000012.parquet")
    ((0, 99), (12, 12))
    """
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


def parquet_files(day_folder: Path) -> list[Path]:
    """The Parquet files of a day, also those of other programs. Raises FileNotFoundError if the day is gone."""
    return sorted(current(day_folder / name for name in listing(day_folder) if _is_visible(name)))


def _is_visible(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith((".", "_"))


def files_with(day_folder: Path, batch: int) -> list[Path]:
    """The files of a day that may have rows of a batch."""
    spans = ((path, batches_in(path.name)) for path in day_folder.glob("*.parquet"))
    return sorted(path for path, span in spans if span is not None and span[0] <= batch <= span[1])
