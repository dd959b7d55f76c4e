"""Level 1: counts the events of the open sub-window."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.codes import (
    LOWEST_DECADE,
    TABLE_REACH,
    cell_of_code,
    cell_of_integer,
    cell_of_magnitude,
    negative_cell,
    super_of_place,
)
from aomg.core.kernels.registers import (
    BOTH,
    FILLED,
    HAS_ZERO,
    INTEGERS,
    NEGATIVE_FAR,
    NEGATIVE_NEAR,
    NOTHING,
    OPEN_DOMAIN,
    OPEN_MAXIMUM,
    OPEN_MINIMUM,
    POSITIVE_FAR,
    POSITIVE_NEAR,
    REALS,
    REFUSED,
    SUPERS_PER_DECADE,
    ZERO_SUPER,
)
from aomg.core.kernels.sortable import SIGN_BIT, U64, bits_of, double_of, key_of_double, round_down, round_up


@inlined
def clear_open(state):
    """InitialState of Level 1: nothing counted yet."""
    state[FILLED] = 0
    state[OPEN_DOMAIN] = NOTHING
    state[NEGATIVE_FAR] = -1
    state[NEGATIVE_NEAR] = np.int64(2**62)
    state[HAS_ZERO] = 0
    state[POSITIVE_NEAR] = np.int64(2**62)
    state[POSITIVE_FAR] = -1
    state[OPEN_MINIMUM] = np.int64(2**63 - 1)
    state[OPEN_MAXIMUM] = np.int64(-(2**63) + 1)


@inlined
def note_cell(state, cell):
    """Widen the range of supers that the close will walk."""
    super_ = super_of_place(state, cell >> 8)
    zero = state[ZERO_SUPER]
    if super_ == zero:
        state[HAS_ZERO] = 1
    elif super_ > zero:
        k = super_ - zero
        state[POSITIVE_NEAR] = min(state[POSITIVE_NEAR], k)
        state[POSITIVE_FAR] = max(state[POSITIVE_FAR], k)
    else:
        k = zero - super_
        state[NEGATIVE_NEAR] = min(state[NEGATIVE_NEAR], k)
        state[NEGATIVE_FAR] = max(state[NEGATIVE_FAR], k)


@inlined
def note_domain(state, domain):
    """Note which kind of numbers the open sub-window holds."""
    if state[OPEN_DOMAIN] == NOTHING:
        state[OPEN_DOMAIN] = domain
    elif state[OPEN_DOMAIN] != domain:
        state[OPEN_DOMAIN] = BOTH


@compiled
def note_extremes(state, low, high):
    """Widen the open sub-window's minimum and maximum."""
    state[OPEN_MINIMUM] = min(state[OPEN_MINIMUM], key_of_double(low))
    state[OPEN_MAXIMUM] = max(state[OPEN_MAXIMUM], key_of_double(high))


