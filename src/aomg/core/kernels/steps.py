"""The steps that Python calls for one stream: count, close, enter, expire, and all of them in one loop."""

import numpy as np

from aomg.core.kernels._compile import compiled
from aomg.core.kernels.answering import compute_result
from aomg.core.kernels.closing import close_dense, record_room
from aomg.core.kernels.counting import add_pairs, count_chunk
from aomg.core.kernels.folds import clear_counts, fold_open, open_pairs, unfold
from aomg.core.kernels.registers import (
    AT_COUNTS,
    AT_TOTAL,
    FILLED,
    LIVE_SUMMARIES,
    OPEN_NUMBER,
    PARTIAL,
    PERIOD,
    ROWS_SIDE,
    SUB_WINDOWS,
)
from aomg.core.kernels.ring import enter, expire, find_room


@compiled
def close_open(state, ring, number, room, entering):
    """Write the summary of the open sub-window with `room` bytes to spare behind it; where, and how long, or -1."""
    words = ring.view(np.int64)
    halves = state.view(np.int32)
    at = find_room(state, words, record_room(state) + room)
    if at < 0:
        return np.int64(-1), np.int64(0)
    counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
    return at, close_dense(state, halves, counts, ring, words, at, number, entering)


@compiled
def enter_at(state, ring, at, closed_here):
    """Enter the summary at `at`; `closed_here` says that it has just been closed and its rows added."""
    words = ring.view(np.int64)
    halves = state.view(np.int32)
    if not closed_here:
        unfold(state, halves, ring, words, at)
    enter(state, halves, ring, words, at, closed_here)


@compiled
def expire_before(state, ring, before):
    """Expire every live summary whose number is below `before`."""
    expire(state, ring, ring.view(np.int64), before)


@compiled
def count_open(state, table, bits, real):
    """Accumulate of Level 1, called from Python."""
    halves = state.view(np.int32)
    return count_chunk(state, table, halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]], bits, real)


@compiled
def merge_open(state, codes, numbers, domain, minimum, maximum):
    """Accumulate counts from elsewhere, called from Python."""
    halves = state.view(np.int32)
    counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
    add_pairs(state, counts, codes, numbers, domain, minimum, maximum)


@compiled
def list_open(state, codes, numbers):
    """The open sub-window's pairs, called from Python."""
    halves = state.view(np.int32)
    return open_pairs(state, halves, halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]], codes, numbers)


@compiled
def forget_open(state):
    """Forget the open sub-window's counts."""
    state[ROWS_SIDE] ^= 1
    clear_counts(state, fold_open(state, state.view(np.int32)))
    state[ROWS_SIDE] ^= 1


@compiled
def push_counted(state, table, ring, bits, start, real, out):
    """Push elements of windows counted in elements, from `start` on.

    Returns (next element, rows of results, elements of the open sub-window); stops early, before a close, when the
    ring needs to grow.
    """
    halves = state.view(np.int32)
    words = ring.view(np.int64)
    counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
    period = state[PERIOD]
    rows = 0
    i = start
    while i < bits.size or state[FILLED] == period:
        if state[FILLED] < period:
            chunk = bits[i : i + period - state[FILLED]]
            i += chunk.size
            count_chunk(state, table, counts, chunk, real)
        if state[FILLED] == period:
            number = state[OPEN_NUMBER]
            expire(state, ring, words, number - state[SUB_WINDOWS] + 1)
            at = find_room(state, words, record_room(state))
            if at < 0:
                return i, rows, state[FILLED]
            close_dense(state, halves, counts, ring, words, at, number, True)
            enter(state, halves, ring, words, at, True)
            state[OPEN_NUMBER] += 1
            if state[PARTIAL] or state[LIVE_SUMMARIES] == state[SUB_WINDOWS]:
                compute_result(state, number, out[rows])
                rows += 1
    return i, rows, state[FILLED]
