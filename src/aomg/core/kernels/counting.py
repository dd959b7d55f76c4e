"""Level 1: counts the events of the open sub-window."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.codes import (
    FIRST_BITS,
    INTEGER_POWERS,
    LAST_BITS,
    TABLE_REACH,
    cell_of_code,
    cell_of_integer,
    cell_of_magnitude,
    negative_cell,
    sliced_cell,
    super_of_place,
    zero_cell,
)
from aomg.core.kernels.lanes import prefetch
from aomg.core.kernels.registers import (
    BOTH,
    FILLED,
    HALF_PLACES,
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
    SURPLUS,
    ZERO_SUPER,
)
from aomg.core.kernels.sortable import SIGN_BIT, U64, double_of, high_product, key_of_double, round_down, round_up

EMPTY = U64(0xFFFFFFFFFFFFFFFF)  # the lower end of a range without values; the upper is 0
INFINITY = U64(0x7FF0000000000000)
FIRST_PLAIN, LAST_PLAIN = np.array([100.0, np.nextafter(TABLE_REACH, 0.0)]).view(np.uint64)
RUN = U64(256)  # doubles that are counted by slices before the loop is chosen again
AHEAD = U64(256)  # the look-ups of slices hide from the processor that the events come in order

# Integers from LEAST to MOST have three digits or more, and an entry in the table, when they are divided by
# 10^power. u // 10^power is the upper half of u * factor, shifted, for every u below 2^63 (Granlund and Montgomery,
# Division by Invariant Integers using Multiplication, 1994).
POWERS_USED = 17
LEAST = np.array([0, *(10 ** (power + 2) for power in range(1, POWERS_USED))], np.uint64)
MOST = np.array([min(TABLE_REACH * 10**power, 2**63) - 1 for power in range(POWERS_USED)], np.uint64)
SHIFTS = np.array([max((10**power - 1).bit_length() - 1, 0) for power in range(POWERS_USED)], np.uint64)
FACTORS = np.array(
    [(2 ** (63 + (10**power - 1).bit_length()) // 10**power + 1) % 2**64 for power in range(POWERS_USED)], np.uint64
)


@inlined
def clear_open(state):
    """InitialState of Level 1: nothing counted yet."""
    state[FILLED] = state[SURPLUS] = 0
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
def _note_range(state, low, high, low_cell, high_cell):
    """Note the extremes of events of one sign, and the cells of both."""
    note_extremes(state, low, high)
    note_cell(state, low_cell)
    note_cell(state, high_cell)


@inlined
def _widen(low, high, minus_low, minus_high, magnitude, sign):
    """Widen the range of the magnitudes of one sign without a branch: `sign` has all bits set if it is negative."""
    return (
        min(low, magnitude | sign),
        max(high, magnitude & ~sign),
        min(minus_low, magnitude | ~sign),
        max(minus_high, magnitude & sign),
    )


# -- the fast loops ---------------------------------------------------------------------------------------------------
#
# They count values from `i` on as long as these are `first` to `last`, and return the next. Four values at a time, so
# that their look-ups overlap; one comparison of each keeps minimum, maximum and the reach of the table together.
# `weights` is None if every event counts once: Numba compiles that case without them.


@inlined
def _weight(weights, i):
    """How many events the i-th one counts as."""
    return np.int64(1) if weights is None else weights[i]


@compiled
def _count_few(table, near, chunk, i, first, last):
    """Count up to eight different small integers.

    A word has a byte for each. Counts in memory would wait for each other, because most events have the same few.
    """
    small, span, end = table.view(np.uint16), last - first, U64(chunk.size)
    stop = i
    while i == stop and i + U64(3) < end:
        packed, stop = U64(0), min(i + U64(252), i + ((end - i) & ~U64(3)))
        while i < stop:
            a, b, c, d = U64(chunk[i]), U64(chunk[i + U64(1)]), U64(chunk[i + U64(2)]), U64(chunk[i + U64(3)])
            a, b, c, d = a - first, b - first, c - first, d - first
            if (a > span) | (b > span) | (c > span) | (d > span):
                break
            packed += (U64(1) << (U64(8) * a)) + (U64(1) << (U64(8) * b))
            packed += (U64(1) << (U64(8) * c)) + (U64(1) << (U64(8) * d))
            i += U64(4)
        for value in range(span + U64(1)):
            near[small[first + value]] += np.int32((packed >> (U64(8) * value)) & U64(255))
    return i


@inlined
def _count_eight(small, near, chunk, weights, i, first, span):
    """Count integers with weights as `_count_small` does, eight at a time: a line of values, then one of weights.

    Where the addresses of both arrays differ by certain powers of two, some processors cannot cache both lines at once.
    """
    end = U64(chunk.size)
    while i + U64(7) < end:
        a, b, c, d = U64(chunk[i]), U64(chunk[i + U64(1)]), U64(chunk[i + U64(2)]), U64(chunk[i + U64(3)])
        e, f, g, h = U64(chunk[i + U64(4)]), U64(chunk[i + U64(5)]), U64(chunk[i + U64(6)]), U64(chunk[i + U64(7)])
        beyond = (a - first > span) | (b - first > span) | (c - first > span) | (d - first > span)
        if beyond | (e - first > span) | (f - first > span) | (g - first > span) | (h - first > span):
            break
        j, k, m, n = small[a], small[b], small[c], small[d]
        p, q, r, s = small[e], small[f], small[g], small[h]
        near[j] += weights[i]
        near[k] += weights[i + U64(1)]
        near[m] += weights[i + U64(2)]
        near[n] += weights[i + U64(3)]
        near[p] += weights[i + U64(4)]
        near[q] += weights[i + U64(5)]
        near[r] += weights[i + U64(6)]
        near[s] += weights[i + U64(7)]
        i += U64(8)
    return i


@compiled
def _count_small(table, near, chunk, weights, i, first, last):
    """Count integers that have an entry of their own in the table."""
    small, span, end = table.view(np.uint16), last - first, U64(chunk.size)
    if weights is not None:
        i = _count_eight(small, near, chunk, weights, i, first, span)
    while i + U64(3) < end:
        a, b, c, d = U64(chunk[i]), U64(chunk[i + U64(1)]), U64(chunk[i + U64(2)]), U64(chunk[i + U64(3)])
        if (a - first > span) | (b - first > span) | (c - first > span) | (d - first > span):
            break
        j, k, m, n = small[a], small[b], small[c], small[d]
        near[j] += _weight(weights, i)
        near[k] += _weight(weights, i + U64(1))
        near[m] += _weight(weights, i + U64(2))
        near[n] += _weight(weights, i + U64(3))
        i += U64(4)
    return i


@compiled
def _count_divided(table, near, chunk, weights, i, first, last, power):
    """Count integers that have an entry in the table when they are divided by 10^power."""
    small, span, end = table.view(np.uint16), last - first, U64(chunk.size)
    factor, shift = FACTORS[power], SHIFTS[power]
    while i + U64(3) < end:
        a, b, c, d = U64(chunk[i]), U64(chunk[i + U64(1)]), U64(chunk[i + U64(2)]), U64(chunk[i + U64(3)])
        if (a - first > span) | (b - first > span) | (c - first > span) | (d - first > span):
            break
        j, k = small[high_product(a, factor) >> shift], small[high_product(b, factor) >> shift]
        m, n = small[high_product(c, factor) >> shift], small[high_product(d, factor) >> shift]
        near[j] += _weight(weights, i)
        near[k] += _weight(weights, i + U64(1))
        near[m] += _weight(weights, i + U64(2))
        near[n] += _weight(weights, i + U64(3))
        i += U64(4)
    return i


@compiled
def _count_truncated(table, near, chunk, weights, i, first, last):
    """Count doubles of 100 or more whose integers have an entry in the table."""
    small, values, span, end = table.view(np.uint16), chunk.view(np.float64), last - first, U64(chunk.size)
    while i + U64(3) < end:
        a, b, c, d = U64(chunk[i]), U64(chunk[i + U64(1)]), U64(chunk[i + U64(2)]), U64(chunk[i + U64(3)])
        if (a - first > span) | (b - first > span) | (c - first > span) | (d - first > span):
            break
        j = small[U64(np.int64(values[i]))]
        k = small[U64(np.int64(values[i + U64(1)]))]
        m = small[U64(np.int64(values[i + U64(2)]))]
        n = small[U64(np.int64(values[i + U64(3)]))]
        near[j] += _weight(weights, i)
        near[k] += _weight(weights, i + U64(1))
        near[m] += _weight(weights, i + U64(2))
        near[n] += _weight(weights, i + U64(3))
        i += U64(4)
    return i


@compiled
def _count_sliced(table, cells, chunk, weights, i, first, last, stop, sign):
    """Count doubles by slices, at most up to `stop`; negative ones by their magnitudes, if `sign` is the sign bit."""
    flip = U64(255) if sign != U64(0) else U64(0)
    table_cells, span = table.view(np.uint32), last - first
    while i + U64(3) < stop:
        prefetch(chunk, np.int64(i + AHEAD))
        a, b = U64(chunk[i]) ^ sign, U64(chunk[i + U64(1)]) ^ sign
        c, d = U64(chunk[i + U64(2)]) ^ sign, U64(chunk[i + U64(3)]) ^ sign
        if (a - first > span) | (b - first > span) | (c - first > span) | (d - first > span):
            break
        j, k = sliced_cell(table, table_cells, a) ^ flip, sliced_cell(table, table_cells, b) ^ flip
        m, n = sliced_cell(table, table_cells, c) ^ flip, sliced_cell(table, table_cells, d) ^ flip
        cells[j] += _weight(weights, i)
        cells[k] += _weight(weights, i + U64(1))
        cells[m] += _weight(weights, i + U64(2))
        cells[n] += _weight(weights, i + U64(3))
        i += U64(4)
    return i


# -- any values ------------------------------------------------------------------------------------------------------


@inlined
def _power_of(u):
    """The power of ten that leaves three digits of an integer, or all if it has fewer."""
    power = 0
    while power < POWERS_USED - 1 and u >= INTEGER_POWERS[power + 3]:
        power += 1
    return power


@compiled
def _count_integers(state, table, cells, chunk, weights):
    """Accumulate integers.

    A fast loop takes as many as it can. Large integers are divided by a power of ten first, which leaves their digits.
    The next four are taken one by one. If one is beyond the reach of the loop, the smallest of them chooses the power.
    """
    mirror = U64(state[HALF_PLACES] * 256)
    low, high = EMPTY, U64(0)
    minus_low, minus_high = EMPTY, U64(0)
    power = np.int64(0)
    size = U64(chunk.size)
    i = U64(0)
    while i < size:
        least, most = LEAST[power], MOST[power]
        first, last = max(low, least), min(high, most)
        if first <= last:
            near = cells[zero_cell(state) + power * state[SUPERS_PER_DECADE] * 256 :]
            if power > 0:
                i = _count_divided(table, near, chunk, weights, i, first, last, power)
            elif last - first < U64(8) and weights is None:
                i = _count_few(table, near, chunk, i, first, last)
            else:
                i = _count_small(table, near, chunk, weights, i, first, last)
        smallest, beyond = EMPTY, False
        for _ in range(min(U64(4), size - i)):
            sign = U64(chunk[i] >> 63)
            u = (U64(chunk[i]) ^ sign) - sign
            weight = _weight(weights, i)
            i += U64(1)
            if weight == 0:
                continue
            smallest = min(smallest, u | sign)
            beyond |= (u & ~sign) - least > most - least
            low, high, minus_low, minus_high = _widen(low, high, minus_low, minus_high, u, sign)
            cell = U64(cell_of_integer(state, table, u))
            cells[(cell ^ (U64(255) & sign)) + (mirror & sign)] += weight
        if beyond and smallest != EMPTY:
            power = _power_of(smallest)
    if low <= high:
        low_cell, high_cell = cell_of_integer(state, table, low), cell_of_integer(state, table, high)
        _note_range(state, round_down(np.int64(low)), round_up(np.int64(high)), low_cell, high_cell)
        if low == U64(0) and high > U64(0):
            note_cell(state, cell_of_integer(state, table, U64(1)))
    if minus_low <= minus_high:
        low_cell = negative_cell(state, cell_of_integer(state, table, minus_high))
        high_cell = negative_cell(state, cell_of_integer(state, table, minus_low))
        least, most = np.int64(U64(0) - minus_high), np.int64(U64(0) - minus_low)
        _note_range(state, round_down(least), round_up(most), low_cell, high_cell)
    return np.int64(0)


@compiled
def _count_doubles(state, table, cells, chunk, weights):
    """Accumulate doubles; returns how many were refused (not finite).

    A fast loop takes as many as it can: `plain` ones have the code of their integer, which the table has. The next four
    values are taken one by one, and choose the loop: a single one that is not plain does not change it.
    """
    near = cells[zero_cell(state) :]
    mirror = U64(state[HALF_PLACES] * 256)
    low, high = EMPTY, U64(0)
    minus_low, minus_high = EMPTY, U64(0)
    zeros, refused = np.int64(0), np.int64(0)
    plain = True
    size = U64(chunk.size)
    i = U64(0)
    while i < size:
        if chunk[i] < 0:
            first, last = max(minus_low, FIRST_BITS), min(minus_high, LAST_BITS)
            if first <= last:
                i = _count_sliced(table, cells[mirror:], chunk, weights, i, first, last, size, SIGN_BIT)
        elif plain:
            first, last = max(low, FIRST_PLAIN), min(high, LAST_PLAIN)
            if first <= last:
                i = _count_truncated(table, near, chunk, weights, i, first, last)
        else:
            first, last, stop = max(low, FIRST_BITS), min(high, LAST_BITS), min(size, i + RUN)
            if first <= last:
                i = _count_sliced(table, cells, chunk, weights, i, first, last, stop, U64(0))
            if i == stop and i < size:
                plain = U64(chunk[i]) - FIRST_PLAIN <= LAST_PLAIN - FIRST_PLAIN
                continue
        beyond = 0
        for _ in range(min(U64(4), size - i)):
            negative, bits = chunk[i] < 0, U64(chunk[i]) & ~SIGN_BIT
            weight = _weight(weights, i)
            i += U64(1)
            if weight == 0:
                continue
            beyond += bits - FIRST_PLAIN > LAST_PLAIN - FIRST_PLAIN
            if bits == U64(0):
                zeros += weight
            elif bits >= INFINITY:
                refused += 1
            elif negative:
                minus_low, minus_high = min(minus_low, bits), max(minus_high, bits)
                cells[negative_cell(state, cell_of_magnitude(state, table, bits))] += weight
            else:
                low, high = min(low, bits), max(high, bits)
                cells[cell_of_magnitude(state, table, bits)] += weight
        plain = beyond < 2
    if low <= high:
        low_cell, high_cell = cell_of_magnitude(state, table, low), cell_of_magnitude(state, table, high)
        _note_range(state, double_of(np.int64(low)), double_of(np.int64(high)), low_cell, high_cell)
    if minus_low <= minus_high:
        low_cell = negative_cell(state, cell_of_magnitude(state, table, minus_high))
        high_cell = negative_cell(state, cell_of_magnitude(state, table, minus_low))
        _note_range(state, -double_of(np.int64(minus_high)), -double_of(np.int64(minus_low)), low_cell, high_cell)
    if zeros > 0:
        _note_range(state, 0.0, 0.0, zero_cell(state), zero_cell(state))
        cells[zero_cell(state)] += zeros
    return refused


@compiled
def count_chunk(state, table, cells, chunk, weights, real):
    """Accumulate of Level 1: returns how many events were refused. With weights all events must be finite.

    An event of weight 0 is not counted at all: it does not even change the extremes.
    """
    if real:
        refused = _count_doubles(state, table, cells, chunk, weights)
    else:
        refused = _count_integers(state, table, cells, chunk, weights)
    events, total = chunk.size - refused, chunk.size - refused
    if weights is not None:
        events, total = weigh(weights)
        state[SURPLUS] += total - events
    if events > 0:
        note_domain(state, REALS if real else INTEGERS)
    state[FILLED] += total
    state[REFUSED] += refused
    return refused


@compiled
def weight_bits(weights):
    """The bits that any of the weights has."""
    bits = np.int64(0)
    for i in range(weights.size):
        bits |= weights[i]
    return bits


@inlined
def weigh(weights):
    """How many weights are not zero, and their sum."""
    events, total = np.int64(0), np.int64(0)
    for i in range(weights.size):
        events += weights[i] != 0
        total += weights[i]
    return events, total


@compiled
def add_pairs(state, cells, codes, numbers, domain, minimum, maximum, surplus):
    """Accumulate of Level 1 from (dense code, count) pairs: counts of the same sub-window, made elsewhere."""
    state[SURPLUS] += surplus
    for i in range(codes.size):
        cell = cell_of_code(state, codes[i])
        cells[cell] += numbers[i]
        state[FILLED] += numbers[i]
        note_cell(state, cell)
    if codes.size > 0:
        note_extremes(state, minimum, maximum)
        note_domain(state, domain)


@compiled
def note_open(state, domain, low, high, size, surplus):
    """Note that events wait for their sub-window to fill; low and high are their extremes, as sortable keys."""
    state[FILLED] += size
    state[SURPLUS] += surplus
    state[OPEN_MINIMUM] = min(state[OPEN_MINIMUM], low)
    state[OPEN_MAXIMUM] = max(state[OPEN_MAXIMUM], high)
    note_domain(state, domain)
