"""Folders as `aomg run` leaves them, made by its own sinks and its own judge; only Spark is left out.

    from web.monitor_files import monitor_files

    monitor = monitor_files(tmp_path)              # 20 podsets, 30 windows of the example configuration
    monitor.file, monitor.results         # the configuration, and the folder of results
    monitor.add_window(slow=["7"])       # one more micro-batch, as a running monitor writes it

At the end of the 30 windows PodsetSwitchFault of podset 6 is resolved, TailAgainstMedian of podset 13 fires and
PodsetSwitchFault of podset 3 is pending.
"""

import io
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pyarrow as pa
from rich.console import Console

from aomg.core.keyed import TALLY, KeyedWindows, KeyRows
from aomg.core.tally import tally
from aomg.monitor.config.model import Config
from aomg.monitor.config.reader import EXAMPLE, load
from aomg.monitor.run.assembly import assembled
from aomg.monitor.run.health import Health
from aomg.monitor.sinks.result_rows import SCHEMA
from aomg.query import Query
from aomg.tables.checksums import summary_column

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 1440 * MINUTE
SUB_WINDOW = 1_500  # events that a summary is of
NOON = 1_794_830_400_000_000  # 2026-11-16T12:00:00Z
QUERIES = ("inbound", "outbound")
ESTIMATES = ("p50", "p90", "p99", "p99_9")
METHODS = ("exact", "certified", "band", "envelope")


