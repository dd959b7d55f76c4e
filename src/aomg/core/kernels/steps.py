"""The step of a sliding window: expire, close, enter, answer. Every path of the core uses it.

To close a sub-window, a caller calls `make_room`, which expires what the window no longer covers, writes the summary
there, and calls `enter_and_answer`. The callers are `push_counted` (windows counted in events), `push_runs` (event
time), `step_open` (one sub-window, called from Python), `slide_keys` (many keys, core.kernels.keys) and `push_sorted`
(raw values).

`level` is the array of fine totals for queries that keep a fine part (core.kernels.paper), None for all others. Numba
compiles each case separately, so a query without a fine part neither compiles nor runs any of it.
"""

import numpy as np

from aomg.core.kernels._compile import compiled, copied
from aomg.core.kernels.answering import compute_result
from aomg.core.kernels.arrivals import RUN_END, RUN_NUMBER, RUN_START
from aomg.core.kernels.closing import close_dense, summary_room
from aomg.core.kernels.counting import add_pairs, clear_open, count_chunk
from aomg.core.kernels.folds import clear_counts, fold_open, open_pairs
from aomg.core.kernels.heads import head_word, length_of
from aomg.core.kernels.paper.level2 import answer_fine, enter_fine, leave_fine
from aomg.core.kernels.paper.parts import find_band, head_bytes, write_fine, write_sorted
from aomg.core.kernels.paper.plans import PLAN_ROOM
from aomg.core.kernels.paper.registers import RAW, RESOLUTION
from aomg.core.kernels.registers import (
    FILLED,
    HAS_ENVELOPE,
    HEAD_FINE,
    HEAD_LENGTH,
    HEAD_NUMBER,
    LIVE_SUMMARIES,
    NONE,
    OPEN_DOMAIN,
    OPEN_MAXIMUM,
    OPEN_MINIMUM,
    OPEN_NUMBER,
    PARTIAL,
    PERIOD,
    RING_NEWEST,
    RING_OLDEST,
    ROWS_SIDE,
    SUB_WINDOWS,
)
from aomg.core.kernels.ring import add_foreign, enter, expire, find_room

# -- the step ---------------------------------------------------------------------------------------------------------


@compiled
def _expire_fine(state, ring, words, level, before):
    """Expire every live summary whose number is below `before`, its fine part first."""
    while state[LIVE_SUMMARIES] > 0 and head_word(words, state[RING_OLDEST], HEAD_NUMBER) < before:
        oldest = state[RING_OLDEST]
        leave_fine(state, words, level, oldest)
        expire(state, ring, words, head_word(words, oldest, HEAD_NUMBER) + 1)


@copied
def expire_window(state, ring, words, level, number):
    """Expire every live summary that the window whose newest sub-window is `number` does not cover."""
    before = number - state[SUB_WINDOWS] + 1
    if level is None:
        expire(state, ring, words, before)
    else:
        _expire_fine(state, ring, words, level, before)


@copied
def make_room(state, ring, words, level, number, need):
    """Expire what sub-window `number` replaces; return where its summary can begin, or -1 if the ring must grow."""
    expire_window(state, ring, words, level, number)
    return find_room(state, words, need)


@copied
def enter_summary(state, cells, words, level, start):
    """Enter the summary at `start`, which closed in this state, or was added with `add_foreign`."""
    previous = state[RING_NEWEST]
    enter(state, cells, words, start)
    if level is not None:
        enter_fine(state, words, level, start, previous)


@copied
def answer(state, words, level, number, out, densities, row):
    """Write the result of the window that ends with `number` into row `row`, if it has one; returns the next row."""
    live = state[LIVE_SUMMARIES]
    if live == 0 or not (state[PARTIAL] or live == state[SUB_WINDOWS]):
        return row
    compute_result(state, number, out[row])
    if level is not None:
        answer_fine(state, words, level, out[row], densities[row])
    return row + 1


@copied
def enter_and_answer(state, cells, words, level, start, out, densities, row):
    """Enter the summary at `start` and answer for its window; returns the next row of results."""
    enter_summary(state, cells, words, level, start)
    return answer(state, words, level, head_word(words, start, HEAD_NUMBER), out, densities, row)


@copied
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


# -- one stream -------------------------------------------------------------------------------------------------------


