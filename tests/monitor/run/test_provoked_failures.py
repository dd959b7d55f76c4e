"""Failures provoked on Spark: full and read-only disks, damaged files, killed processes. Each is overcome, too."""

import io
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from aomg.errors import StateError
from aomg.monitor.config.model import Config
from aomg.monitor.config.reader import load
from aomg.monitor.errors import RunError
from aomg.monitor.run import check, monitor
from aomg.monitor.run.failures import failure_of
from aomg.monitor.run.monitor import Monitor

pytestmark = pytest.mark.xdist_group("faults on spark")

CONFIGURATION = """
source: {parquet: telemetry/, time: ts, files_per_batch: 1}
state: state/
clock: none
every: 200ms
queries: {q: {value: v, by: k, size: 20s, period: 10s, lateness: 1s}}
sinks: {results: [{parquet: results/}]}
"""
AGAIN = "start again: the micro-batch is repeated"
PATIENCE = 300.0  # seconds; only a failing test waits so long


def put_events(folder: Path, number: int) -> Path:
    """A minute of events."""
    first = (1_700_000_000 + 60 * number) * 1_000_000
    times = pa.array([first + 500_000 * index for index in range(120)], pa.timestamp("us", tz="UTC"))
    table = pa.table({"ts": times, "k": [str(index % 3) for index in range(120)], "v": [1.0 * i for i in range(120)]})
    file = folder / "telemetry" / f"events-{number:03d}.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, file.with_name(f".{file.name}"))
    os.utime(file.with_name(f".{file.name}"), (1_700_000_000 + number,) * 2)
    return file.with_name(f".{file.name}").rename(file)


def configured(folder: Path) -> Config:
    folder.mkdir(exist_ok=True)
    (folder / "aomg.yaml").write_text(CONFIGURATION)
    return load(folder / "aomg.yaml")


def run(config: Config, spark: SparkSession) -> None:
    Monitor(config, Console(file=io.StringIO()), spark=spark, once=True).run()


def failure(config: Config, spark: SparkSession) -> str:
    """What is told of a run that fails, without where to read more."""
    with pytest.raises(RunError) as caught:
        run(config, spark)
    more = f" (more in {config.state / 'spark.log'})"
    assert str(caught.value).endswith(more)
    return str(caught.value).removesuffix(more)


def stored(folder: Path) -> list[str]:
    """The rows of results, without the numbers of batches."""
    table = ds.dataset(folder / "results", partitioning="hive").to_table().drop_columns(["batch"])
    return sorted(json.dumps(row, default=str) for row in table.to_pylist())


def wait_for(condition: Callable[[], object], process: "subprocess.Popen[bytes] | None" = None) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, "the monitor ended"
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.02)


def commits(config: Config) -> int:
    return len(list((config.state / "checkpoint" / "commits").glob("[0-9]*")))


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three files that nothing disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    for number in range(3):
        put_events(folder, number)
    run(configured(folder), spark)
    return folder


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """Mount something on a folder, for root."""
    if not folder.is_file():
        folder.mkdir(parents=True, exist_ok=True)
    tried = subprocess.run(["mount", *options, str(folder)], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"cannot mount: {tried.stderr.strip()}; run the tests as root to provoke a full disk")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take all space of a disk."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65_536, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue
    return ballast


