"""How near to the memory's speed does the default query run?"""

from collections.abc import Callable

import numpy as np

from aomg import Operator, Query
from benchmarks.measure import LARGE, SMALL, Array, Figure, memory_sum, pingmesh_values, plain_sum, ratio, take_turns


def run(quick: bool) -> list[Figure]:
    events, rounds = (SMALL, 3) if quick else (LARGE, 15)
    integers = pingmesh_values(events)
    doubles = integers + np.random.default_rng(1).random(events)
    usual, short = Query(131_072, 16_384), Query(100_000, 1_000)
    return [
        _figure("default query, 128K by 16K, int64", usual, integers, rounds, 0.45),
        _figure("default query, 100K by 1K, int64", short, integers, rounds, 0.2),
        _figure("default query, 128K by 16K, float64", usual, doubles, rounds, 0.35),
        _figure("the same, in milliseconds", usual, doubles / 1000, rounds, None),
        _figure("128K by 16K, 1,000 events a push", usual, integers, rounds, 0.12, 1_000),
    ]


def _figure(what: str, query: Query, values: Array, rounds: int, aim: float | None, push: int = 0) -> Figure:
    words = values.view(np.int64)
    adding, fastest, pushing = take_turns(
        rounds, lambda: plain_sum(words), lambda: memory_sum(values), _pushing(query, values, push)
    )
    found, strict = ratio(adding, pushing), ratio(fastest, pushing)
    return Figure(
        what,
        f"{found}; {strict.best:.2f} of the fastest sum",
        "" if aim is None else f">= {aim} of a sum",
        None if aim is None else found.best >= aim,
        {
            "best": found.best,
            "median": found.median,
            "million_events_a_second": values.size / min(pushing) / 1e6,
            "sum_million_a_second": values.size / min(adding) / 1e6,
            "best_of_the_fastest_sum": strict.best,
            "fastest_sum_million_a_second": values.size / min(fastest) / 1e6,
        },
    )


def _pushing(query: Query, values: Array, push: int) -> Callable[[], object]:
    """Push the values into an operator that goes on from round to round: full windows, steady expiry."""
    operator = Operator(query)
    if not push:
        return lambda: operator.push(values)

    def in_parts() -> None:
        for start in range(0, values.size, push):
            operator.push(values[start : start + push])

    return in_parts
