"""Generates events while the monitor runs: files that appear in a folder, with event time running faster.

A file depends only on the stream's parameters and its position, so a restart resumes after the last complete file, and
a replay gives the same events.
"""

import threading
import time
from pathlib import Path

import pyarrow.parquet as pq

from aomg.streams import Podsets
from aomg.times import microseconds_of


class Generator:
    """Writes a file of events every `interval` seconds, each with `speed` times as much event time.

    Runs in a thread until `events` are written, or it is stopped. Files get their names when they are complete.
    """

    def __init__(self, stream: Podsets, folder: Path, events: int, speed: float, interval: float = 1.0) -> None:
        self._stream, self._folder, self._events = stream, folder, events
        self._interval = interval
        self._rows = max(round(stream.rate * speed * interval), 1)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="generator", daemon=True)
        self._newest: int | None = None
        self.failure: OSError | None = None

    @property
    def newest(self) -> int | None:
        """The time of the newest written event, in microseconds; None before the first."""
        if self._newest is None:
            return None
        arrived = min((self._newest + 1) * self._rows, self._events) - 1
        start = microseconds_of(self._stream.start)
        return start + arrived * 1_000_000 // self._stream.rate + self._stream.disorder

    @property
    def files(self) -> int:
        """How many files there will be."""
        return -(-self._events // self._rows)

    @property
    def written(self) -> int:
        """How many files there are."""
        return sum(1 for _ in self._folder.glob("events-*.parquet"))

    @property
    def done(self) -> bool:
        """Whether all events were written, or writing failed."""
        return self.failure is not None or self.written >= self.files

    def start(self) -> None:
        """Write the first file, so that the stream has columns, and continue in the background."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if self.written == 0:
            self._write(0)
        self._newest = self.written - 1
        self._thread.start()

    def stop(self) -> None:
        """Stop after the file that is being written."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def write_all(self) -> None:
        """Write all files at once, for a replay."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for number in range(self.written, self.files):
            self._write(number)

    def _run(self) -> None:
        due = time.monotonic()
        for number in range(self.written, self.files):
            due += self._interval
            if self._stop.wait(max(due - time.monotonic(), 0)):
                return
            try:
                self._write(number)
            except OSError as error:
                self.failure = error
                return

    def _write(self, number: int) -> None:
        start = number * self._rows
        final = self._folder / f"events-{number:06d}.parquet"
        partial = self._folder / f".{final.name}.partial"
        pq.write_table(self._stream.take(min(self._rows, self._events - start), start), partial)
        partial.replace(final)
        self._newest = number
