"""How fast is the default query compared with summing the same array?"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aomg import Operator, Query
from benchmarks.measure import (
    LARGE,
    SMALL,
    Array,
    Figure,
    Timed,
    memory_sum,
    pingmesh_values,
    plain_sum,
    ratio,
    take_turns,
    timed,
)


@dataclass(frozen=True)
class Load:
    """Values to push into a query, in one call or in parts."""

    what: str
    query: Query
    values: Array
    aim: float | None
    push: int = 0  # events per push; 0 for all at once


def run(quick: bool) -> list[Figure]:
    return [_figure(load, 3 if quick else 15) for load in _loads(quick)]


def cases(quick: bool) -> dict[str, Timed]:
    return {load.what: timed(_pushing(load)) for load in _loads(quick)}


def _loads(quick: bool) -> list[Load]:
    events = SMALL if quick else LARGE
    integers = pingmesh_values(events)
    doubles = integers + np.random.default_rng(1).random(events)
    usual, short = Query(131_072, 16_384), Query(100_000, 1_000)
    return [
        Load("default query, 128K by 16K, int64", usual, integers, 0.45),
        Load("default query, 100K by 1K, int64", short, integers, 0.2),
        Load("default query, 128K by 16K, float64", usual, doubles, 0.35),
        Load("default query, 128K by 16K, float64, in milliseconds", usual, doubles / 1000, None),
        Load("default query, 128K by 16K, 1,000 events per push", usual, integers, 0.12, 1_000),
    ]


def _figure(load: Load, rounds: int) -> Figure:
    values, aim = load.values, load.aim
    words = values.view(np.int64)
    adding, fastest, pushing = take_turns(rounds, lambda: plain_sum(words), lambda: memory_sum(values), _pushing(load))
    of_sum, of_fastest = ratio(adding, pushing), ratio(fastest, pushing)
    return Figure(
        load.what,
        f"{of_sum}",
        "" if aim is None else f">= {aim}",
        None if aim is None else of_sum.best >= aim,
        {
            "best": of_sum.best,
            "median": of_sum.median,
            "million_events_a_second": values.size / min(pushing) / 1e6,
            "sum_million_a_second": values.size / min(adding) / 1e6,
            "best_of_the_fastest_sum": of_fastest.best,
            "fastest_sum_million_a_second": values.size / min(fastest) / 1e6,
        },
        against=f"a plain sum; {of_fastest.best:.2f} of the fastest sum",
    )


def _pushing(load: Load) -> Callable[[], object]:
    """Return a call that pushes the values into one operator, round after round: full windows, steady expiry."""
    operator, values, push = Operator(load.query), load.values, load.push
    if not push:
        return lambda: operator.push(values)

    def in_parts() -> None:
        for start in range(0, values.size, push):
            operator.push(values[start : start + push])

    return in_parts
