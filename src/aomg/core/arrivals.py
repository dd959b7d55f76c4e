"""Assigns pushed events to sub-windows in event time: which are late, and which belong together.

Ordered times cost one pass over them: the events of a sub-window are a run of neighbours, and values are not moved.
Where the events of a few sub-windows alternate, their values are brought together block by block. Times in less order
cost three more passes: events are numbered, counted and brought together.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.arrivals import (
    A_BLOCKS,
    A_DISORDER,
    A_LATE,
    A_LATEST,
    A_MOVED,
    A_RUNS,
    ARRIVALS,
    MANY_RUNS,
    ODD_TIME,
    RUN_END,
    RUN_NUMBER,
    RUN_START,
    RUN_WIDTH,
    RUNS_FULL,
    find_runs,
    number_events,
    time_range,
)
from aomg.core.kernels.folds import MOST_NARROW
from aomg.core.kernels.registers import NONE
from aomg.core.kernels.tallies import scatter

Integers = npt.NDArray[np.int64]

NEVER = int(NONE)  # a time that has not come
_FURTHEST = 1 << 61  # microseconds: 73,000 years either way
_FURTHEST_TICKS = 1 << 62  # of a finer unit; nanoseconds from 1824 to 2116
_FIRST_RUNS = 256
_SPARSE = 4  # sub-windows an event: with more, numbers are sorted


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The events of one push that are not late, by sub-window.

    values, moved
        All values, and some of them again, brought together by sub-window.
    runs
        First value, end and sub-window number of each run, in the order of their numbers. Places from the number of
        values on are those of `moved`.
    late
        How many events are late.
    latest
        The latest time so far, in microseconds.
    weights, moved_weights
        How many events each one counts as, for all values and for those that were moved; None if each counts once.
    """

    values: npt.NDArray[Any]
    moved: npt.NDArray[Any]
    runs: Integers
    late: int
    latest: int
    weights: Integers | None = None
    moved_weights: Integers | None = None

    def run(self, start: int, end: int) -> tuple[npt.NDArray[Any], Integers | None]:
        """The values of a run, and their weights."""
        size = self.values.size
        if start < size:
            return self.values[start:end], None if self.weights is None else self.weights[start:end]
        start, end = start - size, end - size
        return self.moved[start:end], None if self.moved_weights is None else self.moved_weights[start:end]

    def most_in_sub_window(self, heaviest: int) -> int:
        """At least as many events as these are in any sub-window; no weight is larger than `heaviest`."""
        if self.weights is None or len(self.runs) == 0:
            return self.values.size
        numbers = self.runs[:, RUN_NUMBER]
        firsts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
        events = int(np.add.reduceat(self.runs[:, RUN_END] - self.runs[:, RUN_START], firsts).max())
        bound = events * heaviest
        if bound <= MOST_NARROW:
            return bound
        runs = (self.run(start, end)[1] for start, end in self.runs[:, :2].tolist())
        sums = np.array([int(weights.sum()) for weights in runs if weights is not None])
        return int(np.add.reduceat(sums, firsts).max())


_NO_VALUES = np.empty(0, np.int64)
NO_ARRIVALS = Arrivals(_NO_VALUES, _NO_VALUES, np.empty((0, RUN_WIDTH), np.int64), 0, NEVER)


@dataclass(frozen=True, slots=True)
class Clock:
    """What decides which events are late, in microseconds: the period, the lateness, and how far time has come."""

    period: int
    lateness: int
    watermark: int
    latest: int

    def ticks(self, per_microsecond: int) -> "Clock | None":
        """The same in another unit; None if that does not fit."""
        times = (self.watermark, self.latest)
        scaled = [time if time == NEVER else time * per_microsecond for time in times]
        period, lateness = self.period * per_microsecond, self.lateness * per_microsecond
        reach = max(period, lateness, *(0 if time == NEVER else abs(time) for time in scaled))
        if per_microsecond > 1 and reach >= _FURTHEST_TICKS:
            return None
        return Clock(period, min(lateness, _FURTHEST_TICKS - 1), *scaled)


