"""Does the magnitude of the values cost speed? The default query, 128K by 16K, of log-normal values.

One operator per median. All of one type take turns with a sum over the same array. The logarithms have a standard
deviation of 0.3, so four in five values are within a third of the median; at 131,000, about half are on either side of
the integers that have an entry of their own in the look-up table.
"""

from collections.abc import Callable

import numpy as np

from aomg import Operator, Query
from benchmarks.measure import SMALL, Array, Figure, Timed, plain_sum, ratio, take_turns, timed

MEDIANS = (0.8, 12, 800, 131_000, 800_000, 5_000_000, 1_000_000_000)
SPREAD = 0.3
AIMS = {"float64": 0.7, "int64": 0.5}


def run(quick: bool) -> list[Figure]:
    return [figure for dtype, aim in AIMS.items() for figure in _figures(dtype, aim, quick)]


def cases(quick: bool) -> dict[str, Timed]:
    events = SMALL // 8 if quick else SMALL // 2
    return {
        f"{dtype}, median {_short(median)}": timed(_pushing(values))
        for dtype in AIMS
        for median, values in _streams(dtype, events).items()
    }


def _figures(dtype: str, aim: float, quick: bool) -> list[Figure]:
    events, rounds = (SMALL // 8, 3) if quick else (SMALL, 15)
    streams = _streams(dtype, events)
    words = streams[800].view(np.int64)
    adding, *pushing = take_turns(rounds, lambda: plain_sum(words), *map(_pushing, streams.values()))
    figures = []
    for median, times in zip(streams, pushing, strict=True):
        of_sum = ratio(adding, times)
        detail = {
            "best": of_sum.best,
            "median": of_sum.median,
            "million_events_a_second": events / min(times) / 1e6,
        }
        what = f"default query, 128K by 16K, {dtype}, median {_short(median)}"
        figures.append(Figure(what, f"{of_sum}", detail=detail, against="a plain sum"))
    best = [min(times) for times in pushing]
    slowest = min(best) / max(best)
    what = f"default query, 128K by 16K, {dtype}, slowest of the medians from {_short(MEDIANS[0])} to "
    figures.append(
        Figure(
            what + _short(MEDIANS[-1]),
            f"{slowest:.2f}",
            f">= {aim}",
            slowest >= aim,
            {"slowest_over_fastest": slowest},
            against="the fastest of these medians",
        )
    )
    return figures


def _streams(dtype: str, events: int) -> dict[float, Array]:
    """Return the values of each median: the same stream at another scale."""
    base = np.random.default_rng(1).lognormal(0.0, SPREAD, events)
    return {median: (median * base).astype(dtype) for median in MEDIANS}


def _pushing(values: Array) -> Callable[[], object]:
    """Return a call that pushes the values into one operator, round after round."""
    operator = Operator(Query(131_072, 16_384))
    return lambda: operator.push(values)


def _short(median: float) -> str:
    return f"{median:,}" if median < 1_000_000 else f"{median // 1_000_000:,}M"
