"""What does the monitor cost? Two queries with three rules and a Parquet sink, against the same two queries alone.

Both let Python workers read the Parquet files. A third rival is the same monitor whose files Spark has to read.
"""

import io
import shutil
from typing import Any

from pyspark.sql import DataFrame
from rich.console import Console

from aomg import Query
from aomg.monitor.config.reader import load
from aomg.monitor.run.monitor import Monitor
from aomg.spark import QueryColumns, named_quantiles
from benchmarks.measure import Figure, ratio
from benchmarks.spark.race import (
    KEY,
    TIME,
    VALUE,
    Data,
    Plan,
    Rival,
    WorkerData,
    compared,
    in_stream,
    new_folder,
    pingmesh_events,
    race,
    spark,
)

AIM = 0.85
WORKERS_AIM = 1.0
KEYS = 100
ROUNDS = 3
READ_BY_SPARK = ", datetimeRebaseMode: CORRECTED"
QUERIES = {
    "rtt": QueryColumns(Query("1 hour", "1 minute"), VALUE, KEY),
    "all": QueryColumns(Query("10 minutes", "1 minute"), VALUE),
}
CONFIG = """
source: {{parquet: "{folder}", time: {time}, files_per_batch: 1, options: {{pathGlobFilter: "{files}"{option}}}}}
state: state/
clock: none
queries:
  rtt: {{value: {value}, unit: us, by: [{key}], size: 1 hour, period: 1 minute, quantiles: [0.5, 0.9, 0.99, 0.999]}}
  all: {{value: {value}, unit: us, size: 10 minutes, period: 1 minute, quantiles: [0.5, 0.9, 0.99, 0.999]}}
sinks: {{results: [{{parquet: results/}}], alerts: [{{jsonl: alerts.jsonl}}]}}
groups:
  - name: network
    rules:
      - {{alert: Slow, expr: p99 > 4ms, for: 2m, query: rtt}}
      - {{alert: Tail, expr: p99_9 > 20 * p50, min_count: 1000, query: all}}
      - {{alert: Fleet, expr: p99 > 4ms, share: 10%, of: [], query: rtt}}
"""


def run(quick: bool) -> list[Figure]:
    written = pingmesh_events(KEYS, quick)
    data = WorkerData(written.folder, written.files)
    rivals = [
        Rival("the two queries", _two_queries, data),
        Rival("monitor", _read_by_workers, data),
        Rival("monitor, Spark reads", _read_by_spark, data),
    ]

    def timed(plan: Plan, part: Data) -> float:
        return in_stream(plan, part) if plan is _two_queries else _monitor(part, by_spark=plan is _read_by_spark)

    times = race("the monitor", 1 if quick else ROUNDS, rivals, timed)
    setting = f"monitor with two queries, three rules and a Parquet sink, {KEYS} keys"
    against = "the same two queries alone"
    bare, by_workers, slower = times
    return [
        compared(setting, against, ratio(bare, by_workers), AIM, rivals[:2], [bare, by_workers]),
        compared(
            f"{setting}, files read by workers",
            "the same monitor, files read by Spark",
            ratio(slower, by_workers),
            WORKERS_AIM,
            [rivals[2], rivals[1]],
            [slower, by_workers],
        ),
    ]


def _two_queries(events: Any) -> DataFrame:
    return named_quantiles(events, QUERIES, time=TIME, clock=None, time_by="events")


def _read_by_workers(events: Any) -> DataFrame:
    raise AssertionError("the monitor has its own plan")


def _read_by_spark(events: Any) -> DataFrame:
    raise AssertionError("the monitor has its own plan")


def _monitor(data: Data, by_spark: bool) -> float:
    """Return the seconds per million events in the second half of the micro-batches that had input."""
    folder = new_folder("monitor")
    file = folder / "aomg.yaml"
    option = READ_BY_SPARK if by_spark else ""
    names = {"time": TIME, "value": VALUE, "key": KEY}
    file.write_text(CONFIG.format(folder=data.folder, files=data.files, option=option, **names))
    monitor = Monitor(load(file), Console(file=io.StringIO()), (), spark(), once=True)
    monitor.run()
    assert monitor.query is not None
    batches = [progress for progress in monitor.query.recentProgress if progress.numInputRows]
    batches = batches[len(batches) // 2 :]
    shutil.rmtree(folder, ignore_errors=True)
    events = len(batches) * data.events // len(data.paths)  # a file in each micro-batch
    return float(sum(progress.batchDuration for progress in batches) / events * 1e3)
