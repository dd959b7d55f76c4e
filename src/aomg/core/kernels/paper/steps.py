"""The steps of Level 2 that Python calls for queries with a fine part: close, enter, expire, answer."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.answering import compute_result
from aomg.core.kernels.closing import close_dense, record_room
from aomg.core.kernels.counting import clear_open
from aomg.core.kernels.folds import unfold
from aomg.core.kernels.paper.level2 import answer_fine, enter_fine, leave_fine
from aomg.core.kernels.paper.parts import find_band, head_bytes, write_fine, write_sorted
from aomg.core.kernels.paper.plans import PLAN_ROOM
from aomg.core.kernels.paper.registers import RAW, RESOLUTION
from aomg.core.kernels.registers import (
    AT_COUNTS,
    AT_TOTAL,
    DOMAIN_SHIFT,
    HAS_ENVELOPE,
    HEAD_FINE,
    HEAD_LENGTH,
    HEAD_NUMBER,
    LIVE_SUMMARIES,
    OPEN_DOMAIN,
    OPEN_MAXIMUM,
    OPEN_MINIMUM,
    PARTIAL,
    RING_NEWEST,
    RING_OLDEST,
    SUB_WINDOWS,
)
from aomg.core.kernels.ring import enter, expire, find_room, head_word


@inlined
def _enter(state, halves, ring, words, level, start, added):
    """Enter the summary at `start` as the newest; `added` says that its rows are in the totals."""
    previous = state[RING_NEWEST]
    enter(state, halves, ring, words, start, added)
    enter_fine(state, words, level, start, previous)


@compiled
def _expire(state, ring, words, level, before):
    """Expire every live summary whose number is below `before`."""
    while state[LIVE_SUMMARIES] > 0 and head_word(words, state[RING_OLDEST], HEAD_NUMBER) < before:
        oldest = state[RING_OLDEST]
        leave_fine(state, words, level, oldest)
        expire(state, ring, words, head_word(words, oldest, HEAD_NUMBER) + 1)


@compiled
def _answer(state, words, level, number, out, densities):
    """Write a row of results."""
    compute_result(state, number, out)
    answer_fine(state, words, level, out, densities)


@compiled
def close_sorted(state, table, ring, level, plan, codes, lows, highs, domain, first, row, out, densities):
    """Close sub-windows of raw values without an envelope, each a row of sorted codes, from `row` on.

    first
        The number of the first row's sub-window.
    lows, highs
        The sortable keys of each row's extremes.

    Returns (next row, rows of results); stops early, before a close, when the ring needs to grow.
    """
    words = ring.view(np.int64)
    halves = state.view(np.int32)
    need = head_bytes(state) + plan[PLAN_ROOM]
    results = 0
    for i in range(row, codes.shape[0]):
        number = first + i
        _expire(state, ring, words, level, number - state[SUB_WINDOWS] + 1)
        start = find_room(state, words, need)
        if start < 0:
            return i, results
        write_sorted(state, table, level, words, start, plan, codes[i], None, lows[i], highs[i], domain, number)
        _enter(state, halves, ring, words, level, start, True)
        if state[PARTIAL] or state[LIVE_SUMMARIES] == state[SUB_WINDOWS]:
            _answer(state, words, level, number, out[results], densities[results])
            results += 1
    return codes.shape[0], results


@compiled
def close_fine(state, table, ring, level, plan, codes, ends, number):
    """Close the open sub-window as `number`, given its codes (core.kernels.paper.parts), and enter its summary.

    Returns the bytes that the ring lacks room for, before anything has changed; 0 if the sub-window has closed.
    """
    words = ring.view(np.int64)
    halves = state.view(np.int32)
    _expire(state, ring, words, level, number - state[SUB_WINDOWS] + 1)
    domain = state[OPEN_DOMAIN]
    if state[HAS_ENVELOPE] == 0 and level[RESOLUTION] == RAW:
        need = head_bytes(state) + plan[PLAN_ROOM]
        start = find_room(state, words, need)
        if start < 0:
            return need
        low, high = state[OPEN_MINIMUM], state[OPEN_MAXIMUM]
        write_sorted(state, table, level, words, start, plan, codes, ends, low, high, domain, number)
        clear_open(state)
    else:
        band = find_band(state, table, level, plan, codes, ends)
        need = record_room(state) + plan[PLAN_ROOM] + 16 * band
        start = find_room(state, words, need)
        if start < 0:
            return need
        counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
        length = close_dense(state, halves, counts, ring, words, start, number, True)
        fine = (start + length) >> 3
        end = write_fine(state, level, words, fine, plan, codes, ends, band, domain, number)
        words[(start >> 3) + HEAD_FINE] = length
        words[(start >> 3) + HEAD_LENGTH] = (8 * end - start) | (domain << DOMAIN_SHIFT)
    _enter(state, halves, ring, words, level, start, True)
    return np.int64(0)


@compiled
def enter_summary(state, ring, level, start):
    """Enter the summary at `start`, which was closed elsewhere."""
    words = ring.view(np.int64)
    halves = state.view(np.int32)
    unfold(state, halves, ring, words, start)
    _enter(state, halves, ring, words, level, start, False)


@compiled
def expire_summaries(state, ring, level, before):
    """Expire every live summary whose number is below `before`."""
    _expire(state, ring, ring.view(np.int64), level, before)


@compiled
def answer(state, ring, level, number, out, densities):
    """Write a row of results from the live summaries."""
    _answer(state, ring.view(np.int64), level, number, out, densities)
