"""Slides the windows of many keys, one key after another, in one state."""

from typing import Any, NamedTuple

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.closing import close_dense, summary_room
from aomg.core.kernels.code_lists import list_room
from aomg.core.kernels.codes import place_of
from aomg.core.kernels.counting import count_chunk, weigh
from aomg.core.kernels.few_events import FEW, close_few
from aomg.core.kernels.folds import MOST_NARROW
from aomg.core.kernels.heads import head_word
from aomg.core.kernels.paper.level2 import restart_level
from aomg.core.kernels.registers import (
    ACTIVE,
    AT_ACTIVE,
    AT_FINE,
    AT_SUPER_TOTAL,
    AT_THRESHOLD,
    AT_TOTAL,
    FILLED,
    FLAG,
    HEAD_NUMBER,
    LAST_BURST,
    LAST_RELEASE,
    LISTS_CODES,
    LIVE_COUNT,
    LIVE_SUMMARIES,
    LIVE_WITH_INTEGERS,
    LIVE_WITH_REALS,
    NEWEST_NUMBER,
    NONE,
    RING_BEFORE,
    RING_END,
    RING_NEWEST,
    RING_OLDEST,
    SCORE,
    THRESHOLDS,
)
from aomg.core.kernels.ring import add_foreign, add_summary, find_room, join_newest, unfold
from aomg.core.kernels.sortable import bits_of
from aomg.core.kernels.steps import answer_idle, enter_and_answer, enter_summary, make_room
from aomg.core.kernels.tallies import add_tally
from aomg.core.kernels.varints import get_word

# kinds of rows: a live summary, a tally of a sub-window, the summary of one that closed elsewhere, or events
ROW_LIVE, ROW_TALLY, ROW_SUMMARY, ROW_EVENTS = range(4)
SUMMED, SUM_TAIL = 2, 24  # flag of a live row that is a sum of summaries, and its extra bytes after the summary's
# progress of `slide_keys`, so that it can continue after an array grew
P_ROW, P_KEY, P_NEXT, P_OPEN, P_RESULTS, P_SUMMARIES, P_SUMMARY_BYTES, P_NEED, PROGRESS = range(9)
DONE, RING_FULL, RESULTS_FULL, SUMMARIES_FULL, CELLS_NARROW = range(5)
# columns of the index of summaries
INDEX_KEY, INDEX_NUMBER, INDEX_START, INDEX_FLAG, INDEX_WIDTH = range(5)


class RowArrays(NamedTuple):
    """Rows of many keys, as the kernels take them: core.keyed.KeyRows says what they are."""

    keys: Any
    numbers: Any
    kinds: Any
    flags: Any
    offsets: Any
    data: Any
    values: Any
    real: Any
    weights: Any


class OutputArrays(NamedTuple):
    """Where `slide_keys` writes: results with their keys, and the summaries that close, their bytes behind an index."""

    results: Any
    result_keys: Any
    densities: Any
    summaries: Any
    index: Any


@compiled
def restart(state, level):
    """Drop every live summary, as if the state were new. Costs O(live supers)."""
    if level is not None:
        restart_level(state, level)
    active = state[state[AT_ACTIVE] : state[AT_ACTIVE] + state[ACTIVE]]
    for i in range(active.size):
        place = place_of(state, active[i])
        state[state[AT_SUPER_TOTAL] + place] = 0
        for j in range(state[AT_TOTAL] + place * 16, state[AT_TOTAL] + place * 16 + 16):
            state[j] = 0
        for j in range(state[AT_FINE] + place * 256, state[AT_FINE] + place * 256 + 256):
            state[j] = 0
    thresholds = state[THRESHOLDS]
    for t in range(2 * thresholds):
        state[state[AT_THRESHOLD] + 2 * thresholds + t] = 0
    state[ACTIVE] = state[LIVE_COUNT] = state[LIVE_SUMMARIES] = 0
    state[LIVE_WITH_REALS] = state[LIVE_WITH_INTEGERS] = 0
    state[RING_BEFORE] = state[RING_OLDEST] = state[RING_NEWEST] = -1
    state[RING_END] = 0
    state[LAST_BURST] = state[LAST_RELEASE] = state[NEWEST_NUMBER] = NONE
    state[SCORE], state[FLAG] = bits_of(0.0), 0


