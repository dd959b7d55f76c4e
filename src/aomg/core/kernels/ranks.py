"""Computes the rank of a quantile among a number of events, in integers."""

import math

import numpy as np

from aomg.core.kernels._compile import inlined
from aomg.core.kernels.registers import BAND_EXTRA, BAND_Z


@inlined
def rank_of(numerator, denominator, count):
    """ceil(phi * count) in integers, within 1..count."""
    rank = (count // denominator) * numerator
    rank += ((count % denominator) * numerator + denominator - 1) // denominator
    return min(max(rank, 1), count)


# an entry of the area of quantiles: phi as a fraction, its column, and the last results with the counts they are for
PHI_NUMERATOR, PHI_DENOMINATOR, PHI_COLUMN, PHI_OPEN_COUNT, PHI_OPEN_RANK, PHI_REACH = range(6)
PHI_LIVE_COUNT, PHI_LIVE_RANK, PHI_WIDTH = range(6, 9)


@inlined
def open_rank(state, phi, count):
    """The rank of a quantile in the open sub-window; sets PHI_REACH too. Cached, because counts rarely change."""
    if state[phi + PHI_OPEN_COUNT] != count:
        numerator, denominator = state[phi + PHI_NUMERATOR], state[phi + PHI_DENOMINATOR]
        state[phi + PHI_OPEN_COUNT] = count
        state[phi + PHI_OPEN_RANK] = rank_of(numerator, denominator, count)
        spread = math.sqrt(count * (numerator / denominator) * (1.0 - numerator / denominator))
        state[phi + PHI_REACH] = np.int64(state[BAND_Z] * spread) + state[BAND_EXTRA]
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
