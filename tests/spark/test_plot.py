"""Results on Spark are plotted as they are."""

import numpy as np
import pytest
from pyspark.sql import functions as f

import aomg
from aomg.spark import quantiles


def test_a_dataframe_of_results_is_plotted_with_a_line_for_each_key(spark):
    pytest.importorskip("plotly")
    query = aomg.Query("2 minutes", "1 minute", quantiles=(0.5, 0.99))
    events = spark.range(1_200).withColumn("ts", f.timestamp_seconds(f.col("id")))
    events = events.select("ts", (f.col("id") % 2).alias("key"), (f.col("id") + 1.0).alias("value"))
    figure = aomg.plot(quantiles(events, query, value="value", time="ts", by=["key"]))
    lines = [trace for trace in figure.data if trace.showlegend]
    assert [line.name for line in lines] == ["1", "0"]
    seconds = np.arange(1, 1_200, 2)
    expected = aomg.Operator(query)
    results = expected.push(seconds + 1.0, seconds.astype("datetime64[s]")) + expected.finish()
    assert list(lines[0].y) == results.values(0.99).tolist()
    assert [np.datetime64(end, "us") for end in lines[0].x] == list(results.ends)