@compiled
def _count_integers(state, table, counts, chunk):
    """Accumulate integers. One comparison an event keeps minimum, maximum and the table's reach together."""
    base = (-LOWEST_DECADE * state[SUPERS_PER_DECADE]) * 256
    near = counts[base:]
    low, span = U64(TABLE_REACH), U64(0)
    large_low, large_high = SIGN_BIT, U64(0)
    minus_low, minus_high = U64(0xFFFFFFFFFFFFFFFF), U64(0)
    size = U64(chunk.size)
    i = U64(0)
    while i < size:
        while low != U64(TABLE_REACH) and i + U64(3) < size:  # four at a time: their table look-ups overlap
            a, b, c, d = U64(chunk[i]), U64(chunk[i + U64(1)]), U64(chunk[i + U64(2)]), U64(chunk[i + U64(3)])
            if (a - low > span) | (b - low > span) | (c - low > span) | (d - low > span):
                break
            j, k, m, n = table[a], table[b], table[c], table[d]
            near[j] += 1
            near[k] += 1
            near[m] += 1
            near[n] += 1
            i += U64(4)
        for _ in range(min(U64(4), size - i)):
            u = U64(chunk[i])
            i += U64(1)
            if u < U64(TABLE_REACH):
                if u - low > span:
                    if low == U64(TABLE_REACH):
                        low = u
                    elif u < low:
                        span = low + span - u
                        low = u
                    else:
                        span = u - low
                near[table[u]] += 1
            elif u < SIGN_BIT:
                large_low, large_high = min(large_low, u), max(large_high, u)
                counts[cell_of_integer(state, table, u)] += 1
            else:
                u = U64(0) - u
                minus_low, minus_high = min(minus_low, u), max(minus_high, u)
                counts[negative_cell(state, cell_of_integer(state, table, u))] += 1
    if low != U64(TABLE_REACH):
        note_extremes(state, float(low), float(low + span))
        note_cell(state, base + np.int64(table[low]))
        if low == U64(0) and span > U64(0):
            note_cell(state, base + np.int64(table[1]))
        note_cell(state, base + np.int64(table[low + span]))
    if large_high > U64(0):
        note_extremes(state, round_down(np.int64(large_low)), round_up(np.int64(large_high)))
        note_cell(state, cell_of_integer(state, table, large_low))
        note_cell(state, cell_of_integer(state, table, large_high))
    if minus_high > U64(0):
        note_extremes(state, round_down(np.int64(U64(0) - minus_high)), round_up(np.int64(U64(0) - minus_low)))
        note_cell(state, negative_cell(state, cell_of_integer(state, table, minus_low)))
        note_cell(state, negative_cell(state, cell_of_integer(state, table, minus_high)))
    return np.int64(0)


@inlined
def _scale_of(state, values):
    """The power of 1,000 that brings a chunk's first value to 100 or more, and the cells of as many decades."""
    decades = 3 * state[SUPERS_PER_DECADE] * 256
    first = abs(values[0]) if values.size > 0 else 0.0
    if 1e-4 <= first < 0.1:
        return 1e6, 2 * decades
    if 0.1 <= first < 100.0:
        return 1e3, decades
    return 1.0, np.int64(0)


@inlined
def _scaled_cell(table, x, scale, shift):
    """The cell, from the super of zero on, of a double that `scale` brings into the table's reach.

    Rounded first and then compared with the edge itself, so that no edge is misplaced.
    """
    if shift == 0:
        return np.int64(table[U64(np.int64(x))])
    u = np.int64(x * scale + 0.5)
    u -= x < u / scale
    relative = np.int64(table[U64(u)]) - 256 - shift
    return relative + 256 * (relative >= 0)


