"""Ordered lists of (code, count): searches them, compares two lists."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.sortable import U64


@inlined
def _merge_step(x, y, i, j, won):
    """One step of merging x and y upwards; `won` gets twice the values of y below x[i], plus those equal to it."""
    new, old = x[i], y[j]
    low = old < new
    won += (not low) * (2 * np.int64(j) + (old == new))
    return i + U64(not low), j + U64(low), won


@inlined
def first_at_least(y, value):
    """Where the first of ordered values is that is not below `value`."""
    first, end = U64(0), U64(y.size)
    while first < end:
        middle = (first + end) >> U64(1)
        if y[middle] < value:
            first = middle + U64(1)
        else:
            end = middle
    return first


@compiled
def _wins_of_values(x, y):
    """Over all values of x: twice the values of y below it, plus those equal to it. Neither list has one twice.

    No branch depends on which list is next, which cannot be foreseen, and the four quarters of x are merged side by
    side, because a step waits for the one before it.
    """
    size, won = U64(y.size), np.int64(0)
    i0, i1, i2, i3 = U64(0), U64(x.size // 4), U64(x.size // 2), U64(x.size // 4 + x.size // 2)
    end0, end1, end2, end3 = i1, i2, i3, U64(x.size)
    j0, j1, j2, j3 = U64(0), first_at_least(y, x[i1]), first_at_least(y, x[i2]), first_at_least(y, x[i3])
    while i0 < end0 and i1 < end1 and i2 < end2 and i3 < end3 and max(j0, j1, j2, j3) < size:
        i0, j0, won = _merge_step(x, y, i0, j0, won)
        i1, j1, won = _merge_step(x, y, i1, j1, won)
        i2, j2, won = _merge_step(x, y, i2, j2, won)
        i3, j3, won = _merge_step(x, y, i3, j3, won)
    for i, j, end in ((i0, j0, end0), (i1, j1, end1), (i2, j2, end2), (i3, j3, end3)):
        while i < end and j < size:
            i, j, won = _merge_step(x, y, i, j, won)
        won += 2 * np.int64(end - i) * y.size
    return won


@compiled
def _wins_of_pairs(x, x_counts, y, y_counts, y_total):
    """The same for lists of (code, count), merged from both ends."""
    one = U64(1)
    won, middle, size = np.int64(0), U64(x.size // 2), U64(y.size)
    i, j, below = U64(0), U64(0), np.int64(0)
    a, b, above = U64(x.size), size, np.int64(0)
    while i < middle and j < size and a > middle and b > U64(0):
        new, old = x[i], y[j]
        new_high, old_high = x[a - one], y[b - one]
        low, high = old < new, old_high > new_high
        number, number_high = y_counts[j], y_counts[b - one]
        won += (not low) * x_counts[i] * (2 * below + (old == new) * number)
        won += (not high) * x_counts[a - one] * (2 * (y_total - above) - (old_high == new_high) * number_high)
        below += low * number
        above += high * number_high
        j += U64(low)
        i += U64(not low)
        b -= U64(high)
        a -= U64(not high)
    while i < middle:
        while j < size and y[j] < x[i]:
            below += y_counts[j]
            j += one
        equal = y_counts[j] if j < size and y[j] == x[i] else np.int64(0)
        won += x_counts[i] * (2 * below + equal)
        i += one
    while a > middle:
        while b > U64(0) and y[b - one] > x[a - one]:
            above += y_counts[b - one]
            b -= one
        equal = y_counts[b - one] if b > U64(0) and y[b - one] == x[a - one] else np.int64(0)
        won += x_counts[a - one] * (2 * (y_total - above) - equal)
        a -= one
    return won


@compiled
def score_pairs(x, x_counts, y, y_counts):
    """Mean of sign(x - y) over all pairs of two ordered lists of (code, count). O(both)."""
    x_total, y_total = np.int64(0), np.int64(0)
    for i in range(x.size):
        x_total += x_counts[i]
    for j in range(y.size):
        y_total += y_counts[j]
    if x_total == 0 or y_total == 0:
        return 0.0
    if x_total == x.size and y_total == y.size:
        won = _wins_of_values(x, y)
    else:
        won = _wins_of_pairs(x, x_counts, y, y_counts, y_total)
    return won / (float(x_total) * float(y_total)) - 1.0
