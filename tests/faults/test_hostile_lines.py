"""Lines that are too long, bytes that are not text, endless keys: refused with a reason, and the monitor goes on."""

import gzip
import io
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from aomg.monitor.config.reader import load
from aomg.monitor.run.monitor import Monitor

pytestmark = pytest.mark.xdist_group("faults on spark")

MAY = 1_714_521_600_000  # 2024-05-01T00:00:00Z in milliseconds
SPLIT = 50_000
LONGEST = 10_000
CONFIG = f"""
source:
  {{kind}}: in/
  time: ts
  time_format: epoch_ms
  columns: {{{{ts: long, host: string, ms: double}}}}
  longest_line: {LONGEST}
  longest_key: 30
state: state/
clock: none
queries:
  latency: {{{{value: ms, by: host, size: 20s, period: 10s, lateness: 0s, quantiles: 0.5}}}}
sinks: {{{{results: [{{{{parquet: results/}}}}]}}}}
"""


@contextmanager
def small_splits(spark: SparkSession) -> Iterator[None]:
    names = ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
    before = {name: spark.conf.get(name) for name in names}
    try:
        for name in names:
            spark.conf.set(name, SPLIT)
        yield
        assert spark.conf.get(names[0]) == str(SPLIT), "the settings of the session are as they were"
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def event(second: int, host: str = "calm", kind: str = "jsonl") -> bytes:
    ts = MAY + second * 1000
    text = json.dumps({"ts": ts, "host": host, "ms": 5.0}) if kind == "jsonl" else f"{ts},{host},5.0"
    return text.encode()


def hostile_files(folder: Path, kind: str) -> None:
    folder.mkdir()
    good = [event(second, kind=kind) for second in range(40)]
    ghost = event(20, "ghost", kind)  # what begins at the end of the first split, if the line before it is left out
    begin = b"\n".join(good[:20]) + b"\n"
    line = b"x" * (SPLIT - len(begin)) + ghost
    (folder / f"split.{kind}").write_bytes(begin + line + b"\n" + b"\n".join(good[20:]) + b"\n")
    packed = b"\n".join([event(41, kind=kind), b"y" * 3_000_000, event(42, kind=kind)]) + b"\n"
    (folder / f"packed.{kind}.gz").write_bytes(gzip.compress(packed))
    hosts = {"caf#": b"\xe9", "#": b"\xff\xfe"}
    garbled = [*(event(43, host, kind).replace(b"#", byte) for host, byte in hosts.items()), b"\xff\xff"]
    keys = [event(45, "k" * 31, kind), event(46, "ä" * 30, kind), event(60, kind=kind)]
    (folder / f"texts.{kind}").write_bytes(b"\n".join([*garbled, *keys]) + b"\n")


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_hostile_lines_are_refused_by_name_and_all_others_are_counted(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    hostile_files(tmp_path / "in", kind)
    file = tmp_path / "aomg.yaml"
    file.write_text(CONFIG.format(kind=kind))
    batches: list[int] = []
    with small_splits(spark):
        monitor = Monitor(
            load(file), Console(file=io.StringIO()), [lambda one: batches.append(one.batch)], spark, once=True
        )
        monitor.run()
    assert batches == [0]
    quarantine = (tmp_path / "state" / "quarantine" / "refused.jsonl").read_text()
    refused: list[Any] = [json.loads(line) for line in quarantine.splitlines()]
    by_file = Counter((Path(row["file"]).name, row["reason"]) for row in refused)
    too_long = "longer than 10,000 bytes (longest_line)"
    not_text = {"jsonl": {"not UTF-8": 3}, "csv": {"host is not UTF-8": 2, "not UTF-8": 1}}[kind]
    assert by_file == {
        (f"split.{kind}", too_long): 1,
        (f"packed.{kind}.gz", too_long): 1,
        **{(f"texts.{kind}", reason): count for reason, count in not_text.items()},
        (f"texts.{kind}", "the key of latency is longer than 30 characters (longest_key)"): 1,
    }
    texts = [row["row"] for row in refused]
    assert any(text.endswith("(3,000,001 bytes)") and text.startswith("yyyy") for text in texts)
    if kind == "jsonl":
        assert any("caf\\xe9" in text for text in texts) and "\\xff\\xff" in texts
    counts = monitor.accounts()["latency"]
    rows = ds.dataset(tmp_path / "results", partitioning="hive").to_table(columns=["labels", "count"]).to_pylist()
    assert {row["labels"][0] for row in rows} == {"calm", "ä" * 30}, "no ghost"
    assert counts.came - counts.refused == 44, "every good line, and no other"
