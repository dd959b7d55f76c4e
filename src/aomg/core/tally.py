"""Writes and merges tallies: how often each value occurs in each group of events, as bytes that merge exactly.

A group has a number that the caller chooses, for example one for each key and sub-window. Events of one group may be
tallied in many places: the merged tallies (`core.keyed`) have the counts of all events together.

The bytes of a tally are its domain (1), its minimum and maximum (doubles, rounded outward), then its dense (code,
count) pairs: their number, the first code as 8 bytes, each further one as its distance; numbers in seven bits a byte,
lowest first. If events have weights, the domain is 4 more, and the surplus (by how much their weight exceeds their
number) comes before the pairs. Queries with more than three digits or raw values have their fine pairs after them, in
the same form.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.counts import Counts
from aomg.core.groups import Groups
from aomg.core.kernels.few_events import FEW
from aomg.core.kernels.registers import INTEGERS, REALS
from aomg.core.kernels.sortable import EXACT_INTEGERS, round_down, round_up
from aomg.core.kernels.tallies import (
    TALLY_DOMAIN,
    pairs_of,
    read_pairs,
    scatter,
    tally_groups,
    tally_surplus,
    write_tallies,
)
from aomg.core.kernels.tallies import merge_tallies as merge_tallies_kernel
from aomg.core.sliding import Sliding

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[Any]  # int64 or float64

_PAIR_ROOM, _GROUP_ROOM = 20, 47
_NO_INTEGERS = np.empty(0, np.int64)


@dataclass(slots=True)
class Tallies:
    """The tallies of several groups: entry i is data[offsets[i] : offsets[i + 1]]."""

    groups: Integers  # ascending
    events: Integers  # of each group, whatever their weights
    offsets: Integers
    data: npt.NDArray[np.uint8]


def tally(sliding: Sliding, groups: Integers, values: Numbers, weights: Integers | None = None) -> Tallies:
    """Count finite values by group. O(n) for dense codes, O(n log n) for others; no Python loop.

    weights
        How many events each one counts as, 1 or more; None: once.
    """
    if values.size == 0:
        return Tallies(_NO_INTEGERS, _NO_INTEGERS, np.zeros(1, np.int64), np.empty(0, np.uint8))
    if sliding.codec is sliding.dense:
        return _tally_dense(sliding, groups, values, weights)
    if values.dtype == np.float64:
        values = values + 0.0  # one zero
    if weights is None:
        ordered, distinct, times = _distinct_by_group(groups, values)
    else:
        ordered, distinct, times, entries = _weighted_by_group(groups, values, weights)
    firsts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    lasts = np.append(firsts[1:], ordered.size) - 1
    minima, maxima = _outward(distinct[firsts], distinct[lasts])
    integers = distinct.dtype == np.int64
    dense_values = distinct
    if integers and sliding.query.digits is None and max(-int(distinct.min()), int(distinct.max())) > EXACT_INTEGERS:
        dense_values = distinct.astype(np.float64)  # raw longs beyond 2^53 are taken as the nearest doubles
    pairs = _merged(firsts, ordered, sliding.dense.codes(dense_values), times)
    fine = (_NO_INTEGERS, _NO_INTEGERS, _NO_INTEGERS)
    if sliding.codec is not sliding.dense:
        fine = _merged(firsts, ordered, sliding.codec.codes(distinct), times)
    room = _PAIR_ROOM * (pairs[1].size + fine[1].size) + _GROUP_ROOM * firsts.size
    data, offsets = np.empty(room, np.uint8), np.empty(firsts.size + 1, np.int64)
    domain = INTEGERS if integers else REALS
    totals = np.add.reduceat(times, firsts)
    events = totals if weights is None else np.add.reduceat(entries, firsts)
    size = write_tallies(domain, minima, maxima, totals - events, *pairs, *fine, data, offsets)
    return Tallies(ordered[firsts], events, offsets, data[:size])


def _tally_dense(sliding: Sliding, groups: Integers, values: Numbers, weights: Integers | None) -> Tallies:
    """Bring the values of each group together, then count one group after the other."""
    lowest = int(groups.min())
    reach = int(groups.max()) - lowest + 1
    if reach > 4 * groups.size + 4096:
        known, places = np.unique(groups, return_inverse=True)
        places = places.astype(np.int64, copy=False)
    else:
        known, places = np.arange(lowest, lowest + reach), groups - lowest
    events = np.bincount(places, minlength=known.size)
    begins = np.cumsum(events) - events
    grouped = np.empty(values.size, np.int64)
    grouped_weights, per_value, per_group = None, 4, 40
    if weights is not None:
        grouped_weights, per_value, per_group = np.empty(values.size, np.int64), 12, 50
        scatter(places, weights, begins.copy(), grouped_weights)
        sliding.state.make_room_for(int(weights.sum()))
    scatter(places, values.view(np.int64), begins, grouped)
    present = np.flatnonzero(events)
    known, events = known[present], events[present]
    bounds = np.concatenate([[0], np.cumsum(events)])
    data = np.empty(per_value * values.size + per_group * present.size + 64, np.uint8)
    real = values.dtype == np.float64
    return _tally_grouped(sliding, known, grouped, grouped_weights, bounds, real, data)


def tally_together(sliding: Sliding, groups: Groups) -> Tallies:
    """Count groups of events that have been brought together; their numbers are their positions."""
    positions = np.arange(groups.keys.size)
    if sliding.codec is not sliding.dense:
        return tally(sliding, np.repeat(positions, groups.sizes), groups.values, groups.weights)
    per_value, per_group = (4, 40) if groups.weights is None else (12, 50)
    data = np.empty(per_value * groups.values.size + per_group * positions.size + 64, np.uint8)
    if groups.weights is not None:
        sliding.state.make_room_for(int(groups.weights.sum()))
    real, bits = groups.values.dtype == np.float64, groups.values.view(np.int64)
    return _tally_grouped(sliding, positions, bits, groups.weights, groups.bounds, real, data)


def _tally_grouped(
    sliding: Sliding,
    groups: Integers,
    bits: Integers,
    weights: Integers | None,
    bounds: Integers,
    real: bool,
    data: npt.NDArray[np.uint8],
) -> Tallies:
    """Count one group after the other; `data` has room for all."""
    offsets = np.empty(groups.size + 1, np.int64)
    state, few = sliding.state, np.empty((2, FEW), np.int64)
    arrays = (state.words, state.cells, state.table, bits, weights, bounds)
    size = tally_groups(*arrays, real, few[0], few[1], data, offsets)
    return Tallies(groups, np.diff(bounds), offsets, data[:size])


def _distinct_by_group(groups: Integers, values: Numbers) -> tuple[Integers, Numbers, Integers]:
    """Ordered (group, value) pairs without repetition, and how often each occurs."""
    if values.dtype == np.int64:
        lowest, span = int(values.min()), int(values.max()) - int(values.min())
        bits = span.bit_length()
        first, reach = int(groups.min()), int(groups.max()) - int(groups.min())
        if bits + reach.bit_length() <= 62:  # both in one word: the fastest sort there is
            packed = np.sort(((groups - first) << bits) | (values - lowest))
            starts = np.flatnonzero(np.concatenate([[True], packed[1:] != packed[:-1]]))
            times = np.diff(np.append(starts, packed.size))
            packed = packed[starts]
            return (packed >> bits) + first, (packed & ((1 << bits) - 1)) + lowest, times
    order = np.lexsort((values, groups))
    groups, values = groups[order], values[order]
    changes = (groups[1:] != groups[:-1]) | (values[1:] != values[:-1])
    starts = np.flatnonzero(np.concatenate([[True], changes]))
    return groups[starts], values[starts], np.diff(np.append(starts, values.size))


def _weighted_by_group(
    groups: Integers, values: Numbers, weights: Integers
) -> tuple[Integers, Numbers, Integers, Integers]:
    """Ordered (group, value) pairs without repetition, their weights, and how many events each is of."""
    order = np.lexsort((values, groups))
    groups, values, weights = groups[order], values[order], weights[order]
    changes = (groups[1:] != groups[:-1]) | (values[1:] != values[:-1])
    starts = np.flatnonzero(np.concatenate([[True], changes]))
    events = np.diff(np.append(starts, values.size))
    return groups[starts], values[starts], np.add.reduceat(weights, starts), events


def _outward(lowest: Numbers, highest: Numbers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Extremes as doubles; longs beyond 2^53 rounded down and up."""
    minima, maxima = lowest.astype(np.float64), highest.astype(np.float64)
    if lowest.dtype == np.int64:
        for position in np.flatnonzero(np.abs(minima) >= EXACT_INTEGERS):
            minima[position] = round_down(int(lowest[position]))
        for position in np.flatnonzero(np.abs(maxima) >= EXACT_INTEGERS):
            maxima[position] = round_up(int(highest[position]))
    return minima, maxima


