"""The ring of summaries: allocates space for a new one, enters it into the window, expires the oldest."""

import numpy as np

from aomg.core.kernels._compile import compiled, copied, inlined
from aomg.core.kernels.bursts import compare_tails
from aomg.core.kernels.code_lists import read_list, unfold_list
from aomg.core.kernels.extremes import newest_slot, push_extreme
from aomg.core.kernels.folds import FOLD_ID, FOLD_SUM, fold_cells, fold_side, scaled, share_of_events
from aomg.core.kernels.heads import LEAST_WORDS, count_of, head_word, is_listed, length_of, surplus_of
from aomg.core.kernels.lanes import prefetch
from aomg.core.kernels.registers import (
    ADD,
    AT_SCRATCH,
    CODE_MASK,
    CODE_SHIFT,
    ENTERED,
    FLAG,
    HALF_PLACES,
    HAS_ENVELOPE,
    HEAD_COUNT,
    HEAD_MAXIMUM,
    HEAD_MINIMUM,
    HEAD_NUMBER,
    HEAD_ROWS,
    HEAD_WORDS,
    LAST_BURST,
    LAST_RELEASE,
    LENGTH_MASK,
    LIVE_SUMMARIES,
    NEWEST_EVENTS,
    NEWEST_NUMBER,
    NEWEST_ROWS,
    NO,
    QUANTILES,
    RING_BEFORE,
    RING_END,
    RING_NEWEST,
    RING_OLDEST,
    ROWS_SIDE,
    SCORE,
    SUB_WINDOWS,
    THRESHOLDS,
    YES,
)
from aomg.core.kernels.rows import read_row, read_step
from aomg.core.kernels.sortable import bits_of, double_of, key_of_double
from aomg.core.kernels.totals import accumulate, apply_head, deaccumulate, head_of, open_head

COLD_FROM, COLD_BYTES = 1000, 1024  # with more live summaries, the next one to expire is not in the CPU's cache


@inlined
def next_record(state, words, start):
    """Where the summary after the one at `start` begins."""
    start += length_of(words, start)
    if start + 8 * LEAST_WORDS > 8 * words.size or head_word(words, start, HEAD_COUNT) == 0:
        return np.int64(0)
    return start


@inlined
def find_room(state, words, need):
    """Where a summary of at most `need` bytes can go; -1 if the ring must grow."""
    first = state[RING_BEFORE] if state[RING_BEFORE] >= 0 else state[RING_OLDEST]
    if first < 0:
        state[RING_END] = 0
        return np.int64(0) if need <= 8 * words.size else np.int64(-1)
    end = state[RING_END]
    if end > first:
        if end + need <= 8 * words.size:
            return end
        if need < first:
            if end + 8 * LEAST_WORDS <= 8 * words.size:
                words[(end >> 3) + HEAD_COUNT] = 0
            return np.int64(0)
    elif end + need < first:
        return end
    return np.int64(-1)


@copied
def expire(state, ring, words, before):
    """Deaccumulate every live summary whose number is below `before`."""
    if state[LIVE_SUMMARIES] == 0 or head_word(words, state[RING_OLDEST], HEAD_NUMBER) >= before:
        return
    while state[LIVE_SUMMARIES] > 0 and head_word(words, state[RING_OLDEST], HEAD_NUMBER) < before:
        oldest = state[RING_OLDEST]
        deaccumulate(state, ring, words, oldest)
        state[RING_BEFORE] = oldest
        state[RING_OLDEST] = next_record(state, words, oldest) if state[LIVE_SUMMARIES] > 0 else -1
    if state[LIVE_SUMMARIES] > COLD_FROM:
        for k in range(0, COLD_BYTES, 64):
            prefetch(ring, min(state[RING_OLDEST] + k, ring.size - 1))
            prefetch(ring, min(state[RING_END] + k, ring.size - 1))


