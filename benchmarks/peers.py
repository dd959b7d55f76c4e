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
from benchmarks.measure import SMALL, Array, Figure, exact, memory_sum, pingmesh_values, ratio, take_turns

QUERY = Query(100_000, 1_000)
RANKS = [float(q) for q in QUERY.quantiles]
SKETCHES = {
    "floats": (datasketches.kll_floats_sketch, np.float32),
    "doubles": (datasketches.kll_doubles_sketch, np.float64),
    "ints": (datasketches.kll_ints_sketch, np.int32),
}


class TwoStacks:
    """A sliding window of sketches that merge but do not subtract."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._old: list[Any] = []  # each merged with all that are newer than it and in this stack
        self._new: list[Any] = []
        self._new_merged = make()

    def push(self, sketch: Any) -> None:
        self._new.append(sketch)
        self._new_merged.merge(sketch)
        if len(self._old) + len(self._new) > QUERY.sub_windows:
            if not self._old:
                while self._new:
                    newest = self._new.pop()
                    if self._old:
                        newest.merge(self._old[-1])
                    self._old.append(newest)
                self._new_merged = self._make()
            self._old.pop()

    def quantiles(self) -> list[float]:
        merged = self._make()
        if self._old:
            merged.merge(self._old[-1])
        merged.merge(self._new_merged)
        return list(merged.get_quantiles(RANKS, True))


def answers(make: Callable[[], Any], values: Array) -> Iterator[list[float]]:
    window = TwoStacks(make)
    for start in range(0, values.size, QUERY.period):
        sketch = make()
        sketch.update(values[start : start + QUERY.period])
        window.push(sketch)
        yield window.quantiles()


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
