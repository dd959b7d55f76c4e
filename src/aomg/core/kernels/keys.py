"""Slides the windows of many keys, one key after another, in one state."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.answering import compute_result
from aomg.core.kernels.closing import close_dense, record_room
from aomg.core.kernels.codes import place_of
from aomg.core.kernels.folds import unfold
from aomg.core.kernels.registers import (
    ACTIVE,
    AT_ACTIVE,
    AT_COUNTS,
    AT_FINE,
    AT_SUPER_TOTAL,
    AT_THRESHOLD,
    AT_TOTAL,
    FLAG,
    HEAD_NUMBER,
    LAST_BURST,
    LAST_RELEASE,
    LIVE_COUNT,
    LIVE_SUMMARIES,
    LIVE_WITH_INTEGERS,
    LIVE_WITH_REALS,
    NEWEST_NUMBER,
    NONE,
    PARTIAL,
    RING_BEFORE,
    RING_END,
    RING_NEWEST,
    RING_OLDEST,
    SCORE,
    SUB_WINDOWS,
    THRESHOLDS,
)
from aomg.core.kernels.ring import enter, expire, find_room, head_word, join_newest
from aomg.core.kernels.sortable import bits_of
from aomg.core.kernels.tallies import add_tally, get_word
from aomg.core.kernels.totals import accumulate, apply_head

# what a row brings: a summary that is live already, counts of a sub-window, or the summary of one that closed elsewhere
ROW_LIVE, ROW_COUNTS, ROW_SUMMARY = range(3)
SUMMED, SUM_TAIL = 2, 24  # the flag of a live row that is a sum of summaries, and its bytes behind those of a summary
# how far `slide_keys` has come, so that it can go on after something grew
P_ROW, P_KEY, P_NEXT, P_OPEN, P_RESULTS, P_KEPT, P_KEPT_BYTES, P_NEED, PROGRESS = range(9)
DONE, RING_FULL, RESULTS_FULL, KEPT_FULL = range(4)
KEPT_KEY, KEPT_NUMBER, KEPT_START, KEPT_FLAG, KEPT_WIDTH = range(5)


@compiled
def restart(state):
    """Forget every live summary, as if the state were new. Costs O(live supers)."""
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
def _put_record(state, ring, words, data, first, last):
    """Copy a summary's bytes into the ring; where it is, or -1."""
    at = find_room(state, words, last - first)
    if at >= 0:
        for j in range(last - first):
            ring[at + j] = data[first + j]
    return at


@inlined
def _rejoin(state, ring, words, at, flag):
    """Enter a summary that had entered before: what the burst detector said of it then is known."""
    where, envelope_rows, band_rows = apply_head(state, words, at, 1)
    accumulate(state, ring, where, envelope_rows, band_rows)
    if flag > 0:
        state[LAST_BURST] = head_word(words, at, HEAD_NUMBER)
    elif flag < 0:
        state[LAST_RELEASE] = head_word(words, at, HEAD_NUMBER)
    join_newest(state, words, at)


@inlined
def _rejoin_sum(state, ring, words, at, data, tail):
    """Enter a sum of summaries, none of which leaves before the state is started again; its last words are at `tail`.

    To the extremes it is as many summaries as it is of, each as wide as all of them.
    """
    where, envelope_rows, band_rows = apply_head(state, words, at, 1)
    accumulate(state, ring, where, envelope_rows, band_rows)
    summaries = get_word(data, tail)
    state[LIVE_SUMMARIES] += summaries - 1
    state[LAST_BURST] = max(state[LAST_BURST], get_word(data, tail + 8))
    state[LAST_RELEASE] = max(state[LAST_RELEASE], get_word(data, tail + 16))
    for _ in range(summaries):
        join_newest(state, words, at)