def _merged(
    firsts: Integers, ordered: Integers, codes: Integers, times: Integers
) -> tuple[Integers, Integers, Integers]:
    """Add up equal neighbouring codes: where each group's pairs start (and the last ends), codes, counts."""
    changes = (codes[1:] != codes[:-1]) | (ordered[1:] != ordered[:-1])
    starts = np.flatnonzero(np.concatenate([[True], changes]))
    bounds = np.append(np.searchsorted(starts, firsts), starts.size)
    return bounds, codes[starts], np.add.reduceat(times, starts)


def counts_of(data: npt.NDArray[np.uint8], fine: bool) -> Counts:
    """Read one tally as Counts."""
    minimum, maximum = data[1:9].copy().view(np.float64)[0], data[9:17].copy().view(np.float64)[0]
    surplus, start = tally_surplus(data, 0)
    codes, numbers, end = _pairs(data, int(start))
    fine_codes, fine_numbers = _pairs(data, end)[:2] if fine else (_NO_INTEGERS, _NO_INTEGERS)
    extremes = float(minimum), float(maximum)
    return Counts(codes, numbers, fine_codes, fine_numbers, int(data[0]) & TALLY_DOMAIN, *extremes, int(surplus))


def _pairs(data: npt.NDArray[np.uint8], offset: int) -> tuple[Integers, Integers, int]:
    size = int(pairs_of(data, offset))
    codes, numbers = np.empty(size, np.int64), np.empty(size, np.int64)
    return codes, numbers, int(read_pairs(data, offset, codes, numbers))


