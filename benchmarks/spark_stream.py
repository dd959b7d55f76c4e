"""How near to a plain streaming count does a stream on Spark run, 1 hour by 1 minute, from one key to 10,000?

Both keep their state in RocksDB and read the same micro-batches, a twelfth of the data each; those of the second
half are timed, when the window is full.
"""

from benchmarks.measure import Figure, ratio
from benchmarks.spark import Rival, compared, count, default_query, in_stream, pingmesh_events, race

AIMS = {1: 0.5, 100: 0.5, 10_000: 0.3}


def run(quick: bool) -> list[Figure]:
    figures = []
    for keys, aim in AIMS.items():
        data = pingmesh_events(keys, quick)
        rivals = [Rival("count", count, data), Rival("quantiles", default_query, data)]
        label = f"{keys:,} key{'s' * (keys > 1)}"
        times = race(f"stream, {label}", 1 if quick else 3, rivals, in_stream)
        what = f"stream, 1 hour by 1 minute, {label}, of the speed of a streaming count by minute"
        figures.append(compared(what, ratio(*times), aim, rivals, times))
    return figures
