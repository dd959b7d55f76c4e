"""How long after its end does a window's row arrive, with micro-batches of 10 seconds?

A live stream of 10,000 events a second, 100 keys, windows of 1 minute by 10 seconds, lateness 1 second. A micro-batch
begins every 10 seconds, when a window ends. The one after sees the events that move the watermark past that end, and
answers: one interval is Spark's own, the rest is work.
"""

import time
from statistics import median

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from aomg import Query
from aomg.spark import quantiles
from benchmarks.measure import Figure
from benchmarks.spark import KEY, TIME, VALUE, new_folder, say, spark

WINDOWS = 9  # about 90 seconds
WARM = 3  # micro-batches
LIMIT = 300  # seconds
QUERY = Query("1 minute", "10 seconds", lateness="1 second")


def run(quick: bool) -> list[Figure]:
    delays: list[float] = []
    ready = [0.0]  # windows that ended before this waited for workers to start

    def arrive(rows: DataFrame, number: int) -> None:
        found = rows.select((f.unix_micros("window.end") / 1e6).alias("end")).distinct()
        ends = [row["end"] for row in found.collect()]
        now = time.time()
        if number < WARM:
            ready[0] = now
        delays.extend(now - end for end in ends if end > ready[0])
        say(f"micro-batch {number}: {', '.join(f'{now - end:.1f} s' for end in sorted(ends)) or 'no window'}")

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
        raise RuntimeError(f"no window was answered in {LIMIT} seconds")
    return [
        Figure(
            "time from a window's end to its row, 1 minute by 10 seconds, lateness 1 s, micro-batches of 10 s",
            f"{median(delays):.1f} s (longest {max(delays):.1f} s)",
            detail={"seconds": delays, "windows": len(delays)},
        )
    ]


def _live() -> DataFrame:
    """Events as they happen; the values are of no concern here, only spread over some decades."""
    rate = spark().readStream.format("rate").option("rowsPerSecond", 10_000).load()
    scattered = f.pmod(f.xxhash64("value"), f.lit(1_000_000))
    return rate.select(
        f.format_string("podset-%05d", f.col("value") % 100).alias(KEY),
        f.col("timestamp").alias(TIME),
        (f.lit(100_000_000) / (scattered + 1_000)).cast("long").alias(VALUE),
    )
