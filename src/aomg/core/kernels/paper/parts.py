"""Writes the fine part of a closing sub-window's summary: its values at the ranks of a plan.

The input is the sub-window's codes in ascending order. If `ends` is None, there is one code per event; else each code
occurs once, and its end is the number of events up to it. Numba compiles a version for each case.
"""

import math

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.pairs import first_at_least
from aomg.core.kernels.paper.plans import (
    GOLDEN,
    PLAN_BETWEEN,
    PLAN_COUNT,
    PLAN_DEPTH,
    PLAN_FIRST,
    PLAN_LAST,
    PLAN_LOWER,
    PLAN_QUANTILE,
    PLAN_RANK,
    PLAN_RANKS,
    PLAN_SAMPLES,
    PLAN_TAIL,
    PLAN_TOP,
    PLAN_TURN,
    PLAN_UPPER,
    PLAN_WORDS,
)
from aomg.core.kernels.paper.registers import AT_LIMIT, AT_RANGE, KEEPS_BAND, LIMIT_CODE, LIMIT_WIDTH, TAILS
from aomg.core.kernels.paper.resolution import dense_code_of, fine_middle
from aomg.core.kernels.registers import (
    AT_THRESHOLD,
    BOTH_CODES,
    DOMAIN_SHIFT,
    HAS_ENVELOPE,
    HEAD_COUNT,
    HEAD_FINE,
    HEAD_LENGTH,
    HEAD_MAXIMUM,
    HEAD_MINIMUM,
    HEAD_NUMBER,
    HEAD_ROWS,
    HEAD_WORDS,
    QUANTILES,
    THRESHOLDS,
)
from aomg.core.kernels.sortable import U64, bits_of, double_of, double_of_key


@inlined
def _index_of_rank(ends, rank):
    """Where the code of the event with a rank, counted from below, is."""
    if ends is None:
        return U64(rank - 1)
    return first_at_least(ends, rank)


@inlined
def _events_before(ends, index):
    """How many events have a code before that at `index`."""
    if ends is None:
        return np.int64(index)
    return ends[index - U64(1)] if index > U64(0) else np.int64(0)


@compiled
def _first_dense(state, table, level, codes, dense):
    """Where the first code is whose dense code is not below `dense`."""
    first, end = U64(0), U64(codes.size)
    while first < end:
        middle = (first + end) >> U64(1)
        if dense_code_of(state, table, level, codes[middle]) < dense:
            first = middle + U64(1)
        else:
            end = middle
    return first


@inlined
def _pair_up(words, offset, size):
    """Make ordered pairs, behind their number, of `size` ordered codes that are behind `offset`; returns their end.

    Without a branch for each: which codes are equal cannot be foreseen.
    """
    room = words[offset + 1 : offset + 1 + 2 * size]
    codes, ends = room[:size], room[size:]
    ties = np.int64(0)
    for i in range(size - 1):
        ties += codes[i] == codes[i + 1]
    if ties == 0:
        words[offset] = size
        for i in range(size):
            ends[i] = 1
        return offset + 1 + 2 * size
    pairs = U64(0)
    for i in range(size - 1):
        code = codes[i]
        codes[pairs] = code
        ends[pairs] = i + 1
        pairs += U64(codes[i + 1] != code)
    codes[pairs] = codes[size - 1]
    ends[pairs] = size
    pairs += U64(1)
    words[offset] = pairs
    counts = room[np.int64(pairs) :]
    before = np.int64(0)
    for i in range(pairs):
        end = ends[i]
        counts[i] = end - before
        before = end
    return offset + 1 + 2 * np.int64(pairs)