def last_end(period: int, latest: int, watermark: int) -> int:
    """Return up to which number sub-windows close when the stream ends; times are in microseconds.

    Those that begin before the watermark are part of the stream, and that of the latest event.
    """
    end = -(-watermark // period)
    return end if latest == NEVER else max(end, latest // period + 1)


def arrivals(
    values: npt.NDArray[Any], times: Integers, clock: Clock, per_microsecond: int = 1, weights: Integers | None = None
) -> Arrivals | None:
    """Assign events to sub-windows; None if a time is none or too far away for its unit.

    values
        Finite int64 or float64 values.
    times
        As many times since 1970, with so many ticks a microsecond.
    weights
        How many events each one counts as; None: once.
    """
    if times.size == 0:
        return replace(NO_ARRIVALS, latest=clock.latest)
    scaled = clock.ticks(per_microsecond)
    if scaled is None:
        return None
    furthest = _FURTHEST if per_microsecond == 1 else _FURTHEST_TICKS
    status, runs, moved, progress = _runs(values.view(np.int64), times, scaled, furthest)
    if status == ODD_TIME:
        return None
    if status == MANY_RUNS:
        return _grouped(values, times, clock, scaled, per_microsecond, furthest, weights)
    if progress[A_DISORDER] or progress[A_BLOCKS]:
        runs = runs[np.argsort(runs[:, RUN_NUMBER], kind="stable")]
    moved_weights = weights
    if weights is not None and progress[A_BLOCKS]:  # the same once more, to learn which events were moved
        _, _, order, _ = _runs(np.arange(values.size), times, scaled, furthest)
        moved_weights = weights[order[: progress[A_MOVED]]]
    late, latest = int(progress[A_LATE]), int(progress[A_LATEST]) // per_microsecond
    return Arrivals(values, moved.view(values.dtype), runs, late, latest, weights, moved_weights)


def _runs(bits: Integers, times: Integers, scaled: Clock, furthest: int) -> tuple[int, Integers, Integers, Integers]:
    """The runs of events: how the search ended, the runs, the values that were moved, and its counts."""
    progress = np.zeros(ARRIVALS, np.int64)
    progress[A_LATEST] = scaled.latest
    runs, moved = np.empty((_FIRST_RUNS, RUN_WIDTH), np.int64), np.empty(bits.size + 1, np.int64)
    while True:
        clock_words = scaled.period, scaled.lateness, scaled.watermark
        status = find_runs(times, bits, *clock_words, furthest, runs, moved, progress)
        if status != RUNS_FULL:
            return int(status), runs[: progress[A_RUNS]], moved, progress
        runs = np.concatenate([runs, np.empty((3 * len(runs), RUN_WIDTH), np.int64)])


def _grouped(
    values: npt.NDArray[Any],
    times: Integers,
    clock: Clock,
    scaled: Clock,
    per_microsecond: int,
    furthest: int,
    weights: Integers | None,
) -> Arrivals | None:
    """Bring the events of each sub-window together."""
    earliest, latest = (int(time) for time in time_range(times))
    if not -furthest < earliest <= latest < furthest:
        return None
    first = earliest // scaled.period
    size = latest // scaled.period - first + 1
    if size > _SPARSE * times.size or latest - earliest + 2 * scaled.period >= 1 << 63:
        return _sorted(values, times // per_microsecond, clock, weights)
    groups, sizes = np.empty(times.size, np.int64), np.zeros(size + 1, np.int64)
    number_events(times, scaled.period, scaled.lateness, scaled.watermark, scaled.latest, first, groups, sizes)
    ends = np.cumsum(sizes)
    grouped = np.empty(values.size, np.int64)
    scatter(groups, values.view(np.int64), ends - sizes, grouped)
    if weights is not None:
        unordered, weights = weights, np.empty(values.size, np.int64)
        scatter(groups, unordered, ends - sizes, weights)
    present = np.flatnonzero(sizes[:-1])
    runs = np.empty((present.size, RUN_WIDTH), np.int64)
    runs[:, RUN_END], runs[:, RUN_START] = ends[present], ends[present] - sizes[present]
    runs[:, RUN_NUMBER] = present + first
    latest = max(latest // per_microsecond, clock.latest)
    grouped = grouped.view(values.dtype)
    return Arrivals(grouped, grouped, runs, int(sizes[-1]), latest, weights, weights)


def _sorted(values: npt.NDArray[Any], times: Integers, clock: Clock, weights: Integers | None) -> Arrivals:
    """Sort events by sub-window: for times in little order that are far apart."""
    numbers = times // clock.period
    reached = np.maximum.accumulate(np.concatenate([[clock.latest], times]))
    watermarks = np.where(reached[:-1] == NEVER, NEVER, reached[:-1] - clock.lateness)
    late = (numbers + 1) * clock.period <= np.maximum(watermarks, clock.watermark)
    values, numbers = values[~late], numbers[~late]
    order = np.argsort(numbers, kind="stable")
    values, numbers = values[order], numbers[order]
    if weights is not None:
        weights = weights[~late][order]
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))
    runs = np.empty((starts.size, RUN_WIDTH), np.int64)
    runs[:, RUN_START], runs[:, RUN_END] = starts, np.append(starts[1:], numbers.size)
    runs[:, RUN_NUMBER] = numbers[starts]
    return Arrivals(values, values, runs, int(late.sum()), int(reached[-1]), weights, weights)
