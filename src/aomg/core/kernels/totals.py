"""Level 2: adds summaries to the sliding totals and subtracts them again."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.codes import place_of
from aomg.core.kernels.registers import (
    ACTIVE,
    AT_ACTIVE,
    AT_FINE,
    AT_SUPER_TOTAL,
    AT_THRESHOLD,
    AT_TOTAL,
    DOMAIN_SHIFT,
    HEAD_COUNT,
    HEAD_LENGTH,
    HEAD_ROWS,
    HEAD_WORDS,
    INTEGERS,
    LENGTH_MASK,
    LIVE_COUNT,
    LIVE_SUMMARIES,
    LIVE_WITH_INTEGERS,
    LIVE_WITH_REALS,
    QUANTILES,
    REALS,
    THRESHOLDS,
)
from aomg.core.kernels.rows import read_step, shift_row


@compiled
def activate_super(state, super_):
    """Put a super into the ordered list of those with live counts."""
    active = state[state[AT_ACTIVE] : state[AT_ACTIVE] + state[ACTIVE] + 1]
    i = state[ACTIVE]
    while i > 0 and active[i - 1] > super_:
        active[i] = active[i - 1]
        i -= 1
    active[i] = super_
    state[ACTIVE] += 1


@compiled
def _deactivate_super(state, super_):
    """Take a super without live counts out of the list."""
    active = state[state[AT_ACTIVE] : state[AT_ACTIVE] + state[ACTIVE]]
    i = 0
    while active[i] != super_:
        i += 1
    for j in range(i, active.size - 1):
        active[j] = active[j + 1]
    state[ACTIVE] -= 1


@inlined
def apply_head(state, words, start, sign):
    """Add (+1) or subtract (-1) what a summary's head says; returns where its rows begin and their numbers."""
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    size = HEAD_WORDS + quantiles + 2 * thresholds
    head = words[start >> 3 : (start >> 3) + size]
    state[LIVE_COUNT] += sign * head[HEAD_COUNT]
    state[LIVE_SUMMARIES] += sign
    domain = head[HEAD_LENGTH] >> DOMAIN_SHIFT
    state[LIVE_WITH_REALS] += sign * (domain != INTEGERS)
    state[LIVE_WITH_INTEGERS] += sign * (domain != REALS)
    for t in range(2 * thresholds):
        state[state[AT_THRESHOLD] + 2 * thresholds + t] += sign * head[HEAD_WORDS + quantiles + t]
    return start + 8 * size, head[HEAD_ROWS] & LENGTH_MASK, head[HEAD_ROWS] >> 32


@inlined
def _shift_totals(state, ring, where, envelope_rows, band_rows, sign):
    """Add (+1) or subtract (-1) a summary's rows, which begin at `where`. Exact: all totals are integers."""
    at_total, at_super_total, at_fine = state[AT_TOTAL], state[AT_SUPER_TOTAL], state[AT_FINE]
    super_ = np.int64(0)
    for _ in range(envelope_rows):
        step, form, where = read_step(ring, where)
        super_ += step
        place = place_of(state, super_)
        shift, where = shift_row(ring, where, form, state, at_total + place * 16, sign)
        if sign > 0 and state[at_super_total + place] == 0:
            activate_super(state, super_)
        state[at_super_total + place] += sign * shift
        if sign < 0 and state[at_super_total + place] == 0:
            _deactivate_super(state, super_)
    bucket = np.int64(0)
    for _ in range(band_rows):
        step, form, where = read_step(ring, where)
        bucket += step
        first = at_fine + (place_of(state, bucket >> 4) * 16 + (bucket & 15)) * 16
        _, where = shift_row(ring, where, form, state, first, sign)


@compiled
def accumulate(state, ring, where, envelope_rows, band_rows):
    """Accumulate of Level 2: add a summary's rows to the sliding totals."""
    _shift_totals(state, ring, where, envelope_rows, band_rows, 1)


@inlined
def deaccumulate(state, ring, words, start):
    """Deaccumulate of Level 2: subtract the summary at `start` from the sliding totals."""
    where, envelope_rows, band_rows = apply_head(state, words, start, -1)
    _shift_totals(state, ring, where, envelope_rows, band_rows, -1)