@dataclass
class MonitorFiles:
    """What a monitor wrote into a folder, and a way to let it write more."""

    folder: Path
    file: Path
    """The configuration, whose paths are in the folder."""
    names: tuple[str, ...]
    """The podsets."""
    period: int
    end: int
    """The newest window end that was written."""
    seed: int = 1
    batch: int = -1
    """The newest batch."""
    summaries: bool = False
    health: bool = False
    watchers: list = field(default_factory=list)
    """Called with the Progress of every batch, as those of a running monitor are."""

    @property
    def config(self) -> Config:
        return load(self.file)

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def alerts(self) -> Path:
        return self.folder / "alerts.jsonl"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def quarantine(self) -> Path:
        return self.folder / "quarantine"

    def add_window(
        self,
        slow: Collection[str] = (),
        bursty: Collection[str] = (),
        without: Collection[str] = (),
        refused: Mapping[str, int] | None = None,
        windows: int = 1,
    ) -> int:
        """Append a window, or several, each in a batch. Slow podsets have a p99 of 8 ms, bursty ones a long tail.

        Refused rows are counted by reason, in the first batch. Returns the newest window end.
        """
        plans = [(slow, bursty, without, refused if not position else None) for position in range(windows)]
        return self._write(plans)

    def _write(self, plans: list) -> int:
        query = self.config.queries["inbound"].query
        with mock.patch.object(os, "fsync", lambda handle: None):
            health = Health(self.state, clock=lambda: self.end / SECOND + 2)
            watchers = [*self.watchers, *([health] if self.health else [])]
            batches = assembled(self.config, Console(file=io.StringIO()), watchers)
            try:
                for slow, bursty, without, refused in plans:
                    self.batch += 1
                    self.end += self.period
                    names = [name for name in self.names if name not in set(without)]
                    random = np.random.default_rng((self.seed, self.batch))
                    parts = [window(q, names, self.end, query.size, random, slow, bursty) for q in QUERIES]
                    if self.summaries:  # a full window has the events of its summaries
                        events = pa.array(np.full(len(names), SUB_WINDOW * (query.size // query.period)))
                        parts = [part.set_column(part.column_names.index("count"), "count", events) for part in parts]
                    parts = [part.append_column("summary", pa.nulls(len(part), pa.binary())) for part in parts]
                    if self.summaries:
                        parts += [summaries(q, names, self.end - self.period, query, random) for q in QUERIES]
                    no_query = refused_rows(refused or {}, 5000 * len(names))
                    table = pa.concat_tables([*parts, no_query], promote_options="default")
                    for log, content in (("offsets", "v1\n{}\n-"), ("commits", "v1\n{}")):  # as Spark writes them
                        place = self.state / "checkpoint" / log / str(self.batch)
                        place.parent.mkdir(parents=True, exist_ok=True)
                        place.write_text(content)
                    batches.take(table, self.batch)
                    health.poll(SimpleNamespace(lastProgress=report(self.batch)))
            finally:
                batches.notifier.close(5)
        return self.end


def monitor_files(
    folder: Path,
    keys: int = 20,
    windows: int = 30,
    period: int = 15 * SECOND,
    size: int = 2 * MINUTE,
    end: int = NOON,
    seed: int = 1,
    incidents: bool = True,
    summaries: bool = False,
    health: bool = False,
) -> MonitorFiles:
    """Write a configuration and what its monitor leaves: windows of queries inbound and outbound, up to `end`.

    Podsets are called "0", "1", ... With incidents, podset 6 has a faulty switch in the second quarter, podset 13 a
    bursty tail in the last quarter, and podset 3 is slow in the last window; one row in a while is refused.
    Summaries and health are left out unless asked for; each batch was done two seconds after its window's end.
    """
    text = EXAMPLE.read_text()
    text = text.replace("size: 2 minutes", f"size: {size // SECOND}s")
    text = text.replace("period: 15 seconds", f"period: {period // SECOND}s")
    if not summaries:
        text = text.replace("  summaries: [{parquet: summaries/}]", "  # none")
    file = folder / "monitor.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    names = tuple(str(number) for number in range(keys))
    monitor = MonitorFiles(
        folder, file, names, period, end - windows * period, seed, summaries=summaries, health=health
    )
    plans = []
    for position in range(windows):
        slow = [
            *(["6"] if windows // 4 <= position < windows // 2 else []),
            *(["3"] if position == windows - 1 else []),
        ]
        bursty = ["13"] if position >= windows - windows // 4 else []
        refused = {"rtt_us is no number": 3} if position % 10 == 5 else None
        plans.append((slow, bursty, (), refused) if incidents else ((), (), (), None))
    monitor._write(plans)
    return monitor


def window(
    query: str,
    names: list[str],
    end: int,
    size: int,
    random: np.random.Generator,
    slow: Collection[str] = (),
    bursty: Collection[str] = (),
) -> pa.Table:
    """A row for each podset, in the columns that the pipeline hands over. Values are microseconds."""
    median = (450 + 100 * random.random(len(names))).round(1)
    values = median[:, None] * np.array([1.0, 1.7, 4.0, 9.0]) * (1 + 0.1 * random.random((len(names), 4)))
    values[:, 0] = median
    is_slow, is_bursty = (np.array([name in set(some) for name in names], bool) for some in (slow, bursty))
    values[is_slow, 2:] = (8000.0, 8800.0)  # the tail of a faulty switch: below 20 medians
    values[is_bursty, 3] = 30 * median[is_bursty]
    method = random.integers(0, len(METHODS), values.shape)
    width = np.where(method == 0, 0.0, 0.0004 * (1 + method))
    numbers = {"value": values, "low": values * (1 - width), "high": values * (1 + width)}
    columns = {
        "query": pa.array([query] * len(names), pa.string()),
        "labels": pa.array([[name] for name in names], pa.list_(pa.string())),
        "start": times(np.full(len(names), end - size)),
        "end": times(np.full(len(names), end)),
        "count": pa.array(random.integers(11_000, 13_000, len(names))),
        "min": pa.array(np.rint(median / 4)),
        "max": pa.array(np.rint(values[:, 3] * 1.5)),
        "sub_windows": pa.array(np.full(len(names), 8, np.int32)),
        "burst": pa.array(is_bursty),
        "estimates": estimates(numbers, np.array(METHODS)[method]),
    }
    return pa.table(columns)


def estimates(numbers: Mapping[str, np.ndarray], methods: np.ndarray, names: tuple[str, ...] = ESTIMATES) -> pa.Array:
    """The nested column, from arrays (rows, estimates)."""
    rows = len(methods)
    parts = {"name": pa.array(np.tile(names, rows).tolist(), pa.string())}
    parts |= {name: pa.array(numbers[name].ravel()) for name in ("value", "low", "high")}
    parts |= {"method": pa.array(methods.ravel().tolist(), pa.string())}
    flat = pa.StructArray.from_arrays(list(parts.values()), fields=list(SCHEMA.field("estimates").type.value_type))
    return pa.ListArray.from_arrays(np.arange(rows + 1, dtype=np.int32) * len(names), flat)


def times(microseconds: np.ndarray) -> pa.Array:
    return pa.array(microseconds, pa.int64()).cast(SCHEMA.field("end").type)


def summaries(query: str, names: list[str], start: int, requested: Query, random: np.random.Generator) -> pa.Table:
    """The summary of a sub-window of 1,500 events for each podset."""
    keyed, size = KeyedWindows(requested), SUB_WINDOW
    values = np.rint(random.lognormal(6.2, 0.5, size * len(names))).astype(np.int64)
    tallies = tally(keyed.sliding, np.repeat(np.arange(len(names)), size), values)
    keys = np.arange(len(names))
    nothing = np.zeros(len(names), np.int64)
    numbers = nothing + start // requested.period
    closed = keyed.slide(
        KeyRows(keys, numbers, nothing + TALLY, nothing, tallies.offsets, tallies.data),
        numbers,
        numbers + 1,
        answering=False,
    )
    by_key = values.reshape(len(names), size)
    columns = {
        "query": pa.array([query] * len(names), pa.string()),
        "labels": pa.array([[name] for name in names], pa.list_(pa.string())),
        "start": times(np.full(len(names), start)),
        "end": times(np.full(len(names), start + requested.period)),
        "count": pa.array(np.full(len(names), size)),
        "min": pa.array(by_key.min(1).astype(np.float64)),
        "max": pa.array(by_key.max(1).astype(np.float64)),
        "summary": summary_column(closed.summaries.offsets, closed.summaries.data, requested.text()),
        "written_by": pa.array([requested.text()] * len(names), pa.string()),
    }
    return pa.table(columns)


def report(batch: int) -> SimpleNamespace:
    """What Spark says of a micro-batch."""
    spent = {"latestOffset": 4, "queryPlanning": 30, "addBatch": 700, "walCommit": 20, "commitOffsets": 15}
    states = [SimpleNamespace(numRowsTotal=1000 + batch, memoryUsedBytes=400_000 + 100 * batch)]
    return SimpleNamespace(batchId=batch, durationMs=spent, batchDuration=780, stateOperators=states)


def refused_rows(reasons: Mapping[str, int], events: int) -> pa.Table:
    """Rows of no query: what was refused (the labels are reason, text and file), and the number of all events."""
    labels = [[None, None, None], *([reason, "1,x,y", "probes.csv"] for reason in reasons)]
    columns = {
        "query": pa.array([""] * len(labels), pa.string()),
        "labels": pa.array(labels, pa.list_(pa.string())),
        "count": pa.array([events, *reasons.values()], pa.int64()),
    }
    return pa.table(columns)
