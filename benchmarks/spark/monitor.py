"""What do rules, alerts and a Parquet sink cost? The monitor against the streaming query alone, on the same events."""

import io
import shutil

from pyspark.sql import DataFrame
from rich.console import Console

from aomg.monitor.config.reader import load
from aomg.monitor.run.monitor import Monitor
from benchmarks.measure import Figure, ratio
from benchmarks.spark.race import (
    KEY,
    TIME,
    VALUE,
    Data,
    Plan,
    Rival,
    compared,
    default_query,
    in_stream,
    new_folder,
    pingmesh_events,
    race,
    spark,
)

AIM = 0.8
KEYS = 100
ROUNDS = 5
CONFIG = """
source: {{parquet: "{folder}", time: {time}, files_per_batch: 1, options: {{pathGlobFilter: "{files}"}}}}
state: state/
clock: none
queries:
  rtt: {{value: {value}, unit: us, by: [{key}], size: 1 hour, period: 1 minute, quantiles: [0.5, 0.9, 0.99, 0.999]}}
sinks: {{results: [{{parquet: results/}}], alerts: [{{jsonl: alerts.jsonl}}]}}
groups:
  - name: network
    rules:
      - {{alert: Slow, expr: p99 > 4ms, for: 2m}}
      - {{alert: Tail, expr: p99_9 > 20 * p50, min_count: 1000}}
      - {{alert: Fleet, expr: p99 > 4ms, share: 10%, of: []}}
"""


def run(quick: bool) -> list[Figure]:
    data = pingmesh_events(KEYS, quick)
    rivals = [Rival("bare query", default_query, data), Rival("monitor", _unused, data)]

    def timed(plan: Plan, part: Data) -> float:
        return _monitor(part) if plan is _unused else in_stream(plan, part)

    times = race("the monitor", 1 if quick else ROUNDS, rivals, timed)
    setting = f"monitor with three rules and a Parquet sink, {KEYS} keys"
    return [compared(setting, "the streaming query alone", ratio(*times), AIM, rivals, times)]


def _unused(frame: DataFrame) -> DataFrame:
    raise AssertionError("the monitor has its own plan")


def _monitor(data: Data) -> float:
    """Return the seconds per million events in the second half of the micro-batches that had input."""
    folder = new_folder("monitor")
    file = folder / "aomg.yaml"
    file.write_text(CONFIG.format(folder=data.folder, files=data.files, time=TIME, value=VALUE, key=KEY))
    monitor = Monitor(load(file), Console(file=io.StringIO()), (), spark(), once=True)
    monitor.run()
    assert monitor.query is not None
    batches = [progress for progress in monitor.query.recentProgress if progress.numInputRows]
    batches = batches[len(batches) // 2 :]
    shutil.rmtree(folder, ignore_errors=True)
    events = sum(progress.numInputRows for progress in batches)
    return float(sum(progress.batchDuration for progress in batches) / events * 1e3)
