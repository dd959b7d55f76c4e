"""How many times faster than Spark's percentile_approx over sliding windows, 1 hour by 1 minute, 100 keys?

Spark copies every event into its 60 windows. That is so slow that it reads only half of one of the twelve files, as one
micro-batch. This favours Spark: no window is full, and none is emitted while the clock runs.
"""

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from benchmarks.measure import Figure, ratio
from benchmarks.spark.race import (
    KEY,
    RANKS,
    TIME,
    VALUE,
    Data,
    Rival,
    compared,
    default_query,
    in_batch,
    in_stream,
    new_folder,
    pingmesh_events,
    race,
)

AIM = 30
ACCURACY = 10_000


def percentile(events: DataFrame) -> DataFrame:
    if events.isStreaming:
        events = events.withWatermark(TIME, "10 seconds")
    windows = events.groupBy(KEY, f.window(TIME, "1 hour", "1 minute"))
    return windows.agg(f.percentile_approx(VALUE, f.array(*map(f.lit, RANKS)), f.lit(ACCURACY)))


def run(quick: bool) -> list[Figure]:
    data = pingmesh_events(100, quick)
    rivals = [
        Rival("percentile_approx", percentile, _half_a_file(data), _half_a_file(pingmesh_events(100, True))),
        Rival("quantiles", default_query, data),
    ]
    figures = []
    for mode, timed in (("batch", in_batch), ("stream", in_stream)):
        times = race(f"{mode}, percentile_approx", 1 if quick else 3, rivals, timed)
        rival = f"percentile_approx({ACCURACY:,}), on {rivals[0].data.events:,} of our {data.events:,} events"
        figures.append(compared(f"{mode}, 1 hour by 1 minute, 100 keys", rival, ratio(*times), AIM, rivals, times))
    return figures


def _half_a_file(data: Data) -> Data:
    """Return five minutes of the data, as dense as the others."""
    file = pq.read_table(data.paths[6])
    part = Data(new_folder("part"))
    pq.write_table(file.slice(0, file.num_rows // 2), part.folder / "part-00.parquet")
    return part
