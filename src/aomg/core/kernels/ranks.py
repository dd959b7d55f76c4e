"""Computes the rank of a quantile among a number of events, in integers."""

import math

import numpy as np

from aomg.core.kernels._compile import inlined
from aomg.core.kernels.registers import BAND_EXTRA, BAND_Z

_SMALL_COUNT, _SMALL_PART = 2**21, 2**10  # whose product, with a denominator added, has 32 bits


@inlined
def rank_of(numerator, denominator, count):
    """ceil(phi * count) in integers, within 1..count."""
    if count < _SMALL_COUNT and denominator <= _SMALL_PART:  # the division of 32 bits takes half the time
        rank = np.int64(np.uint32(count * numerator + denominator - 1) // np.uint32(denominator))
    else:
        rank = (count // denominator) * numerator
        rank += ((count % denominator) * numerator + denominator - 1) // denominator
    return min(max(rank, 1), count)


# an entry of the area of quantiles: phi as a fraction, its column, and the last results with the counts they are for
PHI_NUMERATOR, PHI_DENOMINATOR, PHI_COLUMN, PHI_OPEN_COUNT, PHI_OPEN_RANK, PHI_REACH = range(6)
PHI_LIVE_COUNT, PHI_LIVE_RANK, PHI_SMALL = range(6, 9)
_SMALL = 64  # counts whose rank and reach are kept, in one word each: sparse keys come back to them all the time
PHI_WIDTH = PHI_SMALL + _SMALL


@inlined
def open_rank(state, phi, count):
    """The rank of a quantile in the open sub-window; sets PHI_REACH too. Cached, because counts rarely change."""
    if state[phi + PHI_OPEN_COUNT] != count:
        state[phi + PHI_OPEN_COUNT] = count
        small = count < _SMALL
        both = state[phi + PHI_SMALL + count] if small else np.int64(0)
        if both == 0:
            numerator, denominator = state[phi + PHI_NUMERATOR], state[phi + PHI_DENOMINATOR]
            state[phi + PHI_OPEN_RANK] = rank_of(numerator, denominator, count)
            spread = math.sqrt(count * (numerator / denominator) * (1.0 - numerator / denominator))
            state[phi + PHI_REACH] = np.int64(state[BAND_Z] * spread) + state[BAND_EXTRA]
            if small:
                state[phi + PHI_SMALL + count] = state[phi + PHI_OPEN_RANK] | (state[phi + PHI_REACH] << 32)
        else:
            state[phi + PHI_OPEN_RANK], state[phi + PHI_REACH] = both & 0xFFFFFFFF, both >> 32
    return state[phi + PHI_OPEN_RANK]


@inlined
def live_rank(state, phi, count):
    """The rank of a quantile in the window."""
    if state[phi + PHI_LIVE_COUNT] != count:
        state[phi + PHI_LIVE_COUNT] = count
        state[phi + PHI_LIVE_RANK] = rank_of(state[phi + PHI_NUMERATOR], state[phi + PHI_DENOMINATOR], count)
    return state[phi + PHI_LIVE_RANK]


@inlined
def tail_depth(numerator, denominator, sub_windows, count):
    """How many of a sub-window's largest values could decide the window's quantile: min(N(1-phi), its count)."""
    window = count * sub_windows
    return min(window - rank_of(numerator, denominator, window) + 1, count)
