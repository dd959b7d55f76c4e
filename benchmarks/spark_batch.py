"""How near to a plain count does a batch on Spark run, 1 hour by 1 minute, from one key to 10,000?"""

from benchmarks.measure import Figure, ratio
from benchmarks.spark import Rival, compared, count, default_query, in_batch, pingmesh_events, race

AIMS = {1: 0.5, 100: 0.4, 10_000: 0.25}


def run(quick: bool) -> list[Figure]:
    figures = []
    for keys, aim in AIMS.items():
        data = pingmesh_events(keys, quick)
        rivals = [Rival("count", count, data), Rival("quantiles", default_query, data)]
        label = f"{keys:,} key{'s' * (keys > 1)}"
        times = race(f"batch, {label}", 1 if quick else 5, rivals, in_batch)
        what = f"batch, 1 hour by 1 minute, {label}, of the speed of a count by minute"
        figures.append(compared(what, ratio(*times), aim, rivals, times))
    return figures
