"""How fast are batches and streams from Parquet files that workers read themselves, compared with a plain count?

The count reads the same files with Spark's own reader: 1 hour by 1 minute, 1 to 10,000 keys.
"""

from benchmarks.measure import Figure, ratio
from benchmarks.spark.race import (
    Rival,
    WorkerData,
    compared,
    count,
    default_query,
    in_batch,
    in_stream,
    pingmesh_events,
    race,
)

AIMS = {(1, False): 1.2, (100, False): 1.0, (10_000, False): 0.8, (100, True): 1.0}
"""Of a batch, by the number of keys and whether they are strings."""
STREAM_AIM = 1.0
ROUNDS = 3


def run(quick: bool) -> list[Figure]:
    figures = []
    for mode, timed in (("batch", in_batch), ("stream", in_stream)):
        for (keys, texts), aim in AIMS.items():
            data = pingmesh_events(keys, quick, texts=texts)
            files = WorkerData(data.folder, data.files)
            rivals = [Rival("count", count, data), Rival("quantiles", default_query, files)]
            label = f"{mode} from Parquet files, {keys:,} {'string' if texts else 'integer'} key{'s' * (keys > 1)}"
            times = race(label, 1 if quick else ROUNDS, rivals, timed)
            aim = aim if mode == "batch" else STREAM_AIM
            against = "Spark's count by minute" if mode == "batch" else "Spark's streaming count by minute"
            figures.append(compared(label, against, ratio(*times), aim, rivals, times))
    return figures
