"""Does a longer window cost speed on Spark? Period 1 minute, size 1 minute to 24 hours.

The events span 36 hours. The last four of a stream's twelve micro-batches are timed, when the 24 hours are full. Dense
keys have about 1,100 events per minute, as in the other figures. Sparse keys have 56, so a stream moves ten bytes of
summaries per event: written once, and read again when they expire.
"""

from collections.abc import Callable
from functools import partial

from benchmarks.measure import Figure, ratio
from benchmarks.spark.race import (
    QUERY,
    Data,
    Plan,
    Rival,
    default_query,
    in_batch,
    in_stream,
    pingmesh_events,
    race,
    speeds,
)

AIM = 0.85
SIZES = ("1 minute", "1 hour", "24 hours")
DENSE, SPARSE = 5, 100  # keys
ROUNDS = 5


def run(quick: bool) -> list[Figure]:
    in_steady_stream = partial(in_stream, steady=1 / 3)
    return [
        _scaling("batch", DENSE, in_batch, quick),
        _scaling("batch", SPARSE, in_batch, quick),
        _scaling("stream", DENSE, in_steady_stream, quick),
        _scaling("stream", SPARSE, in_steady_stream, quick),
    ]


def _scaling(mode: str, keys: int, timed: Callable[[Plan, Data], float], quick: bool) -> Figure:
    data = pingmesh_events(keys, quick, hours=36)
    rivals = [Rival(size, partial(default_query, query=QUERY.replace(size=size)), data) for size in SIZES]
    label = f"{mode}, {data.events / (36 * 60 * keys):,.0f} events per key and minute"
    times = race(label, 1 if quick else ROUNDS, rivals, timed)
    hour, day = (ratio(times[0], longer) for longer in times[1:])
    slowest = min(hour, day, key=lambda faster: faster.best)
    return Figure(
        f"{label}, slower of the windows of 1 hour and 24 hours",
        f"{slowest} (1 hour {hour.best:.2f}, 24 hours {day.best:.2f})",
        f">= {AIM}",
        slowest.best >= AIM,
        {"slowest_over_first": slowest.best, "median": slowest.median, **speeds(rivals, times)},
        against="a window of 1 minute",
    )