def merge_tallies(sliding: Sliding, tallies: Tallies) -> Tallies:
    """Add up tallies of the same group (they are side by side), exactly. O(pairs)."""
    groups, offsets, data = tallies.groups, tallies.offsets, tallies.data
    starts = np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1))
    events = np.add.reduceat(tallies.events, starts) if groups.size else tallies.events
    if starts.size == groups.size:
        return tallies
    if sliding.codec is sliding.dense:
        merged, bounds = np.empty(data.size, np.uint8), np.empty(starts.size + 1, np.int64)
        state = sliding.state
        if merge_tallies_kernel(state.words, state.cells, groups, offsets, data, merged, bounds) < 0:
            state.widen_cells()
            merge_tallies_kernel(state.words, state.cells, groups, offsets, data, merged, bounds)
        return Tallies(groups[starts], events, bounds, merged[: int(bounds[-1])])
    parts: list[npt.NDArray[np.uint8]] = []
    for first, last in zip(starts, np.append(starts[1:], groups.size), strict=True):
        counts = Counts()
        for row in range(first, last):
            counts = counts.merge(counts_of(data[offsets[row] : offsets[row + 1]], fine=True))
        parts.append(_bytes_of(counts))
    bounds = np.concatenate([[0], np.cumsum([part.size for part in parts], dtype=np.int64)])
    return Tallies(groups[starts], events, bounds, np.concatenate(parts))


def _bytes_of(counts: Counts) -> npt.NDArray[np.uint8]:
    """One tally from Counts with fine pairs."""
    data = np.empty(_PAIR_ROOM * (counts.codes.size + counts.fine_codes.size) + _GROUP_ROOM, np.uint8)
    size = write_tallies(
        counts.domain,
        np.array([counts.minimum]),
        np.array([counts.maximum]),
        np.array([counts.surplus]),
        np.array([0, counts.codes.size]),
        counts.codes,
        counts.numbers,
        np.array([0, counts.fine_codes.size]),
        counts.fine_codes,
        counts.fine_numbers,
        data,
        np.empty(2, np.int64),
    )
    return data[:size]
