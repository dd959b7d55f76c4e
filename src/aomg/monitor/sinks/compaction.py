"""Joins the small result files of a day into one; at no moment is a row lost or duplicated.

1. The day is rebuilt in the hidden folder `.compacting/new/day=...`: the joined file, and links to files that stay.
2. The two folders are exchanged in one step of the file system (renameat2 with RENAME_EXCHANGE, Linux).
3. The old files, now hidden, are removed.

A reader sees the day before or after step 2, never both. One that listed the old files and does not find them lists
again. After a kill the day is either the old or the new one, and the next write or compaction removes `.compacting`.
If the file system cannot exchange folders, the old one is renamed to `.compacting/old` and the new one to its place;
after a kill between these two the day is hidden, and the next write restores it.
"""

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from aomg.monitor.atomic_files import SinkError, flush_folder, reason
from aomg.monitor.sinks.result_folder import WORK, alone, batches_in, days, newest, recover
from aomg.monitor.sinks.result_rows import SCHEMA

_ROW_GROUP = 1 << 17
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@dataclass(frozen=True)
class Compacted:
    """The result of joining a day."""

    day: str
    files: int
    rows: int


def compact(folder: Path, day: str) -> Compacted | None:
    """Join the files of a day, such as "2026-11-16"; None if fewer than two can be joined.

    The files of the newest batch stay: it may be repeated until the next one begins. Writers wait meanwhile. Needs
    memory for some 100,000 rows, however large the day is.
    """
    if not folder.is_dir():
        raise SinkError(f"there is no folder {folder}")
    with alone(folder):
        if day not in days(folder):
            raise SinkError(f"{folder} has no results of {day}; its days are {', '.join(days(folder)) or 'none'}")
        day_folder, last = folder / f"day={day}", newest(folder)
        files = ((batches_in(path.name), path) for path in day_folder.iterdir())
        joined = sorted((span, path) for span, path in files if span and span[1] < last)
        if len(joined) < 2:
            return None
        try:
            return _join(folder, day_folder, joined)
        except pa.ArrowException as error:
            raise SinkError(f"a file in {day_folder} is damaged ({error}); move it away and compact again") from error
        except OSError as error:
            raise SinkError(reason(error, day_folder)) from error


def past_days(folder: Path) -> list[str]:
    """The days to compact: all but the newest. Raises SinkError if there are no results at all."""
    stored = days(folder)
    if not stored:
        raise SinkError(f"{folder} has no results yet: it has no folder day=...")
    return stored[:-1]


def _join(folder: Path, day_folder: Path, joined: list[tuple[tuple[int, int], Path]]) -> Compacted:
    new = folder / WORK / "new" / day_folder.name
    try:
        new.mkdir(parents=True)
        first, last = joined[0][0][0], max(span[1] for span, _ in joined)
        file = new / f"compacted-{first:010d}-{last:010d}.parquet"
        rows = _write(file, [path for _, path in joined])
        old = {path for _, path in joined}
        for path in day_folder.iterdir():
            if path not in old:
                os.link(path, new / path.name)
        flush_folder(new)
        exchange(new, day_folder)
        flush_folder(folder)
    finally:
        recover(folder)
    return Compacted(day_folder.name.removeprefix("day="), len(joined), rows)


def _write(file: Path, parts: list[Path]) -> int:
    rows, tables, size = 0, [], 0
    with file.open("wb") as raw:
        with pq.ParquetWriter(raw, SCHEMA, compression="zstd", compression_level=3) as writer:
            for path in parts:
                tables.append(pq.ParquetFile(path).read().select(SCHEMA.names).cast(SCHEMA))
                size += len(tables[-1])
                if size >= _ROW_GROUP or path == parts[-1]:
                    writer.write_table(pa.concat_tables(tables).combine_chunks())
                    rows, tables, size = rows + size, [], 0
        raw.flush()
        os.fsync(raw.fileno())
    return rows


def exchange(new: Path, old: Path) -> None:
    """Exchange two folders, in one step if the file system can (see the top of this file)."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        swap = getattr(libc, "renameat2", None)
        if swap is not None and not swap(
            _AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), ctypes.c_uint(_RENAME_EXCHANGE)
        ):
            return
    aside = new.parent.parent / "old" / old.name
    aside.parent.mkdir(exist_ok=True)
    old.rename(aside)
    new.rename(old)
