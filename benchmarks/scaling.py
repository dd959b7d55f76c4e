"""Does a longer window cost speed? P = 1,000, N from 1,000 to 100 million.

Every operator is warmed until its window is full and sub-windows expire; then all of them, and a sum over the
same array, take turns. Paper mode keeps raw values and is slower, so it is timed on fewer events.
"""

from collections.abc import Callable

from aomg import Operator, Query
from aomg.streams import BLOCK, pingmesh
from benchmarks.measure import SMALL, Figure, memory_sum, pingmesh_values, take_turns

PERIOD = 1_000
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)


def run(quick: bool) -> list[Figure]:
    sizes = SIZES[:4] if quick else SIZES
    return [
        _figure("default query", Query, sizes, SMALL, 5 if quick else 25, 0.85),
        _figure("paper mode", Query.paper, sizes, 100_000, 5 if quick else 31, 0.9),
    ]


def _figure(
    what: str, query: Callable[..., Query], sizes: tuple[int, ...], events: int, rounds: int, aim: float
) -> Figure:
    values = pingmesh_values(SMALL)
    part = values[:events]
    operators = [Operator(query(size, PERIOD)) for size in sizes]
    for size, operator in zip(sizes, operators, strict=True):
        for chunk in pingmesh(seed=2).chunks(size + size // 10, 16 * BLOCK):
            operator.push(chunk)
    pushes = [lambda operator=operator: operator.push(part) for operator in operators]
    adding, *pushing = take_turns(rounds, lambda: memory_sum(values), *pushes)
    best = [min(times) for times in pushing]
    found = min(best) / max(best)
    limit = min(adding) / values.size
    return Figure(
        f"{what}, P = 1K, N = 1K to {sizes[-1] // 1_000_000}M, slowest / fastest",
        f"{found:.2f}",
        f">= {aim}",
        found >= aim,
        {
            "slowest_over_fastest": found,
            "of_a_sum": {str(n): limit * events / t for n, t in zip(sizes, best, strict=True)},
            "million_events_a_second": {str(n): events / t / 1e6 for n, t in zip(sizes, best, strict=True)},
            "timed_events_a_round": events,
        },
    )
