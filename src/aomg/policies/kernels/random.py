"""Buffers of random samples, their random halving, and selection by weight."""

import numpy as np

from aomg.policies.kernels._compile import compiled
from aomg.policies.kernels.gk import LEAST

# Buffers of s values, each of weight 2^level; level -1 means a free buffer.
SAMPLED, FILLING, FILLED, CHOSEN = range(4)  # registers: events so far, the open buffer, its values, a position


@compiled
def _random_bits(state):
    """Return 64 random bits (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def _collapse(buffers, levels, state):
    """Merge two full buffers of the lowest level that has two into one, at half the values; return the freed one.

    Some level always has two: buffers fill at multiples of the sampled weight, so no lower level has an odd number of
    them, and h + 1 different levels above would need more events than there were.
    """
    count, size = buffers.shape
    first, second = -1, -1
    for a in range(count):
        for b in range(a + 1, count):
            if levels[a] == levels[b] and (first < 0 or levels[a] < levels[first]):
                first, second = a, b
    merged = np.empty(2 * size)
    i = j = 0
    for put in range(2 * size):
        if j == size or (i < size and buffers[first, i] <= buffers[second, j]):
            merged[put] = buffers[first, i]
            i += 1
        else:
            merged[put] = buffers[second, j]
            j += 1
    offset = np.int64(_random_bits(state) >> np.uint64(63))
    for i in range(size):
        buffers[first, i] = merged[2 * i + offset]
    levels[first] += 1
    levels[second] = -1
    return second


@compiled
def add_to_random(values, h, registers, buffers, levels, state):
    """Sample values: all of them until level h is full (s 2^h), then one of two, of four..."""
    count, size = buffers.shape
    done = 0
    while done < values.size:
        level = 0
        while registers[SAMPLED] >= size << (h + level):
            level += 1
        place = registers[SAMPLED] & ((1 << level) - 1)
        if registers[FILLED] == size and place == 0:  # wait until the block ends: it may end with the sub-window
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
    """Return for each rank the first value at which the summed weights reach it."""
    selected = np.full(ranks.size, np.nan)
    order = np.argsort(ranks)
    number, reached = 0, 0
    for i in range(values.size):
        reached += steps[i, LEAST]
        while number < ranks.size and reached >= ranks[order[number]]:
            selected[order[number]] = values[i]
            number += 1
        if number == ranks.size:
            break
    return selected
