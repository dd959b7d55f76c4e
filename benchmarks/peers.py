"""How does the default query compare with DataSketches KLL (k = 200) on the same windows, 100K by 1K?

KLL sketches merge but do not subtract, so one is made for each sub-window and the window is kept by two
stacks: two merges a period, amortised, and those of the answer. Of the library's sketches (floats, doubles,
ints) the fastest counts; the conversion to its type is not timed.
"""

from collections.abc import Callable, Iterator
from typing import Any

import datasketches
import numpy as np

from aomg import Operator, Query
from aomg.policies.two_stacks import TwoStacks
from benchmarks.measure import SMALL, Array, Figure, exact, memory_sum, pingmesh_values, ratio, take_turns

QUERY = Query(100_000, 1_000)
RANKS = [float(q) for q in QUERY.quantiles]
SKETCHES = {
    "floats": (datasketches.kll_floats_sketch, np.float32),
    "doubles": (datasketches.kll_doubles_sketch, np.float64),
    "ints": (datasketches.kll_ints_sketch, np.int32),
}


def answers(make: Callable[[], Any], values: Array) -> Iterator[list[float]]:
    window = TwoStacks(make, lambda into, other: into.merge(other))
    for start in range(0, values.size, QUERY.period):
        sketch = make()
        sketch.update(values[start : start + QUERY.period])
        window.push(sketch)
        if len(window) > QUERY.sub_windows:
            window.pop()
        yield list(window.merged().get_quantiles(RANKS, True))


def run(quick: bool) -> list[Figure]:
    rounds, events = (3, 500_000) if quick else (5, 2_000_000)
    values = pingmesh_values(SMALL)
    part = values[:events]
    names = list(SKETCHES)
    peers = []
    for sketch, dtype in SKETCHES.values():
        converted = part.astype(dtype)
        peers.append(lambda sketch=sketch, converted=converted: list(answers(lambda: sketch(200), converted)))
    operator = Operator(QUERY)
    adding, ours, *theirs = take_turns(rounds, lambda: memory_sum(values), lambda: operator.push(values), *peers)
    fastest = min(range(len(names)), key=lambda i: min(theirs[i]))
    found = ratio(theirs[fastest], ours, values.size / events)
    own, peer = _errors(part, SKETCHES[names[fastest]])
    return [
        Figure(
            "100K by 1K, times the speed of KLL (k = 200), two stacks",
            f"{found.best:.0f} (median {found.median:.0f})",
            ">= 20",
            found.best >= 20,
            {
                "best": found.best,
                "median": found.median,
                "million_events_a_second": values.size / min(ours) / 1e6,
                "kll_million_events_a_second": {n: events / min(t) / 1e6 for n, t in zip(names, theirs, strict=True)},
                "sum_million_a_second": values.size / min(adding) / 1e6,
            },
        ),
        Figure("average value error % of the default query there", own),
        Figure("average value error % of KLL there", peer),
    ]


def _errors(values: Array, peer: tuple[Any, Any]) -> tuple[str, str]:
    """Average value errors of both, over every tenth full window."""
    sketch, dtype = peer
    results = Operator(QUERY).push(values)
    theirs = list(answers(lambda: sketch(200), values.astype(dtype)))
    rows = range(QUERY.sub_windows - 1, len(results), 10)
    truth = np.array([exact(values[results[i].start : results[i].end], QUERY.quantiles) for i in rows])
    ours = np.array([[results[i][q].value for q in QUERY.quantiles] for i in rows])
    other = np.array([theirs[i] for i in rows])
    return _average(ours, truth), _average(other, truth)


def _average(found: Array, truth: Array) -> str:
    return " / ".join(f"{error:.2f}" for error in 100 * np.abs(found / truth - 1).mean(axis=0))
