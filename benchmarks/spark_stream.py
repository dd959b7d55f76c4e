"""How near to a plain streaming count does a stream on Spark run, 1 hour by 1 minute, from one key to 10,000?

Both keep their state in RocksDB and read the same micro-batches, a twelfth of the data each; those of the second
half are timed, when the window is full.
"""

from benchmarks.measure import Figure, Timed
from benchmarks.spark import beside_count, default_query_cases, in_stream

AIMS = {1: 0.5, 100: 0.5, 10_000: 0.3}


def run(quick: bool) -> list[Figure]:
    return beside_count("stream", AIMS, 3, in_stream, "a streaming count by minute", quick)


def cases(quick: bool) -> dict[str, Timed]:
    return default_query_cases("stream", AIMS, in_stream, quick)
