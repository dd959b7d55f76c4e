"""Telemetry that is generated while the monitor runs: files that appear in a folder, event time running faster.

What is written is a function of the stream's parameters and the position alone, so that a restart goes on where the
last complete file ended, and a replay gives the same events.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

from aomg.streams import Podsets
from aomg.times import microseconds_of


class Generator:
    """Writes a file of events each `interval` seconds of the wall clock, `speed` times as much of event time.

    A thread of its own; it ends after `events`, or when it is told to. Files get their names when they are complete.
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
        """The time of the newest event that was written, in microseconds: the clock of a generated stream.

        None where nothing was written yet.
        """
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
        """Write the first file, so that the stream knows its columns, and go on in the background."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if self.written == 0:
            self._write(0)
        self._newest = self.written - 1
        self._thread.start()

    def stop(self) -> None:
        """Write no further file, and wait for the one that is being written."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def write_all(self, told: Callable[[int], None] | None = None) -> None:
        """Write everything at once, for a replay."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for number in range(self.written, self.files):
            self._write(number)
            if told is not None:
                told(number)

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
