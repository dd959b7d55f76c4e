"""How fast is a stream on Spark compared with a plain streaming count, 1 hour by 1 minute, with 1 to 10,000 keys?

Both store their state in RocksDB and read the same micro-batches, a twelfth of the data each. Those of the second half
are timed, when the window is full.
"""

from benchmarks.measure import Figure, Timed
from benchmarks.spark.race import beside_count, default_query_cases, in_stream

AIMS = {1: 0.5, 100: 0.5, 10_000: 0.3}


def run(quick: bool) -> list[Figure]:
    return beside_count("stream", AIMS, 3, in_stream, "Spark's streaming count by minute", quick)


def cases(quick: bool) -> dict[str, Timed]:
    return default_query_cases("stream", AIMS, in_stream, quick)
