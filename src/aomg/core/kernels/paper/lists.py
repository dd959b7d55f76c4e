"""Merges the few-k lists of the live sub-windows and finds a rank in the merged lists."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.paper.registers import (
    AT_COLUMN,
    AT_DEPTH_SUM,
    AT_MERGED,
    COLUMN_HIGH,
    COLUMN_WIDTH,
    MERGED_WIDTH,
    WITHOUT_TOP,
)
from aomg.core.kernels.ranks import PHI_COLUMN, PHI_WIDTH, live_rank
from aomg.core.kernels.registers import AT_PHI, DEPTHS, EXTREME_ROOM, HEAD_WORDS, LIVE_COUNT, QUANTILES

# merged lists: a code, how many values of all live lists are above it and how many equal it, and how many there are.
# Then for each live list (its slot): its pairs up to the code, the largest code up to it, the smallest above it, where
# in the ring the list is, and how many values it has.
MERGED_CODE, MERGED_ABOVE, MERGED_EQUAL, MERGED_TOTAL, MERGED_WORDS = range(5)
SLOT_CURSOR, SLOT_BELOW, SLOT_OVER, SLOT_WHERE, SLOT_TOTAL, SLOT_WIDTH = range(6)
LOWEST_CODE, HIGHEST_CODE = np.int64(-(2**63)), np.int64(2**63 - 1)  # no value has these


@inlined
def lists_at(state, at):
    """Where the lists of the raw summary at `at` begin: top, band, samples of each high quantile; sizes first."""
    return (at >> 3) + HEAD_WORDS + 3 * state[QUANTILES]


@inlined
def next_list(words, where):
    """Where the list after the one at `where` begins."""
    return where + 1 + 2 * words[where]


@inlined
def values_of(words, where):
    """How many values a list has."""
    counts = words[where + 1 + words[where] : where + 1 + 2 * words[where]]
    total = np.int64(0)
    for i in range(counts.size):
        total += counts[i]
    return total


@compiled
def _list_enters(words, level, merged, room, slot, where, total):
    """Merge the list at `where`, of so many values, as that of `slot`. O(its pairs above the merged code)."""
    size = words[where]
    codes, counts = where + 1, where + 1 + size
    bound = level[merged + MERGED_CODE]
    cursor, above = size, np.int64(0)
    while cursor > 0 and words[codes + cursor - 1] > bound:
        cursor -= 1
        above += words[counts + cursor]
    below = words[codes + cursor - 1] if cursor > 0 else LOWEST_CODE
    level[merged + MERGED_ABOVE] += above
    level[merged + MERGED_TOTAL] += total
    if below == bound:
        level[merged + MERGED_EQUAL] += words[counts + cursor - 1]
    slot += merged + MERGED_WORDS
    level[slot + SLOT_CURSOR * room] = cursor
    level[slot + SLOT_BELOW * room] = below
    level[slot + SLOT_OVER * room] = words[codes + cursor] if cursor < size else HIGHEST_CODE
    level[slot + SLOT_WHERE * room] = where
    level[slot + SLOT_TOTAL * room] = total


@compiled
def _list_leaves(words, level, merged, room, slot):
    """Take the list of `slot` out again. O(its pairs above the merged code)."""
    slot += merged + MERGED_WORDS
    where, cursor = level[slot + SLOT_WHERE * room], level[slot + SLOT_CURSOR * room]
    size = words[where]
    counts = where + 1 + size
    above = np.int64(0)
    for i in range(cursor, size):
        above += words[counts + i]
    level[merged + MERGED_ABOVE] -= above
    level[merged + MERGED_TOTAL] -= level[slot + SLOT_TOTAL * room]
    if level[slot + SLOT_BELOW * room] == level[merged + MERGED_CODE]:
        level[merged + MERGED_EQUAL] -= words[counts + cursor - 1]
    level[slot + SLOT_BELOW * room], level[slot + SLOT_OVER * room] = LOWEST_CODE, HIGHEST_CODE


@compiled
def _find_merged(words, level, merged, room, rank):
    """Make the rank-th largest value of merged lists their code; rank <= total.

    It moves from where it was, code by code. A move looks at two words of each live list, and there are at most as
    many moves as values came and went since: mostly a few.
    """
    slots = level[merged + MERGED_WORDS : merged + MERGED_WORDS + SLOT_WIDTH * room]
    cursors, below, over = slots[:room], slots[SLOT_BELOW * room :], slots[SLOT_OVER * room :]
    wheres = slots[SLOT_WHERE * room :]
    above, equal, code = level[merged + MERGED_ABOVE], level[merged + MERGED_EQUAL], level[merged + MERGED_CODE]
    while above >= rank:
        code = HIGHEST_CODE
        for slot in range(room):
            code = min(code, over[slot])
        equal = np.int64(0)
        for slot in range(room):
            if over[slot] == code:
                where, cursor = wheres[slot], cursors[slot]
                size = words[where]
                equal += words[where + 1 + size + cursor]
                cursor += 1
                cursors[slot], below[slot] = cursor, code
                over[slot] = words[where + 1 + cursor] if cursor < size else HIGHEST_CODE
        above -= equal
    while above + equal < rank:
        if equal > 0:
            for slot in range(room):
                if below[slot] == code:
                    cursor = cursors[slot] - 1
                    cursors[slot], over[slot] = cursor, code
                    below[slot] = words[wheres[slot] + cursor] if cursor > 0 else LOWEST_CODE
            above += equal
        code = LOWEST_CODE
        for slot in range(room):
            code = max(code, below[slot])
        equal = np.int64(0)
        for slot in range(room):
            if below[slot] == code:
                equal += words[wheres[slot] + words[wheres[slot]] + cursors[slot]]
    level[merged + MERGED_ABOVE], level[merged + MERGED_EQUAL], level[merged + MERGED_CODE] = above, equal, code


@inlined
def merged_at(level, which):
    """Where a merged list begins."""
    return level[AT_MERGED] + which * level[MERGED_WIDTH]


@inlined
def has_top_list(level, column, rank):
    """Whether the merged top lists are long enough for a rank."""
    return level[WITHOUT_TOP] == 0 and rank <= level[merged_at(level, column) + MERGED_TOTAL]


@inlined
def sample_rank(state, level, high, rank):
    """The rank among the merged samples of a high quantile that stands for a rank among all values; 0 for none."""
    total = level[merged_at(level, state[QUANTILES] + high) + MERGED_TOTAL]
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
            _find_merged(words, level, merged_at(level, column), room, rank)
        high = level[level[AT_COLUMN] + COLUMN_WIDTH * column + COLUMN_HIGH]
        if high >= 0:
            sampled = sample_rank(state, level, high, rank)
            if sampled > 0:
                _find_merged(words, level, merged_at(level, state[QUANTILES] + high), room, sampled)


@compiled
def shift_lists(state, words, level, at, slot, sign):
    """Let the lists of the raw summary at `at` enter (+1) or leave (-1)."""
    quantiles, room = state[QUANTILES], state[EXTREME_ROOM]
    where = lists_at(state, at)
    level[WITHOUT_TOP] += sign * (words[where] == 0)
    total = values_of(words, where) if sign > 0 else np.int64(0)
    for which in range(quantiles + state[DEPTHS]):
        if which >= quantiles:
            where = next_list(words, where)
            if which == quantiles:
                where = next_list(words, where)
            total = values_of(words, where) if sign > 0 else np.int64(0)
        if sign > 0:
            _list_enters(words, level, merged_at(level, which), room, slot, where, total)
        else:
            _list_leaves(words, level, merged_at(level, which), room, slot)
    if state[DEPTHS] > 0:
        where = next_list(words, where)
    for high in range(state[DEPTHS]):
        level[level[AT_DEPTH_SUM] + high] += sign * words[where + high]