@compiled
def _count_doubles(state, table, counts, chunk):
    """Accumulate doubles; returns how many were refused (not finite).

    The first value decides which three decades and a bit the fast loop takes: from 100, from 0.1 or from 0.0001 on.
    """
    base = (-LOWEST_DECADE * state[SUPERS_PER_DECADE]) * 256
    near = counts[base:]
    values = chunk.view(np.float64)
    scale, shift = _scale_of(state, values)
    plain_low = U64(bits_of(100.0 / scale))
    plain_span = U64(bits_of(TABLE_REACH / scale)) - plain_low - U64(1)
    empty = plain_low + plain_span + U64(1)
    low, span = empty, U64(0)
    other_low, other_high = np.inf, 0.0
    minus_low, minus_high = np.inf, 0.0
    zeros = np.int64(0)
    refused = np.int64(0)
    size = U64(chunk.size)
    i = U64(0)
    while i < size:
        while shift == 0 and low != empty and i + U64(3) < size:
            a, b, c, d = U64(chunk[i]), U64(chunk[i + U64(1)]), U64(chunk[i + U64(2)]), U64(chunk[i + U64(3)])
            if (a - low > span) | (b - low > span) | (c - low > span) | (d - low > span):
                break
            j = table[U64(np.int64(values[i]))]
            k = table[U64(np.int64(values[i + U64(1)]))]
            m = table[U64(np.int64(values[i + U64(2)]))]
            n = table[U64(np.int64(values[i + U64(3)]))]
            near[j] += 1
            near[k] += 1
            near[m] += 1
            near[n] += 1
            i += U64(4)
        while shift != 0 and low != empty and i + U64(3) < size:
            a, b, c, d = U64(chunk[i]), U64(chunk[i + U64(1)]), U64(chunk[i + U64(2)]), U64(chunk[i + U64(3)])
            if (a - low > span) | (b - low > span) | (c - low > span) | (d - low > span):
                break
            for _ in range(4):
                counts[base + _scaled_cell(table, values[i], scale, shift)] += 1
                i += U64(1)
        for _ in range(min(U64(4), size - i)):
            bits, x = U64(chunk[i]), values[i]
            i += U64(1)
            if bits - plain_low <= plain_span:
                if bits - low > span:
                    if low == empty:
                        low = bits
                    elif bits < low:
                        span = low + span - bits
                        low = bits
                    else:
                        span = bits - low
                counts[base + _scaled_cell(table, x, scale, shift)] += 1
            elif not abs(x) < np.inf:
                refused += 1
            elif x > 0.0:
                other_low, other_high = min(other_low, x), max(other_high, x)
                counts[cell_of_magnitude(state, table, x)] += 1
            elif x < 0.0:
                minus_low, minus_high = min(minus_low, -x), max(minus_high, -x)
                counts[negative_cell(state, cell_of_magnitude(state, table, -x))] += 1
            else:
                zeros += 1
    if low != empty:
        first, last = double_of(np.int64(low)), double_of(np.int64(low + span))
        note_extremes(state, first, last)
        note_cell(state, base + _scaled_cell(table, first, scale, shift))
        note_cell(state, base + _scaled_cell(table, last, scale, shift))
    if other_high > 0.0:
        note_extremes(state, other_low, other_high)
        note_cell(state, cell_of_magnitude(state, table, other_low))
        note_cell(state, cell_of_magnitude(state, table, other_high))
    if minus_high > 0.0:
        note_extremes(state, -minus_high, -minus_low)
        note_cell(state, negative_cell(state, cell_of_magnitude(state, table, minus_low)))
        note_cell(state, negative_cell(state, cell_of_magnitude(state, table, minus_high)))
    if zeros > 0:
        note_extremes(state, 0.0, 0.0)
        state[HAS_ZERO] = 1
        counts[base] += zeros
    return refused


@compiled
def count_chunk(state, table, counts, chunk, real):
    """Accumulate of Level 1: returns how many events were refused."""
    refused = _count_doubles(state, table, counts, chunk) if real else _count_integers(state, table, counts, chunk)
    if refused < chunk.size:
        note_domain(state, REALS if real else INTEGERS)
    state[FILLED] += chunk.size - refused
    state[REFUSED] += refused
    return refused


@compiled
def add_pairs(state, counts, codes, numbers, domain, minimum, maximum):
    """Accumulate of Level 1 from (dense code, count) pairs: counts of the same sub-window, made elsewhere."""
    for i in range(codes.size):
        cell = cell_of_code(state, codes[i])
        counts[cell] += numbers[i]
        state[FILLED] += numbers[i]
        note_cell(state, cell)
    if codes.size > 0:
        note_extremes(state, minimum, maximum)
        note_domain(state, domain)


@compiled
def note_open(state, domain, low, high, size):
    """Note that events wait for their sub-window to fill; low and high are their extremes, as sortable keys."""
    state[FILLED] += size
    state[OPEN_MINIMUM] = min(state[OPEN_MINIMUM], low)
    state[OPEN_MAXIMUM] = max(state[OPEN_MAXIMUM], high)
    note_domain(state, domain)