@compiled
def push_counted(state, cells, table, ring, bits, start, real, out):
    """Push values of windows counted in events, from `start` on.

    Returns (next value, rows of results, events of the open sub-window); stops early, before a close, when the ring
    needs to grow.
    """
    words = ring.view(np.int64)
    period = state[PERIOD]
    row = 0
    i = start
    while i < bits.size or state[FILLED] == period:
        if state[FILLED] < period:
            chunk = bits[i : i + period - state[FILLED]]
            i += chunk.size
            count_chunk(state, table, cells, chunk, None, real)
        if state[FILLED] == period:
            number = state[OPEN_NUMBER]
            summary = make_room(state, ring, words, None, number, summary_room(state))
            if summary < 0:
                return i, row, state[FILLED]
            close_dense(state, cells, ring, words, summary, number, True)
            row = enter_and_answer(state, cells, words, None, summary, out, None, row)
            state[OPEN_NUMBER] += 1
    return i, row, state[FILLED]


# progress of `push_runs`, so that it can continue after an array grew: the next run, the sub-window that is counted in
# the state but not closed (NONE if there is none), up to where sub-windows have closed, rows of results, bytes needed
T_RUN, T_OPEN, T_CLOSED_TO, T_ROWS, T_NEED, TIMED = range(6)
ALL_TAKEN, NO_ROOM, NO_ROWS = range(3)


@compiled
def push_runs(state, cells, table, ring, bits, moved, weights, moved_weights, real, runs, progress, out):
    """Count runs of events (core.kernels.arrivals) in the order of their sub-windows, and close each of these.

    Idle sub-windows answer while any summary is live, and one that has only events of weight 0 is idle. `weights` is
    None, or an array as long as `bits`. Returns ALL_TAKEN, or what has to grow.
    """
    words = ring.view(np.int64)
    size = runs.shape[0]
    while progress[T_OPEN] != NONE or progress[T_RUN] < size:
        if progress[T_OPEN] == NONE:
            progress[T_OPEN] = runs[progress[T_RUN], RUN_NUMBER]
        number = progress[T_OPEN]
        while progress[T_RUN] < size and runs[progress[T_RUN], RUN_NUMBER] == number:
            run = runs[progress[T_RUN]]
            start, end = run[RUN_START], run[RUN_END]
            if start < bits.size:
                part = None if weights is None else weights[start:end]
                count_chunk(state, table, cells, bits[start:end], part, real)
            else:
                start, end = start - bits.size, end - bits.size
                part = None if weights is None else moved_weights[start:end]
                count_chunk(state, table, cells, moved[start:end], part, real)
            progress[T_RUN] += 1
        if state[FILLED] == 0:
            progress[T_OPEN] = NONE
            continue
        if progress[T_CLOSED_TO] != NONE:
            progress[T_CLOSED_TO], progress[T_ROWS] = answer_idle(
                state, ring, words, None, progress[T_CLOSED_TO], number, out, None, progress[T_ROWS]
            )
            if progress[T_CLOSED_TO] < number:
                return NO_ROWS
        if progress[T_ROWS] == out.shape[0]:
            return NO_ROWS
        progress[T_NEED] = summary_room(state)
        summary = make_room(state, ring, words, None, number, progress[T_NEED])
        if summary < 0:
            return NO_ROOM
        close_dense(state, cells, ring, words, summary, number, True)
        progress[T_ROWS] = enter_and_answer(state, cells, words, None, summary, out, None, progress[T_ROWS])
        progress[T_OPEN], progress[T_CLOSED_TO] = NONE, number + 1
    return ALL_TAKEN


@compiled
def push_sorted(state, cells, table, ring, level, plan, codes, lows, highs, domain, first, start, out, densities):
    """Close sub-windows of raw values without an envelope, each a row of sorted codes, from row `start` on.

    first
        The number of the sub-window of row 0.
    lows, highs
        The sortable keys of each row's extremes.

    Returns (next row of codes, rows of results); stops early, before a close, when the ring needs to grow.
    """
    words = ring.view(np.int64)
    need = head_bytes(state) + plan[PLAN_ROOM]
    row = 0
    for i in range(start, codes.shape[0]):
        summary = make_room(state, ring, words, level, first + i, need)
        if summary < 0:
            return i, row
        write_sorted(state, table, level, words, summary, plan, codes[i], None, lows[i], highs[i], domain, first + i)
        row = enter_and_answer(state, cells, words, level, summary, out, densities, row)
    return codes.shape[0], row


