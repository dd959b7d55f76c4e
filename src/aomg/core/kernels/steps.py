"""The step of a sliding window: expire, close, enter, answer. Every path of the core is made of it.

Whoever closes a sub-window calls `make_room`, which expires what the window no longer covers, writes the summary there,
and calls `enter_and_answer`. The callers are `push_counted` (windows counted in events), `step_open` (one sub-window,
called from Python), `slide_keys` (many keys, core.kernels.keys) and `close_sorted` (raw values,
core.kernels.paper.level2).

`level` is the array of fine totals of queries that keep a fine part (core.kernels.paper), None for all others: Numba
compiles the two apart, so that a query without a fine part neither compiles nor runs any of it.
"""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.answering import compute_result
from aomg.core.kernels.closing import close_dense, summary_room
from aomg.core.kernels.counting import add_pairs, count_chunk
from aomg.core.kernels.folds import clear_counts, fold_open, open_pairs, unfold
from aomg.core.kernels.paper.level2 import answer_fine, enter_fine, expire_fine
from aomg.core.kernels.paper.plans import PLAN_ROOM, write_raw
from aomg.core.kernels.registers import (
    AT_COUNTS,
    AT_TOTAL,
    FILLED,
    HEAD_FINE,
    HEAD_LENGTH,
    HEAD_NUMBER,
    LIVE_SUMMARIES,
    OPEN_NUMBER,
    PARTIAL,
    PERIOD,
    RING_NEWEST,
    ROWS_SIDE,
    SUB_WINDOWS,
)
from aomg.core.kernels.ring import enter, expire, find_room, head_word

# -- the step -----------------------------------------------------------------------------------------------------------


@inlined
def expire_window(state, ring, words, level, number):
    """Expire every live summary that the window whose newest sub-window is `number` does not cover."""
    before = number - state[SUB_WINDOWS] + 1
    if level is None:
        expire(state, ring, words, before)
    else:
        expire_fine(state, ring, words, level, before)


@inlined
def make_room(state, ring, words, level, number, need):
    """Expire what sub-window `number` drives out, then return where its summary can begin; -1: the ring must grow."""
    expire_window(state, ring, words, level, number)
    return find_room(state, words, need)


@inlined
def enter_summary(state, halves, ring, words, level, start, closed_here):
    """Enter the summary at `start`; `closed_here` says that it was closed in this state, which has its rows already."""
    previous = state[RING_NEWEST]
    if not closed_here:
        unfold(state, halves, ring, words, start)
    enter(state, halves, ring, words, start, closed_here)
    if level is not None:
        enter_fine(state, words, level, start, previous)


@inlined
def answer(state, words, level, number, out, densities, row):
    """Write the result of the window that ends with `number` into row `row`, if it owes one; returns the next row."""
    live = state[LIVE_SUMMARIES]
    if live == 0 or not (state[PARTIAL] or live == state[SUB_WINDOWS]):
        return row
    if level is None:
        compute_result(state, number, out[row])
    else:
        answer_fine(state, words, level, number, out[row], densities[row])
    return row + 1


@inlined
def enter_and_answer(state, halves, ring, words, level, start, closed_here, out, densities, row):
    """Enter the summary at `start` and answer for its window; returns the next row of results."""
    enter_summary(state, halves, ring, words, level, start, closed_here)
    return answer(state, words, level, head_word(words, start, HEAD_NUMBER), out, densities, row)


@inlined
def answer_idle(state, ring, words, level, number, stop, out, densities, row):
    """Answer for sub-windows without events, from `number` up to `stop`, while any summary is live.

    Returns the next number and the next row; the number is below `stop` only if `out` is full.
    """
    while number < stop:
        expire_window(state, ring, words, level, number)
        if state[LIVE_SUMMARIES] == 0:
            return stop, row
        if row == out.shape[0]:
            return number, row
        row = answer(state, words, level, number, out, densities, row)
        number += 1
    return number, row


# -- one stream ---------------------------------------------------------------------------------------------------------


@compiled
def push_counted(state, table, ring, bits, start, real, out):
    """Push values of windows counted in events, from `start` on.

    Returns (next value, rows of results, events of the open sub-window); stops early, before a close, when the ring
    needs to grow.
    """
    halves = state.view(np.int32)
    words = ring.view(np.int64)
    counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
    period = state[PERIOD]
    row = 0
    i = start
    while i < bits.size or state[FILLED] == period:
        if state[FILLED] < period:
            chunk = bits[i : i + period - state[FILLED]]
            i += chunk.size
            count_chunk(state, table, counts, chunk, real)
        if state[FILLED] == period:
            number = state[OPEN_NUMBER]
            summary = make_room(state, ring, words, None, number, summary_room(state))
            if summary < 0:
                return i, row, state[FILLED]
            close_dense(state, halves, counts, ring, words, summary, number, True)
            row = enter_and_answer(state, halves, ring, words, None, summary, True, out, None, row)
            state[OPEN_NUMBER] += 1
    return i, row, state[FILLED]


