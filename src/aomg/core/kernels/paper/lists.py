"""Merges the few-k lists of the live sub-windows and finds a rank in the merged lists."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.paper.registers import (
    AT_COLUMN,
    AT_DEPTH_SUM,
    AT_MERGED,
    COLUMN_HIGH,
    COLUMN_WIDTH,
    FIXED_WORDS,
    MERGED_WIDTH,
    TAILS,
    WITHOUT_TOP,
)
from aomg.core.kernels.ranks import PHI_COLUMN, PHI_WIDTH, live_rank
from aomg.core.kernels.registers import AT_PHI, EXTREME_ROOM, HAS_ENVELOPE, HEAD_FINE, LIVE_COUNT, QUANTILES

# merged lists: a code, how many values of all live lists are above it and how many equal it, and how many there are.
# Then for each live list (its slot): its pairs up to the code, the largest code up to it, the smallest above it, where
# in the ring the list begins, and how many values it has.
MERGED_CODE, MERGED_ABOVE, MERGED_EQUAL, MERGED_TOTAL, MERGED_WORDS = range(5)
SLOT_CURSOR, SLOT_BELOW, SLOT_OVER, SLOT_OFFSET, SLOT_TOTAL, SLOT_WIDTH = range(6)
BELOW_ALL, ABOVE_ALL = np.int64(-(2**63)), np.int64(2**63 - 1)  # no value has these codes


@inlined
def fine_of(words, start):
    """Where the fine part of the summary at `start` begins, in words of the ring."""
    return (start + words[(start >> 3) + HEAD_FINE]) >> 3


@inlined
def lists_of(words, level, start):
    """Where the lists of the summary at `start` begin: top, band, samples of each high quantile; sizes first."""
    return fine_of(words, start) + level[FIXED_WORDS]


@inlined
def next_list(words, offset):
    """Where the list after the one at `offset` begins."""
    return offset + 1 + 2 * words[offset]


@inlined
def values_of(words, offset):
    """How many values a list has."""
    counts = words[offset + 1 + words[offset] : offset + 1 + 2 * words[offset]]
    total = np.int64(0)
    for i in range(counts.size):
        total += counts[i]
    return total


@compiled
def _list_enters(words, level, merged, room, slot, offset, total):
    """Merge the list at `offset`, of so many values, as that of `slot`. O(its pairs above the merged code)."""
    size = words[offset]
    codes, counts = offset + 1, offset + 1 + size
    bound = level[merged + MERGED_CODE]
    cursor, above = size, np.int64(0)
    while cursor > 0 and words[codes + cursor - 1] > bound:
        cursor -= 1
        above += words[counts + cursor]
    below = words[codes + cursor - 1] if cursor > 0 else BELOW_ALL
    level[merged + MERGED_ABOVE] += above
    level[merged + MERGED_TOTAL] += total
    if below == bound:
        level[merged + MERGED_EQUAL] += words[counts + cursor - 1]
    slot += merged + MERGED_WORDS
    level[slot + SLOT_CURSOR * room] = cursor
    level[slot + SLOT_BELOW * room] = below
    level[slot + SLOT_OVER * room] = words[codes + cursor] if cursor < size else ABOVE_ALL
    level[slot + SLOT_OFFSET * room] = offset
    level[slot + SLOT_TOTAL * room] = total


@compiled
def _list_leaves(words, level, merged, room, slot):
    """Take the list of `slot` out again. O(its pairs above the merged code)."""
    slot += merged + MERGED_WORDS
    offset, cursor = level[slot + SLOT_OFFSET * room], level[slot + SLOT_CURSOR * room]
    size = words[offset]
    counts = offset + 1 + size
    above = np.int64(0)
    for i in range(cursor, size):
        above += words[counts + i]
    level[merged + MERGED_ABOVE] -= above
    level[merged + MERGED_TOTAL] -= level[slot + SLOT_TOTAL * room]
    if level[slot + SLOT_BELOW * room] == level[merged + MERGED_CODE]:
        level[merged + MERGED_EQUAL] -= words[counts + cursor - 1]
    level[slot + SLOT_BELOW * room], level[slot + SLOT_OVER * room] = BELOW_ALL, ABOVE_ALL


@compiled
def _find_merged(words, level, merged, room, rank):
    """Make the rank-th largest value of merged lists their code; rank <= total.

    It moves from where it was, code by code. A move looks at two words of each live list, and there are at most as
    many moves as values came and went since: mostly a few.
    """
    slots = level[merged + MERGED_WORDS : merged + MERGED_WORDS + SLOT_WIDTH * room]
    cursors, below, over = slots[:room], slots[SLOT_BELOW * room :], slots[SLOT_OVER * room :]
    offsets = slots[SLOT_OFFSET * room :]
    above, equal, code = level[merged + MERGED_ABOVE], level[merged + MERGED_EQUAL], level[merged + MERGED_CODE]
    while above >= rank:
        code = ABOVE_ALL
        for slot in range(room):
            code = min(code, over[slot])
        equal = np.int64(0)
        for slot in range(room):
            if over[slot] == code:
                offset, cursor = offsets[slot], cursors[slot]
                size = words[offset]
                equal += words[offset + 1 + size + cursor]
                cursor += 1
                cursors[slot], below[slot] = cursor, code
                over[slot] = words[offset + 1 + cursor] if cursor < size else ABOVE_ALL
        above -= equal
    while above + equal < rank:
        if equal > 0:
            for slot in range(room):
                if below[slot] == code:
                    cursor = cursors[slot] - 1
                    cursors[slot], over[slot] = cursor, code
                    below[slot] = words[offsets[slot] + cursor] if cursor > 0 else BELOW_ALL
            above += equal
        code = BELOW_ALL
        for slot in range(room):
            code = max(code, below[slot])
        equal = np.int64(0)
        for slot in range(room):
            if below[slot] == code:
                equal += words[offsets[slot] + words[offsets[slot]] + cursors[slot]]
    level[merged + MERGED_ABOVE], level[merged + MERGED_EQUAL], level[merged + MERGED_CODE] = above, equal, code


@inlined
def merged_list(level, which):
    """Where a merged list begins."""
    return level[AT_MERGED] + which * level[MERGED_WIDTH]


@inlined
def has_top_list(level, column, rank):
    """Whether the merged top lists are long enough for a rank."""
    return level[WITHOUT_TOP] == 0 and rank <= level[merged_list(level, column) + MERGED_TOTAL]


@inlined
def sample_rank(state, level, high, rank):
    """The rank among the merged samples of a high quantile for a rank among all values; 0 if there is none."""
    total = level[merged_list(level, state[QUANTILES] + high) + MERGED_TOTAL]
    if total == 0:
        return np.int64(0)
    depth = level[level[AT_DEPTH_SUM] + high]
    sampled = (rank // depth) * total + ((rank % depth) * total + depth - 1) // depth
    sampled = max(sampled, 1)
    return sampled if sampled <= total else np.int64(0)


@compiled
def find_every_merged(state, words, level):
    """Find the value of each quantile in its merged lists."""
    count, room = state[LIVE_COUNT], state[EXTREME_ROOM]
    for q in range(state[QUANTILES]):
        phi = state[AT_PHI] + PHI_WIDTH * q
        column = state[phi + PHI_COLUMN]
        rank = count - live_rank(state, phi, count) + 1
        if has_top_list(level, column, rank):
            _find_merged(words, level, merged_list(level, column), room, rank)
        high = level[level[AT_COLUMN] + COLUMN_WIDTH * column + COLUMN_HIGH]
        if high >= 0 and state[HAS_ENVELOPE] == 0:  # with an envelope, samples never answer
            sampled = sample_rank(state, level, high, rank)
            if sampled > 0:
                _find_merged(words, level, merged_list(level, state[QUANTILES] + high), room, sampled)


@compiled
def shift_lists(state, words, level, start, slot, sign):
    """Let the lists of the summary at `start` enter (+1) or leave (-1)."""
    quantiles, room = state[QUANTILES], state[EXTREME_ROOM]
    offset = lists_of(words, level, start)
    level[WITHOUT_TOP] += sign * (words[offset] == 0)
    total = values_of(words, offset) if sign > 0 else np.int64(0)
    for which in range(quantiles + level[TAILS]):
        if which >= quantiles:
            offset = next_list(words, offset)
            if which == quantiles:
                offset = next_list(words, offset)
            total = values_of(words, offset) if sign > 0 else np.int64(0)
        if sign > 0:
            _list_enters(words, level, merged_list(level, which), room, slot, offset, total)
        else:
            _list_leaves(words, level, merged_list(level, which), room, slot)
    if level[TAILS] > 0:
        offset = next_list(words, offset)
    for high in range(level[TAILS]):
        level[level[AT_DEPTH_SUM] + high] += sign * words[offset + high]