@inlined
def _write_top(words, offset, plan, codes, ends):
    """Write the largest values as ordered pairs; returns their end."""
    top = plan[PLAN_TOP]
    if top == 0:
        words[offset] = 0
        return offset + 1
    below = plan[PLAN_COUNT] - top
    first = np.int64(_index_of_rank(ends, below + 1))
    size = codes.size - first
    for i in range(size):
        words[offset + 1 + i] = codes[first + i]
    if ends is None:
        return _pair_up(words, offset, size)
    words[offset] = size
    for i in range(size):
        words[offset + 1 + size + i] = ends[first + i] - below
        below = ends[first + i]
    return offset + 1 + 2 * size


@compiled
def _write_samples(words, offset, plan, tail, codes, ends, number):
    """Write the samples of a sub-window's tail as ordered pairs; returns their end."""
    depth, samples = plan[tail + PLAN_DEPTH], plan[tail + PLAN_SAMPLES]
    turn, count = plan[tail + PLAN_TURN], U64(plan[PLAN_COUNT])
    picked = words[offset + 1 : offset + 1 + samples]
    if turn > 0:
        ranks = plan[plan[tail + PLAN_RANKS] : plan[tail + PLAN_RANKS] + samples]  # descending
        after = count - U64(number % turn)
        if ends is None:
            for i in range(samples):
                picked[i] = codes[after - U64(ranks[i])]
        else:
            for i in range(samples):
                picked[i] = after - U64(ranks[i])
    else:
        start = (number * GOLDEN) % 1.0
        if start == 0.0:
            start = 1.0
        interval = depth / samples
        for i in range(samples):
            rank = min(max(np.int64(math.ceil((samples - 1 - i + start) * interval)), 1), depth)
            if ends is None:
                picked[i] = codes[count - U64(rank)]
            else:
                picked[i] = count - U64(rank)
    if ends is not None and samples > 0:  # how many events are below each: their codes ascend
        index = first_at_least(ends, picked[0] + 1)
        for i in range(samples):
            while ends[index] <= picked[i]:
                index += U64(1)
            picked[i] = codes[index]
    return _pair_up(words, offset, samples)


@compiled
def find_band(state, table, level, plan, codes, ends):
    """Find which codes the band keeps: every dense code that the ranks around a quantile touch.

    Writes the ranges of their indices to `level`, in ascending order and apart. Returns how many codes they have.
    """
    if level[KEEPS_BAND] == 0:
        return np.int64(0)
    quantiles, ranges = state[QUANTILES], level[AT_RANGE]
    for column in range(quantiles):
        entry = PLAN_WORDS + PLAN_QUANTILE * column
        lowest = codes[_index_of_rank(ends, plan[entry + PLAN_FIRST])]
        highest = codes[_index_of_rank(ends, plan[entry + PLAN_LAST])]
        first = _first_dense(state, table, level, codes, dense_code_of(state, table, level, lowest))
        end = _first_dense(state, table, level, codes, dense_code_of(state, table, level, highest) + 1)
        before = column
        while before > 0 and level[ranges + 2 * before - 2] > np.int64(first):
            level[ranges + 2 * before] = level[ranges + 2 * before - 2]
            level[ranges + 2 * before + 1] = level[ranges + 2 * before - 1]
            before -= 1
        level[ranges + 2 * before], level[ranges + 2 * before + 1] = first, end
    size, reached = np.int64(0), np.int64(0)
    for i in range(quantiles):
        first = max(level[ranges + 2 * i], reached)
        reached = max(level[ranges + 2 * i + 1], reached)
        level[ranges + 2 * i], level[ranges + 2 * i + 1] = first, reached
        size += reached - first
    return size


@inlined
def _write_band(state, level, words, offset, codes, ends, size):
    """Write the codes of the ranges that `find_band` has found, `size` of them, as ordered pairs; returns their end."""
    words[offset] = size
    end = offset + 1
    if size == 0:
        return end
    for i in range(state[QUANTILES]):
        for j in range(level[level[AT_RANGE] + 2 * i], level[level[AT_RANGE] + 2 * i + 1]):
            words[end] = codes[j]
            if ends is not None:
                words[end + size] = ends[j] - _events_before(ends, U64(j))
            end += 1
    if ends is None:
        return _pair_up(words, offset, size)
    return end + size


