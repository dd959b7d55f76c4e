"""Converts values to codes and cells, and codes back to intervals of values.

* A *super* holds 16 buckets, a *bucket* up to 16 codes (its slots). The logical number of a super ascends with the
  value: negative magnitudes mirrored, the super of zero in the middle, positive magnitudes.
* The *place* of a super is where its counts are: decades below 1, zero, decades from 1 up, then the same again for
  negative values. Integers therefore start at the super of zero and reach it through a small table.
* A *code* is super * 256 + bucket * 16 + slot, so it sorts as its values do. Its *cell* has the place instead of the
  super.
* A *slice* is the positive doubles that share their exponent and the upper 10 bits of the mantissa. It is at most
  1/1024 wide and a code at least 1/999, so a slice has at most one *edge* (where a code begins), and one comparison
  with it finds the code of a double, exactly.

The *table* (`core.layout.table_of`) finds a cell without arithmetic on decimals. It has three parts: the cells of all
integers below `TABLE_REACH`; a word for every slice of 2^-34 up to 2^64; and the cells of the codes there, by their
*ordinals*, which count the codes upwards. Doubles beyond it take `decompose`, which is slower.
"""

import math

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.registers import (
    AT_DECADE,
    AT_FIRST,
    AT_LEAD,
    AT_PLACE,
    DIGITS,
    HALF_PLACES,
    INTEGERS,
    REALS,
    SUPERS_PER_DECADE,
    ZERO_SUPER,
)
from aomg.core.kernels.sortable import (
    EXACT_INTEGERS,
    LARGEST_DOUBLE,
    U64,
    bits_of,
    double_of,
    double_of_key,
    next_down,
    next_up,
)

