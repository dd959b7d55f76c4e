"""The monitor from files of telemetry to alerts: incidents that are known, restarts, bad rows. On Spark."""

import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from http_listener import HEARD_BUT_SILENT, OK, Listening, listening
from pyspark.sql import SparkSession
from rich.console import Console
from typer.testing import CliRunner

from aomg import streams
from aomg.cli import app
from aomg.monitor.alert import NOTIFIED, Alert
from aomg.monitor.config.reader import load
from aomg.monitor.errors import ConfigError
from aomg.monitor.run.monitor import Monitor, RunError
from aomg.monitor.run.progress import Progress
from aomg.monitor.run.rehearsal import rehearsed
from aomg.spark import Accounts
from aomg.streams import Podsets

pytestmark = pytest.mark.xdist_group("monitor on spark")

MINUTE, LATENESS = 60_000_000, 2_000_000
CONFIG = """
source: {{parquet: telemetry/, time: ts, files_per_batch: {files}}}
state: state/
clock: none
queries:
  inbound: {{value: rtt_us, unit: us, by: {{podset: dst_podset}}, size: {size}, period: {period}, lateness: 2s}}
  outbound: {{value: rtt_us, unit: us, by: {{podset: src_podset}}, size: {size}, period: {period}, lateness: 2s}}
sinks:
  results: [{{parquet: results/}}, {{jsonl: results.jsonl}}]
  alerts: [{{jsonl: alerts.jsonl}}]
receivers: [{{log: alerts.log}}]
groups:
  - name: network
    rules:
      - alert: PodsetSwitchFault
        expr: inbound.p99 > 4ms and outbound.p99 > 4ms
        min_count: 1000
        annotations: {{summary: "switch of podset {{{{ $labels.podset }}}}"}}
      - alert: TailAgainstMedian
        query: inbound
        expr: p99_9 > 20 * p50
        min_count: 2000
      - target: inbound_p99
        query: inbound
        quantile: p99
        at_most: 5ms
"""


