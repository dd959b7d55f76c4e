"""How fast are windows in event time compared with windows counted in events, over the same values?"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aomg import Operator, Query
from benchmarks.measure import LARGE, SMALL, Array, Figure, Timed, pingmesh_values, ratio

MINUTE = 60_000_000
LATENESS = 10_000_000  # the default, in microseconds
START = np.datetime64("2026-05-01T00:00", "us").astype(np.int64)


@dataclass(frozen=True)
class Times:
    """How the events of a stream come: the unit of times, whether they are shuffled within the lateness, weights."""

    what: str
    aim: float
    unit: str = "us"
    shuffled: bool = False
    weighted: bool = False


ORDERED = Times("ordered microseconds", 0.65)
DENSE = (ORDERED, Times("ordered nanoseconds", 0.5, "ns"), Times("shuffled within the lateness", 0.25, shuffled=True))
SPARSE = Times("ordered microseconds", 0.5)
WEIGHTED = Times("ordered microseconds, with weights", 0.7, weighted=True)


class TimedStream:
    """Values with times that go on from push to push, one sub-window a minute."""

    def __init__(self, values: Array, events: int, times: Times) -> None:
        self._values = values
        micros = START + np.arange(values.size) * MINUTE // events
        if times.shuffled:
            late = np.random.default_rng(2).integers(0, LATENESS, values.size)
            micros = micros[np.argsort(micros + late, kind="stable")]
        self._times = micros.astype("datetime64[us]").astype(f"datetime64[{times.unit}]")
        self._weights = np.random.default_rng(3).integers(1, 100, values.size) if times.weighted else None
        self._length = (values.size * MINUTE // events) * (1_000 if times.unit == "ns" else 1)
        self._operator = Operator(Query("8 minutes", "1 minute"))

    def seconds(self) -> float:
        """Push all values, and return how long it took."""
        started = time.perf_counter()
        self._operator.push(self._values, self._times, self._weights)
        seconds = time.perf_counter() - started
        assert self._operator.late == 0
        self._times.view(np.int64)[:] += self._length
        return seconds


def counted(values: Array, events: int) -> Timed:
    """Return what pushes the same values into windows counted in events, and returns its seconds."""
    operator = Operator(Query(8 * events, events))

    def seconds() -> float:
        started = time.perf_counter()
        operator.push(values)
        return time.perf_counter() - started

    return seconds


def run(quick: bool) -> list[Figure]:
    rounds = 3 if quick else 15
    figures = []
    for events, kinds in ((16_384, DENSE), (60, (SPARSE,))):
        values = _values(quick, events)
        for times in kinds:
            ours, theirs = _turns(rounds, TimedStream(values, events, times).seconds, counted(values, events))
            speed = ratio(theirs, ours)
            figures.append(
                Figure(
                    f"8 minutes by 1 minute, {events:,} events a sub-window, {times.what}",
                    f"{speed}",
                    f">= {times.aim}",
                    speed.best >= times.aim,
                    {
                        "best": speed.best,
                        "median": speed.median,
                        "million_events_a_second": values.size / min(ours) / 1e6,
                    },
                    against="windows counted in events",
                )
            )
    return [*figures, *_weighted(quick, rounds), _linear(rounds)]


def cases(quick: bool) -> dict[str, Timed]:
    values = _values(quick, 16_384)
    few = {f"event time, 16,384 a sub-window, {times.what}": times for times in DENSE}
    return {what: TimedStream(values, 16_384, times).seconds for what, times in few.items()} | {
        "event time, 60 a sub-window": TimedStream(_values(quick, 60), 60, SPARSE).seconds
    }


def _values(quick: bool, events: int) -> Array:
    values = pingmesh_values(SMALL if quick else LARGE)
    most = 60 * 50_000 if events == 60 else values.size
    return values[: most // events * events]


def _weighted(quick: bool, rounds: int) -> list[Figure]:
    """Events with weights take little longer than events without."""
    figures = []
    for events in (16_384, 1_000, 60):
        values = _values(quick, events)
        streams = (TimedStream(values, events, times).seconds for times in (WEIGHTED, ORDERED))
        ours, theirs = _turns(rounds, *streams)
        speed = ratio(theirs, ours)
        figures.append(
            Figure(
                f"8 minutes by 1 minute, {events:,} events a sub-window, {WEIGHTED.what}",
                f"{speed}",
                f">= {WEIGHTED.aim}",
                speed.best >= WEIGHTED.aim,
                {"best": speed.best, "median": speed.median},
                against="the same without weights",
            )
        )
    return figures


def _linear(rounds: int) -> Figure:
    """A push of four times as many sub-windows takes four times as long."""
    short, long = 3_600, 14_400
    values = pingmesh_values(SMALL)
    few, many = (TimedStream(values[: 60 * sub_windows], 60, ORDERED).seconds for sub_windows in (short, long))
    ours, theirs = _turns(3 * rounds, many, few)
    speed = ratio(theirs, ours, long / short)
    return Figure(
        f"one push of {long:,} sub-windows of 60 events, per event",
        f"{speed}",
        ">= 0.9",
        speed.best >= 0.9,
        {"best": speed.best, "median": speed.median},
        against=f"one push of {short:,}",
    )


def _turns(rounds: int, *rivals: Callable[[], float]) -> list[list[float]]:
    """Return the seconds of each rival in each round, after an untimed one."""
    for rival in rivals:
        rival()
    seconds: list[list[float]] = [[] for _ in rivals]
    for _ in range(rounds):
        for times, rival in zip(seconds, rivals, strict=True):
            times.append(rival())
    return seconds
