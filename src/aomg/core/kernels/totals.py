"""Level 2: adds summaries to the sliding totals and subtracts them again."""

import numpy as np

from aomg.core.kernels._compile import compiled, copied, inlined
from aomg.core.kernels.active_supers import activate_super, deactivate_super
from aomg.core.kernels.code_lists import derive_head, read_list, shift_list
from aomg.core.kernels.codes import place_of
from aomg.core.kernels.heads import count_of, domain_in, head_word, is_listed
from aomg.core.kernels.registers import (
    ADD,
    AT_FINE,
    AT_HEAD,
    AT_SUPER_TOTAL,
    AT_THRESHOLD,
    AT_TOTAL,
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
    NO,
    QUANTILES,
    REALS,
    SUBTRACT,
    THRESHOLDS,
)
from aomg.core.kernels.rows import read_step, shift_row


@copied
def head_of(state, words, start):
    """The head of the summary at `start`; that of a list is in the state once `open_head` has derived it."""
    size = HEAD_WORDS + state[QUANTILES] + 2 * state[THRESHOLDS]
    if is_listed(words, start):
        return state[state[AT_HEAD] : state[AT_HEAD] + size]
    return words[start >> 3 : (start >> 3) + size]


@compiled
def open_head(state, ring, words, start, entering):
    """Read the list at `start` and derive its head, with quantiles if it is `entering` (YES or NO).

    Returns how many pairs it has, or -1 for rows.
    """
    if not is_listed(words, start):
        return np.int64(-1)
    pairs = read_list(state, ring, words, start)
    derive_head(state, words, start, pairs, entering)
    return np.int64(pairs)


@inlined
def apply_head(state, head, sign):
    """Add (+1) or subtract (-1) what a summary's head says."""
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    state[LIVE_COUNT] += sign * head[HEAD_COUNT]
    state[LIVE_SUMMARIES] += sign
    domain = domain_in(head[HEAD_LENGTH])
    state[LIVE_WITH_REALS] += sign * (domain != INTEGERS)
    state[LIVE_WITH_INTEGERS] += sign * (domain != REALS)
    for t in range(2 * thresholds):
        state[state[AT_THRESHOLD] + 2 * thresholds + t] += sign * head[HEAD_WORDS + quantiles + t]


@inlined
def shift_rows(state, ring, where, envelope_rows, band_rows, sign):
    """Add (+1) or subtract (-1) the rows of a summary, which begin at `where`. Exact: all totals are integers."""
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
            deactivate_super(state, super_)
    bucket = np.int64(0)
    for _ in range(band_rows):
        step, form, where = read_step(ring, where)
        bucket += step
        first = at_fine + (place_of(state, bucket >> 4) * 16 + (bucket & 15)) * 16
        _, where = shift_row(ring, where, form, state, first, sign)


@inlined
def _rows_start(state, start):
    """Where the rows of the summary at `start` begin."""
    return start + 8 * (HEAD_WORDS + state[QUANTILES] + 2 * state[THRESHOLDS])


@compiled
def accumulate(state, ring, words, start, pairs, everything):
    """Accumulate of Level 2: add the summary at `start` to the sliding totals, after `open_head`.

    `everything` takes all codes of a list for its band: only where nothing will be subtracted.
    """
    if pairs >= 0:
        shift_list(state, pairs, count_of(words, start), ADD, everything)
    else:
        rows = head_word(words, start, HEAD_ROWS)
        shift_rows(state, ring, _rows_start(state, start), rows & LENGTH_MASK, rows >> 32, 1)


@copied
def deaccumulate(state, ring, words, start):
    """Deaccumulate of Level 2: subtract the summary at `start` from the sliding totals."""
    pairs = open_head(state, ring, words, start, NO)
    apply_head(state, head_of(state, words, start), SUBTRACT)
    if pairs >= 0:
        shift_list(state, pairs, count_of(words, start), SUBTRACT, NO)
    else:
        rows = head_word(words, start, HEAD_ROWS)
        shift_rows(state, ring, _rows_start(state, start), rows & LENGTH_MASK, rows >> 32, -1)
