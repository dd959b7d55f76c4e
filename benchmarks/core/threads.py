"""Do two streams on two threads run twice as fast as one?"""

from concurrent.futures import ThreadPoolExecutor

from aomg import Operator, Query
from benchmarks.measure import LARGE, SMALL, Figure, memory_sum, pingmesh_values, ratio, take_turns

QUERY = Query(131_072, 16_384)


def run(quick: bool) -> list[Figure]:
    events, rounds = (SMALL, 3) if quick else (LARGE, 15)
    streams = [pingmesh_values(events, seed) for seed in (1, 2)]
    operators = [Operator(QUERY) for _ in streams]
    with ThreadPoolExecutor(2) as pool:
        single, two, sum_one, sum_two = take_turns(
            rounds,
            lambda: operators[0].push(streams[0]),
            lambda: list(pool.map(Operator.push, operators, streams)),
            lambda: memory_sum(streams[0]),
            lambda: list(pool.map(memory_sum, streams)),
        )
    faster, limit = ratio(single, two, 2.0), ratio(sum_one, sum_two, 2.0)
    return [
        Figure(
            "two streams on two threads",
            f"{faster}",
            ">= 1.8",
            faster.best >= 1.8,
            {"best": faster.best, "median": faster.median, "two_sums_times_one": limit.best},
            against=f"one stream on one thread; two sums reach {limit.best:.2f}",
        )
    ]
