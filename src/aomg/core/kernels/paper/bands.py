"""Finds the exact code of a quantile in the bands of the live summaries, if they hold all values of its dense code."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.answering import locate
from aomg.core.kernels.codes import interval
from aomg.core.kernels.paper.lists import lists_of, next_list
from aomg.core.kernels.paper.registers import (
    AT_BAND,
    BAND_END,
    BAND_FIRST,
    BAND_OFFSET,
    BAND_SPLIT,
    BAND_WIDTH,
)
from aomg.core.kernels.paper.resolution import fine_code
from aomg.core.kernels.registers import ENTERED, EXTREME_ROOM, LIVE_SUMMARIES, REALS


@inlined
def note_band(words, level, start, slot):
    """Note where the band of the summary at `start` is."""
    level[level[AT_BAND] + BAND_WIDTH * slot + BAND_OFFSET] = next_list(words, lists_of(words, level, start))


@inlined
def _first_from(words, codes, first, end, code):
    """The first index from `first` to `end` whose code is not below `code`; the codes begin at `codes`."""
    while first < end:
        middle = (first + end) >> 1
        if words[codes + middle] < code:
            first = middle + 1
        else:
            end = middle
    return first


@inlined
def _oldest_band(state, level):
    """Where the entry of the oldest live band is."""
    slot = (state[ENTERED] - state[LIVE_SUMMARIES] + 1) % state[EXTREME_ROOM]
    return level[AT_BAND] + BAND_WIDTH * slot


@inlined
def _next_band(state, level, band):
    """Where the entry after the one at `band` is."""
    band += BAND_WIDTH
    return level[AT_BAND] if band == level[AT_BAND] + BAND_WIDTH * state[EXTREME_ROOM] else band


@compiled
def _count_between(state, words, level, first, last):
    """How many values the live bands have from code `first` to code `last`; sets each band's cursors to them."""
    count, band = np.int64(0), _oldest_band(state, level)
    for _ in range(state[LIVE_SUMMARIES]):
        size, codes = words[level[band + BAND_OFFSET]], level[band + BAND_OFFSET] + 1
        lower = _first_from(words, codes, np.int64(0), size, first)
        upper = _first_from(words, codes, lower, size, last + 1)
        level[band + BAND_FIRST], level[band + BAND_END] = lower, upper
        for j in range(codes + size + lower, codes + size + upper):
            count += words[j]
        band = _next_band(state, level, band)
    return count


@compiled
def _middle_of_longest(state, words, level):
    """The code in the middle of the longest range between cursors."""
    longest, code, band = np.int64(0), np.int64(0), _oldest_band(state, level)
    for _ in range(state[LIVE_SUMMARIES]):
        first, end = level[band + BAND_FIRST], level[band + BAND_END]
        if end - first > longest:
            longest = end - first
            code = words[level[band + BAND_OFFSET] + 1 + ((first + end) >> 1)]
        band = _next_band(state, level, band)
    return code


@compiled
def _largest_between(state, words, level, lowest, highest, rank):
    """The code of the rank-th largest value between the cursors; its code is from `lowest` to `highest`.

    Splits all ranges at a code and continues in the half that has the rank. The code is by turns one of theirs, which
    ends the search where values repeat, and the middle of what is possible, which bounds the number of turns.
    """
    turn = 0
    while True:
        code = lowest + ((highest - lowest) >> 1) if turn & 1 else _middle_of_longest(state, words, level)
        turn += 1
        above, equal, band = np.int64(0), np.int64(0), _oldest_band(state, level)
        for _ in range(state[LIVE_SUMMARIES]):
            size, codes = words[level[band + BAND_OFFSET]], level[band + BAND_OFFSET] + 1
            first, end = level[band + BAND_FIRST], level[band + BAND_END]
            split = _first_from(words, codes, first, end, code)
            level[band + BAND_SPLIT] = split
            if split < end and words[codes + split] == code:
                equal += words[codes + size + split]
                split += 1
            for j in range(codes + size + split, codes + size + end):
                above += words[j]
            band = _next_band(state, level, band)
        if above < rank <= above + equal:
            return code
        over = rank <= above
        if over:
            lowest = code + 1
        else:
            highest = code - 1
            rank -= above + equal
        band = _oldest_band(state, level)
        for _ in range(state[LIVE_SUMMARIES]):
            split = level[band + BAND_SPLIT]
            if over:
                codes = level[band + BAND_OFFSET] + 1
                equals = split < level[band + BAND_END] and words[codes + split] == code
                level[band + BAND_FIRST] = split + equals
            else:
                level[band + BAND_END] = split
            band = _next_band(state, level, band)


@compiled
def certified_code(state, words, level, quantile):
    """Whether the exact code of a quantile (by its place in ascending order) is known, and the code."""
    certified, dense, rank, number = locate(state, quantile)
    if not certified:
        return False, np.int64(0)
    low, high = interval(state, dense, REALS)  # the widest span of fine codes that the dense code can have
    first, last = fine_code(state, level, low), fine_code(state, level, high)
    if _count_between(state, words, level, first, last) != number:
        return False, np.int64(0)
    return True, _largest_between(state, words, level, first, last, rank)
