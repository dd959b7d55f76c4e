"""Random: buffers of samples that collapse at random, and selection by weight."""

import numpy as np

from aomg.policies.kernels._compile import compiled
from aomg.policies.kernels.gk import LEAST

# Buffers of s values, each of weight 2^level; a level of -1 is a free buffer.
SAMPLED, FILLING, FILLED, CHOSEN = range(4)  # registers: elements so far, the buffer that fills, its values, a place


@compiled
def _random_bits(state):
    """Sixty-four of them (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def _collapse(buffers, levels, state):
    """Halve two full buffers of the lowest level that has two, and free one; returns the freed one.

    There always are two of a level: buffers are full at whole multiples of the weight that is sampled, so no level
    below it has an odd number of them, and h + 1 different levels from it on would hold more than has come.
    """
    count, size = buffers.shape
    one, other = -1, -1
    for a in range(count):
        for b in range(a + 1, count):
            if levels[a] == levels[b] and (one < 0 or levels[a] < levels[one]):
                one, other = a, b
    merged = np.empty(2 * size)
    i = j = 0
    for put in range(2 * size):
        if j == size or (i < size and buffers[one, i] <= buffers[other, j]):
            merged[put] = buffers[one, i]
            i += 1
        else:
            merged[put] = buffers[other, j]
            j += 1
    first = np.int64(_random_bits(state) >> np.uint64(63))
    for i in range(size):
        buffers[one, i] = merged[2 * i + first]
    levels[one] += 1
    levels[other] = -1
    return other


@compiled
def add_to_random(values, h, registers, buffers, levels, state):
    """Take values: all of them until level h is full (s 2^h), then one of two, of four..."""
    count, size = buffers.shape
    done = 0
    while done < values.size:
        level = 0
        while registers[SAMPLED] >= size << (h + level):
            level += 1
        place = registers[SAMPLED] & ((1 << level) - 1)
        if registers[FILLED] == size and place == 0:  # not before the block ends: it may end with the sub-window
            free = -1
            for i in range(count):
                if levels[i] < 0:
                    free = i
            registers[FILLING] = free if free >= 0 else _collapse(buffers, levels, state)
            registers[FILLED] = 0
        filling, filled = registers[FILLING], registers[FILLED]
        levels[filling] = level
        if level == 0:
            piece = min(size - filled, values.size - done)
            buffers[filling, filled : filled + piece] = values[done : done + piece]
            registers[FILLED] += piece
        else:
            if place == 0:
                registers[CHOSEN] = np.int64(_random_bits(state) >> np.uint64(64 - level))
            piece = min((1 << level) - place, values.size - done)
            if place <= registers[CHOSEN] < place + piece:
                buffers[filling, filled] = values[done + registers[CHOSEN] - place]
                registers[FILLED] += 1
        if registers[FILLED] == size:
            buffers[filling].sort()
        registers[SAMPLED] += piece
        done += piece


@compiled
def select_weights(values, steps, ranks):
    """The first value up to which the weights add up to each rank."""
    found = np.full(ranks.size, np.nan)
    order = np.argsort(ranks)
    at, reached = 0, 0
    for i in range(values.size):
        reached += steps[i, LEAST]
        while at < ranks.size and reached >= ranks[order[at]]:
            found[order[at]] = values[i]
            at += 1
        if at == ranks.size:
            break
    return found
