"""How many times faster than Spark's percentile_approx over sliding windows, 1 hour by 1 minute, 100 keys?

Spark copies every event into the 60 windows that it is in. That is so slow that it reads half of one file of the
twelve, as one micro-batch, which is kind to it: no window is full, and none is answered in the time that counts.
"""

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from benchmarks.measure import Figure, ratio
from benchmarks.spark import (
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
        what = (
            f"{mode}, 1 hour by 1 minute, 100 keys, times the speed of percentile_approx({ACCURACY:,}) "
            f"(in events a second; it reads {rivals[0].data.events:,} events, we {data.events:,})"
        )
        figures.append(compared(what, ratio(*times), AIM, rivals, times))
    return figures


def _half_a_file(data: Data) -> Data:
    """Five minutes, as dense as the rest."""
    file = pq.read_table(data.paths[6])
    part = Data(new_folder("part"))
    pq.write_table(file.slice(0, file.num_rows // 2), part.folder / "part-00.parquet")
    return part
