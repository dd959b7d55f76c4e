"""Adds up the open sub-window's codes to bucket totals, and keeps those of the last two sub-windows.

The close of a sub-window and the burst detector read these totals.
"""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.codes import LOWEST_DECADE, place_of
from aomg.core.kernels.counting import clear_open
from aomg.core.kernels.lanes import clear_super, fold_rows
from aomg.core.kernels.registers import (
    AT_COUNTS,
    AT_FOLD,
    HALF_PLACES,
    HAS_ZERO,
    NEGATIVE_FAR,
    NEGATIVE_NEAR,
    POSITIVE_FAR,
    POSITIVE_NEAR,
    ROWS_SIDE,
    SUPERS_PER_DECADE,
    ZERO_SUPER,
)

FOLD_ID, FOLD_SUM, FOLD_WIDTH = 16, 18, 20  # a side: counts of each super, then its number, then its sum


@inlined
def fold_side(state):
    """Where the bucket totals of the newest sub-window are kept; the other side has those of the one before."""
    return state[AT_FOLD] + state[ROWS_SIDE] * FOLD_WIDTH * state[HALF_PLACES]


@inlined
def _fold_super(state, halves, place, super_, folded):
    """Fold one super's codes into its 16 bucket totals, if it has any."""
    side = fold_side(state)
    total = fold_rows(halves, 2 * state[AT_COUNTS] + place * 256, 2 * side + 16 * folded)
    state[side + FOLD_ID * state[HALF_PLACES] + folded] = super_
    state[side + FOLD_SUM * state[HALF_PLACES] + folded] = total
    return folded + (total != 0)


@inlined
def fold_open(state, halves):
    """Fold all touched supers in the order of their values; returns how many there are."""
    zero = state[ZERO_SUPER]
    below_one = -LOWEST_DECADE * state[SUPERS_PER_DECADE]
    half = state[HALF_PLACES]
    folded = np.int64(0)
    for k in range(state[NEGATIVE_FAR], state[NEGATIVE_NEAR] - 1, -1):
        folded = _fold_super(state, halves, half + (k - 1 if k <= below_one else k), zero - k, folded)
    if state[HAS_ZERO]:
        folded = _fold_super(state, halves, below_one, zero, folded)
    for k in range(state[POSITIVE_NEAR], state[POSITIVE_FAR] + 1):
        folded = _fold_super(state, halves, k - 1 if k <= below_one else k, zero + k, folded)
    return folded


@compiled
def open_pairs(state, halves, counts, codes, numbers):
    """The open sub-window as ordered (code, count) pairs; returns how many. Needs 256 entries a touched super."""
    state[ROWS_SIDE] ^= 1  # the newest sub-window's totals stay: the burst detector needs them
    folded = fold_open(state, halves)
    ids = fold_side(state) + FOLD_ID * state[HALF_PLACES]
    state[ROWS_SIDE] ^= 1
    pairs = 0
    for i in range(folded):
        super_ = state[ids + i]
        first = place_of(state, super_) * 256
        for within_super in range(256):
            number = counts[first + within_super]
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
def clear_counts(state, folded):
    """Clear the counts of the folded supers."""
    ids = fold_side(state) + FOLD_ID * state[HALF_PLACES]
    for i in range(folded):
        first = state[AT_COUNTS] + place_of(state, state[ids + i]) * 128
        clear_super(state, first)
    clear_open(state)
