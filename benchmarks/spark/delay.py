"""How long after its end is a window's result emitted, with micro-batches of 10 seconds?

A live stream of 10,000 events/s, 100 keys, windows of 1 minute by 10 seconds, lateness 1 second. A micro-batch starts
every 10 seconds, when a window ends. The next one reads the events that move the watermark past that end, and emits the
result: one interval is due to Spark, the rest is work.
"""

import time
from statistics import median

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from aomg import Query
from aomg.spark import quantiles
from benchmarks.measure import Figure
from benchmarks.spark.race import KEY, TIME, VALUE, log, new_folder, spark

WINDOWS = 9  # about 90 seconds
WARM = 3  # micro-batches
LIMIT = 300  # seconds
QUERY = Query("1 minute", "10 seconds", lateness="1 second")


def run(quick: bool) -> list[Figure]:
    delays: list[float] = []
    ready = [0.0]  # windows that ended earlier waited for workers to start

    def arrive(rows: DataFrame, number: int) -> None:
        window_ends = rows.select((f.unix_micros("window.end") / 1e6).alias("end")).distinct()
        ends = [row["end"] for row in window_ends.collect()]
        now = time.time()
        if number < WARM:
            ready[0] = now
        delays.extend(now - end for end in ends if end > ready[0])
        log(f"micro-batch {number}: {', '.join(f'{now - end:.1f} s' for end in sorted(ends)) or 'no window'}")

    frame = quantiles(_live(), QUERY, value=VALUE, time=TIME, by=KEY)
    writer = frame.writeStream.foreachBatch(arrive).option("checkpointLocation", str(new_folder("delay")))
    query = writer.trigger(processingTime="10 seconds").start()
    started = time.time()
    try:
        while len(delays) < (3 if quick else WINDOWS) and time.time() < started + LIMIT:
            query.awaitTermination(1)
    finally:
        query.stop()
    if not delays:
        raise RuntimeError(f"no window had a result after {LIMIT} seconds")
    return [
        Figure(
            "delay of a result, 1 minute by 10 seconds, lateness 1 s, micro-batches of 10 s",
            f"{median(delays):.1f} s (longest {max(delays):.1f} s)",
            detail={"seconds": delays, "windows": len(delays)},
            unit="s",
            against="the end of its window",
        )
    ]


def _live() -> DataFrame:
    """Return a live stream; its values do not matter, as long as they span some decades."""
    rate = spark().readStream.format("rate").option("rowsPerSecond", 10_000).load()
    scattered = f.pmod(f.xxhash64("value"), f.lit(1_000_000))
    return rate.select(
        f.format_string("podset-%05d", f.col("value") % 100).alias(KEY),
        f.col("timestamp").alias(TIME),
        (f.lit(100_000_000) / (scattered + 1_000)).cast("long").alias(VALUE),
    )
