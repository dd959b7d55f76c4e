"""Joins a day's many small files of results into one, without losing or doubling a row at any moment.

1. The day is built anew in the hidden folder `.compacting/new/day=...`: the joined file, and links to what stays.
2. The two folders change places in one step of the file system (renameat2 with RENAME_EXCHANGE, Linux).
3. The old files, now hidden, are removed.

A reader sees the day before or after step 2, never both; one that listed the old files and opens them later does not
find them, and lists again. Killed at any point, the day is one or the other, and the next write or compaction removes
`.compacting`. Where the file system cannot exchange folders, the old one is renamed away to `.compacting/old` and the
new one to its place; killed between those two renames the day is hidden, and the next write brings it back.
"""

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from aomg.monitor.atomic import SinkError, flush_folder, reason
from aomg.monitor.sinks.result_folder import WORK, alone, batches_in, days, newest, recover
from aomg.monitor.sinks.result_rows import SCHEMA

_ROW_GROUP = 1 << 17
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@dataclass(frozen=True)
class Compacted:
    """What was joined."""

    day: str
    files: int
    rows: int


def compact(folder: Path, day: str) -> Compacted | None:
    """Join the files of a day, such as "2026-11-16"; None if there are not two that can be joined.

    The files of the newest batch stay as they are, because a batch may be repeated until the next one begins. Others
    may go on writing: they wait meanwhile. Memory is that of some 100,000 rows, whatever the day holds.
    """
    if not folder.is_dir():
        raise SinkError(f"there is no folder {folder}")
    with alone(folder):
        if day not in days(folder):
            raise SinkError(f"{folder} has no results of the day {day}; there are {', '.join(days(folder)) or 'none'}")
        ours, last = folder / f"day={day}", newest(folder)
        there = ((batches_in(path.name), path) for path in ours.iterdir())
        joined = sorted((span, path) for span, path in there if span and span[1] < last)
        if len(joined) < 2:
            return None
        try:
            return _join(folder, ours, joined)
        except pa.ArrowException as error:
            raise SinkError(f"a file in {ours} is damaged ({error}); move it away and compact again") from error
        except OSError as error:
            raise SinkError(reason(error, ours)) from error


def days_over(folder: Path) -> list[str]:
    """The days that are over, because results of a later one are there: those to compact.

    Raises SinkError where there are no results at all.
    """
    there = days(folder)
    if not there:
        raise SinkError(f"{folder} holds no results yet: it has no folder day=...")
    return there[:-1]


def _join(folder: Path, ours: Path, joined: list[tuple[tuple[int, int], Path]]) -> Compacted:
    new = folder / WORK / "new" / ours.name
    try:
        new.mkdir(parents=True)
        first, last = joined[0][0][0], max(span[1] for span, _ in joined)
        file = new / f"compacted-{first:010d}-{last:010d}.parquet"
        rows = _write(file, [path for _, path in joined])
        going = {path for _, path in joined}
        for path in ours.iterdir():
            if path not in going:
                os.link(path, new / path.name)
        flush_folder(new)
        exchange(new, ours)
        flush_folder(folder)
    finally:
        recover(folder)
    return Compacted(ours.name.removeprefix("day="), len(joined), rows)


def _write(file: Path, parts: list[Path]) -> int:
    rows, held, size = 0, [], 0
    with file.open("wb") as raw:
        with pq.ParquetWriter(raw, SCHEMA, compression="zstd", compression_level=3) as writer:
            for path in parts:
                held.append(pq.ParquetFile(path).read().select(SCHEMA.names).cast(SCHEMA))
                size += len(held[-1])
                if size >= _ROW_GROUP or path == parts[-1]:
                    writer.write_table(pa.concat_tables(held).combine_chunks())
                    rows, held, size = rows + size, [], 0
        raw.flush()
        os.fsync(raw.fileno())
    return rows


def exchange(new: Path, old: Path) -> None:
    """Let two folders change places; see the top of this file where that is not possible in one step."""
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
