"""The examples of docs/spark.md run as they stand."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import aomg.spark

GUIDE = Path(__file__).parents[2] / "docs" / "spark.md"

pytestmark = pytest.mark.xdist_group("spark")


def test_the_examples_run_from_top_to_bottom(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(aomg.spark, "session", lambda: spark)
    events = spark.range(3_000).select(
        f.concat(f.lit("podset-"), f.col("id") % 3).alias("podset"),
        f.when(f.col("id") % 3 == 0, "north").otherwise("south").alias("region"),
        f.timestamp_seconds(f.lit(1_700_000_000) + f.col("id")).alias("ts"),
        (f.col("id") % 997 + 200).alias("rtt_us"),
    )
    events.write.parquet(f"{tmp_path}/rtts")
    names = {"builder": SparkSession.builder}
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) == 9
    for block in blocks:
        exec(re.sub(r'"(rtts|state|windows|summaries)"', rf'"{tmp_path}/\1"', block), names)
        if "running" in names:
            names.pop("running").stop()
    stored, query = names["stored"], names["query"]
    assert {"window_end", "p99", "p99_low"} <= set(names["frame"].columns)
    assert {row.region: row.worst_p99 > 1000 for row in names["rolled_up"].collect()} == {"north": True, "south": True}
    answered = (
        aomg.spark.windows(stored, query)
        .drop("region")
        .exceptAll(aomg.spark.quantiles(names["events"], query, value="rtt_us", time="ts", by=["podset"]))
    )
    assert answered.count() == 0
    rolled_up = aomg.spark.windows(stored, query.replace(size="24 hours", quantiles=(0.95,)), by=["region"])
    assert {row.region for row in rolled_up.select("region").distinct().collect()} == {"north", "south"}
