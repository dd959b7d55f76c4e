"""Assigns events to sub-windows by their times, in the order in which they arrive.

Times are whole numbers since 1970 in any unit, and so are period, lateness and watermark. An event is late if the
watermark before it had passed the end of its sub-window, however pushes are cut. Neighbouring events of one sub-window
are a *run*: they are late together, because none of them can close the sub-window that they are in.
"""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.sortable import U64

RUN_START, RUN_END, RUN_NUMBER, RUN_WIDTH = range(4)  # columns of a run: its events, and its sub-window
# progress of `find_runs`, so that it can continue with more room
A_EVENT, A_RUNS, A_LATE, A_LATEST, A_DISORDER, A_BLOCKS, A_MOVED, ARRIVALS = range(8)
ALL_FOUND, RUNS_FULL, MANY_RUNS, ODD_TIME = range(4)
_FEW, _BLOCK = 32, 512  # events that are compared one by one, and at once
_SUB_WINDOWS = 8  # of a block whose values are moved, at most
_EXPONENT = np.int64(0x7FF0000000000000)


@compiled
def are_finite(bits):
    """Whether all of these bits are finite doubles."""
    odd = False
    for i in range(bits.size):
        odd |= (bits[i] & _EXPONENT) == _EXPONENT
    return not odd


@inlined
def _run_end(times, i, first, period):
    """The end of the run that begins with event i, in the sub-window that begins at `first`, and its latest time."""
    span, widest = U64(period), U64(times[i] - first)
    j, size = i + 1, times.size
    nearby = min(j + _FEW, size)
    while j < nearby:
        if U64(times[j] - first) >= span:
            return j, first + np.int64(widest)
        widest = max(widest, U64(times[j] - first))
        j += 1
    while j + _BLOCK <= size:
        block, furthest = times[j : j + _BLOCK], U64(0)
        for k in range(_BLOCK):
            furthest = max(furthest, U64(block[k] - first))
        if furthest >= span:
            break
        widest = max(widest, furthest)
        j += _BLOCK
    while j < size and U64(times[j] - first) < span:
        widest = max(widest, U64(times[j] - first))
        j += 1
    return j, first + np.int64(widest)


@inlined
def _range_of(times, start, end):
    """The earliest and the latest of times[start:end]."""
    part = times[start:end]
    low, high = part[0], part[0]
    for k in range(part.size):
        low, high = min(low, part[k]), max(high, part[k])
    return low, high


@inlined
def _move(times, bits, start, end, first, period, moved, place):
    """Copy the values of the events from `start` to `end` that are in one sub-window; returns the place after them."""
    span = U64(period)
    for k in range(start, end):
        moved[place] = bits[k]
        place += U64(times[k] - first) < span
    return place


@compiled
def find_runs(times, bits, period, lateness, watermark, furthest, runs, moved, progress):
    """List the runs of events that are not late; `progress` counts runs, late events and runs out of order.

    Where two or a few sub-windows alternate, the values of a block of events are brought together in `moved`, which
    has room for one more than there are; the places of such a run are counted on from the number of events.
    `watermark` is the one before the first event, and progress[A_LATEST] the latest time before it.

    Returns ALL_FOUND; RUNS_FULL if `runs` must grow; MANY_RUNS if the times are in so little order that grouping is
    faster; or ODD_TIME at a time that is none or `furthest` from 1970 or more. Only after RUNS_FULL it may be called
    again.
    """
    i, size = progress[A_EVENT], times.size
    listed, latest, place = progress[A_RUNS], progress[A_LATEST], progress[A_MOVED]
    while i < size:
        if listed + _SUB_WINDOWS > runs.shape[0]:
            progress[A_EVENT], progress[A_RUNS], progress[A_LATEST], progress[A_MOVED] = i, listed, latest, place
            return RUNS_FULL
        time = times[i]
        if not -furthest < time < furthest:
            return ODD_TIME
        number = time // period
        first = number * period
        if first + period <= max(watermark, latest - lateness):
            end, top = _run_end(times, i, first, period)
            progress[A_LATE] += end - i
            latest = max(latest, top)
            i = end
            continue
        if listed > 0 and number < runs[listed - 1, RUN_NUMBER]:
            end = min(i + _BLOCK, size)
            low, high = _range_of(times, i, end)
            if not (-furthest < low and high < furthest):
                return ODD_TIME
            lowest, highest = low // period, high // period
            on_time = (lowest + 1) * period > max(watermark, max(latest, high) - lateness)
            if on_time and highest - lowest < _SUB_WINDOWS:
                for n in range(lowest, highest + 1):
                    start = place
                    place = _move(times, bits, i, end, n * period, period, moved, place)
                    if place > start:
                        runs[listed, RUN_START], runs[listed, RUN_END] = size + start, size + place
                        runs[listed, RUN_NUMBER] = n
                        listed += 1
                progress[A_BLOCKS] += 1
                latest = max(latest, high)
                i = end
                continue
            progress[A_DISORDER] += 1
            if progress[A_DISORDER] > 64 + i // 64:
                return MANY_RUNS
        end, top = _run_end(times, i, first, period)
        runs[listed, RUN_START], runs[listed, RUN_END], runs[listed, RUN_NUMBER] = i, end, number
        listed += 1
        latest = max(latest, top)
        i = end
    progress[A_EVENT], progress[A_RUNS], progress[A_LATEST], progress[A_MOVED] = i, listed, latest, place
    return ALL_FOUND


@compiled
def time_range(times):
    """The earliest and the latest of some times."""
    return _range_of(times, 0, times.size)


@compiled
def number_events(times, period, lateness, watermark, latest, first, groups, sizes):
    """Number each event's sub-window from `first` on, and count the events of each; late ones get the last number.

    `sizes` has an entry for each sub-window and one for late events. No branch depends on a time.
    """
    start = first * period
    late = sizes.size - 1
    inverse = 1.0 / period
    for i in range(times.size):
        distance = times[i] - start
        group = np.int64(distance * inverse)  # off by one at most
        group -= group * period > distance
        group += (group + 1) * period <= distance
        is_late = start + (group + 1) * period <= max(watermark, latest - lateness)
        latest = max(latest, times[i])
        group = late if is_late else group
        groups[i] = group
        sizes[group] += 1
