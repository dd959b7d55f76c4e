"""How fast is a batch on Spark compared with a plain count, 1 hour by 1 minute, with 1 to 10,000 keys?"""

from benchmarks.measure import Figure, Timed
from benchmarks.spark.race import beside_count, default_query_cases, in_batch

AIMS = {1: 0.5, 100: 0.4, 10_000: 0.25}


def run(quick: bool) -> list[Figure]:
    return beside_count("batch", AIMS, 5, in_batch, "Spark's count by minute", quick)


def cases(quick: bool) -> dict[str, Timed]:
    return default_query_cases("batch", AIMS, in_batch, quick)
