"""Brings the events of each key and sub-window together, by counting: no comparison sorts the events themselves.

A key has a code, a small integer from `low` on, and `ids` has the id of each code. A time is a whole number since 1970
in any unit; its sub-window is its number of whole periods.
"""

import numpy as np

from aomg.core.kernels._compile import compiled

_BLOCK = 512  # events whose times are read at once


@compiled
def mark_codes(codes, low, present):
    """Mark which codes occur."""
    for i in range(codes.size):
        present[codes[i] - low] = True


@compiled
def code_range(codes):
    """The smallest and the largest code."""
    low, high = codes[0], codes[0]
    for i in range(codes.size):
        low, high = min(low, codes[i]), max(high, codes[i])
    return low, high


@compiled
def number_groups(codes, low, ids, times, start, period, keys, groups, sizes):
    """Number each event's group, and count the events of each: sub-window times `keys` plus the id of its key.

    Sub-windows are counted from the one that begins at `start`. No branch depends on a time.
    """
    inverse = 1.0 / period
    for first in range(0, times.size, _BLOCK):
        part, block = times[first : first + _BLOCK], groups[first : first + _BLOCK]
        for i in range(part.size):  # a loop of its own, so that it is vectorised
            distance = part[i] - start
            number = np.int64(distance * inverse)  # off by one at most
            rest = distance - number * period
            number += np.int64(rest >= period) - np.int64(rest < 0)
            block[i] = number * keys
        for i in range(part.size):
            group = block[i] + ids[codes[first + i] - low]
            block[i] = group
            sizes[group] += 1


@compiled
def number_keys(codes, low, ids, numbers, sizes):
    """Replace the code of each event by the id of its key, in `numbers`, and count the events of each key."""
    for i in range(codes.size):
        key = ids[codes[i] - low]
        numbers[i] = key
        sizes[key] += 1


@compiled
def scatter_pairs(groups, first, second, ends, firsts, seconds):
    """Order two arrays by group, keeping their order in it; `ends` holds the groups' starts when called."""
    for i in range(groups.size):
        place = ends[groups[i]]
        firsts[place], seconds[place] = first[i], second[i]
        ends[groups[i]] = place + 1
