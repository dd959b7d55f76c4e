"""How does the default query compare with DataSketches KLL (k = 200) on the same windows, 100K by 1K?

KLL sketches can be merged but not subtracted, so there is one per sub-window, and two stacks form the window: two
merges per period, amortised, and those of the answer. The fastest of the library's sketches (floats, doubles, ints)
counts; the conversion to its type is not timed.
"""

from collections.abc import Callable, Iterator
from typing import Any

import datasketches
import numpy as np

from aomg import Operator, Query
from aomg.policies.two_stacks import TwoStacks
from benchmarks.measure import QUANTILES, SMALL, Array, Figure, exact, memory_sum, pingmesh_values, ratio, take_turns

QUERY = Query(100_000, 1_000)
KLL = "DataSketches KLL (k = 200)"
RANKS = [float(q) for q in QUERY.quantiles]
SKETCHES = {
    "floats": (datasketches.kll_floats_sketch, np.float32),
    "doubles": (datasketches.kll_doubles_sketch, np.float64),
    "ints": (datasketches.kll_ints_sketch, np.int32),
}


def answers(make: Callable[[], Any], values: Array) -> Iterator[list[float]]:
    window = TwoStacks(make, lambda into, sketch: into.merge(sketch))
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
    faster = ratio(theirs[fastest], ours, values.size / events)
    own, peer = _errors(part, SKETCHES[names[fastest]])
    return [
        Figure(
            "default query, 100K by 1K",
            f"{faster.best:.0f} (median {faster.median:.0f}) times as fast",
            ">= 20",
            faster.best >= 20,
            {
                "best": faster.best,
                "median": faster.median,
                "million_events_a_second": values.size / min(ours) / 1e6,
                "kll_million_events_a_second": {n: events / min(t) / 1e6 for n, t in zip(names, theirs, strict=True)},
                "sum_million_a_second": values.size / min(adding) / 1e6,
            },
            against=KLL,
        ),
        Figure(
            f"average value error at {QUANTILES}, 100K by 1K, default query", own, unit="%", against="exact quantiles"
        ),
        Figure(f"average value error at {QUANTILES}, 100K by 1K, {KLL}", peer, unit="%", against="exact quantiles"),
    ]


def _errors(values: Array, peer: tuple[Any, Any]) -> tuple[str, str]:
    """Return the average value errors of both, over every tenth full window."""
    sketch, dtype = peer
    results = Operator(QUERY).push(values)
    theirs = list(answers(lambda: sketch(200), values.astype(dtype)))
    rows = range(QUERY.sub_windows - 1, len(results), 10)
    truth = np.array([exact(values[results[i].start : results[i].end], QUERY.quantiles) for i in rows])
    ours = np.array([[results[i][q].value for q in QUERY.quantiles] for i in rows])
    peers = np.array([theirs[i] for i in rows])
    return _average(ours, truth), _average(peers, truth)


def _average(estimates: Array, truth: Array) -> str:
    return " / ".join(f"{error:.2f}" for error in 100 * np.abs(estimates / truth - 1).mean(axis=0)) + " %"
