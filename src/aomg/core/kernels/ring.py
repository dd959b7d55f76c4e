"""The ring of summaries: allocates space for a new one, enters it into the window, expires the oldest."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.bursts import compare_tails
from aomg.core.kernels.extremes import push_extreme
from aomg.core.kernels.lanes import prefetch
from aomg.core.kernels.registers import (
    CODE_MASK,
    CODE_SHIFT,
    ENTERED,
    FLAG,
    HAS_ENVELOPE,
    HEAD_COUNT,
    HEAD_LENGTH,
    HEAD_MAXIMUM,
    HEAD_MINIMUM,
    HEAD_NUMBER,
    HEAD_WORDS,
    LAST_BURST,
    LAST_RELEASE,
    LENGTH_MASK,
    LIVE_SUMMARIES,
    NEWEST_NUMBER,
    QUANTILES,
    RING_BEFORE,
    RING_END,
    RING_NEWEST,
    RING_OLDEST,
    SCORE,
    SUB_WINDOWS,
    THRESHOLDS,
)
from aomg.core.kernels.sortable import bits_of, double_of, key_of_double
from aomg.core.kernels.totals import accumulate, apply_head, deaccumulate

COLD_FROM, COLD_BYTES = 1000, 1024  # with more live summaries, the next one to expire is not in the CPU's cache


@inlined
def head_word(words, start, word):
    """One word of the head of the summary at `start`."""
    return words[(start >> 3) + word]


@inlined
def next_record(state, words, start):
    """Where the summary after the one at `start` begins."""
    size = HEAD_WORDS + state[QUANTILES] + 2 * state[THRESHOLDS]
    start += head_word(words, start, HEAD_LENGTH) & LENGTH_MASK
    if start + 8 * size > 8 * words.size or head_word(words, start, HEAD_COUNT) == 0:
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
            if end + 8 * HEAD_WORDS <= 8 * words.size:
                words[(end >> 3) + HEAD_COUNT] = 0
            return np.int64(0)
    elif end + need < first:
        return end
    return np.int64(-1)


@inlined
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


@inlined
def enter(state, halves, ring, words, start, added):
    """Accumulate the summary at `start` as the newest of the window; `added` says that its rows are in the totals."""
    head = words[start >> 3 : (start >> 3) + HEAD_WORDS]
    number = head[HEAD_NUMBER]
    newest = state[RING_NEWEST]
    where, envelope_rows, band_rows = apply_head(state, words, start, 1)
    if not added:
        accumulate(state, ring, where, envelope_rows, band_rows)
    state[SCORE], state[FLAG] = bits_of(0.0), 0
    if newest >= 0 and state[HAS_ENVELOPE] and head_word(words, newest, HEAD_NUMBER) >= number - state[SUB_WINDOWS]:
        compare_tails(state, halves, head[HEAD_COUNT], head_word(words, newest, HEAD_COUNT))
        if state[FLAG] > 0:
            state[LAST_BURST] = number
        elif state[FLAG] < 0:
            state[LAST_RELEASE] = number
    join_newest(state, words, start)


@inlined
def join_newest(state, words, start):
    """Note the extremes of the summary at `start`, and that it is the newest."""
    quantiles = state[QUANTILES]
    head = words[start >> 3 : (start >> 3) + HEAD_WORDS + quantiles]
    state[ENTERED] += 1
    for q in range(quantiles):
        push_extreme(state, 2 * q, head[HEAD_WORDS + q] >> CODE_SHIFT)
        push_extreme(state, 2 * q + 1, -(head[HEAD_WORDS + q] & CODE_MASK))
    push_extreme(state, 2 * quantiles, key_of_double(double_of(head[HEAD_MAXIMUM])))
    push_extreme(state, 2 * quantiles + 1, -key_of_double(double_of(head[HEAD_MINIMUM])))
    state[NEWEST_NUMBER] = head[HEAD_NUMBER]
    state[RING_NEWEST] = start
    if state[RING_OLDEST] < 0:
        state[RING_OLDEST] = start
    state[RING_END] = start + (head[HEAD_LENGTH] & LENGTH_MASK)


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
