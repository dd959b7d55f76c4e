"""How does a batch compare with Spark's own KLL sketches (k = 200), 1 hour by 1 minute, 100 keys: speed and errors?

There is one sketch per key and minute. Windows are merged from them in two ways: by a sliding groupBy, which copies
each sketch into 60 windows, and by frames of an SQL window. The faster one counts.
"""

import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from benchmarks.measure import QUANTILES, Array, Figure, exact, ratio
from benchmarks.spark.race import (
    HOUR,
    KEY,
    QUERY,
    RANKS,
    START,
    TIME,
    VALUE,
    Data,
    Rival,
    compared,
    default_query,
    pingmesh_events,
    race,
)

AIM = 1
MINUTE = QUERY.period
ENDS = [START + HOUR + quarter * HOUR // 4 for quarter in range(5)]  # full windows


def _sketches(events: DataFrame) -> DataFrame:
    minutes = events.groupBy(KEY, f.window(TIME, "1 minute").alias("minute"))
    return minutes.agg(f.kll_sketch_agg_bigint(VALUE).alias("sketch"))


def _answers(merged: DataFrame) -> DataFrame:
    ranks = f.array(*map(f.lit, RANKS))
    return merged.select(KEY, "end", f.kll_sketch_get_quantile_bigint("sketch", ranks).alias("values"))


def kll_grouped(events: DataFrame) -> DataFrame:
    sketches = _sketches(events).select(KEY, "sketch", f.col("minute.start").alias("start"))
    windows = sketches.groupBy(KEY, f.window("start", "1 hour", "1 minute"))
    merged = windows.agg(f.kll_merge_agg_bigint("sketch").alias("sketch"))
    return _answers(merged.withColumn("end", f.unix_micros("window.end")))


def kll_framed(events: DataFrame) -> DataFrame:
    sketches = _sketches(events).withColumn("end", f.unix_micros("minute.end"))
    frame = Window.partitionBy(KEY).orderBy("end").rangeBetween(MINUTE - QUERY.size, 0)
    return _answers(sketches.withColumn("sketch", f.kll_merge_agg_bigint("sketch").over(frame)))


def run(quick: bool) -> list[Figure]:
    data = pingmesh_events(100, quick)
    rivals = [
        Rival("KLL, groupBy", kll_grouped, data),
        Rival("KLL, frames", kll_framed, data),
        Rival("quantiles", default_query, data),
    ]
    times = race("batch, KLL", 1 if quick else 3, rivals)
    fastest = min((0, 1), key=lambda i: min(times[i]))
    faster = ratio(times[fastest], times[2])
    setting = "batch, 1 hour by 1 minute, 100 keys"
    figures = [compared(setting, "Spark's own KLL (k = 200)", faster, AIM, rivals, times)]
    truth = _truth(data)
    for policy, answers in (
        ("default query", _ours(data)),
        ("Spark's own KLL (k = 200)", _collected(rivals[fastest].plan(data.batch()))),
    ):
        errors = np.array([np.abs(np.array(answers[window]) / values - 1) * 100 for window, values in truth.items()])
        figures.append(
            Figure(
                f"average value error at {QUANTILES}, {setting}, {policy}",
                " / ".join(f"{error:.2f}" for error in errors.mean(axis=0))
                + f" % (worst at p99.9: {errors[:, -1].max():.2f} %)",
                detail={
                    "windows": len(truth),
                    "average": errors.mean(axis=0).tolist(),
                    "worst": errors.max(axis=0).tolist(),
                },
                unit="%",
                against="exact quantiles",
            )
        )
    return figures


Answers = dict[tuple[str, int], list[float]]


def _ours(data: Data) -> Answers:
    values = f.array(*(f.col(f"{name}.value") for name in ("p50", "p90", "p99", "p99_9")))
    rows = default_query(data.batch())
    return _collected(rows.select(KEY, f.unix_micros("window.end").alias("end"), values.alias("values")))


def _collected(rows: DataFrame) -> Answers:
    return {(row[KEY], row["end"]): row["values"] for row in rows.where(f.col("end").isin(ENDS)).collect()}


def _truth(data: Data) -> dict[tuple[str, int], Array]:
    """Return the exact quantiles of every key in some full windows, from the raw values."""
    table = pq.read_table(data.folder, read_dictionary=[KEY]).unify_dictionaries().combine_chunks()
    column = table[KEY].chunk(0)
    names, keys = column.dictionary.to_pylist(), column.indices.to_numpy()
    times, values = table[TIME].cast("int64").to_numpy(), table[VALUE].to_numpy()
    quantiles = {}
    for end in ENDS:
        inside = (times >= end - QUERY.size) & (times < end)
        key, value = keys[inside], values[inside]
        order = np.argsort(key, kind="stable")
        present, starts = np.unique(key[order], return_index=True)
        for number, window in zip(present, np.split(value[order], starts[1:]), strict=True):
            quantiles[names[number], end] = np.array(exact(window, QUERY.quantiles))
    return quantiles
