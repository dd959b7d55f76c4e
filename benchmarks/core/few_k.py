"""What does few-k merging cost in paper mode, 100K by 1K, compared with the paper?

Tails start at 0.99, and the same 100,000 values are pushed repeatedly, out of a cache. `aomg evaluate fewk_cost` also
has tails for 0.999 alone, as the paper describes, and new values.
"""

from collections.abc import Callable

from aomg import FewK, Operator, Query
from benchmarks.measure import SMALL, Figure, Timed, memory_sum, pingmesh_values, ratio, take_turns, timed

PAPER = {0.2: 9.0, 1.0: 21.2}
EVENTS = 100_000


def run(quick: bool) -> list[Figure]:
    events, rounds = EVENTS, 5 if quick else 31
    values = pingmesh_values(SMALL)
    queries = _queries()
    adding, plain, *merging = take_turns(rounds, lambda: memory_sum(values), *map(_pushing, queries))
    figures = []
    for (fraction, paper), times in zip(PAPER.items(), merging, strict=True):
        speed_kept = ratio(plain, times)
        figures.append(
            Figure(
                f"cost of few-k merging at fraction {fraction}, tails from {queries[1].few_k.high:g}, paper mode, "
                "100K by 1K, the same window repeatedly",
                f"{100 * (1 - speed_kept.best):.1f} % (median {100 * (1 - speed_kept.median):.1f} %)",
                detail={
                    "cost": 1 - speed_kept.best,
                    "median": 1 - speed_kept.median,
                    "million_events_a_second": events / min(times) / 1e6,
                },
                unit="% of the throughput",
                against=f"the paper: {paper} %",
            )
        )
    speed = events / min(plain) / 1e6
    figures.append(
        Figure(
            "paper mode without few-k merging, 100K by 1K",
            f"{speed * min(adding) / values.size * 1e6:.4f}",
            detail={"million_events_a_second": speed, "of_a_sum": speed * min(adding) / values.size * 1e6},
            against="the fastest sum",
        )
    )
    return figures


def cases(quick: bool) -> dict[str, Timed]:
    names = ["paper mode without few-k, 100K by 1K", *(f"few-k at fraction {fraction}" for fraction in PAPER)]
    return {name: timed(_pushing(query)) for name, query in zip(names, _queries(), strict=True)}


def _queries() -> list[Query]:
    """Return the query without few-k merging, then one per fraction."""
    merging = [Query.paper(EVENTS, 1_000, few_k=FewK(fraction=fraction)) for fraction in PAPER]
    return [Query.paper(EVENTS, 1_000), *merging]


def _pushing(query: Query) -> Callable[[], object]:
    """Return a call that pushes one window's values into a full window."""
    part = pingmesh_values(SMALL)[:EVENTS]
    operator = Operator(query)
    operator.push(part)
    return lambda: operator.push(part)
