"""State folders of monitors that run without Spark, batch by batch, with the checkpoint that Spark would write."""

import io
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from samples import MINUTE, NOON, files, row, spark_commits, spark_plans, table

from aomg.monitor.config.reader import load
from aomg.monitor.run.assembly import assembled
from aomg.monitor.run.batches import Batches
from aomg.monitor.run.state_owner import claim_state

CONFIG = """
source: {jsonl: in/, time: ts, columns: {podset: string, rtt: double}, skip_missing_files: SKIP}
state: state/
queries: {inbound: {value: rtt, unit: us, by: [podset], size: 60m, period: 1m, quantiles: [0.5, 0.99]}}
sinks: {results: [{parquet: results/}], alerts: [{jsonl: alerts.jsonl}]}
receivers: [{log: alerts.log}]
groups: [{name: network, rules: [{alert: Slow, expr: p99 > 4ms}]}]
"""


def started(folder: Path, config: str = CONFIG, skip: bool = False) -> Batches:
    (folder / "aomg.yaml").write_text(config.replace("SKIP", str(skip).lower()))
    (folder / "state").mkdir(exist_ok=True)
    return assembled(claim_state(load(folder / "aomg.yaml")), Console(file=io.StringIO()))


def rows_of(batch: int, p99: float = 5000.0, end: int | None = None) -> pa.Table:
    """One window, as Spark hands it over."""
    rows = table(row(("x",), NOON + batch * MINUTE if end is None else end, p99=p99))
    return rows.append_column("summary", pa.nulls(len(rows), pa.binary()))


class Frame:
    """A DataFrame of Spark: its rows are computed when they are asked for."""

    def __init__(self, rows: pa.Table, during=lambda: None) -> None:
        self._rows, self._during = rows, during

    def toArrow(self) -> pa.Table:  # noqa: N802
        self._during()
        return self._rows


def source_file(folder: Path, batch: int) -> Path:
    """A file that a batch reads, and what Spark has listed of it."""
    file = folder / "in" / f"{batch}.jsonl"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{batch}\n")
    log = folder / "state/checkpoint/sources/0" / str(batch)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f'v1\n{{"path":"file://{file}","timestamp":1,"batchId":{batch}}}')
    spark_plans(folder / "state", batch, f'{{"logOffset":{batch}}}')
    return file


def run(folder: Path, batches: int, ends: list[int] | None = None) -> None:
    """A run of some batches that ends as it should."""
    monitor = started(folder)
    for batch in range(monitor.journal.next, batches):
        source_file(folder, batch)
        monitor(Frame(rows_of(batch, end=ends[batch] if ends else None)), batch)
        spark_commits(folder / "state", batch)
    assert monitor.notifier.close(20) == {}


def contents(folder: Path) -> dict[str, bytes]:
    return {name: text for name, text in files(folder).items() if not name.endswith("lock")}


def stored(folder: Path) -> list[Path]:
    """The files of results."""
    return sorted((folder / "results").glob("day=*/*.parquet"))
