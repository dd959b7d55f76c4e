"""A run of the monitor that is recorded: two queries, every kind of rule, all sinks that are files.

Texts for people (annotations, the log), times of the clock and numbers of micro-batches are not part of the record.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from oracle_inputs import MINUTE, NOON, SECOND, below, instants, latencies
from oracle_records import Outcome, object_rows, table_rows
from oracle_spark import cut, write_files
from typer.testing import CliRunner

from aomg.cli import app

CONFIG = """\
source: {parquet: telemetry/, time: ts, files_per_batch: 2}
state: state/
clock: none
queries:
  inbound:
    value: rtt_us
    unit: us
    by: {podset: dst}
    size: 3m
    period: 30s
    quantiles: [0.5, 0.99, 0.999]
    lateness: 5s
    few_k: {high: 0.5}
  outbound: {value: rtt_us, unit: us, by: {podset: src}, size: 3m, period: 30s, quantiles: [0.5, 0.99], digits: 5}
sinks:
  results: [{parquet: results/}, {jsonl: results.jsonl}]
  summaries: [{parquet: summaries/}]
  alerts: [{jsonl: alerts.jsonl}]
receivers: [{log: alerts.log}]
groups:
  - name: network
    rules:
      - alert: SlowBothWays
        expr: inbound.p99 > 20ms and outbound.p99 > 20ms
        for: 30s
        keep_firing_for: 1m
        min_count: 50
        labels: {severity: page}
        annotations: {summary: "podset {{ $labels.podset }}: {{ inbound.p99 }}"}
      - alert: PerhapsSlow
        query: outbound
        expr: p99 > 5ms or p50 > 1.2 * 1ms
        when: possible
        for: 2m
      - alert: Burst
        query: inbound
        expr: burst and p99_9 > 5 * p50
      - alert: Quiet
        query: inbound
        expr: not count > 400
      - target: inbound_p99
        query: inbound
        quantile: p99
        at_most: 60ms
  - name: fleet
    rules:
      - alert: Crisis
        query: inbound
        expr: p50 > 2ms
        share: 50%
      - alert: Lost
        query: outbound
        expr: count < 1
        share: 0.1%
        silent: violating
        remember: 10m
"""
FILES, FIRST_FILES = 4, 2
_IDS = re.compile(r"\bid=([0-9a-f]{32})\b")
_LEFT_OUT = ("batch", "stream", "annotations")


def telemetry() -> list[pa.Table]:
    """Twelve minutes of probes between six podsets, in four files.

    Podset 2 is slow from minute 3 to 6, all are slow from minute 7 to 9, podset 5 is silent from minute 6 on, and some
    probes have no round trip.
    """
    size = 18_000
    times = np.sort(below(12 * MINUTE, 5000, size))
    sources, targets, values = below(6, 5001, size), below(6, 5002, size), latencies(5003, size)
    minutes = times / MINUTE
    podset_2 = (minutes >= 3) & (minutes < 6) & ((sources == 2) | (targets == 2))
    values = np.where(podset_2, 8 * values, values)
    values = np.where((minutes >= 7) & (minutes < 9), 5 * values, values)
    lost = below(50, 5004, size) == 0
    order = np.argsort(times + below(4 * SECOND, 5005, size), kind="stable")
    table = pa.table(
        {
            "ts": instants(NOON + times),
            "src": sources.astype(np.int32),
            "dst": targets.astype(np.int32),
            "rtt_us": pa.array(values, mask=lost),
        }
    ).take(pa.array(order))
    there = ~((minutes >= 6) & ((sources == 5) | (targets == 5)))
    return cut(table.filter(pa.array(there[order])), FILES)


def prepare(folder: Path, files: int = FILES) -> Path:
    """Write the configuration and the first files of telemetry."""
    folder.mkdir(parents=True, exist_ok=True)
    write_files(folder / "telemetry", telemetry()[:files])
    file = folder / "aomg.yaml"
    file.write_text(CONFIG)
    return file


def run(folder: Path) -> Mapping[str, Any]:
    """Run what is in the folder to its end; what `aomg run --once --json` prints."""
    done = CliRunner().invoke(app, ["run", str(folder / "aomg.yaml"), "--once", "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    summary: Mapping[str, Any] = json.loads(done.stdout)
    return summary


def undelivered(folder: Path) -> None:
    """Run the first files with a receiver that cannot be told: its alerts wait in the state."""
    prepare(folder, FIRST_FILES)
    (folder / "alerts.log").symlink_to(folder / "not there" / "alerts.log")
    summary = run(folder)
    assert sum(summary["undelivered"].values()) > 10, summary
    (folder / "alerts.log").unlink()


def outcomes(folder: Path, summary: Mapping[str, Any]) -> dict[str, Outcome]:
    """All that is in the folder after the last run, and how that run summed up."""
    results = ds.dataset(folder / "results", partitioning="hive").to_table()
    totals = {
        f"{query}.{name}": str(number)
        for query, counts in summary["accounts"].items()
        for name, number in counts.items()
    }
    return {
        "results, Parquet": Outcome(table_rows(results, ["batch"]), totals),
        "results, JSON lines": Outcome(sorted(object_rows(_lines(folder / "results.jsonl")), key=_order)),
        "alerts": Outcome(object_rows(_lines(folder / "alerts.jsonl"))),
        "targets": Outcome(object_rows(json.loads((folder / "state" / "targets.json").read_text())["targets"])),
        **{f"summaries of {name}": _summaries(folder / "summaries" / name) for name in ("inbound", "outbound")},
        "deliveries": Outcome([{"id": match} for match in _IDS.findall((folder / "alerts.log").read_text())]),
    }


def _summaries(folder: Path) -> Outcome:
    return Outcome(table_rows(pa.concat_tables(pq.read_table(file) for file in sorted(folder.iterdir()))))


def _order(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("query", "labels", "end"))


def _lines(file: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in _LEFT_OUT} for line in lines]