class Heard:
    """A watcher that remembers, and may fail once."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.batches: list[int] = []
        self.alerts: list[Alert] = []
        self._fails_at = fails_at

    def __call__(self, progress: Progress) -> None:
        if progress.batch == self._fails_at:
            raise OSError("the power went")
        self.batches.append(progress.batch)
        self.alerts += progress.alerts


def telemetry(folder: Path, stream: Podsets, minutes: int, files: int) -> None:
    """Write so many minutes of a stream, in files that are read in their order."""
    telemetry_of(folder, stream, np.linspace(0, minutes, files + 1))


def telemetry_of(folder: Path, stream: Podsets, minutes: Iterable[float]) -> None:
    """The same, with a file from each of these minutes to the next."""
    (folder / "telemetry").mkdir(parents=True, exist_ok=True)
    edges = [round(minute * 60 * stream.rate) for minute in minutes]
    for number, (first, last) in enumerate(pairwise(edges)):
        put(folder, number, stream.take(last - first, first))


def put(folder: Path, number: int, table: pa.Table) -> None:
    file = folder / "telemetry" / f"events-{number:03d}.parquet"
    pq.write_table(table, file)
    os.utime(file, (1_700_000_000 + number,) * 2)


def configured(folder: Path, size: str = "2m", period: str = "15s", files: int = 1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "aomg.yaml"
    file.write_text(CONFIG.format(size=size, period=period, files=files))
    return file


def run(file: Path, spark: SparkSession, heard: Heard | None = None) -> Heard:
    heard = heard or Heard()
    Monitor(load(file), Console(file=io.StringIO()), [heard], spark, once=True).run()
    return heard


def written(folder: Path) -> dict[str, Any]:
    """All that a run left, but for the numbers of batches and the name of its state."""
    results = ds.dataset(folder / "results", partitioning="hive").to_table().drop_columns(["batch", "day"])
    order = [("query", "ascending"), ("end", "ascending"), ("key", "ascending")]
    key = pa.array([str(labels) for labels in results["labels"].to_pylist()])
    rows = results.append_column("key", key).sort_by(order).to_pylist()
    alerts = [json.loads(line) for line in (folder / "alerts.jsonl").read_text().splitlines()]
    for alert in alerts:
        del alert["batch"], alert["stream"]
    return {"rows": rows, "alerts": alerts}


def test_known_incidents_are_found_and_nothing_else_fires(spark: SparkSession, tmp_path: Path) -> None:
    stream = streams.podsets(rate=1_500)
    telemetry_of(tmp_path, stream, (0, 4.5, 4.6, 10.5, 15))
    heard = run(configured(tmp_path, files=1), spark)
    rehearsal = rehearsed(stream.incidents, heard.alerts)
    assert not rehearsal.false_alarms
    assert [detection.alert and detection.alert.rule for detection in rehearsal.detections] == [
        "PodsetSwitchFault",
        "TailAgainstMedian",
    ]
    assert all(alert.certainty == "certain" for alert in heard.alerts if alert.transition == "firing")
    # each fires at the first window whose exact quantiles are beyond the limit
    fault = rehearsal.detections[0]
    assert fault.alert is not None
    assert fault.alert.end == first_faulty_window(stream, fault.incident.podsets[0])
    # and is told in the micro-batch that reads an event which is the lateness beyond that window: none is waited for
    reached = [last_time(file) for file in sorted((tmp_path / "telemetry").iterdir())]
    assert [alert.batch for alert in heard.alerts] == [
        next(batch for batch, time in enumerate(reached) if time >= alert.end + LATENESS) for alert in heard.alerts
    ]
    assert reached[fault.alert.batch] - fault.alert.end < LATENESS + 6_000_000, "that micro-batch was a short one"
    room = json.loads((tmp_path / "state" / "targets.json").read_text())["targets"]
    assert {record["labels"]["podset"] for record in room} == {str(podset) for podset in range(20)}
    assert all(low <= value <= high <= 1 for low, value, high in (record["headroom"] for record in room))


def last_time(file: Path) -> int:
    return int(pc.max(pq.read_table(file)["ts"].cast(pa.int64())).as_py())


def first_faulty_window(stream: Podsets, podset: int) -> int:
    """The end of the first window in which the podset's exact p99 is above 4 ms in both directions."""
    table = stream.take(15 * 60 * stream.rate)
    above = []
    for column in ("dst_podset", "src_podset"):
        mine = table.filter(pc.equal(table[column], podset))
        times, values = mine["ts"].cast(pa.int64()).to_numpy(), mine["rtt_us"].to_numpy()
        ends = np.arange(times.min() // (MINUTE // 4) + 1, times.max() // (MINUTE // 4)) * (MINUTE // 4)
        exact = {}
        for end in ends:
            window = np.sort(values[(times >= end - 2 * MINUTE) & (times < end)])
            exact[int(end)] = window[int(np.ceil(0.99 * window.size)) - 1]
        above.append({end for end, value in exact.items() if value > 4000})
    return min(above[0] & above[1])


@dataclass(frozen=True)
class Calm:
    """A run that nothing disturbed."""

    folder: Path
    alerts: Sequence[Alert]
    files: int = 4

    def copy(self, folder: Path, numbers: Iterable[int] = range(files)) -> None:
        """Some of its files, to be read again."""
        (folder / "telemetry").mkdir(parents=True, exist_ok=True)
        for number in numbers:
            name = f"events-{number:03d}.parquet"
            shutil.copy2(self.folder / "telemetry" / name, folder / "telemetry" / name)


@pytest.fixture(scope="module")
def calm(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Calm:
    folder = tmp_path_factory.mktemp("calm")
    telemetry(folder, streams.podsets(rate=600), 12, Calm.files)
    heard = run(configured(folder), spark)
    assert {alert.transition for alert in heard.alerts} >= {"firing", "resolved"}
    return Calm(folder, heard.alerts)


def test_a_restart_in_the_middle_changes_nothing(spark: SparkSession, calm: Calm, tmp_path: Path) -> None:
    alerts: list[Alert] = []
    for some in (range(1), range(1, Calm.files)):
        calm.copy(tmp_path, some)
        alerts += run(configured(tmp_path), spark).alerts
    assert written(tmp_path) == written(calm.folder)
    assert [alert.id for alert in alerts] == [alert.id for alert in calm.alerts]


def told_to(receiver: Listening, file: Path) -> Path:
    """The configuration with another receiver, which asks for ids."""
    file.write_text(file.read_text().replace("{log: alerts.log}", f"{{webhook: {receiver.url}}}"))
    return file


def check_that_each_was_told_under_one_id(receiver: Listening, alerts: Sequence[Alert]) -> None:
    """Every alert came, in its order, and a repeat is known by its id; here the first was not acknowledged."""
    assert [alert["id"] for alert in receiver.accepted()] == [
        alert.id for alert in alerts if alert.transition in NOTIFIED
    ]
    requests = [(heard.headers["Idempotency-Key"], heard.json) for heard in receiver.heard]
    assert [key for key, _ in requests].count(requests[0][0]) > 1
    first_told = dict(reversed(requests))
    assert all(alert == first_told[key] for key, alert in requests), "a repeat has the same content"


def test_a_batch_that_failed_after_it_was_written_is_repeated_without_a_trace(
    spark: SparkSession, calm: Calm, tmp_path: Path
) -> None:
    calm.copy(tmp_path)
    with listening(lambda number: OK if number else HEARD_BUT_SILENT) as receiver:
        file = told_to(receiver, configured(tmp_path))
        with pytest.raises(RunError, match="the power went"):
            run(file, spark, Heard(fails_at=2))
        again = run(file, spark)
    assert again.batches[0] == 2
    assert written(tmp_path) == written(calm.folder)
    check_that_each_was_told_under_one_id(receiver, calm.alerts)


@pytest.mark.soak
def test_a_monitor_that_is_killed_tells_every_alert_under_one_id_and_writes_the_same(
    spark: SparkSession, calm: Calm, tmp_path: Path
) -> None:
    chance = random.Random(6)
    telemetry(tmp_path, streams.podsets(rate=600), 12, 24)
    running: list[subprocess.Popen[bytes]] = []

    def answer(number: int) -> int:
        """Kill the monitor that tells the first alert: it does not hear that it was heard."""
        if number > 0:
            return OK
        kill(running[-1])
        return HEARD_BUT_SILENT

    with listening(answer) as receiver:
        file = told_to(receiver, configured(tmp_path))
        for index in range(4):
            with (tmp_path / "log").open("a") as log:
                command = [str(Path(sys.executable).with_name("aomg")), "run", str(file), "--once"]
                running.append(subprocess.Popen(command, start_new_session=True, stdout=log, stderr=log))
            try:
                target, deadline = begun(tmp_path) + chance.randint(0, 1), time.monotonic() + 600
                while running[-1].poll() is None and time.monotonic() < deadline:
                    time.sleep(0.01)
                    if index > 0 and begun(tmp_path) > target:  # the first is killed by the answer
                        time.sleep(chance.uniform(0, 1))
                        break
            finally:
                kill(running[-1])
            assert running[-1].returncode == -signal.SIGKILL, (tmp_path / "log").read_text()[-3000:]
        run(file, spark)
    assert written(tmp_path) == written(calm.folder)
    check_that_each_was_told_under_one_id(receiver, calm.alerts)


def begun(folder: Path) -> int:
    """How many micro-batches have begun."""
    return len(list((folder / "state" / "checkpoint" / "offsets").glob("[0-9]*")))


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill Python and the JVM together."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_once(file: Path) -> dict[str, Any]:
    """What `aomg run --once --json` prints."""
    done = CliRunner().invoke(app, ["run", str(file), "--once", "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def test_rows_that_cannot_be_used_are_counted_and_kept(spark: SparkSession, tmp_path: Path) -> None:
    file = configured(tmp_path)
    columns = "{ts: timestamp, src_podset: int, dst_podset: int, rtt_us: long}"
    file.write_text(file.read_text().replace("time: ts", f"time: ts, columns: {columns}"))
    (tmp_path / "telemetry").mkdir()
    nothing_yet = run_once(file)
    assert (nothing_yet["rows"], nothing_yet["alerts"], nothing_yet["stopped"]) == (0, [], False)
    assert all(set(account.values()) == {0} for account in nothing_yet["accounts"].values())

    telemetry(tmp_path, streams.podsets(rate=200), 4, 2)
    table = streams.podsets(rate=200).take(100)
    nothing = table.set_column(table.schema.get_field_index("rtt_us"), "rtt_us", pa.nulls(100, pa.int64()))
    put(tmp_path, 9, nothing)
    summary = run_once(file)
    assert summary["rows"] > 0 and summary["refused"] == 100
    for counts in summary["accounts"].values():
        account = Accounts(**counts)
        assert account.reconcile
        assert account.refused == 100
        assert account.came == 4 * 60 * 200 + 100
    assert spark.range(1).count() == 1, "a session that was there before lives on"
    kept = [json.loads(line) for line in (tmp_path / "state" / "quarantine" / "refused.jsonl").read_text().splitlines()]
    assert len(kept) == 100
    assert {line["reason"] for line in kept} == {"no finite value in rtt_us"}


def test_the_rows_are_those_of_the_bare_query(spark: SparkSession, tmp_path: Path) -> None:
    from aomg.spark import quantiles

    telemetry(tmp_path, streams.podsets(rate=300), 5, 2)
    config = load(configured(tmp_path))
    run(config.file, spark)
    events = spark.read.parquet(str(tmp_path / "telemetry"))
    bare = quantiles(events, config.queries["inbound"].query, value="rtt_us", time="ts", by=["dst_podset"])
    expected = {
        (row.dst_podset, row.window.end.timestamp()): (row["count"], row.p99.value, row.p99.low, row.p99.high)
        for row in bare.collect()
    }
    stored_rows = {
        (int(row["labels"][0]), row["end"].timestamp()): (
            row["count"],
            *(
                next(part for part in row["estimates"] if part["name"] == "p99")[key]
                for key in ("value", "low", "high")
            ),
        )
        for row in written_rows(tmp_path, "inbound")
    }
    assert stored_rows
    assert stored_rows.items() <= expected.items()


def written_rows(folder: Path, query: str) -> Sequence[dict[str, Any]]:
    table = ds.dataset(folder / "results", partitioning="hive").to_table()
    return [row for row in table.to_pylist() if row["query"] == query]


def test_stored_summaries_answer_later_what_the_monitor_answered(spark: SparkSession, tmp_path: Path) -> None:
    from aomg.spark import windows

    telemetry(tmp_path, streams.podsets(rate=300), 5, 2)
    file = configured(tmp_path)
    file.write_text(file.read_text().replace("  alerts: [", "  summaries: [{parquet: summaries/}]\n  alerts: ["))
    config = load(file)
    run(file, spark)
    stored = spark.read.parquet(str(tmp_path / "summaries" / "inbound"))
    later = {
        (row.podset, row.window.end.timestamp()): (row["count"], row.p99.value, row.p99.low, row.p99.high)
        for row in windows(stored, config.queries["inbound"].query).collect()
    }
    emitted = {
        (row["labels"][0], row["end"].timestamp()): (
            row["count"],
            *(
                next(part for part in row["estimates"] if part["name"] == "p99")[key]
                for key in ("value", "low", "high")
            ),
        )
        for row in written_rows(tmp_path, "inbound")
    }
    assert emitted
    assert emitted.items() <= later.items()
    # summaries share what their query reads, so that its events are not counted twice
    lines = [json.loads(line) for line in (tmp_path / "state" / "health.jsonl").read_text().splitlines()]
    assert max(line["totals"]["events"] for line in lines if "batch" in line) == 5 * 60 * 300


def test_six_hours_of_clean_telemetry_raise_no_alarm(spark: SparkSession, tmp_path: Path) -> None:
    stream = streams.podsets(rate=150, incidents=())
    telemetry(tmp_path, stream, 6 * 60, 3)
    heard = run(configured(tmp_path, size="10m", period="1m"), spark)
    assert heard.alerts == []
    ends = {row["end"] for row in written_rows(tmp_path, "inbound")}
    assert len(ends) == 6 * 60 - 1  # the last is still open


def test_a_state_folder_of_other_queries_is_refused_before_anything_starts(spark: SparkSession, tmp_path: Path) -> None:
    telemetry(tmp_path, streams.podsets(rate=100), 2, 1)
    run(configured(tmp_path), spark)
    kept = written_rows(tmp_path, "inbound")
    with pytest.raises(ConfigError, match=r"query inbound was .*size 2m, period 15s.* and is .*size 1m, period 15s"):
        run(configured(tmp_path, size="1m"), spark)
    assert written_rows(tmp_path, "inbound") == kept