@inlined
def _copy_summary(ring, start, data, first, length):
    """Copy the bytes of a summary into the ring."""
    for j in range(length):
        ring[start + j] = data[first + j]


@inlined
def _rejoin(state, ring, words, start, flag):
    """Enter a summary that has entered before: the burst detector's decision of then is stored."""
    add_summary(state, ring, words, start)
    if flag > 0:
        state[LAST_BURST] = head_word(words, start, HEAD_NUMBER)
    elif flag < 0:
        state[LAST_RELEASE] = head_word(words, start, HEAD_NUMBER)
    join_newest(state, words, start)


@inlined
def _rejoin_sum(state, ring, words, start, data, tail):
    """Enter a sum of summaries, none of which expires before the state is restarted; its last words are at `tail`.

    To the extremes it is as many summaries as it is of, each as wide as all of them.
    """
    add_summary(state, ring, words, start)
    summaries = get_word(data, tail)
    state[LIVE_SUMMARIES] += summaries - 1
    state[LAST_BURST] = max(state[LAST_BURST], get_word(data, tail + 8))
    state[LAST_RELEASE] = max(state[LAST_RELEASE], get_word(data, tail + 16))
    for _ in range(summaries):
        join_newest(state, words, start)


@inlined
def _enter_live(state, cells, ring, words, level, rows, row):
    """Enter a live row; returns the bytes that the ring lacks for it, or 0.

    The burst detector of a query with a fine part compares the live summaries again: their flags are not stored.
    """
    summed = rows.flags[row] == SUMMED
    first, length = rows.offsets[row], rows.offsets[row + 1] - rows.offsets[row] - (SUM_TAIL if summed else 0)
    if level is None:
        start = find_room(state, words, length)
    else:
        start = make_room(state, ring, words, level, rows.numbers[row], length)
    if start < 0:
        return length
    _copy_summary(ring, start, rows.data, first, length)
    if level is not None:
        add_foreign(state, cells, ring, words, start)
        enter_summary(state, cells, words, level, start)
        return np.int64(0)
    if summed:
        _rejoin_sum(state, ring, words, start, rows.data, first + length)
    else:
        _rejoin(state, ring, words, start, rows.flags[row])
    last = row + 1 == rows.keys.size or rows.keys[row + 1] != rows.keys[row] or rows.kinds[row + 1] != ROW_LIVE
    if last:
        unfold(state, cells, ring, words, start)
    return np.int64(0)


@inlined
def _add_row(state, table, cells, rows, weights, row):
    """Count a tally or the events of a row; False, with nothing changed, if the cells must be wide.

    The bytes of a row of events are two words: where its values begin and end. `weights` are those of all rows: Numba
    leaves them out if an argument is None, but not if an attribute is.
    """
    offset = rows.offsets[row]
    if rows.kinds[row] == ROW_TALLY:
        return add_tally(state, cells, rows.data, offset)
    first, last = get_word(rows.data, offset), get_word(rows.data, offset + 8)
    total = last - first if weights is None else weigh(weights[first:last])[1]
    if cells.itemsize < 8 and state[FILLED] + total > MOST_NARROW:
        return False
    own = None if weights is None else weights[first:last]
    count_chunk(state, table, cells, rows.values[first:last], own, rows.real)
    return True


@inlined
def _few_events(state, rows, weights, row):
    """How many events the sub-window of a row has, if they are few without weights and the only ones; 0 if not."""
    if weights is not None or rows.kinds[row] != ROW_EVENTS or state[LISTS_CODES] == 0:
        return np.int64(0)
    if row + 1 < rows.keys.size and rows.keys[row + 1] == rows.keys[row] and rows.numbers[row + 1] == rows.numbers[row]:
        return np.int64(0)
    events = get_word(rows.data, rows.offsets[row] + 8) - get_word(rows.data, rows.offsets[row])
    return events if events <= FEW else np.int64(0)


