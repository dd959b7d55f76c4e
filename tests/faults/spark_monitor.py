"""A monitor on Spark with files that arrive, two queries and all file sinks, and how trials start and watch it."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console

from aomg.monitor.config.reader import load
from aomg.monitor.run.monitor import Monitor
from aomg.tables.parquet_files import read_parquet

Process = subprocess.Popen[bytes]
FILES = 14
PATIENCE = 300.0  # seconds; only a failing trial waits so long
FIRST = 1_700_000_000
CONFIGURATION = """
source: {jsonl: in/, time: ts, columns: {k: string, v: double}, files_per_batch: FILES}
state: state/
clock: none
every: 100ms
queries:
  by_key: {value: v, by: k, size: 40s, period: 10s, lateness: 1s}
  all: {value: v, size: 60s, period: 20s, lateness: 1s}
sinks:
  results: [{parquet: results/}, {jsonl: results.jsonl}]
  summaries: [{parquet: summaries/}]
  alerts: [{jsonl: alerts.jsonl}]
receivers: [{log: alerts.log}, {log: more.log}]
groups:
  - name: latency
    rules:
      - {alert: Slow, query: by_key, expr: p99 > 100}
      - {target: fast, query: by_key, quantile: p99, at_most: 200}
"""


def configured(folder: Path, files_per_batch: int = FILES) -> Path:
    """A folder with the configuration of a monitor."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "aomg.yaml").write_text(CONFIGURATION.replace("FILES", str(files_per_batch)))
    return folder


def arrive(folder: Path, numbers: Sequence[int]) -> None:
    """Let files arrive: each has a minute of events, one of them refused; every third minute is slow."""
    (folder / "in").mkdir(exist_ok=True)
    for number in numbers:
        slow = 50.0 if number % 3 == 2 else 1.0
        events = [
            {"ts": FIRST + 60 * number + second, "k": f"key {second % 3}", "v": slow * (second % 10 + 1)}
            for second in range(60)
        ]
        events.append({**events[0], "v": None})
        text = "".join(f"{json.dumps({**event, 'ts': _text(event['ts'])})}\n" for event in events)
        file = folder / "in" / f"{number:03d}.jsonl"
        partial = file.with_name(f".{file.name}")
        partial.write_text(text)
        os.utime(partial, (FIRST + number,) * 2)  # files are read in the order of their times
        partial.rename(file)


def _text(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def run(folder: Path, spark: SparkSession) -> None:
    """Read all files that are there, in this process."""
    Monitor(load(folder / "aomg.yaml"), Console(file=io.StringIO()), spark=spark, once=True).run()


def outcome(folder: Path, spark: SparkSession) -> dict[str, object]:
    """What people see after a run, without what depends on how files were grouped into batches."""
    accounts = Monitor(load(folder / "aomg.yaml"), Console(file=io.StringIO()), spark=spark).accounts()
    return {
        "accounts": {query: asdict(counts) for query, counts in accounts.items()},
        "results": _rows(folder / "results"),
        "summaries": _rows(folder / "summaries"),
        "results.jsonl": _lines(folder / "results.jsonl"),
        "alerts": _lines(folder / "alerts.jsonl", in_order=True),
        "delivered": delivered(folder),
        "delivered later": delivered(folder, "more.log"),
        "targets": json.loads((folder / "state/targets.json").read_text())["targets"],
        "refused": json.loads((folder / "state/quarantine/counts.json").read_text()),
        "refused rows": _lines(folder / "state/quarantine/refused.jsonl"),
    }


def delivered(folder: Path, name: str = "alerts.log") -> list[str]:
    """The ids of alerts that a receiver has, each once: an alert may be delivered again."""
    log = folder / name
    return sorted({line.rpartition("id=")[2] for line in log.read_text().splitlines()}) if log.exists() else []


def _rows(folder: Path) -> list[str]:
    files = (file for file in folder.rglob("*.parquet") if not file.name.startswith("."))
    return sorted(_without_batch(row) for file in files for row in read_parquet(file).to_pylist())


def _lines(file: Path, in_order: bool = False) -> list[str]:
    lines = [_without_batch(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []
    return lines if in_order else sorted(lines)


def _without_batch(row: Mapping[str, Any]) -> str:
    return str({name: value for name, value in row.items() if name not in ("batch", "stream", "day", "file")})


# -- in processes of its own -------------------------------------------------------------------------------------------


def start(folder: Path) -> Process:
    """`aomg run` as a process, with Java and its workers in its group."""
    arguments = "--conf spark.sql.shuffle.partitions=2 pyspark-shell"
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("aomg")), "run", str(folder / "aomg.yaml")],
        start_new_session=True,
        stdout=(folder / "printed").open("wb"),
        stderr=subprocess.STDOUT,
        # short runs gain nothing by the best code
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": arguments, "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"},
    )


def end(process: Process) -> None:
    """Kill whatever is left of it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def java_of(process: Process) -> int | None:
    """The JVM that a monitor started."""
    return next((pid for pid, parent, program in _processes() if parent == process.pid and _is_spark(program)), None)


def workers_of(process: Process) -> list[int]:
    """The Python workers of Spark that a monitor uses."""
    java = java_of(process)
    all_of_them = list(_processes())
    daemons = {pid for pid, parent, program in all_of_them if parent == java and b"pyspark" in program}
    return [pid for pid, parent, _ in all_of_them if parent in daemons]


def _is_spark(program: bytes) -> bool:
    return b"SparkSubmit" in program and b"/java\0" in program


def _processes() -> Iterator[tuple[int, int, bytes]]:
    """All processes: their ids, their parents, their command lines."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            yield int(status.parent.name), parent, status.with_name("cmdline").read_bytes()


def wait_for(condition: Callable[[], object], process: Process | None = None) -> None:
    """Wait until something is so, or the process ends."""
    until = time.monotonic() + PATIENCE
    while not condition() and (process is None or process.poll() is None):
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.02)


def batches(folder: Path, what: str) -> int:
    """How many micro-batches have begun (`offsets`) or ended (`commits`)."""
    return max((int(file.name) + 1 for file in (folder / "state/checkpoint" / what).glob("[0-9]*")), default=0)
