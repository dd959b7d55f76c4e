"""Joins all small result files of a day into one, as `aomg compact` does. The monitor itself joins a few at a time."""

import time
from dataclasses import dataclass
from pathlib import Path

from aomg.errors import DamagedFileError
from aomg.monitor.atomic_files import SinkError, reason
from aomg.monitor.sinks.joined_files import join
from aomg.monitor.sinks.result_folder import alone, batches_in, compacted_name, days, newest
from aomg.monitor.sinks.result_rows import SCHEMA


@dataclass(frozen=True)
class Compacted:
    """The result of joining a day."""

    day: str
    files: int
    rows: int


def compact(folder: Path, day: str) -> Compacted | None:
    """Join the files of a day, such as "2026-11-16"; None if fewer than two can be joined.

    The files of the newest batch stay: it may be repeated until the next one begins. Writers wait meanwhile. Needs
    memory for some 100,000 rows, however large the day is. The next write or compaction removes the old files.
    """
    if not folder.is_dir():
        raise SinkError(f"there is no folder {folder}")
    with alone(folder):
        if day not in days(folder):
            raise SinkError(f"{folder} has no results of {day}; its days are {', '.join(days(folder)) or 'none'}")
        day_folder, last = folder / f"day={day}", newest(folder)
        spans = ((batches_in(path.name), path) for path in day_folder.iterdir())
        files = sorted((span, path) for span, path in spans if span and span[1] < last)
        if len(files) < 2:
            return None
        ends = files[0][0][0], max(span[1] for span, _ in files)
        try:
            parts = [path for _, path in files]
            rows = join(folder, day_folder, parts, lambda digest: compacted_name(*ends, digest), SCHEMA)
        except DamagedFileError as error:
            raise SinkError(f"{error}. Then compact again") from error
        except OSError as error:
            raise SinkError(reason(error, day_folder)) from error
    return Compacted(day, len(files), rows)


def remove_old_files(folder: Path, wait: float = 0.2) -> None:
    """Remove the files that were joined, once whoever is listing them is done with it."""
    time.sleep(wait)
    with alone(folder):
        pass


def past_days(folder: Path) -> list[str]:
    """The days to compact: all but the newest. Raises SinkError if there are no results at all."""
    stored = days(folder)
    if not stored:
        raise SinkError(f"{folder} has no results yet: it has no folder day=...")
    return stored[:-1]