@inlined
def _list_summary(state, ring, progress, output, start, length, key, number):
    """Append a summary that closed to the output."""
    entry, first = progress[P_SUMMARIES], progress[P_SUMMARY_BYTES]
    for j in range(length):
        output.summaries[first + j] = ring[start + j]
    output.index[entry, INDEX_KEY], output.index[entry, INDEX_NUMBER] = key, number
    output.index[entry, INDEX_START], output.index[entry, INDEX_FLAG] = first, state[FLAG]
    progress[P_SUMMARIES] += 1
    progress[P_SUMMARY_BYTES] += length


@compiled
def slide_keys(state, table, cells, ring, level, progress, rows, live_to, ends, answering, output):
    """Close the sub-windows of one key after another, up to its end, and answer for each.

    Rows are ordered by key, then live summaries before the rest, then number. Live summaries have answered up to
    `live_to` of their key. Idle sub-windows answer while any summary is live. With room in `output.summaries` the
    summaries that close are written there; without `answering` they are closed only. Returns DONE, or what has to grow.
    """
    words = ring.view(np.int64)
    size, results = rows.keys.size, output.results
    listing = output.summaries.size > 0
    while True:
        if progress[P_KEY] < 0:
            if progress[P_ROW] == size:
                return DONE
            restart(state, level)
            progress[P_KEY] = rows.keys[progress[P_ROW]]
            progress[P_NEXT] = NONE
        key, row = progress[P_KEY], progress[P_ROW]
        closing = progress[P_OPEN] != NONE
        more = row < size and rows.keys[row] == key
        if not closing and more and rows.kinds[row] == ROW_LIVE:
            progress[P_NEED] = _enter_live(state, cells, ring, words, level, rows, row)
            if progress[P_NEED] > 0:
                return RING_FULL
            progress[P_ROW] += 1
            progress[P_NEXT] = live_to[key]
            continue
        number = progress[P_OPEN] if closing else (rows.numbers[row] if more else ends[key])
        if answering and not closing and progress[P_NEXT] != NONE:
            first = progress[P_RESULTS]
            progress[P_NEXT], progress[P_RESULTS] = answer_idle(
                state, ring, words, level, progress[P_NEXT], number, results, output.densities, first
            )
            output.result_keys[first : progress[P_RESULTS]] = key
            if progress[P_NEXT] < number:
                return RESULTS_FULL
        if not more and not closing:
            progress[P_KEY] = -1
            continue
        # a sub-window closes
        if answering and progress[P_RESULTS] == results.shape[0]:
            return RESULTS_FULL
        few = np.int64(0) if closing else _few_events(state, rows, rows.weights, row)
        if not closing and few == 0 and rows.kinds[row] != ROW_SUMMARY:
            while more and rows.numbers[row] == number and rows.kinds[row] != ROW_SUMMARY:
                if not _add_row(state, table, cells, rows, rows.weights, row):
                    progress[P_ROW] = row
                    return CELLS_NARROW
                row += 1
                more = row < size and rows.keys[row] == key
            progress[P_ROW] = row
            progress[P_OPEN] = number
            closing = True
        if few > 0:
            length = list_room(few)
        else:
            length = summary_room(state) if closing else rows.offsets[row + 1] - rows.offsets[row]
        progress[P_NEED] = length
        full = (
            progress[P_SUMMARY_BYTES] + length > output.summaries.size or progress[P_SUMMARIES] == output.index.shape[0]
        )
        if listing and full:
            return SUMMARIES_FULL
        start = make_room(state, ring, words, level, number, length)
        if start < 0:
            return RING_FULL
        if closing:
            length = close_dense(state, cells, ring, words, start, number, answering)
            progress[P_OPEN] = NONE
        elif few > 0:
            place = get_word(rows.data, rows.offsets[row])
            bits = rows.values[place : place + few]
            length = close_few(state, cells, table, ring, words, bits, rows.real, start, number, answering)
            progress[P_ROW] += 1
        else:
            _copy_summary(ring, start, rows.data, rows.offsets[row], length)
            progress[P_ROW] += 1
        if answering:
            if not closing and few == 0:
                add_foreign(state, cells, ring, words, start)
            first = progress[P_RESULTS]
            progress[P_RESULTS] = enter_and_answer(state, cells, words, level, start, results, output.densities, first)
            output.result_keys[first : progress[P_RESULTS]] = key
            progress[P_NEXT] = number + 1
        if listing:
            _list_summary(state, ring, progress, output, start, length, key, number)
