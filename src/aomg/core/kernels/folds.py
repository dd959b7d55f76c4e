"""Adds up the open sub-window's codes to bucket totals, and keeps those of the last two sub-windows.

The close of a sub-window and the burst detector read these totals.
"""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.codes import LOWEST_DECADE, place_of
from aomg.core.kernels.counting import clear_open
from aomg.core.kernels.lanes import clear_super, fold_rows
from aomg.core.kernels.registers import (
    AT_FOLD,
    HALF_PLACES,
    HAS_ZERO,
    NEGATIVE_FAR,
    NEGATIVE_NEAR,
    NEWEST_EVENTS,
    POSITIVE_FAR,
    POSITIVE_NEAR,
    ROWS_SIDE,
    SUPERS_PER_DECADE,
    ZERO_SUPER,
)

MOST_NARROW = np.int64(2**31 - 1)  # events that counts of 32 bits can hold
FOLD_ID, FOLD_SUM, FOLD_WIDTH = 0, 2, 4  # a side: the number of each super, then its sum


@inlined
def fold_side(state):
    """Where the supers of the newest sub-window are listed; the other side has those of the one before."""
    return state[AT_FOLD] + state[ROWS_SIDE] * FOLD_WIDTH * state[HALF_PLACES]


@inlined
def fold_cells(state, side):
    """Where the bucket totals of a side (0 or 1) begin among the cells."""
    return (512 + 32 * side) * state[HALF_PLACES]


@inlined
def _fold_super(state, cells, place, super_, folded):
    """Fold one super's codes into its 16 bucket totals, if it has any."""
    side = fold_side(state)
    total = fold_rows(cells, place * 256, fold_cells(state, state[ROWS_SIDE]) + 16 * folded)
    state[side + FOLD_ID * state[HALF_PLACES] + folded] = super_
    state[side + FOLD_SUM * state[HALF_PLACES] + folded] = total
    return folded + (total != 0)


@inlined
def fold_open(state, cells):
    """Fold all touched supers in the order of their values; returns how many there are."""
    zero = state[ZERO_SUPER]
    below_one = -LOWEST_DECADE * state[SUPERS_PER_DECADE]
    half = state[HALF_PLACES]
    folded = np.int64(0)
    for k in range(state[NEGATIVE_FAR], state[NEGATIVE_NEAR] - 1, -1):
        folded = _fold_super(state, cells, half + (k - 1 if k <= below_one else k), zero - k, folded)
    if state[HAS_ZERO]:
        folded = _fold_super(state, cells, below_one, zero, folded)
    for k in range(state[POSITIVE_NEAR], state[POSITIVE_FAR] + 1):
        folded = _fold_super(state, cells, k - 1 if k <= below_one else k, zero + k, folded)
    return folded


@inlined
def events_for_bursts(count, surplus):
    """How many events the burst detector takes a sub-window for: no more than it can multiply."""
    return min(count - surplus, MOST_NARROW)


@inlined
def share_of_events(state, count, surplus):
    """How many events one unit of weight stands for; notes how many events the newest sub-window has."""
    events = events_for_bursts(count, surplus)
    state[NEWEST_EVENTS + state[ROWS_SIDE]] = events
    return events / count


@inlined
def scaled(weight, share):
    """The events of a weight, counted from the lowest value on: scaled sums differ by what is between them."""
    return np.int64(weight * share + 0.5)


@compiled
def _scale_fold(state, cells, folded, share):
    side, totals = fold_side(state), fold_cells(state, state[ROWS_SIDE])
    sums = side + FOLD_SUM * state[HALF_PLACES]
    weight, below = np.int64(0), np.int64(0)
    for i in range(folded):
        before = below
        for k in range(16):
            weight += cells[totals + 16 * i + k]
            upto = scaled(weight, share)
            cells[totals + 16 * i + k] = upto - below
            below = upto
        state[sums + i] = below - before


@inlined
def scale_fold(state, cells, folded, count, surplus):
    """Turn the weights of the newest bucket totals into events, for the burst detector: its certainty grows with them.

    Nothing changes if no event has a weight.
    """
    share = share_of_events(state, count, surplus)
    if share != 1.0:
        _scale_fold(state, cells, folded, share)


@compiled
def open_pairs(state, cells, codes, numbers):
    """The open sub-window as ordered (code, count) pairs; returns how many. Needs 256 entries a touched super."""
    state[ROWS_SIDE] ^= 1  # the newest sub-window's totals stay: the burst detector needs them
    folded = fold_open(state, cells)
    ids = fold_side(state) + FOLD_ID * state[HALF_PLACES]
    state[ROWS_SIDE] ^= 1
    pairs = 0
    for i in range(folded):
        super_ = state[ids + i]
        first = place_of(state, super_) * 256
        for within_super in range(256):
            number = cells[first + within_super]
            if number > 0:
                codes[pairs] = (super_ << 8) | within_super
                numbers[pairs] = number
                pairs += 1
    return pairs


@inlined
def touched_supers(state):
    """An upper bound of the supers that the open sub-window has touched."""
    touched = state[HAS_ZERO]
    if state[NEGATIVE_FAR] >= 0:
        touched += state[NEGATIVE_FAR] - state[NEGATIVE_NEAR] + 1
    if state[POSITIVE_FAR] >= 0:
        touched += state[POSITIVE_FAR] - state[POSITIVE_NEAR] + 1
    return touched


@inlined
def clear_counts(state, cells, folded):
    """Clear the counts of the folded supers."""
    ids = fold_side(state) + FOLD_ID * state[HALF_PLACES]
    for i in range(folded):
        clear_super(cells, place_of(state, state[ids + i]) * 256)
    clear_open(state)