@compiled
def push_sorted(state, table, ring, level, plan, keys, lows, highs, domain, first, start, out, densities):
    """Close sub-windows of raw values, each a row of sorted keys, from row `start` on; row 0 is sub-window `first`.

    Returns (next row of keys, rows of results); stops early, before a close, when the ring needs to grow.
    """
    words = ring.view(np.int64)
    halves = state.view(np.int32)
    row = 0
    for i in range(start, keys.shape[0]):
        summary = make_room(state, ring, words, level, first + i, plan[PLAN_ROOM])
        if summary < 0:
            return i, row
        write_raw(state, table, words, summary, plan, keys[i], lows[i], highs[i], domain, first + i)
        row = enter_and_answer(state, halves, ring, words, level, summary, True, out, densities, row)
    return keys.shape[0], row


@compiled
def step_open(state, ring, level, fine, number, out, densities):
    """Close the open sub-window as `number`, with the words of its fine part, enter it and answer.

    Returns the rows of results (0 or 1), or -1, before anything is closed, when the ring needs to grow.
    """
    halves = state.view(np.int32)
    words = ring.view(np.int64)
    extra = 0 if fine is None else 8 * fine.size
    start = make_room(state, ring, words, level, number, summary_room(state) + extra)
    if start < 0:
        return -1
    _close_open(state, halves, ring, words, start, fine, number, True)
    return enter_and_answer(state, halves, ring, words, level, start, True, out, densities, 0)


@inlined
def _close_open(state, halves, ring, words, start, fine, number, entering):
    """Write the open sub-window's summary at `start`, its fine part behind it; returns its length in bytes."""
    counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
    length = close_dense(state, halves, counts, ring, words, start, number, entering)
    if fine is not None:
        words[(start >> 3) + HEAD_FINE] = length
        words[(start >> 3) + HEAD_LENGTH] += 8 * fine.size
        for j in range(fine.size):
            words[((start + length) >> 3) + j] = fine[j]
        length += 8 * fine.size
    return length


@compiled
def close_open(state, out, fine, number):
    """Close the open sub-window as `number` without entering it: write its summary to `out`; returns its length."""
    return _close_open(state, state.view(np.int32), out, out.view(np.int64), 0, fine, number, False)


@compiled
def enter_foreign(state, ring, level, content, number):
    """Enter a sound summary from elsewhere as sub-window `number`; False when the ring needs to grow."""
    words = ring.view(np.int64)
    start = make_room(state, ring, words, level, number, content.size)
    if start < 0:
        return False
    for j in range(content.size):
        ring[start + j] = content[j]
    enter_summary(state, state.view(np.int32), ring, words, level, start, False)
    return True


@compiled
def expire_before(state, ring, level, number):
    """Expire every live summary that the window whose newest sub-window is `number` does not cover."""
    expire_window(state, ring, ring.view(np.int64), level, number)


@compiled
def answer_empty(state, ring, level, number, stop, out, densities):
    """Answer for the empty sub-windows from `number` up to `stop`; returns the rows of results. `out` has room."""
    _, row = answer_idle(state, ring, ring.view(np.int64), level, number, stop, out, densities, 0)
    return row


# -- the open sub-window ------------------------------------------------------------------------------------------------


@compiled
def count_open(state, table, bits, real):
    """Accumulate of Level 1: count values."""
    halves = state.view(np.int32)
    return count_chunk(state, table, halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]], bits, real)


@compiled
def merge_open(state, codes, numbers, domain, minimum, maximum):
    """Accumulate of Level 1: add the counts of another place."""
    halves = state.view(np.int32)
    counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
    add_pairs(state, counts, codes, numbers, domain, minimum, maximum)


@compiled
def list_open(state, codes, numbers):
    """List the open sub-window's pairs; returns how many."""
    halves = state.view(np.int32)
    return open_pairs(state, halves, halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]], codes, numbers)


@compiled
def forget_open(state):
    """Forget the open sub-window's counts."""
    state[ROWS_SIDE] ^= 1
    clear_counts(state, fold_open(state, state.view(np.int32)))
    state[ROWS_SIDE] ^= 1