@compiled
def write_fine(state, level, words, offset, plan, codes, ends, band, domain, number):
    """Write a fine part from word `offset` on; returns its end. `band` is what `find_band` has returned."""
    quantiles = state[QUANTILES]
    for column in range(quantiles):
        rank = plan[PLAN_WORDS + PLAN_QUANTILE * column + PLAN_RANK]
        words[offset + column] = codes[_index_of_rank(ends, rank)]
    end = offset + quantiles
    for limit in range(state[THRESHOLDS]):
        code = level[level[AT_LIMIT] + LIMIT_WIDTH * limit + LIMIT_CODE]
        under = _events_before(ends, first_at_least(codes, code))
        words[end] = under
        words[end + 1] = _events_before(ends, first_at_least(codes, code + 1)) - under
        end += 2
    if state[HAS_ENVELOPE] == 0:
        for column in range(quantiles):
            entry = PLAN_WORDS + PLAN_QUANTILE * column
            above = codes[_index_of_rank(ends, plan[entry + PLAN_UPPER])]
            below = codes[_index_of_rank(ends, plan[entry + PLAN_LOWER])]
            rise = fine_middle(state, level, above, domain) - fine_middle(state, level, below, domain)
            inverse = rise / double_of(plan[entry + PLAN_BETWEEN]) if rise > 0.0 else np.nan
            words[end] = bits_of(inverse if abs(inverse) < np.inf else np.nan)
            end += 1
    end = _write_top(words, end, plan, codes, ends)
    end = _write_band(state, level, words, end, codes, ends, band)
    tails = PLAN_WORDS + PLAN_QUANTILE * quantiles
    for tail in range(level[TAILS]):
        end = _write_samples(words, end, plan, tails + PLAN_TAIL * tail, codes, ends, number)
    for tail in range(level[TAILS]):
        words[end] = plan[tails + PLAN_TAIL * tail + PLAN_DEPTH]
        end += 1
    return end


@inlined
def head_bytes(state):
    """Bytes of a summary without rows and without a fine part."""
    return 8 * (HEAD_WORDS + state[QUANTILES] + 2 * state[THRESHOLDS])


@compiled
def write_sorted(state, table, level, words, start, plan, codes, ends, low, high, domain, number):
    """Write the summary of a sub-window of raw values without an envelope, which needs no dense counts.

    low and high are the sortable keys of its extremes.
    """
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    head = start >> 3
    words[head + HEAD_NUMBER] = number
    words[head + HEAD_COUNT] = plan[PLAN_COUNT]
    words[head + HEAD_MINIMUM] = bits_of(double_of_key(low))
    words[head + HEAD_MAXIMUM] = bits_of(double_of_key(high))
    words[head + HEAD_ROWS] = 0
    words[head + HEAD_FINE] = head_bytes(state)
    for column in range(quantiles):
        key = codes[_index_of_rank(ends, plan[PLAN_WORDS + PLAN_QUANTILE * column + PLAN_RANK])]
        words[head + HEAD_WORDS + column] = dense_code_of(state, table, level, key) * BOTH_CODES
    limits = head + HEAD_WORDS + quantiles
    for limit in range(thresholds):
        dense = state[state[AT_THRESHOLD] + 2 * limit]
        under = _events_before(ends, _first_dense(state, table, level, codes, dense))
        words[limits + 2 * limit] = under
        upto = _events_before(ends, _first_dense(state, table, level, codes, dense + 1))
        words[limits + 2 * limit + 1] = upto - under
    fine = limits + 2 * thresholds
    end = write_fine(state, level, words, fine, plan, codes, ends, np.int64(0), domain, number)
    words[head + HEAD_LENGTH] = (8 * (end - head)) | (domain << DOMAIN_SHIFT)