def test_a_damaged_file_that_arrives_in_mid_run_is_named_and_can_be_skipped(spark, undisturbed, tmp_path):
    config = configured(tmp_path)
    put_events(tmp_path, 0)
    raised: list[BaseException] = []

    def watched() -> None:
        try:
            Monitor(config, Console(file=io.StringIO()), spark=spark).run()
        except RunError as error:
            raised.append(error)

    thread = threading.Thread(target=watched)
    thread.start()
    wait_for(lambda: commits(config) or not thread.is_alive())
    damaged = tmp_path / "telemetry" / "events-000b.parquet"
    content = (undisturbed / "telemetry" / "events-001.parquet").read_bytes()
    (tmp_path / "half").write_bytes(content[: len(content) // 2])
    os.utime(tmp_path / "half", (1_700_000_000,) * 2)  # Spark skips files that are much older than the newest
    (tmp_path / "half").rename(damaged)
    thread.join(PATIENCE)
    expected = (
        rf"^{damaged} is damaged \(Parquet magic bytes not found .*\); repair it, or put an empty file in its place to "
        rf"skip it, and {AGAIN}$"
    )
    with pytest.raises(RunError, match=expected):
        raise raised[0]
    damaged.write_bytes(b"")
    for number in (1, 2):
        put_events(tmp_path, number)
    run(config, spark)
    assert stored(tmp_path) == stored(undisturbed)


def test_a_full_state_disk_and_a_read_only_checkpoint_are_named_and_overcome(spark, undisturbed, tmp_path, monkeypatch):
    monkeypatch.setattr(check, "LEAST_FREE", 0)  # else the start is refused
    config = configured(tmp_path)
    with mounted(config.state, "-t", "tmpfs", "-o", "size=30m", "tmpfs"):
        put_events(tmp_path, 0)
        run(config, spark)
        put_events(tmp_path, 1)
        ballast = fill(config.state)
        assert failure(config, spark) == (
            f"no space is left on the disk of {config.state}; free some. The next start repeats the micro-batch"
        )
        ballast.unlink()
        put_events(tmp_path, 2)
        offsets = config.state / "checkpoint" / "offsets"
        with mounted(offsets, "--bind", str(offsets)):
            subprocess.run(["mount", "-o", "remount,ro,bind", str(offsets)], check=True)
            told = failure(config, spark)
        assert told.startswith(f"{offsets}/") and told.endswith(
            "cannot be written; change its permissions, or configure another path"
        )
        run(config, spark)
        assert stored(tmp_path) == stored(undisturbed)


@contextmanager
def unreadable(file: Path) -> Iterator[None]:
    """Let nobody read a file. Root may read any, so a file that even root must not read is mounted on it."""
    if os.geteuid():
        file.chmod(0)
        yield
        file.chmod(0o644)
        return
    with mounted(file, "--bind", "/sys/bus/platform/drivers_probe"):
        yield


def test_a_damaged_table_of_the_state_store_and_an_unreadable_file_are_named_and_overcome(
    spark, undisturbed, tmp_path, monkeypatch
):
    config = configured(tmp_path)
    put_events(tmp_path, 0)
    run(config, spark)
    damaged = {file: file.read_bytes() for file in (config.state / "checkpoint/state/0").glob("*/SSTs/*.sst")}
    for file, content in damaged.items():
        file.write_bytes(content[:40] + bytes(byte ^ 1 for byte in content[40:]))
    put_events(tmp_path, 1)
    checkpoint = re.escape(str(config.state / "checkpoint/state/0"))
    damage = "of Spark's checkpoint is missing or damaged"
    with pytest.raises(
        StateError, match=rf"^{checkpoint}/\d/SSTs/\S+\.sst {damage}: it differs from the checksums in "
    ):
        run(config, spark)  # by Spark's checksums, before Spark starts
    for file in damaged:
        file.with_name(f".{file.name}.crc").unlink()
    # without checksums, nobody knows which file it is
    expected = f"{config.state / 'checkpoint'} {damage}; restore the state folder from a backup"
    assert failure(config, spark).startswith(expected), "as RocksDB found it"
    for file, content in damaged.items():
        file.write_bytes(content)
    second = put_events(tmp_path, 1)
    monkeypatch.setattr(monitor, "inspect", lambda config: None)  # else the start is refused
    with unreadable(second), pytest.raises(RunError, match=rf"^{second} cannot be read; change its .* and {AGAIN}$"):
        run(config, spark)
    put_events(tmp_path, 2)
    run(config, spark)
    assert stored(tmp_path) == stored(undisturbed)


def test_failures_of_workers_and_of_vanished_files_are_told(spark, tmp_path):
    config = configured(tmp_path)

    def killed(batches):
        os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    def refused(batches):
        raise StateError("the summary is damaged; remove it")
        yield from batches

    def broken(batches):
        raise ZeroDivisionError("of a worker")
        yield from batches

    def told(action: Callable[[], object]) -> str:
        with pytest.raises(Exception) as caught:
            action()
        return str(failure_of(caught.value, config))

    more = f" (more in {config.state / 'spark.log'})"
    numbers = spark.range(1)
    assert told(numbers.mapInArrow(killed, "id long").collect).startswith(
        "a Python worker of Spark was killed or crashed"
    )
    assert told(numbers.mapInArrow(refused, "id long").collect) == "the summary is damaged; remove it"
    assert told(numbers.mapInArrow(broken, "id long").collect) == f"ZeroDivisionError: of a worker{more}"
    file = put_events(tmp_path, 0)
    events = spark.read.parquet(str(file))
    file.unlink()
    assert (
        told(events.collect) == f"the source file {file} was removed before it was read; put it back and {AGAIN}{more}"
    )
    assert told(spark.readStream.format("kafka").load).startswith(
        "Spark's Kafka connector is missing; start with PYSPARK"
    )