@compiled
def slide_keys(
    state,
    ring,
    progress,
    keys,
    numbers,
    kinds,
    flags,
    offsets,
    data,
    live_to,
    ends,
    answering,
    out,
    out_keys,
    kept,
    index,
):
    """Close the sub-windows of one key after another, up to its end, and answer for each.

    Rows are ordered by key, then live summaries before the rest, then number. Live summaries have answered up to
    `live_to` of their key. Idle sub-windows answer while any summary is live. With `kept` (bytes) and `index` the
    summaries that close are handed out; without `answering` they are closed only. Returns DONE, or what has to grow.
    """
    words = ring.view(np.int64)
    halves = state.view(np.int32)
    counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
    sub_windows = state[SUB_WINDOWS]
    size = keys.size
    while True:
        if progress[P_KEY] < 0:
            if progress[P_ROW] == size:
                return DONE
            restart(state)
            progress[P_KEY] = keys[progress[P_ROW]]
            progress[P_NEXT] = NONE
        key, row = progress[P_KEY], progress[P_ROW]
        closing = progress[P_OPEN] != NONE
        more = row < size and keys[row] == key
        if not closing and more and kinds[row] == ROW_LIVE:
            length = offsets[row + 1] - offsets[row] - (SUM_TAIL if flags[row] == SUMMED else 0)
            at = _put_record(state, ring, words, data, offsets[row], offsets[row] + length)
            if at < 0:
                progress[P_NEED] = length
                return RING_FULL
            if flags[row] == SUMMED:
                _rejoin_sum(state, ring, words, at, data, offsets[row + 1] - SUM_TAIL)
            else:
                _rejoin(state, ring, words, at, flags[row])
            progress[P_ROW] += 1
            progress[P_NEXT] = live_to[key]
            if row + 1 == size or keys[row + 1] != key or kinds[row + 1] != ROW_LIVE:
                unfold(state, halves, ring, words, at)
            continue
        number = progress[P_OPEN] if closing else (numbers[row] if more else ends[key])
        if answering and not closing and progress[P_NEXT] != NONE:
            while progress[P_NEXT] < number:
                idle = progress[P_NEXT]
                expire(state, ring, words, idle - sub_windows + 1)
                if state[LIVE_SUMMARIES] == 0:
                    progress[P_NEXT] = number
                    break
                if state[PARTIAL] or state[LIVE_SUMMARIES] == sub_windows:
                    if progress[P_RESULTS] == out.shape[0]:
                        return RESULTS_FULL
                    compute_result(state, idle, out[progress[P_RESULTS]])
                    out_keys[progress[P_RESULTS]] = key
                    progress[P_RESULTS] += 1
                progress[P_NEXT] += 1
        if not more and not closing:
            progress[P_KEY] = -1
            continue
        # a sub-window closes
        if answering and progress[P_RESULTS] == out.shape[0]:
            return RESULTS_FULL
        if not closing and kinds[row] == ROW_COUNTS:
            while row < size and keys[row] == key and numbers[row] == number and kinds[row] == ROW_COUNTS:
                add_tally(state, counts, data, offsets[row])
                row += 1
            progress[P_ROW] = row
            progress[P_OPEN] = number
            closing = True
        if answering:
            expire(state, ring, words, number - sub_windows + 1)
        if closing:
            room = record_room(state)
            if kept.size > 0 and (progress[P_KEPT_BYTES] + room > kept.size or progress[P_KEPT] == index.shape[0]):
                progress[P_NEED] = room
                return KEPT_FULL
            at = find_room(state, words, room)
            if at < 0:
                progress[P_NEED] = room
                return RING_FULL
            length = close_dense(state, halves, counts, ring, words, at, number, answering)
            progress[P_OPEN] = NONE
        else:
            length = offsets[row + 1] - offsets[row]
            if kept.size > 0 and (progress[P_KEPT_BYTES] + length > kept.size or progress[P_KEPT] == index.shape[0]):
                progress[P_NEED] = length
                return KEPT_FULL
            at = _put_record(state, ring, words, data, offsets[row], offsets[row + 1])
            if at < 0:
                progress[P_NEED] = length
                return RING_FULL
            unfold(state, halves, ring, words, at)
            progress[P_ROW] += 1
        if answering:
            enter(state, halves, ring, words, at, closing)
            progress[P_NEXT] = number + 1
        if kept.size > 0:
            entry, start = progress[P_KEPT], progress[P_KEPT_BYTES]
            for j in range(length):
                kept[start + j] = ring[at + j]
            index[entry, KEPT_KEY], index[entry, KEPT_NUMBER] = key, number
            index[entry, KEPT_START], index[entry, KEPT_FLAG] = start, state[FLAG]
            progress[P_KEPT] += 1
            progress[P_KEPT_BYTES] += length
        if answering and (state[PARTIAL] or state[LIVE_SUMMARIES] == sub_windows):
            compute_result(state, number, out[progress[P_RESULTS]])
            out_keys[progress[P_RESULTS]] = key
            progress[P_RESULTS] += 1
