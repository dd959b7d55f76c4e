"""A monitor without Spark that is killed before operations on the file system, and starts again."""

import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from unittest import mock

import pyarrow as pa
from samples import MINUTE, NOON, Killed, Operations, dying, quick_disk, row, spark_commits, table
from spark_monitor import delivered
from state_folders import Frame, source_file, started
from trials import HalfRun, Outcome, compare

from aomg.monitor.journal.checkpoint import Checkpoint
from aomg.monitor.journal.journal import newest_entry
from aomg.monitor.run.batches import Batches
from aomg.monitor.sinks import small_files
from aomg.tables.parquet_files import read_parquet

_quick_disk = contextmanager(quick_disk)
_BATCHES = 9
_STREAM = "3f9a00112233"
_PATIENCE = 20.0
_CONFIG = """
source: {jsonl: in/, time: ts, columns: {podset: string, rtt: double}}
state: state/
queries:
  inbound: {value: rtt, unit: us, by: [podset], size: 60m, period: 1m, quantiles: [0.5, 0.99]}
  outbound: {value: rtt, unit: us, by: [podset], size: 60m, period: 1m, quantiles: [0.5, 0.99]}
sinks:
  results: [{parquet: results/}, {jsonl: results.jsonl}]
  summaries: [{parquet: summaries/}]
  alerts: [{jsonl: alerts.jsonl}]
receivers: [{log: alerts.log}]
groups:
  - name: network
    rules:
      - {alert: Slow, query: inbound, expr: p99 > 4ms}
      - {target: fast, query: inbound, quantile: p99, at_most: 5ms}
"""


class KilledWrites:
    """Runs of nine micro-batches with all file sinks and a receiver; files are joined within a few batches.

    operations
        How many operations on the file system an undisturbed run has.
    sites
        The first operation of each place in the source that has one.
    """

    def __init__(self, folder: Path) -> None:
        with _quick_disk(), dying(10**9) as operations:
            _play(_prepared(folder), operations)
        self._expected = _outcome(folder)
        self.operations = len(operations)
        self.sites = {site: number for number, site in reversed(list(enumerate(operations.sites)))}

    def half(self, folder: Path) -> HalfRun:
        """A monitor that has ended well in the middle."""
        last = _BATCHES // 2

        def begin(monitor: Path) -> None:
            with _quick_disk():
                _play(_prepared(monitor), Operations(), last)

        def finish(monitor: Path) -> None:
            with _quick_disk():
                _play(monitor, Operations())

        return HalfRun(folder, begin, finish, _outcome, self._expected)

    def killed_before(self, operations: list[int], folder: Path) -> str:
        """Kill a monitor before each of these operations of a start, then let it end. Returns SAME."""
        _prepared(folder)
        for operation in operations:
            with suppress(Killed), _quick_disk(), dying(operation, torn=operation % 2 == 0) as done:
                _play(folder, done)
        with _quick_disk():
            _play(folder, Operations())
        return compare(_outcome(folder), self._expected, f"killed before operations {operations}")


def _play(folder: Path, operations: Operations, batches: int = _BATCHES) -> None:
    """Run from where Spark goes on to the end."""
    with ExitStack() as patches:
        for name, value in (("MOST_FILES", 3), ("APART", 2)):
            patches.enter_context(mock.patch.object(small_files, name, value))
        monitor = started(folder, _CONFIG)
        try:
            _deliver(monitor, operations)
            for batch in range(Checkpoint(folder / "state/checkpoint").committed + 1, batches):
                if Checkpoint(folder / "state/checkpoint").planned < batch:
                    source_file(folder, batch)
                monitor(Frame(_rows_of(batch)), batch)
                spark_commits(folder / "state", batch)
                _deliver(monitor, operations)
        finally:
            monitor.notifier.close(0)


def _deliver(monitor: Batches, operations: Operations) -> None:
    """Wait until the receiver has all alerts, so that operations come in the same order in every run."""
    until = time.monotonic() + _PATIENCE
    while any(receiver.waiting for receiver in monitor.notifier.status()) and not operations.dead:
        assert time.monotonic() < until, "the receiver does not get its alerts"
        time.sleep(0.0005)
    if operations.dead:
        raise Killed


def _prepared(folder: Path) -> Path:
    (folder / "state").mkdir(parents=True)
    (folder / "state/stream").write_text(f"{_STREAM}\n")
    return folder


def _rows_of(batch: int) -> pa.Table:
    """Windows of two queries, a summary of each, and a refused row."""
    end = NOON + batch * MINUTE
    slow = 9000.0 if batch % 3 else 100.0
    windows = [row(("x",), end, p99=slow), row(("y",), end), row(("x",), end, "outbound")]
    summaries = [row((key,), end, query) for query in ("inbound", "outbound") for key in "xy"]
    refused = row(("no value", f"row {batch}", "in/1.jsonl"), end, query="", count=1 + batch)
    rows = table(*windows, *summaries, refused)
    content = [None] * len(windows) + [b"summary %d" % batch] * len(summaries) + [None]
    written = ["Query(...)"] * len(rows)
    return rows.append_column("summary", pa.array(content, pa.binary())).append_column("written_by", pa.array(written))


def _rows_in(folder: Path) -> list[str]:
    """All stored rows, each as often as it is stored; how files are joined may differ."""
    files = (file for file in folder.rglob("*.parquet") if not file.name.startswith("."))
    return sorted(str(one) for file in files for one in read_parquet(file).to_pylist())


def _outcome(folder: Path) -> Outcome:
    """What people see, and what the next batch starts from."""
    names = ("alerts.jsonl", "results.jsonl", "state/targets.json", "state/quarantine/counts.json")
    lines = {name: (folder / name).read_text() for name in names}
    lines["refused rows"] = (folder / "state/quarantine/refused.jsonl").read_text()
    entry = newest_entry(folder / "state")
    assert entry is not None
    stored = {"results": _rows_in(folder / "results"), "summaries": _rows_in(folder / "summaries")}
    last = {"batch": entry.batch, "state": entry.state, "content": entry.content, "refused": entry.refused}
    return {**lines, **stored, **last, "delivered": delivered(folder)}