LOWEST_DECADE, DECADES = -324, 633
TABLE_REACH = 131072  # integers below have an entry of their own in the table, of 16 bits
LOW_BITS = U64(42)  # of a double: those below its slice
LOW_MASK = (U64(1) << LOW_BITS) - U64(1)
FIRST_EXPONENT, EXPONENTS = -34, 98
FIRST_SLICE, SLICES = U64((1023 + FIRST_EXPONENT) << 10), U64(EXPONENTS << 10)
FIRST_BITS, LAST_BITS = FIRST_SLICE << LOW_BITS, ((FIRST_SLICE + SLICES) << LOW_BITS) - U64(1)
FIRST_SLICED_DECADE, SLICED_DECADES = -11, 31
AT_SLICES = U64(TABLE_REACH // 4)  # in words of 64 bits
AT_CELLS = U64(2) * (AT_SLICES + SLICES)  # in words of 32 bits
CELLS_ROOM = SLICED_DECADES * 900
POWERS = np.array([float(f"1e{k}") for k in range(309)])
INTEGER_POWERS = np.array([10**k for k in range(20)], dtype=np.uint64)
TENS = np.array([10**k for k in range(8)])


@inlined
def edge(lead, power):
    """The double of lead * 10^power: nearest to the decimal for |power| <= 22, else within one unit."""
    if power >= 0:
        return lead * POWERS[power]
    if power >= -300:
        return lead / POWERS[-power]
    return lead / POWERS[300] / POWERS[-power - 300]


@compiled
def decompose(x, digits):
    """Decade and leading digits of a positive finite double: the largest edge at or below it."""
    first = TENS[digits - 1]
    decade = np.int64(math.floor(math.log10(x)))
    while decade > LOWEST_DECADE and x < edge(first, decade - digits + 1):
        decade -= 1
    while decade < LOWEST_DECADE + DECADES - 1 and x >= edge(first, decade + 2 - digits):
        decade += 1
    power = decade - digits + 1
    if -22 <= power <= 22:
        guess = x * POWERS[-power] if power < 0 else x / POWERS[power]
        lead = min(np.int64(guess + 0.5), np.int64(10 * first - 1))
        if x < edge(lead, power):
            lead -= 1
    else:
        lead = np.int64(first)
        above = np.int64(10 * first)
        while above - lead > 1:
            middle = (lead + above) // 2
            if x < edge(middle, power):
                above = middle
            else:
                lead = middle
    return decade, lead


@compiled
def decompose_integer(u, digits):
    """Decade and leading digits of a positive 64-bit integer, in integers only."""
    decade = 0
    while decade < 19 and u >= INTEGER_POWERS[decade + 1]:
        decade += 1
    if decade >= digits:
        lead = np.int64(u // INTEGER_POWERS[decade - digits + 1])
    else:
        lead = np.int64(u * INTEGER_POWERS[digits - 1 - decade])
    return np.int64(decade), lead


@compiled
def digits_code(decade, lead, digits):
    """The ordered code of a positive magnitude of four to six digits; its negative is that of the negated value."""
    first = TENS[digits - 1]
    return (decade - LOWEST_DECADE) * (9 * first) + lead - first + 1


@inlined
def digits_code_of_double(x, digits):
    """The code of four to six digits of a finite double."""
    if x == 0.0:
        return np.int64(0)
    decade, lead = decompose(abs(x), digits)
    code = digits_code(decade, lead, digits)
    return code if x > 0.0 else -code


@compiled
def digits_codes_of_doubles(values, digits, codes):
    """Codes of four to six digits, of finite doubles."""
    for i in range(values.size):
        codes[i] = digits_code_of_double(values[i], digits)


@compiled
def digits_codes_of_integers(values, digits, codes):
    """Codes of four to six digits, of 64-bit integers."""
    for i in range(values.size):
        v = values[i]
        if v == 0:
            codes[i] = 0
        else:
            u = U64(v) if v > 0 else U64(0) - U64(v)
            decade, lead = decompose_integer(u, digits)
            code = digits_code(decade, lead, digits)
            codes[i] = code if v > 0 else -code


@inlined
def _interval_of_lead(decade, lead, digits, domain):
    """The inclusive doubles that a code of a positive magnitude covers."""
    power = decade - digits + 1
    low = edge(lead, power)
    last = lead + 1 == TENS[digits]
    high = edge(TENS[digits - 1], power + 1) if last else edge(lead + 1, power)
    if domain != REALS and high >= EXACT_INTEGERS:  # a long just below the next code may have no double of its own
        return low, min(high, LARGEST_DOUBLE)
    if domain == INTEGERS:
        return math.ceil(low), math.ceil(high) - 1.0
    return low, max(low, next_down(high))


@inlined
def interval(state, code, domain):
    """low, high (inclusive, rounded outward) of the raw values that a dense code covers."""
    super_, bucket, slot = code >> 8, (code >> 4) & 15, code & 15
    zero = state[ZERO_SUPER]
    if super_ == zero:
        return 0.0, 0.0
    negative = super_ < zero
    if negative:
        super_, bucket, slot = 2 * zero - super_, 15 - bucket, 15 - slot
    decade = state[state[AT_DECADE] + super_ - zero]
    within_decade = super_ - zero - 1 - (decade - LOWEST_DECADE) * state[SUPERS_PER_DECADE]
    lead = state[state[AT_FIRST] + within_decade * 16 + bucket] + slot
    low, high = _interval_of_lead(decade, lead, state[DIGITS], domain)
    if negative:
        return -high, -low
    return low, high


@compiled
def dense_intervals(state, codes, domain, lows, highs):
    """Intervals of many dense codes."""
    for i in range(codes.size):
        lows[i], highs[i] = interval(state, codes[i], domain)


@inlined
def digits_interval(code, digits, domain):
    """low, high (inclusive, rounded outward) of the raw values that a code of four to six digits covers."""
    if code == 0:
        return 0.0, 0.0
    leads = 9 * TENS[digits - 1]
    magnitude = abs(code) - 1
    decade = magnitude // leads + LOWEST_DECADE
    low, high = _interval_of_lead(decade, magnitude % leads + TENS[digits - 1], digits, domain)
    if code > 0:
        return low, high
    return -high, -low


@compiled
def digits_intervals(codes, digits, domain, lows, highs):
    """Intervals of many codes of four to six digits."""
    for i in range(codes.size):
        lows[i], highs[i] = digits_interval(codes[i], digits, domain)


@inlined
def raw_interval(key, domain):
    """The value of a sortable key, or its neighbours where longs were rounded to a double."""
    x = double_of_key(key)
    if domain != REALS and abs(x) >= EXACT_INTEGERS:
        return max(next_down(x), -LARGEST_DOUBLE), min(next_up(x), LARGEST_DOUBLE)
    return x, x


@compiled
def raw_intervals(keys, domain, lows, highs):
    """Intervals of many sortable keys."""
    for i in range(keys.size):
        lows[i], highs[i] = raw_interval(keys[i], domain)


@inlined
def place_of(state, super_):
    """The place of a logical super: where its counts are stored."""
    return state[state[AT_PLACE] + super_]


@inlined
def super_of_place(state, place):
    """The logical super whose counts are stored at a place."""
    half = state[HALF_PLACES]
    negative = place >= half
    if negative:
        place -= half
    below_one = -LOWEST_DECADE * state[SUPERS_PER_DECADE]
    if place == below_one:
        return state[ZERO_SUPER]
    k = place + 1 if place < below_one else place
    return state[ZERO_SUPER] - k if negative else state[ZERO_SUPER] + k


@inlined
def zero_cell(state):
    """The cell of zero."""
    return (-LOWEST_DECADE * state[SUPERS_PER_DECADE]) * 256


@inlined
def sliced_cell(table, cells, bits):
    """The cell of a positive double from FIRST_BITS to LAST_BITS, by its bits.

    The word of a slice is the ordinal of the code before its edge, shifted by LOW_BITS, plus the distance from the edge
    to the end of the slice. So a double at or above the edge carries into the ordinal. `cells` is the table in words of
    32 bits.
    """
    ordinal = (table[(bits >> LOW_BITS) - (FIRST_SLICE - AT_SLICES)] + (bits & LOW_MASK)) >> LOW_BITS
    return U64(cells[AT_CELLS + ordinal])


@inlined
def cell_of_integer(state, table, u):
    """The cell of an integer from 0 to 2^63.

    Large ones are rounded down to a double: beyond 2^53 by clearing the highest bit that does not fit. The edges there
    are doubles themselves, so no integer passes an edge.
    """
    if u < U64(TABLE_REACH):
        return zero_cell(state) + np.int64(table.view(np.uint16)[u])
    bits = U64(bits_of(abs(float(np.int64(u & ~(u >> U64(53)))))))
    return np.int64(sliced_cell(table, table.view(np.uint32), bits))


@inlined
def _cell_of_decimal(state, x):
    """The cell of a positive finite double, from its decade and leading digits."""
    decade, lead = decompose(x, state[DIGITS])
    cell = state[state[AT_LEAD] + lead - TENS[state[DIGITS] - 1]]
    place = (decade - LOWEST_DECADE) * state[SUPERS_PER_DECADE]
    if decade >= 0:
        place += 1
    return place * 256 + cell


@inlined
def cell_of_magnitude(state, table, bits):
    """The cell of a positive finite double, by its bits."""
    if bits - FIRST_BITS <= LAST_BITS - FIRST_BITS:
        return np.int64(sliced_cell(table, table.view(np.uint32), bits))
    return _cell_of_decimal(state, double_of(np.int64(bits)))


@inlined
def negative_cell(state, cell):
    """The cell of -x, given that of x > 0."""
    return (cell ^ 255) + state[HALF_PLACES] * 256


@inlined
def cell_of_double(state, table, x):
    """The cell of any finite double."""
    if x == 0.0:
        return zero_cell(state)
    cell = cell_of_magnitude(state, table, U64(bits_of(abs(x))))
    return cell if x > 0.0 else negative_cell(state, cell)


@inlined
def cell_of_long(state, table, v):
    """The cell of any 64-bit integer."""
    if v >= 0:
        return cell_of_integer(state, table, U64(v))
    return negative_cell(state, cell_of_integer(state, table, U64(0) - U64(v)))


@compiled
def code_of_cell(state, cell):
    """The code that is counted in a cell."""
    return (super_of_place(state, cell >> 8) << 8) | (cell & 255)


@compiled
def cell_of_code(state, code):
    """The cell in which a code is counted."""
    return (place_of(state, code >> 8) << 8) | (code & 255)


@compiled
def code_of_double(state, x):
    """The ordered dense code of a finite double, without the table: slower, for a few values."""
    if x == 0.0:
        return state[ZERO_SUPER] << 8
    cell = _cell_of_decimal(state, abs(x))
    return code_of_cell(state, cell if x > 0.0 else negative_cell(state, cell))


@compiled
def codes_of_doubles(state, table, values, codes):
    """Ordered dense codes of finite doubles."""
    for i in range(values.size):
        codes[i] = code_of_cell(state, cell_of_double(state, table, values[i]))


@compiled
def codes_of_integers(state, table, values, codes):
    """Ordered dense codes of 64-bit integers."""
    for i in range(values.size):
        codes[i] = code_of_cell(state, cell_of_long(state, table, values[i]))
