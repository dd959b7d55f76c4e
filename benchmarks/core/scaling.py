"""Does a longer window cost speed? Period 1,000, windows from 1,000 to 100 million events.

Every operator first fills its window until sub-windows expire. Then all of them, and a sum over the same array, take
turns. Paper mode stores raw values and is slower, so it is timed on fewer events.
"""

from collections.abc import Callable

from aomg import Operator, Query
from aomg.streams import BLOCK, pingmesh
from benchmarks.measure import SMALL, Figure, Timed, memory_sum, pingmesh_values, take_turns, timed

PERIOD = 1_000
PAPER_EVENTS = 100_000
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)


def run(quick: bool) -> list[Figure]:
    sizes = SIZES[:4] if quick else SIZES
    return [
        _figure("default query", Query, sizes, SMALL, 5 if quick else 25, 0.85),
        _figure("paper mode", Query.paper, sizes, PAPER_EVENTS, 5 if quick else 31, 0.9),
    ]


def cases(quick: bool) -> dict[str, Timed]:
    modes = {"default query": (Query, SMALL), "paper mode": (Query.paper, PAPER_EVENTS)}
    return {
        f"{mode}, P = 1K, N = {_short(size)}": timed(push)
        for mode, (query, events) in modes.items()
        for size, push in _pushes(query, SIZES[:4] if quick else SIZES, events).items()
    }


def _figure(
    mode: str, query: Callable[..., Query], sizes: tuple[int, ...], events: int, rounds: int, aim: float
) -> Figure:
    values = pingmesh_values(SMALL)
    adding, *pushing = take_turns(rounds, lambda: memory_sum(values), *_pushes(query, sizes, events).values())
    best = [min(times) for times in pushing]
    slowest = min(best) / max(best)
    limit = min(adding) / values.size
    return Figure(
        f"{mode}, period 1K, slowest of the windows from 1K to {_short(sizes[-1])}",
        f"{slowest:.2f}",
        f">= {aim}",
        slowest >= aim,
        {
            "slowest_over_fastest": slowest,
            "of_a_sum": {str(n): limit * events / t for n, t in zip(sizes, best, strict=True)},
            "million_events_a_second": {str(n): events / t / 1e6 for n, t in zip(sizes, best, strict=True)},
            "timed_events_a_round": events,
        },
        against="the fastest of these windows",
    )


def _short(size: int) -> str:
    return f"{size // 1_000}K" if size < 1_000_000 else f"{size // 1_000_000}M"


def _pushes(query: Callable[..., Query], sizes: tuple[int, ...], events: int) -> dict[int, Callable[[], object]]:
    """Return, per window size, a call that pushes this many events into a full window."""
    part = pingmesh_values(SMALL)[:events]
    operators = {size: Operator(query(size, PERIOD)) for size in sizes}
    for size, operator in operators.items():
        for chunk in pingmesh(seed=2).chunks(size + size // 10, 16 * BLOCK):
            operator.push(chunk)
    return {size: lambda operator=operator: operator.push(part) for size, operator in operators.items()}
