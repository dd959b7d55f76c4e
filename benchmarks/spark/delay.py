"""How long does a result take in the monitor, from when the closing event can be read, with `every` from 1 to 10 s?

A live stream of 100,000 events/s and 100 keys in Parquet files, four a second; windows of 1 minute by 1 second,
lateness 1 second; three rules, results in Parquet. The closing event of a window is the first whose time is `lateness`
past its end. The result is there when its micro-batch is complete: rows, alerts and journal are on the disk.

A micro-batch starts every `every`, or when the one before is complete. So a delay is up to `every` and the duration of
a micro-batch, or up to two durations where those are longer.
"""

import io
import json
import threading
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from rich.console import Console

from aomg.monitor.config.reader import load
from aomg.monitor.run.health import FILE
from aomg.monitor.run.monitor import Monitor
from aomg.monitor.run.progress import Progress
from benchmarks.measure import Figure
from benchmarks.spark.live_files import LiveFile, live_files
from benchmarks.spark.race import KEY, TIME, VALUE, log, new_folder, spark

RATE, KEYS = 100_000, 100
AIMS: dict[int, float | None] = {1: 2.5, 2: None, 5: None, 10: None}
"""The longest delay of 99 % of the windows, for each `every`, in seconds."""
WINDOWS = {1: 100, 2: 20, 5: 20, 10: 30}
WARM = 10  # seconds, and two micro-batches, in which delays are not counted: events have piled up during the start
LIMIT = 300  # seconds
PERIOD = LATENESS = 1_000_000
CONFIG = """
source: {{parquet: events/, time: {time}, columns: {{{key}: string, {time}: timestamp, {value}: long}}}}
state: state/
every: {every}s
queries:
  rtt: {{value: {value}, unit: us, by: [{key}], size: 1 minute, period: 1 second, lateness: 1 second}}
sinks: {{results: [{{parquet: results/}}], alerts: [{{jsonl: alerts.jsonl}}]}}
groups:
  - name: network
    rules:
      - {{alert: Slow, expr: p99 > 4ms, for: 2m}}
      - {{alert: Tail, expr: p99_9 > 20 * p50, min_count: 1000}}
      - {{alert: Fleet, expr: p99 > 4ms, share: 10%, of: []}}
"""


@dataclass
class Arrivals:
    """When micro-batches with results were complete, and the end of their newest window: a watcher of the monitor."""

    batches: list[tuple[float, int]] = field(default_factory=list)

    def __call__(self, progress: Progress) -> None:
        """Note a micro-batch."""
        if progress.newest:
            self.batches.append((time.time(), progress.newest["rtt"].end))


def run(quick: bool) -> list[Figure]:
    figures = []
    _measured(1, 10 if quick else 30)  # workers start, and the JVM compiles
    for every, aim in sorted(AIMS.items(), reverse=True):  # the shortest last, when the JVM has compiled what it needs
        seconds, phases = _measured(every, 10 if quick else WINDOWS[every])
        most = float(np.quantile(seconds, 0.99, method="higher"))
        figures.append(
            Figure(
                f"delay of 99 % of the results, monitor, `every: {every}s`, {RATE:,} events/s, {KEYS} keys",
                f"{most:.1f} s (median {np.median(seconds):.1f} s, longest {max(seconds):.1f} s)",
                "" if aim is None else f"<= {aim:g} s",
                None if aim is None else most <= aim,
                {"seconds": seconds, "windows": len(seconds), "phases": phases},
                unit="s",
                against="when the closing event can be read",
            )
        )
        parts = ", ".join(f"{phase} {spent:.2f} s" for phase, spent in phases.items())
        log(f"every {every} s: {figures[-1].measured}; {len(seconds)} windows; {parts}")
    shown = ", ".join(f"{phase} {spent:.2f}" for phase, spent in phases.items())
    title = f"median time of a micro-batch by phase, `every: {every}s`"
    return [*figures[::-1], Figure(title, f"{shown} s", detail=phases, unit="s")]


def _measured(every: int, windows: int) -> tuple[list[float], dict[str, float]]:
    """Return the delays of at least so many windows, and the time of a micro-batch by phase, in seconds."""
    folder = new_folder("delay")
    (folder / "events").mkdir()
    file = folder / "aomg.yaml"
    file.write_text(CONFIG.format(every=every, key=KEY, time=TIME, value=VALUE))
    arrivals = Arrivals()
    monitor = Monitor(load(file), Console(file=io.StringIO()), (arrivals,), spark())
    warm = WARM + 2 * every
    limit, ended = time.monotonic() + LIMIT, threading.Event()
    with live_files(folder / "events", RATE, KEYS, (KEY, TIME, VALUE)) as files:

        def stop_when_measured() -> None:
            while time.monotonic() < limit and len(delays(arrivals.batches, files.written(), warm)) < windows:
                if ended.wait(0.5):
                    return
            monitor.stop()

        watcher = threading.Thread(target=stop_when_measured)
        watcher.start()
        try:
            monitor.run()
        finally:
            ended.set()
            watcher.join()
        seconds = delays(arrivals.batches, files.written(), warm)
    if not seconds:
        raise RuntimeError(f"no window had a result after {LIMIT} seconds")
    return seconds, _phases(folder / "state" / FILE)


def _phases(health: Path) -> dict[str, float]:
    """Return the median time of a micro-batch by phase, as the monitor's health has it, over the second half."""
    lines = [json.loads(line) for line in health.read_text().splitlines()]
    batches = [line["phases"] for line in lines if len(line.get("phases", ())) > 1]
    batches = batches[len(batches) // 2 :]
    return {phase: float(np.median([batch[phase] for batch in batches])) for phase in (batches[0] if batches else ())}


def delays(batches: Sequence[tuple[float, int]], files: Sequence[LiveFile], warm: float) -> list[float]:
    """The seconds from when a window's closing event could be read to the end of its micro-batch.

    Without those of the first micro-batch, and of so many seconds after it.
    """
    lasts = [file.last for file in files]
    seconds = []
    for (_, before), (moment, newest) in pairwise(batches):
        if moment <= batches[0][0] + warm:
            continue
        for end in range(before + PERIOD, newest + 1, PERIOD):
            place = bisect_left(lasts, end + LATENESS)
            if place < len(files):  # its note may be on the way
                seconds.append(moment - files[place].readable)
    return seconds
