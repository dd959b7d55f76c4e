"""Writes the summary of a sorted sub-window of raw values, by a plan of which ranks to read."""

import math

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.codes import cell_of_double, code_of_cell, raw_interval
from aomg.core.kernels.registers import (
    BOTH_CODES,
    DEPTHS,
    DOMAIN_SHIFT,
    HEAD_COUNT,
    HEAD_FINE,
    HEAD_LENGTH,
    HEAD_MAXIMUM,
    HEAD_MINIMUM,
    HEAD_NUMBER,
    HEAD_ROWS,
    HEAD_WORDS,
    QUANTILES,
)
from aomg.core.kernels.sortable import U64, bits_of, double_of, double_of_key

# A plan says what is read from a sub-window of so many elements: its fixed words; then for each column of quantiles
# the index of its element, those on either side whose distance tells the density, and the probability between these
# (a double); then for each high quantile its tail's depth, how many samples, by how many positions they may turn (0:
# the golden ratio decides) and where in the plan their ranks from the top begin, the largest first.
PLAN_COUNT, PLAN_ROOM, PLAN_TOP, PLAN_WORDS = range(4)
PLAN_INDEX, PLAN_LOWER, PLAN_UPPER, PLAN_BETWEEN, PLAN_QUANTILE = range(5)
PLAN_DEPTH, PLAN_SAMPLES, PLAN_TURN, PLAN_RANKS, PLAN_TAIL = range(5)
GOLDEN = 0.6180339887498949


@inlined
def _pair_up(words, at, size):
    """Make ordered pairs, behind their number, of `size` ordered keys that are behind `at`; returns their end.

    Without a branch for each: which keys are equal cannot be foreseen.
    """
    room = words[at + 1 : at + 1 + 2 * size]
    codes, ends = room[:size], room[size:]
    ties = np.int64(0)
    for i in range(size - 1):
        ties += codes[i] == codes[i + 1]
    if ties == 0:
        words[at] = size
        for i in range(size):
            ends[i] = 1
        return at + 1 + 2 * size
    pairs = U64(0)
    for i in range(size - 1):
        key = codes[i]
        codes[pairs] = key
        ends[pairs] = i + 1
        pairs += U64(codes[i + 1] != key)
    codes[pairs] = codes[size - 1]
    ends[pairs] = size
    pairs += U64(1)
    words[at] = pairs
    counts = room[np.int64(pairs) :]
    before = np.int64(0)
    for i in range(pairs):
        end = ends[i]
        counts[i] = end - before
        before = end
    return at + 1 + 2 * np.int64(pairs)


@compiled
def _put_samples(words, at, keys, plan, tail, number):
    """Write the samples of a sub-window's tail as ordered pairs; returns their end."""
    depth, samples = plan[tail + PLAN_DEPTH], plan[tail + PLAN_SAMPLES]
    turn, count = plan[tail + PLAN_TURN], U64(keys.size)
    codes = words[at + 1 : at + 1 + samples]
    if turn > 0:
        ranks = plan[plan[tail + PLAN_RANKS] : plan[tail + PLAN_RANKS] + samples]  # descending
        after = count - U64(number % turn)
        for i in range(samples):
            codes[i] = keys[after - U64(ranks[i])]
    else:
        start = (number * GOLDEN) % 1.0
        if start == 0.0:
            start = 1.0
        interval = depth / samples
        for i in range(samples):
            rank = min(max(np.int64(math.ceil((samples - 1 - i + start) * interval)), 1), depth)
            codes[i] = keys[count - U64(rank)]
    return _pair_up(words, at, samples)


@inlined
def raw_middle(key, domain):
    """What a raw value's key reports."""
    low, high = raw_interval(key, domain)
    return low + (high - low) / 2


@compiled
def write_raw(state, table, words, at, plan, keys, low, high, domain, number):
    """Write the summary of a sub-window from its sorted keys; low and high are the keys of its extremes."""
    quantiles = state[QUANTILES]
    head = at >> 3
    words[head + HEAD_NUMBER] = number
    words[head + HEAD_COUNT] = keys.size
    words[head + HEAD_MINIMUM] = bits_of(double_of_key(low))
    words[head + HEAD_MAXIMUM] = bits_of(double_of_key(high))
    words[head + HEAD_ROWS] = 0
    words[head + HEAD_FINE] = 8 * (HEAD_WORDS + quantiles)
    dense = head + HEAD_WORDS
    codes = dense + quantiles
    inverses = codes + quantiles
    for column in range(quantiles):
        entry = PLAN_WORDS + PLAN_QUANTILE * column
        key = keys[plan[entry + PLAN_INDEX]]
        words[dense + column] = code_of_cell(state, cell_of_double(state, table, double_of_key(key))) * BOTH_CODES
        words[codes + column] = key
        above, below = keys[plan[entry + PLAN_UPPER]], keys[plan[entry + PLAN_LOWER]]
        rise = raw_middle(above, domain) - raw_middle(below, domain)
        inverse = rise / double_of(plan[entry + PLAN_BETWEEN]) if rise > 0.0 else np.nan
        words[inverses + column] = bits_of(inverse if abs(inverse) < np.inf else np.nan)
    end = inverses + quantiles
    top = plan[PLAN_TOP]
    for i in range(top):
        words[end + 1 + i] = keys[keys.size - top + i]
    end = _pair_up(words, end, top)
    words[end] = 0  # no band
    end += 1
    tails = PLAN_WORDS + PLAN_QUANTILE * quantiles
    for h in range(state[DEPTHS]):
        end = _put_samples(words, end, keys, plan, tails + PLAN_TAIL * h, number)
    for h in range(state[DEPTHS]):
        words[end] = plan[tails + PLAN_TAIL * h + PLAN_DEPTH]
        end += 1
    words[head + HEAD_LENGTH] = (8 * (end - head)) | (domain << DOMAIN_SHIFT)