@copied
def _is_only_sorted(state, level):
    """Whether open events are sorted and not counted: raw values without an envelope need no dense counts."""
    return state[HAS_ENVELOPE] == 0 and level[RESOLUTION] == RAW


@copied
def _open_room(state, table, level, plan, codes, ends):
    """Bytes that are enough for the summary of the open sub-window, and how many codes its fine band has."""
    if level is None:
        return summary_room(state), np.int64(0)
    if _is_only_sorted(state, level):
        return head_bytes(state) + plan[PLAN_ROOM], np.int64(0)
    band = find_band(state, table, level, plan, codes, ends)
    return summary_room(state) + plan[PLAN_ROOM] + 16 * band, band


@copied
def _write_open(state, cells, table, ring, words, level, plan, codes, ends, band, start, number, entering):
    """Write the summary of the open sub-window at `start` and clear its counts.

    codes, ends
        With a fine part: its codes at the query's resolution (core.kernels.paper.parts).
    """
    if level is not None and _is_only_sorted(state, level):
        domain, low, high = state[OPEN_DOMAIN], state[OPEN_MINIMUM], state[OPEN_MAXIMUM]
        write_sorted(state, table, level, words, start, plan, codes, ends, low, high, domain, number)
        clear_open(state)
        return
    domain = state[OPEN_DOMAIN]
    length = close_dense(state, cells, ring, words, start, number, entering)
    if level is not None:
        end = write_fine(state, level, words, (start + length) >> 3, plan, codes, ends, band, domain, number)
        words[(start >> 3) + HEAD_FINE] = length
        words[(start >> 3) + HEAD_LENGTH] += 8 * end - start - length


@compiled
def step_open(state, cells, table, ring, level, plan, codes, ends, number, out, densities):
    """Take the step for the open sub-window, as `number`. For `plan`, `codes` and `ends` see core.kernels.paper.parts.

    Returns (rows of results, 0); or, before anything has changed, (0, the bytes that the ring lacks room for).
    """
    words = ring.view(np.int64)
    need, band = _open_room(state, table, level, plan, codes, ends)
    start = make_room(state, ring, words, level, number, need)
    if start < 0:
        return 0, need
    _write_open(state, cells, table, ring, words, level, plan, codes, ends, band, start, number, True)
    return enter_and_answer(state, cells, words, level, start, out, densities, 0), np.int64(0)


@compiled
def close_open(state, cells, table, out, level, plan, codes, ends, number):
    """Close the open sub-window as `number` without entering it: write its summary to `out`.

    Returns (its bytes, 0); or, before anything has changed, (0, the bytes that `out` must have).
    """
    words = out.view(np.int64)
    need, band = _open_room(state, table, level, plan, codes, ends)
    if need > out.size:
        return np.int64(0), need
    side = state[ROWS_SIDE]  # the burst detector still compares with the newest sub-window that entered
    _write_open(state, cells, table, out, words, level, plan, codes, ends, band, 0, number, False)
    state[ROWS_SIDE] = side
    return length_of(words, 0), np.int64(0)


@compiled
def enter_foreign(state, cells, ring, level, content, number):
    """Enter a sound summary from elsewhere as sub-window `number`; False when the ring needs to grow."""
    words = ring.view(np.int64)
    start = make_room(state, ring, words, level, number, content.size)
    if start < 0:
        return False
    for j in range(content.size):
        ring[start + j] = content[j]
    add_foreign(state, cells, ring, words, start)
    enter_summary(state, cells, words, level, start)
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


# -- the open sub-window ----------------------------------------------------------------------------------------------


@compiled
def count_open(state, cells, table, bits, weights, real):
    """Accumulate of Level 1: count values, each as often as its weight says (None: once)."""
    return count_chunk(state, table, cells, bits, weights, real)


@compiled
def merge_open(state, cells, codes, numbers, domain, minimum, maximum, surplus):
    """Accumulate of Level 1: add counts made elsewhere."""
    add_pairs(state, cells, codes, numbers, domain, minimum, maximum, surplus)


@compiled
def list_open(state, cells, codes, numbers):
    """List the open sub-window's pairs; returns how many."""
    return open_pairs(state, cells, codes, numbers)


@compiled
def forget_open(state, cells):
    """Clear the open sub-window's counts."""
    state[ROWS_SIDE] ^= 1
    clear_counts(state, cells, fold_open(state, cells))
    state[ROWS_SIDE] ^= 1
