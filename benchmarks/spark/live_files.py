"""Writes a live stream of Parquet files in a process of its own: a quarter of a second of events in each.

An event's time is the moment at which it happens, so a file can be read just after its last event. A file gets its name
when it is complete; its last time and the moment at which it got its name are noted.
"""

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aomg.streams import pingmesh

SECONDS = 0.25  # of events in a file
_TABLES = 8  # of keys and values, which take turns


class LiveFile(NamedTuple):
    """The time of a file's last event, in microseconds, and when the file could be read, in seconds since 1970."""

    last: int
    readable: float


class LiveFiles:
    """The files written so far, in order."""

    def __init__(self, notes: Connection) -> None:
        self._notes = notes
        self._files: list[LiveFile] = []

    def written(self) -> list[LiveFile]:
        """Return all files written so far."""
        while self._notes.poll():
            self._files.append(self._notes.recv())
        return list(self._files)


@contextmanager
def live_files(folder: Path, rate: int, keys: int, columns: tuple[str, str, str]) -> Iterator[LiveFiles]:
    """Write files meanwhile: so many events a second, with columns for key, time and value."""
    context = multiprocessing.get_context("spawn")
    notes, writer = context.Pipe(duplex=False)
    process = context.Process(target=_write, args=(folder, rate, keys, columns, writer), daemon=True)
    process.start()
    writer.close()
    try:
        yield LiveFiles(notes)
    finally:
        process.terminate()
        process.join()


def _write(folder: Path, rate: int, keys: int, columns: tuple[str, str, str], notes: Connection) -> None:
    size = round(rate * SECONDS)
    generator = np.random.default_rng(1)
    names = pa.array([f"podset-{number:05d}" for number in range(keys)])
    values = pingmesh(seed=3)
    parts = []
    for number in range(_TABLES):
        key = pa.DictionaryArray.from_arrays(pa.array(generator.integers(0, keys, size, dtype=np.int32)), names)
        parts.append((key.cast(pa.string()), pa.array(values.take(size, number * size))))
    within = np.arange(size) * round(SECONDS * 1e6) // size
    end, number = time.time(), 0
    while True:
        first = round(end * 1e6)
        end += SECONDS
        key, value = parts[number % _TABLES]
        table = pa.table([key, pa.array(first + within, pa.timestamp("us", tz="UTC")), value], names=list(columns))
        time.sleep(max(end - time.time(), 0))
        file = folder / f"part-{number:06d}.parquet"
        partial = file.with_name(f".{file.name}")  # the monitor skips a leading dot
        pq.write_table(table, partial)
        partial.rename(file)
        notes.send(LiveFile(int(first + within[-1]), time.time()))
        number += 1
