"""A monitor whose queries differ in all that a query can: quantiles, thresholds, unit, labels, size and period."""

import os
from pathlib import Path
from unittest import mock

from web.stored_rows import MINUTE, NOON, row, table

from aomg.monitor.sinks.parquet import ParquetSink

CONFIG = """
source: {csv: telemetry/, time: ts, columns: {ts: timestamp, host: string, rack: string, wait: double, rtt_us: long}}
state: state/
queries:
  wide:
    {value: rtt_us, unit: us, by: [host], size: 2m, period: 1m, quantiles: [0.5, 0.9], thresholds: [250, 0.5]}
  narrow:
    {value: wait, unit: s, by: [rack, host], size: 10m, period: 5m, quantiles: [0.5]}
  all:
    {value: rtt_us, by: [], size: 1m, period: 1m, quantiles: [0.9]}
sinks:
  results: [{parquet: results/}]
"""
ESTIMATES = {"wide": ["p50", "p90", "below_0_5", "below_250"], "narrow": ["p50"], "all": ["p90"]}
LABELS = {"wide": ["host"], "narrow": ["rack", "host"], "all": []}
KEYS = {"wide": [("a",), ("b",)], "narrow": [("r1", "a"), ("r2", "b"), ("r2", "c")], "all": [()]}
SIZES = {"wide": 2, "narrow": 10, "all": 1}
PERIODS = {"wide": 1, "narrow": 5, "all": 1}
METHODS = {"wide": "band", "narrow": "certified", "all": "envelope"}
WINDOWS = 6  # batches, a minute each


def different_queries(folder: Path) -> Path:
    """Write a configuration and six batches of its results; returns the configuration."""
    file = folder / "differing.yaml"
    file.write_text(CONFIG)
    for batch in range(WINDOWS):
        add_batch(folder, batch)
    return file


def add_batch(folder: Path, batch: int) -> None:
    """Write the results of one minute: all queries in one file, as a monitor writes them."""
    rows = [
        row(key, batch, batch, query, LABELS[query], estimates=numbers(query, position), start=start_of(query, batch))
        for query, keys in KEYS.items()
        if batch % PERIODS[query] == 0
        for position, key in enumerate(keys)
    ]
    with mock.patch.object(os, "fsync", lambda handle: None):
        ParquetSink(folder / "results").write(batch, table(*rows))


def numbers(query: str, position: int) -> dict:
    """Estimates of a key: those of another query, or another estimate, would be other numbers."""
    first = 100 * (1 + list(KEYS).index(query)) + 10 * position
    parts = {name: first + place for place, name in enumerate(ESTIMATES[query])}
    return {name: (value - 1.0, float(value), value + 1.0, METHODS[query]) for name, value in parts.items()}


def start_of(query: str, batch: int) -> int:
    return NOON + (batch - SIZES[query]) * MINUTE