@copied
def enter(state, cells, words, start):
    """Note the summary at `start` as the newest of the window: its counts are in the totals, its head is derived."""
    newest = state[RING_NEWEST]
    head = head_of(state, words, start)
    number = head[HEAD_NUMBER]
    apply_head(state, head, ADD)
    state[SCORE], state[FLAG] = bits_of(0.0), 0
    if newest >= 0 and state[HAS_ENVELOPE] and head_word(words, newest, HEAD_NUMBER) >= number - state[SUB_WINDOWS]:
        compare_tails(
            state, cells, state[NEWEST_EVENTS + state[ROWS_SIDE]], state[NEWEST_EVENTS + 1 - state[ROWS_SIDE]]
        )
        if state[FLAG] > 0:
            state[LAST_BURST] = number
        elif state[FLAG] < 0:
            state[LAST_RELEASE] = number
    join_newest(state, words, start)


@compiled
def add_foreign(state, cells, ring, words, start):
    """Accumulate of Level 2: add the summary at `start`, which closed elsewhere, to the totals; `enter` comes next."""
    unfold(state, cells, ring, words, start)
    pairs = open_head(state, ring, words, start, YES)
    accumulate(state, ring, words, start, pairs, NO)


@compiled
def add_summary(state, ring, words, start):
    """Accumulate of Level 2: add the summary at `start` to the sliding totals and to what is known of the window."""
    pairs = open_head(state, ring, words, start, YES)
    apply_head(state, head_of(state, words, start), ADD)
    accumulate(state, ring, words, start, pairs, NO)


@inlined
def join_newest(state, words, start):
    """Note the extremes of the summary at `start`, whose head is derived, and that it is the newest."""
    quantiles = state[QUANTILES]
    head = head_of(state, words, start)
    state[ENTERED] += 1
    slot = newest_slot(state)
    for q in range(quantiles):
        push_extreme(state, 2 * q, slot, head[HEAD_WORDS + q] >> CODE_SHIFT)
        push_extreme(state, 2 * q + 1, slot, -(head[HEAD_WORDS + q] & CODE_MASK))
    push_extreme(state, 2 * quantiles, slot, key_of_double(double_of(head[HEAD_MAXIMUM])))
    push_extreme(state, 2 * quantiles + 1, slot, -key_of_double(double_of(head[HEAD_MINIMUM])))
    state[NEWEST_NUMBER] = head[HEAD_NUMBER]
    state[RING_NEWEST] = start
    if state[RING_OLDEST] < 0:
        state[RING_OLDEST] = start
    state[RING_END] = start + length_of(words, start)


@compiled
def unfold(state, cells, ring, words, start):
    """Restore the newest bucket totals from the summary at `start`."""
    state[ROWS_SIDE] ^= 1
    share = share_of_events(state, count_of(words, start), surplus_of(words, start))
    if is_listed(words, start):
        unfold_list(state, cells, read_list(state, ring, words, start), share)
        return
    side, totals = fold_side(state), fold_cells(state, state[ROWS_SIDE])
    size = HEAD_WORDS + state[QUANTILES] + 2 * state[THRESHOLDS]
    where = start + 8 * size
    rows = words[(start >> 3) + HEAD_ROWS] & LENGTH_MASK
    scratch = state[AT_SCRATCH]
    super_, weight = np.int64(0), np.int64(0)
    for i in range(rows):
        step, form, where = read_step(ring, where)
        super_ += step
        before = scaled(weight, share)
        _, where = read_row(ring, where, form, state, scratch)
        for k in range(16):
            below = scaled(weight, share)
            weight += state[scratch + k]
            cells[totals + 16 * i + k] = scaled(weight, share) - below
        state[side + FOLD_ID * state[HALF_PLACES] + i] = super_
        state[side + FOLD_SUM * state[HALF_PLACES] + i] = scaled(weight, share) - before
    state[NEWEST_ROWS + state[ROWS_SIDE]] = rows


@compiled
def summary_starts(state, ring, starts):
    """List where summaries begin, oldest first: the one that expired last, then the live ones; returns how many."""
    words = ring.view(np.int64)
    first = state[RING_BEFORE] if state[RING_BEFORE] >= 0 else state[RING_OLDEST]
    if first < 0:
        return 0
    kept = 0
    start = first
    while True:
        starts[kept] = start
        kept += 1
        if start == state[RING_NEWEST]:
            return kept
        start = next_record(state, words, start)
