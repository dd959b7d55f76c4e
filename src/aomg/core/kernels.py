"""Every compiled loop of the core, in one file because Numba's cache does not see edits in another one.

The state of an operator is one array of 64-bit words (`state`), so that a call from Python passes few
arguments: its first words are the registers named below, the rest are the areas whose offsets the registers
hold (`core.layout` builds it). The coordinates:

* a *super* holds 16 buckets, a *bucket* up to 16 codes (its slots). The logical number of a super ascends with
  the value: negative magnitudes mirrored, the super of zero in the middle, positive magnitudes.
* the *place* of a super is where its counts live: decades below 1, zero, decades from 1 up, then the same again
  for negative values. Integers therefore start at the super of zero and reach it through a small table.
* a *code* is super * 256 + bucket * 16 + slot, so it sorts as its values do; its *cell* has the place for the super.
"""

import math

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

U64 = np.uint64
# _nrt=False: these loops allocate nothing, and counting references to every slice would cost more than they do.
compiled = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
inlined = njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)  # a call costs 10 ns

# registers: what is fixed with the query
SUPERS_PER_DECADE, ZERO_SUPER, HALF_PLACES, DIGITS = 0, 1, 2, 3
PERIOD, SUB_WINDOWS, QUANTILES, THRESHOLDS = 4, 5, 6, 7
PARTIAL, BAND_Z, BAND_EXTRA, DEPTHS = 8, 9, 10, 11
GUARANTEE, BURST_EFFECT = 12, 13  # doubles, by their bits
HAS_ENVELOPE = 15
# registers: where the areas of the state begin
AT_PHI, AT_DEPTH, AT_THRESHOLD, AT_LEAD, AT_FIRST, AT_SLOTS = 16, 17, 18, 19, 20, 21
AT_COUNTS, AT_TOTAL, AT_SUPER_TOTAL, AT_FINE, AT_ACTIVE = 22, 23, 24, 25, 26
AT_FOLD, AT_EXTREME, EXTREME_ROOM, ENTERED, TURNED = 27, 28, 29, 30, 31
# registers: the open sub-window
FILLED, OPEN_NUMBER, REFUSED, OPEN_DOMAIN = 32, 33, 34, 35
NEGATIVE_FAR, NEGATIVE_NEAR, HAS_ZERO, POSITIVE_NEAR, POSITIVE_FAR = 36, 37, 38, 39, 40
OPEN_MINIMUM, OPEN_MAXIMUM = 41, 42  # sortable keys
# registers: the live summaries
LIVE_COUNT, LIVE_SUMMARIES, LIVE_WITH_REALS, ACTIVE, NEWEST_NUMBER = 43, 44, 45, 46, 47
RING_BEFORE, RING_OLDEST, RING_NEWEST, RING_END, LIVE_WITH_INTEGERS = 48, 49, 50, 51, 52
LAST_BURST, LAST_RELEASE, SCORE, FLAG = 53, 54, 55, 56
# registers: more areas (scratch of one call, places and decades of supers), and which of the two sides of AT_FOLD
# has the newest sub-window's rows; NEWEST_ROWS is two registers, how many rows each side has
AT_SCRATCH, AT_PLACE, AT_DECADE, ROWS_SIDE, NEWEST_ROWS = 57, 58, 59, 60, 61
REGISTERS = 64

# what kinds of numbers a sub-window or a window holds
REALS, INTEGERS, BOTH, NOTHING = 0, 1, 2, 3

NONE = np.int64(-(2**62))  # a register that says "there is none"

# words of a summary's head; then one per quantile (its code) and two per threshold, then the rows in bytes
HEAD_NUMBER, HEAD_COUNT, HEAD_MINIMUM, HEAD_MAXIMUM, HEAD_LENGTH, HEAD_ROWS, HEAD_FINE, HEAD_WORDS = range(8)
DOMAIN_SHIFT = 32  # beside the length
LENGTH_MASK = np.int64(0xFFFFFFFF)
CODE_MASK, CODE_SHIFT = np.int64(0xFFFFFFFF), 32  # a quantile's word: the lowest code it may have, and the highest
BOTH_CODES = np.int64((1 << 32) + 1)

# columns of a row of results: fixed part, then 4 per quantile, then 3 per threshold
OUT_NUMBER, OUT_COUNT, OUT_SUMMARIES, OUT_BURST, OUT_MINIMUM, OUT_MAXIMUM, OUT_SCORE, OUT_FIXED = range(8)
METHOD_EXACT, METHOD_BAND, METHOD_ENVELOPE, METHOD_MEAN, METHOD_TOP_K, METHOD_SAMPLE_K = range(6)

LOWEST_DECADE, DECADES = -324, 633
TABLE_REACH = 131072  # integers below go through the table as they are
POWERS = np.array([float(f"1e{k}") for k in range(309)])
INTEGER_POWERS = np.array([10**k for k in range(20)], dtype=np.uint64)
TENS = np.array([10**k for k in range(8)])
SIGN_BIT = U64(1) << U64(63)
EXACT_INTEGERS = 9007199254740992.0  # 2^53
LARGEST_DOUBLE = 1.7976931348623157e308
COLD_FROM, COLD_BYTES = 1000, 1024  # with more live summaries than this, the next to leave is in no cache
SPARSE_FROM = 4096  # smaller summaries spend bytes, not branches that cannot be foreseen


# ---------------------------------------------------------------------------------------------------------------
# Numbers and their sortable keys
# ---------------------------------------------------------------------------------------------------------------


@intrinsic
def _bits(typing_context, x):
    """The 64 bits of a double, as an integer."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def _double(typing_context, bits):
    """The double of 64 bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


# Rows of 16 counts as vectors. Plain loops of sixteen steps are unrolled into scalars and run half as fast.


def _vector_at(context, builder, array_type, array, index, element, lanes):
    """A pointer to `lanes` elements of an array from `index` on, and the vector's type."""
    data = context.make_array(array_type)(context, builder, array).data
    vector = ir.VectorType(element, lanes)
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer()), vector


def _across_lanes(builder, operation, value, lanes):
    """The sum (or another operation) of a vector's lanes, as many as a power of two, by halving."""
    while lanes > 1:
        lanes //= 2
        low = ir.Constant(ir.VectorType(ir.IntType(32), lanes), list(range(lanes)))
        high = ir.Constant(ir.VectorType(ir.IntType(32), lanes), list(range(lanes, 2 * lanes)))
        undefined = ir.Constant(value.type, ir.Undefined)
        value = getattr(builder, operation)(
            builder.shuffle_vector(value, undefined, low), builder.shuffle_vector(value, undefined, high)
        )
    return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))


@intrinsic
def _fold_rows(typing_context, halves, first, out):
    """halves[out:out+16] = the sums of the 16 rows of 16 from `first` on; returns the sum of those 16."""

    def generate(context, builder, signature, arguments):
        half, word = ir.IntType(32), ir.IntType(64)

        def shuffled(a, b, lanes):
            return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(half, len(lanes)), lanes))

        def paired(a, b):  # neighbouring lanes added, of a and b in turn: one instruction on x86
            return builder.add(shuffled(a, b, [0, 2, 8, 10, 4, 6, 12, 14]), shuffled(a, b, [1, 3, 9, 11, 5, 7, 13, 15]))

        rows = []
        for row in range(16):
            index = builder.add(arguments[1], ir.Constant(word, 16 * row))
            pointer, _ = _vector_at(context, builder, signature.args[0], arguments[0], index, half, 16)
            loaded = builder.load(pointer, align=4)
            rows.append(
                builder.add(shuffled(loaded, loaded, list(range(8))), shuffled(loaded, loaded, list(range(8, 16))))
            )
        fours = []
        for row in range(0, 16, 4):
            both = paired(paired(rows[row], rows[row + 1]), paired(rows[row + 2], rows[row + 3]))
            fours.append(builder.add(shuffled(both, both, [0, 1, 2, 3]), shuffled(both, both, [4, 5, 6, 7])))
        eights = [shuffled(fours[i], fours[i + 1], list(range(8))) for i in (0, 2)]
        sums = shuffled(eights[0], eights[1], list(range(16)))
        pointer, _ = _vector_at(context, builder, signature.args[0], arguments[0], arguments[2], half, 16)
        builder.store(sums, pointer, align=4)
        return builder.zext(_across_lanes(builder, "add", sums, 16), word)

    return types.int64(halves, types.int64, types.int64), generate


def _running_sums(builder, value, vector):
    """Each of 16 lanes plus all before it."""
    zeros = ir.Constant(vector, [0] * 16)
    for shift in (1, 2, 4, 8):
        lanes = [16 + i if i < shift else i - shift for i in range(16)]
        shifted = ir.Constant(ir.VectorType(ir.IntType(32), 16), lanes)
        value = builder.add(value, builder.shuffle_vector(value, zeros, shifted))
    return value


def _generate_search(bits, upwards):
    """Code for: which of 16 counts holds the rank-th value, from below or from above, and how many come before."""

    def generate(context, builder, signature, arguments):
        element, word = ir.IntType(bits), ir.IntType(64)
        pointer, vector = _vector_at(context, builder, signature.args[0], arguments[0], arguments[1], element, 16)
        counts = builder.load(pointer, align=bits // 8)
        zeros = ir.Constant(vector, [0] * 16)
        if not upwards:
            backwards = ir.Constant(ir.VectorType(ir.IntType(32), 16), list(range(15, -1, -1)))
            counts = builder.shuffle_vector(counts, zeros, backwards)
        sums = _running_sums(builder, counts, vector)
        rank = arguments[2] if bits == 64 else builder.trunc(arguments[2], element)
        ranks = builder.insert_element(ir.Constant(vector, ir.Undefined), rank, ir.Constant(ir.IntType(32), 0))
        ranks = builder.shuffle_vector(ranks, zeros, ir.Constant(ir.VectorType(ir.IntType(32), 16), [0] * 16))
        before = builder.bitcast(builder.icmp_signed("<", sums, ranks), ir.IntType(16))
        position = builder.zext(builder.ctpop(before), word)
        passed = builder.extract_element(builder.sub(sums, counts), builder.trunc(position, ir.IntType(32)))
        if bits < 64:
            passed = builder.zext(passed, word)
        if not upwards:
            position = builder.sub(ir.Constant(word, 15), position)
        return context.make_tuple(builder, signature.return_type, [position, passed])

    return generate


@intrinsic
def _find_upwards(typing_context, halves, first, rank):
    """Which of halves[first:first+16] holds the rank-th smallest, and how many are below it."""
    pair = types.UniTuple(types.int64, 2)
    return pair(halves, types.int64, types.int64), _generate_search(32, True)


@intrinsic
def _find_downwards(typing_context, words, first, rank):
    """Which of words[first:first+16] holds the rank-th largest, and how many are above it."""
    pair = types.UniTuple(types.int64, 2)
    return pair(words, types.int64, types.int64), _generate_search(64, False)


@intrinsic
def _row_wins(typing_context, halves, x, y):
    """Twice the pairs of rows x and y in which x is in a higher bucket, plus those in the same; and the sum of y."""

    def generate(context, builder, signature, arguments):
        half, word = ir.IntType(32), ir.IntType(64)
        loaded = []
        for at in arguments[1:]:
            pointer, vector = _vector_at(context, builder, signature.args[0], arguments[0], at, half, 16)
            loaded.append(builder.load(pointer, align=4))
        new, old = loaded
        below = _running_sums(builder, old, vector)
        weight = builder.sub(builder.add(below, below), old)
        wide = ir.VectorType(word, 16)
        wins = _across_lanes(builder, "add", builder.mul(builder.zext(new, wide), builder.zext(weight, wide)), 16)
        total = builder.zext(builder.extract_element(below, ir.Constant(half, 15)), word)
        return context.make_tuple(builder, signature.return_type, [wins, total])

    return types.UniTuple(types.int64, 2)(halves, types.int64, types.int64), generate


@intrinsic
def _add_halves(typing_context, words, at, halves, first):
    """words[at:at+16] += halves[first:first+16]."""

    def generate(context, builder, signature, arguments):
        words, at, halves, first = arguments
        word = ir.IntType(64)
        source, _ = _vector_at(context, builder, signature.args[2], halves, first, ir.IntType(32), 16)
        target, vector = _vector_at(context, builder, signature.args[0], words, at, word, 16)
        wide = builder.zext(builder.load(source, align=4), vector)
        builder.store(builder.add(builder.load(target, align=8), wide), target, align=8)
        return context.get_dummy_value()

    return types.void(words, types.int64, halves, types.int64), generate


def _generate_row_update(operation):
    def generate(context, builder, signature, arguments):
        words, at, ring, where = arguments
        byte, word = ir.IntType(8), ir.IntType(64)
        source, _ = _vector_at(context, builder, signature.args[2], ring, where, byte, 16)
        target, _ = _vector_at(context, builder, signature.args[0], words, at, word, 16)
        bytes_ = builder.load(source, align=1)
        wide = builder.zext(bytes_, ir.VectorType(word, 16))
        builder.store(getattr(builder, operation)(builder.load(target, align=8), wide), target, align=8)
        short = builder.zext(bytes_, ir.VectorType(ir.IntType(16), 16))
        return builder.zext(_across_lanes(builder, "add", short, 16), word)

    return generate


@intrinsic
def _pack_row(typing_context, counts, first, ring, where):
    """ring[where:where+16] = the low bytes of counts[first:first+16]; returns all of them, or-ed."""

    def generate(context, builder, signature, arguments):
        counts, first, ring, where = arguments
        source, _ = _vector_at(context, builder, signature.args[0], counts, first, ir.IntType(32), 16)
        target, packed = _vector_at(context, builder, signature.args[2], ring, where, ir.IntType(8), 16)
        row = builder.load(source, align=4)
        builder.store(builder.trunc(row, packed), target, align=1)
        return builder.zext(_across_lanes(builder, "or_", row, 16), ir.IntType(64))

    return types.int64(counts, types.int64, ring, types.int64), generate


@intrinsic
def _add_bytes(typing_context, words, at, ring, where):
    """words[at:at+16] += ring[where:where+16]; returns the sum of what was added."""
    return types.int64(words, types.int64, ring, types.int64), _generate_row_update("add")


@intrinsic
def _subtract_bytes(typing_context, words, at, ring, where):
    """words[at:at+16] -= ring[where:where+16]; returns the sum of what was subtracted."""
    return types.int64(words, types.int64, ring, types.int64), _generate_row_update("sub")


@intrinsic
def _prefetch(typing_context, ring, at):
    """Ask for the 64 bytes around ring[at]; they will be needed at the next close."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        number = ir.IntType(32)
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        signature_ = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], signature_)
        flags = [ir.Constant(number, flag) for flag in (0, 2, 1)]
        builder.call(function, [pointer, *flags])
        return context.get_dummy_value()

    return types.void(ring, types.int64), generate


@intrinsic
def _sum_words(typing_context, words, first):
    """The sum of words[first:first+16]."""

    def generate(context, builder, signature, arguments):
        pointer, _ = _vector_at(context, builder, signature.args[0], arguments[0], arguments[1], ir.IntType(64), 16)
        return _across_lanes(builder, "add", builder.load(pointer, align=8), 16)

    return types.int64(words, types.int64), generate


@intrinsic
def _filled_mask(typing_context, halves, first):
    """A bit for each of halves[first:first+16] that is not zero."""

    def generate(context, builder, signature, arguments):
        pointer, vector = _vector_at(
            context, builder, signature.args[0], arguments[0], arguments[1], ir.IntType(32), 16
        )
        filled = builder.icmp_signed("!=", builder.load(pointer, align=4), ir.Constant(vector, [0] * 16))
        return builder.zext(builder.bitcast(filled, ir.IntType(16)), ir.IntType(64))

    return types.int64(halves, types.int64), generate


@intrinsic
def _lowest_bit(typing_context, mask):
    """The position of the lowest set bit of a mask that is not zero."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@intrinsic
def _clear_super(typing_context, words, first):
    """words[first:first+128] = 0."""

    def generate(context, builder, signature, arguments):
        word = ir.IntType(64)
        for part in range(8):
            index = builder.add(arguments[1], ir.Constant(word, 16 * part))
            pointer, vector = _vector_at(context, builder, signature.args[0], arguments[0], index, word, 16)
            builder.store(ir.Constant(vector, [0] * 16), pointer, align=8)
        return context.get_dummy_value()

    return types.void(words, types.int64), generate


@inlined
def key_of_double(x):
    """An integer that sorts as the double does (-0.0 as 0.0)."""
    bits = _bits(x + 0.0)
    return bits if bits >= 0 else bits ^ np.int64(0x7FFFFFFFFFFFFFFF)


@inlined
def double_of_key(key):
    """The double of a sortable key."""
    return _double(key if key >= 0 else key ^ np.int64(0x7FFFFFFFFFFFFFFF))


@inlined
def next_up(x):
    """The smallest double above x."""
    return double_of_key(key_of_double(x) + 1) if x < np.inf else x


@inlined
def next_down(x):
    """The largest double below x."""
    return -next_up(-x)


@compiled
def round_down(v):
    """The largest double at or below the integer v."""
    x = float(v)
    if abs(x) >= EXACT_INTEGERS and (x >= 9223372036854775808.0 or np.int64(x) > v):
        x = next_down(x)
    return x


@compiled
def round_up(v):
    """The smallest double at or above the integer v."""
    x = float(v)
    if abs(x) >= EXACT_INTEGERS and x < 9223372036854775808.0 and np.int64(x) < v:
        x = next_up(x)
    return x


# ---------------------------------------------------------------------------------------------------------------
# Codes: value <-> significant decimal digits
# ---------------------------------------------------------------------------------------------------------------


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


@compiled
def digits_codes_of_doubles(values, digits, codes):
    """Codes of four to six digits, of finite doubles."""
    for i in range(values.size):
        x = values[i]
        if x == 0.0:
            codes[i] = 0
        else:
            decade, lead = decompose(abs(x), digits)
            code = digits_code(decade, lead, digits)
            codes[i] = code if x > 0.0 else -code


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


@compiled
def keys_of_doubles(values, keys):
    """Sortable keys of finite doubles."""
    for i in range(values.size):
        keys[i] = key_of_double(values[i])


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


@compiled
def digits_intervals(codes, digits, domain, lows, highs):
    """Intervals of many codes of four to six digits."""
    first = TENS[digits - 1]
    for i in range(codes.size):
        code = codes[i]
        if code == 0:
            lows[i], highs[i] = 0.0, 0.0
            continue
        magnitude = abs(code) - 1
        decade = magnitude // (9 * first) + LOWEST_DECADE
        low, high = _interval_of_lead(decade, magnitude % (9 * first) + first, digits, domain)
        if code > 0:
            lows[i], highs[i] = low, high
        else:
            lows[i], highs[i] = -high, -low


@inlined
def _raw_interval(key, domain):
    """The value of a sortable key, or its neighbours where longs were rounded to a double."""
    x = double_of_key(key)
    if domain != REALS and abs(x) >= EXACT_INTEGERS:
        return max(next_down(x), -LARGEST_DOUBLE), min(next_up(x), LARGEST_DOUBLE)
    return x, x


@compiled
def raw_intervals(keys, domain, lows, highs):
    """Intervals of many sortable keys."""
    for i in range(keys.size):
        lows[i], highs[i] = _raw_interval(keys[i], domain)


@inlined
def place_of(state, super_):
    """Where the counts of a logical super live."""
    return state[state[AT_PLACE] + super_]


@inlined
def super_of_place(state, place):
    """The logical super whose counts live at a place."""
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
def _cell_of_integer(state, table, u):
    """The cell of a magnitude u >= 0 that may be beyond the table."""
    shift = np.int64(0)
    step = 3 * state[SUPERS_PER_DECADE] * 256
    while u >= U64(TABLE_REACH):
        u //= U64(1000)
        shift += step
    return (-LOWEST_DECADE * state[SUPERS_PER_DECADE]) * 256 + np.int64(table[u]) + shift


@inlined
def _cell_of_magnitude(state, table, x):
    """The cell of a positive finite double."""
    per_decade = state[SUPERS_PER_DECADE]
    if 100.0 <= x < 9223372036854775808.0:
        return _cell_of_integer(state, table, U64(np.int64(x)))
    if x < 100.0 and x >= 1e-10:
        if x >= 0.1:
            scale, decades = 1e3, 3
        elif x >= 1e-4:
            scale, decades = 1e6, 6
        elif x >= 1e-7:
            scale, decades = 1e9, 9
        else:
            scale, decades = 1e12, 12
        u = np.int64(x * scale + 0.5)
        if x < u / scale:
            u -= 1
        if u < 100:
            u = np.int64(100)
        relative = np.int64(table[u]) - 256 - decades * per_decade * 256
        base = (-LOWEST_DECADE * per_decade) * 256
        return base + relative + 256 if relative >= 0 else base + relative
    decade, lead = decompose(x, state[DIGITS])
    cell = state[state[AT_LEAD] + lead - TENS[state[DIGITS] - 1]]
    place = (decade - LOWEST_DECADE) * per_decade
    if decade >= 0:
        place += 1
    return place * 256 + cell


@inlined
def cell_of_double(state, table, x):
    """The cell of any finite double."""
    if x == 0.0:
        return (-LOWEST_DECADE * state[SUPERS_PER_DECADE]) * 256
    cell = _cell_of_magnitude(state, table, abs(x))
    return cell if x > 0.0 else (cell ^ 255) + state[HALF_PLACES] * 256


@compiled
def code_of_cell(state, cell):
    """The code that is counted in a cell."""
    return (super_of_place(state, cell >> 8) << 8) | (cell & 255)


@compiled
def cell_of_code(state, code):
    """The cell in which a code is counted."""
    return (place_of(state, code >> 8) << 8) | (code & 255)


@compiled
def codes_of_doubles(state, table, values, codes):
    """Ordered dense codes of finite doubles."""
    for i in range(values.size):
        codes[i] = code_of_cell(state, cell_of_double(state, table, values[i]))


@compiled
def codes_of_integers(state, table, values, codes):
    """Ordered dense codes of 64-bit integers."""
    for i in range(values.size):
        v = values[i]
        if v >= 0:
            cell = _cell_of_integer(state, table, U64(v))
        else:
            cell = (_cell_of_integer(state, table, U64(0) - U64(v)) ^ 255) + state[HALF_PLACES] * 256
        codes[i] = code_of_cell(state, cell)


# ---------------------------------------------------------------------------------------------------------------
# Level 1: counting the open sub-window
# ---------------------------------------------------------------------------------------------------------------


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
def _note_cell(state, cell):
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
def _note_domain(state, domain):
    if state[OPEN_DOMAIN] == NOTHING:
        state[OPEN_DOMAIN] = domain
    elif state[OPEN_DOMAIN] != domain:
        state[OPEN_DOMAIN] = BOTH


@compiled
def _note_extremes(state, low, high):
    state[OPEN_MINIMUM] = min(state[OPEN_MINIMUM], key_of_double(low))
    state[OPEN_MAXIMUM] = max(state[OPEN_MAXIMUM], key_of_double(high))


@inlined
def _negative_cell(state, cell):
    """The cell of -x, given that of x > 0."""
    return (cell ^ 255) + state[HALF_PLACES] * 256


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
                counts[_cell_of_integer(state, table, u)] += 1
            else:
                u = U64(0) - u
                minus_low, minus_high = min(minus_low, u), max(minus_high, u)
                counts[_negative_cell(state, _cell_of_integer(state, table, u))] += 1
    if low != U64(TABLE_REACH):
        _note_extremes(state, float(low), float(low + span))
        _note_cell(state, base + np.int64(table[low]))
        if low == U64(0) and span > U64(0):
            _note_cell(state, base + np.int64(table[1]))
        _note_cell(state, base + np.int64(table[low + span]))
    if large_high > U64(0):
        _note_extremes(state, round_down(np.int64(large_low)), round_up(np.int64(large_high)))
        _note_cell(state, _cell_of_integer(state, table, large_low))
        _note_cell(state, _cell_of_integer(state, table, large_high))
    if minus_high > U64(0):
        _note_extremes(state, round_down(np.int64(U64(0) - minus_high)), round_up(np.int64(U64(0) - minus_low)))
        _note_cell(state, _negative_cell(state, _cell_of_integer(state, table, minus_low)))
        _note_cell(state, _negative_cell(state, _cell_of_integer(state, table, minus_high)))
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
    plain_low = U64(_bits(100.0 / scale))
    plain_span = U64(_bits(TABLE_REACH / scale)) - plain_low - U64(1)
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
                counts[_cell_of_magnitude(state, table, x)] += 1
            elif x < 0.0:
                minus_low, minus_high = min(minus_low, -x), max(minus_high, -x)
                counts[_negative_cell(state, _cell_of_magnitude(state, table, -x))] += 1
            else:
                zeros += 1
    if low != empty:
        first, last = _double(np.int64(low)), _double(np.int64(low + span))
        _note_extremes(state, first, last)
        _note_cell(state, base + _scaled_cell(table, first, scale, shift))
        _note_cell(state, base + _scaled_cell(table, last, scale, shift))
    if other_high > 0.0:
        _note_extremes(state, other_low, other_high)
        _note_cell(state, _cell_of_magnitude(state, table, other_low))
        _note_cell(state, _cell_of_magnitude(state, table, other_high))
    if minus_high > 0.0:
        _note_extremes(state, -minus_high, -minus_low)
        _note_cell(state, _negative_cell(state, _cell_of_magnitude(state, table, minus_low)))
        _note_cell(state, _negative_cell(state, _cell_of_magnitude(state, table, minus_high)))
    if zeros > 0:
        _note_extremes(state, 0.0, 0.0)
        state[HAS_ZERO] = 1
        counts[base] += zeros
    return refused


@compiled
def count_chunk(state, table, counts, chunk, real):
    """Accumulate of Level 1: returns how many elements were refused."""
    refused = _count_doubles(state, table, counts, chunk) if real else _count_integers(state, table, counts, chunk)
    if refused < chunk.size:
        _note_domain(state, REALS if real else INTEGERS)
    state[FILLED] += chunk.size - refused
    state[REFUSED] += refused
    return refused


@compiled
def add_pairs(state, counts, codes, numbers, domain, minimum, maximum):
    """Accumulate of Level 1 from (dense code, count) pairs: another place's counts of the same sub-window."""
    for i in range(codes.size):
        cell = cell_of_code(state, codes[i])
        counts[cell] += numbers[i]
        state[FILLED] += numbers[i]
        _note_cell(state, cell)
    if codes.size > 0:
        _note_extremes(state, minimum, maximum)
        _note_domain(state, domain)


# ---------------------------------------------------------------------------------------------------------------
# Level 1: what remains of a sub-window when it closes
# ---------------------------------------------------------------------------------------------------------------


@inlined
def rank_of(numerator, denominator, count):
    """ceil(phi * count) in integers, within 1..count."""
    rank = (count // denominator) * numerator
    rank += ((count % denominator) * numerator + denominator - 1) // denominator
    return min(max(rank, 1), count)


# an entry of the area of quantiles: phi as a fraction, its column, and what was last worked out for which count
PHI_NUMERATOR, PHI_DENOMINATOR, PHI_COLUMN, PHI_OPEN_COUNT, PHI_OPEN_RANK, PHI_REACH = range(6)
PHI_LIVE_COUNT, PHI_LIVE_RANK, PHI_WIDTH = range(6, 9)


@inlined
def _open_rank(state, phi, count):
    """The rank of a quantile in the open sub-window; PHI_REACH is set beside it. Counts rarely change: remember."""
    if state[phi + PHI_OPEN_COUNT] != count:
        numerator, denominator = state[phi + PHI_NUMERATOR], state[phi + PHI_DENOMINATOR]
        state[phi + PHI_OPEN_COUNT] = count
        state[phi + PHI_OPEN_RANK] = rank_of(numerator, denominator, count)
        spread = math.sqrt(count * (numerator / denominator) * (1.0 - numerator / denominator))
        state[phi + PHI_REACH] = np.int64(state[BAND_Z] * spread) + state[BAND_EXTRA]
    return state[phi + PHI_OPEN_RANK]


@inlined
def _live_rank(state, phi, count):
    """The rank of a quantile in the window."""
    if state[phi + PHI_LIVE_COUNT] != count:
        state[phi + PHI_LIVE_COUNT] = count
        state[phi + PHI_LIVE_RANK] = rank_of(state[phi + PHI_NUMERATOR], state[phi + PHI_DENOMINATOR], count)
    return state[phi + PHI_LIVE_RANK]


@inlined
def _write_head(ring, at, step, form):
    """The head of a row: the step from the row before (14 bits, else 4 bytes more) and the form of its counts."""
    short = min(step, 0x3FFF)
    head = (short << 2) | form
    ring[at] = head & 255
    ring[at + 1] = head >> 8
    at += 2
    if short == 0x3FFF:
        for k in range(4):
            ring[at + k] = (step >> (8 * k)) & 255
        at += 4
    return at


@inlined
def _write_counts(ring, at, step, counts, first, sparse):
    """Append a row of the 16 counts from `first` on; returns its end.

    Forms: 0 pairs of nibbles (position, count); 1, 2, 3 one, two or four planes of 16 bytes.
    """
    every = _pack_row(counts, first, ring, at + 2)
    if every < 256 and step < 0x3FFF and not sparse:
        head = (step << 2) | 1
        ring[at] = head & 255
        ring[at + 1] = head >> 8
        return at + 18
    return _write_other_forms(ring, at, step, counts, first, sparse, every)


@compiled
def _write_other_forms(ring, at, step, counts, first, sparse, every):
    """The rows of _write_counts that are not 16 bytes behind a short step."""
    filled = 0
    for k in range(16):
        filled += counts[first + k] != 0
    if sparse and every < 16 and filled <= 5:
        at = _write_head(ring, at, step, 0)
        ring[at] = filled
        at += 1
        for k in range(16):
            number = counts[first + k]
            ring[at] = (k << 4) | number
            at += number != 0
        return at
    form = 1 if every < 256 else (2 if every < 65536 else 3)
    at = _write_head(ring, at, step, form)
    for plane in range((1 << form) >> 1):
        for k in range(16):
            ring[at + k] = (counts[first + k] >> (8 * plane)) & 255
        at += 16
    return at


@inlined
def _read_step(ring, at):
    """The head of a row: its step, its form, and where its counts begin."""
    head = np.int64(ring[at]) | (np.int64(ring[at + 1]) << 8)
    at += 2
    step = head >> 2
    if step == 0x3FFF:
        step = np.int64(0)
        for k in range(4):
            step |= np.int64(ring[at + k]) << (8 * k)
        at += 4
    return step, head & 3, at


@inlined
def _add_row(ring, where, form, state, at):
    """state[at:at+16] += the row's counts; returns their sum and the row's end."""
    if form == 1:
        return _add_bytes(state, at, ring, where), where + 16
    added = np.int64(0)
    if form == 0:
        filled = np.int64(ring[where])
        where += 1
        for k in range(filled):
            pair = np.int64(ring[where + k])
            state[at + (pair >> 4)] += pair & 15
            added += pair & 15
        return added, where + filled
    for plane in range((1 << form) >> 1):
        for k in range(16):
            number = np.int64(ring[where + k]) << (8 * plane)
            state[at + k] += number
            added += number
        where += 16
    return added, where


@inlined
def _subtract_row(ring, where, form, state, at):
    """state[at:at+16] -= the row's counts; returns their sum and the row's end."""
    if form == 1:
        return _subtract_bytes(state, at, ring, where), where + 16
    removed = np.int64(0)
    if form == 0:
        filled = np.int64(ring[where])
        where += 1
        for k in range(filled):
            pair = np.int64(ring[where + k])
            state[at + (pair >> 4)] -= pair & 15
            removed += pair & 15
        return removed, where + filled
    for plane in range((1 << form) >> 1):
        for k in range(16):
            number = np.int64(ring[where + k]) << (8 * plane)
            state[at + k] -= number
            removed += number
        where += 16
    return removed, where


FOLD_ID, FOLD_SUM, FOLD_WIDTH = 16, 18, 20  # a side: counts of each super, then its number, then its sum


@inlined
def _fold_side(state):
    """Where the bucket totals of the newest sub-window are kept; the other side has those of the one before."""
    return state[AT_FOLD] + state[ROWS_SIDE] * FOLD_WIDTH * state[HALF_PLACES]


@inlined
def _fold_super(state, halves, place, super_, folded):
    """Fold one super's codes into its 16 bucket totals, if it has any."""
    side = _fold_side(state)
    total = _fold_rows(halves, 2 * state[AT_COUNTS] + place * 256, 2 * side + 16 * folded)
    state[side + FOLD_ID * state[HALF_PLACES] + folded] = super_
    state[side + FOLD_SUM * state[HALF_PLACES] + folded] = total
    return folded + (total != 0)


@inlined
def _fold(state, halves):
    """Fold all touched supers in the order of their values; returns how many there are."""
    zero = state[ZERO_SUPER]
    below_one = -LOWEST_DECADE * state[SUPERS_PER_DECADE]
    half = state[HALF_PLACES]
    folded = 0
    for k in range(state[NEGATIVE_FAR], state[NEGATIVE_NEAR] - 1, -1):
        folded = _fold_super(state, halves, half + (k - 1 if k <= below_one else k), zero - k, folded)
    if state[HAS_ZERO]:
        folded = _fold_super(state, halves, below_one, zero, folded)
    for k in range(state[POSITIVE_NEAR], state[POSITIVE_FAR] + 1):
        folded = _fold_super(state, halves, k - 1 if k <= below_one else k, zero + k, folded)
    return folded


@compiled
def open_pairs(state, halves, counts, codes, numbers):
    """The open sub-window as ordered (code, count) pairs; returns how many. Needs 256 entries a touched super."""
    state[ROWS_SIDE] ^= 1  # the newest sub-window's totals stay: the burst detector needs them
    folded = _fold(state, halves)
    ids = _fold_side(state) + FOLD_ID * state[HALF_PLACES]
    state[ROWS_SIDE] ^= 1
    pairs = 0
    for i in range(folded):
        super_ = state[ids + i]
        first = place_of(state, super_) * 256
        for within_super in range(256):
            number = counts[first + within_super]
            if number > 0:
                codes[pairs] = (super_ << 8) | within_super
                numbers[pairs] = number
                pairs += 1
    return pairs


@inlined
def touched_supers(state):
    """An upper bound of the supers that the open sub-window has touched."""
    touched = state[HAS_ZERO]
    if state[NEGATIVE_FAR] >= 0:
        touched += state[NEGATIVE_FAR] - state[NEGATIVE_NEAR] + 1
    if state[POSITIVE_FAR] >= 0:
        touched += state[POSITIVE_FAR] - state[POSITIVE_NEAR] + 1
    return touched


@inlined
def record_room(state):
    """Bytes that are enough for the summary of the open sub-window."""
    fixed = 8 * (HEAD_WORDS + state[QUANTILES] + 2 * state[THRESHOLDS]) + 16
    return fixed + touched_supers(state) * (70 + 16 * 70)


@inlined
def clear_counts(state, folded):
    """Forget the counts of the folded supers."""
    ids = _fold_side(state) + FOLD_ID * state[HALF_PLACES]
    for i in range(folded):
        first = state[AT_COUNTS] + place_of(state, state[ids + i]) * 128
        _clear_super(state, first)
    clear_open(state)


@compiled
def close_dense(state, halves, counts, ring, words, at, number, entering):
    """ComputeResult of Level 1: write the open sub-window's summary at `at` and forget its counts.

    Pure: a function of the counts, the number and the query. Returns the length in bytes. `entering` adds its rows
    to the sliding totals at the same time, as `accumulate` would from the bytes.
    """
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    at_total, at_super_total, at_fine = state[AT_TOTAL], state[AT_SUPER_TOTAL], state[AT_FINE]
    count = state[FILLED]
    state[ROWS_SIDE] ^= 1
    folded = _fold(state, halves)
    state[NEWEST_ROWS + state[ROWS_SIDE]] = folded
    side = _fold_side(state)
    ids, super_sums = side + FOLD_ID * state[HALF_PLACES], side + FOLD_SUM * state[HALF_PLACES]
    sums = halves[2 * side : 2 * side + folded * 16]
    size = HEAD_WORDS + quantiles + 2 * thresholds
    head = words[at >> 3 : (at >> 3) + size]
    head[HEAD_NUMBER] = number
    head[HEAD_COUNT] = count
    head[HEAD_MINIMUM] = _bits(double_of_key(state[OPEN_MINIMUM]))
    head[HEAD_MAXIMUM] = _bits(double_of_key(state[OPEN_MAXIMUM]))
    end = at + 8 * size

    has_envelope = state[HAS_ENVELOPE] != 0
    sparse = count >= SPARSE_FROM
    envelope_rows = 0
    if has_envelope:
        before = np.int64(0)
        for i in range(folded):
            super_ = state[ids + i]
            end = _write_counts(ring, end, super_ - before, sums, 16 * i, sparse)
            before = super_
            if entering:
                place = place_of(state, super_)
                _add_halves(state, at_total + place * 16, sums, 16 * i)
                if state[at_super_total + place] == 0:
                    _activate(state, super_)
                state[at_super_total + place] += state[super_sums + i]
        envelope_rows = folded

    # quantiles in ascending order: one walk over supers, then a search among buckets, then among slots
    band_rows = 0
    band_before = np.int64(0)
    kept_to = np.int64(-1)
    i, below = 0, np.int64(0)
    for q in range(quantiles):
        phi = state[AT_PHI] + PHI_WIDTH * q
        rank = _open_rank(state, phi, count)
        while below + state[super_sums + i] < rank:
            below += state[super_sums + i]
            i += 1
        bucket, under = _find_upwards(sums, 16 * i, rank - below)
        under += below
        super_ = state[ids + i]
        slot, _ = _find_upwards(counts, place_of(state, super_) * 256 + 16 * bucket, rank - under)
        head[HEAD_WORDS + state[phi + PHI_COLUMN]] = ((super_ << 8) | (bucket << 4) | slot) * BOTH_CODES
        if not has_envelope:
            continue
        # the band: whole buckets from rank - reach to rank + reach
        reach = state[phi + PHI_REACH]
        bucket += 16 * i
        first, under_first = bucket, under
        lowest = max(rank - reach, 1)
        while under_first >= lowest:
            first -= 1
            under_first -= sums[first]
        if rank + reach >= count:
            last = np.int64(16 * folded - 1)
        else:
            last, upto = bucket, under + sums[bucket]
            while upto < rank + reach:
                last += 1
                upto += sums[last]
        first = max(first, kept_to + 1)
        for j in range(first >> 4, (last >> 4) + 1):
            filled = _filled_mask(sums, 16 * j)
            if j == first >> 4:
                filled &= 0xFFFF << (first & 15)
            if j == last >> 4:
                filled &= 0xFFFF >> (15 - (last & 15))
            super_ = state[ids + j]
            cells = place_of(state, super_) * 256
            while filled != 0:
                b = _lowest_bit(filled)
                filled &= filled - 1
                where = (super_ << 4) | b
                end = _write_counts(ring, end, where - band_before, counts, cells + 16 * b, sparse)
                if entering:
                    _add_halves(state, at_fine + cells + 16 * b, counts, cells + 16 * b)
                band_before = where
                band_rows += 1
        kept_to = max(kept_to, last)

    for t in range(thresholds):
        code = state[state[AT_THRESHOLD] + 2 * t]
        under, inside = np.int64(0), np.int64(0)
        for i in range(folded):
            super_ = state[ids + i]
            if super_ < code >> 8:
                under += state[super_sums + i]
            elif super_ == code >> 8:
                first = place_of(state, super_) * 256
                for within_super in range(code & 255):
                    under += counts[first + within_super]
                inside = np.int64(counts[first + (code & 255)])
        head[HEAD_WORDS + quantiles + 2 * t] = under
        head[HEAD_WORDS + quantiles + 2 * t + 1] = inside

    while (end - at) & 7:
        ring[end] = 0
        end += 1
    head[HEAD_LENGTH] = (end - at) | (state[OPEN_DOMAIN] << DOMAIN_SHIFT)
    head[HEAD_ROWS] = envelope_rows | (np.int64(band_rows) << 32)
    head[HEAD_FINE] = 0
    clear_counts(state, folded)
    return end - at


# ---------------------------------------------------------------------------------------------------------------
# Level 2: the live summaries
# ---------------------------------------------------------------------------------------------------------------


@inlined
def _word(words, at, word):
    """One word of the head of the summary at `at`."""
    return words[(at >> 3) + word]


# Extremes: for each quantile the largest and the smallest of the live sub-windows' codes (kept negated, so that all
# are maxima), then maximum and minimum. Two stacks each: those that came since the last turn have one running
# maximum; those before it have the maximum of each and all that followed it until the turn. No step depends on the
# data, and a turn every window's length costs one addition for each value.


@inlined
def _extremes(state):
    return 2 * state[QUANTILES] + 2


@inlined
def _push_largest(words, base, room, entered, value):
    """A value of the newest summary enters; its position is the number of summaries that ever entered."""
    words[base] = max(words[base], value)
    words[base + 1 + entered % room] = value


@inlined
def _turn(words, base, room, entered, live):
    """All that is live moves to the second stack, each with the maximum of itself and those after it."""
    largest = -(2**62) * 2
    at = entered % room
    for _ in range(live):
        largest = max(largest, words[base + 1 + at])
        words[base + 1 + room + at] = largest
        at = room - 1 if at == 0 else at - 1
    words[base] = -(2**62) * 2


@inlined
def _largest(words, base, room, oldest):
    """The largest live value, `oldest` being the position of the oldest live summary."""
    return max(words[base], words[base + 1 + room + oldest % room])


@inlined
def _push_extreme(state, extreme, value):
    room = state[EXTREME_ROOM]
    _push_largest(state, state[AT_EXTREME] + extreme * (2 * room + 1), room, state[ENTERED], value)


@compiled
def _turn_extremes(state):
    room = state[EXTREME_ROOM]
    for extreme in range(_extremes(state)):
        base = state[AT_EXTREME] + extreme * (2 * room + 1)
        _turn(state, base, room, state[ENTERED], state[LIVE_SUMMARIES])
    state[TURNED] = state[ENTERED] + 1


@inlined
def _settle_extremes(state):
    """Make the stacks ready to be read: turn them when the second one has been used up."""
    oldest = state[ENTERED] - state[LIVE_SUMMARIES] + 1
    if oldest >= state[TURNED]:
        _turn_extremes(state)


@inlined
def _extreme(state, extreme):
    """The largest live value; after _settle_extremes, with something live."""
    room = state[EXTREME_ROOM]
    oldest = state[ENTERED] - state[LIVE_SUMMARIES] + 1
    return _largest(state, state[AT_EXTREME] + extreme * (2 * room + 1), room, oldest)


@compiled
def _activate(state, super_):
    """Put a super into the ordered list of those with live counts."""
    active = state[state[AT_ACTIVE] : state[AT_ACTIVE] + state[ACTIVE] + 1]
    i = state[ACTIVE]
    while i > 0 and active[i - 1] > super_:
        active[i] = active[i - 1]
        i -= 1
    active[i] = super_
    state[ACTIVE] += 1


@compiled
def _deactivate(state, super_):
    active = state[state[AT_ACTIVE] : state[AT_ACTIVE] + state[ACTIVE]]
    i = 0
    while active[i] != super_:
        i += 1
    for j in range(i, active.size - 1):
        active[j] = active[j + 1]
    state[ACTIVE] -= 1


@inlined
def _apply_head(state, words, at, sign):
    """Add (+1) or subtract (-1) what a summary's head says; returns where its rows begin and their numbers."""
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    size = HEAD_WORDS + quantiles + 2 * thresholds
    head = words[at >> 3 : (at >> 3) + size]
    state[LIVE_COUNT] += sign * head[HEAD_COUNT]
    state[LIVE_SUMMARIES] += sign
    domain = head[HEAD_LENGTH] >> DOMAIN_SHIFT
    state[LIVE_WITH_REALS] += sign * (domain != INTEGERS)
    state[LIVE_WITH_INTEGERS] += sign * (domain != REALS)
    for t in range(2 * thresholds):
        state[state[AT_THRESHOLD] + 2 * thresholds + t] += sign * head[HEAD_WORDS + quantiles + t]
    return at + 8 * size, head[HEAD_ROWS] & LENGTH_MASK, head[HEAD_ROWS] >> 32


@compiled
def accumulate(state, ring, where, envelope_rows, band_rows):
    """Accumulate of Level 2: add a summary's rows, which begin at `where`, to the sliding totals."""
    at_total, at_super_total, at_fine = state[AT_TOTAL], state[AT_SUPER_TOTAL], state[AT_FINE]
    super_ = np.int64(0)
    for _ in range(envelope_rows):
        step, form, where = _read_step(ring, where)
        super_ += step
        place = place_of(state, super_)
        added, where = _add_row(ring, where, form, state, at_total + place * 16)
        if state[at_super_total + place] == 0:
            _activate(state, super_)
        state[at_super_total + place] += added
    bucket = np.int64(0)
    for _ in range(band_rows):
        step, form, where = _read_step(ring, where)
        bucket += step
        first = at_fine + (place_of(state, bucket >> 4) * 16 + (bucket & 15)) * 16
        _, where = _add_row(ring, where, form, state, first)


@inlined
def deaccumulate(state, ring, words, at):
    """Deaccumulate of Level 2: the inverse of accumulate, exact because all totals are integers."""
    where, envelope_rows, band_rows = _apply_head(state, words, at, -1)
    at_total, at_super_total, at_fine = state[AT_TOTAL], state[AT_SUPER_TOTAL], state[AT_FINE]
    super_ = np.int64(0)
    for _ in range(envelope_rows):
        step, form, where = _read_step(ring, where)
        super_ += step
        place = place_of(state, super_)
        removed, where = _subtract_row(ring, where, form, state, at_total + place * 16)
        state[at_super_total + place] -= removed
        if state[at_super_total + place] == 0:
            _deactivate(state, super_)
    bucket = np.int64(0)
    for _ in range(band_rows):
        step, form, where = _read_step(ring, where)
        bucket += step
        first = at_fine + (place_of(state, bucket >> 4) * 16 + (bucket & 15)) * 16
        _, where = _subtract_row(ring, where, form, state, first)


@compiled
def unfold(state, halves, ring, words, at):
    """Make the envelope rows of the summary at `at` the newest bucket totals, as its close had left them."""
    state[ROWS_SIDE] ^= 1
    side = _fold_side(state)
    size = HEAD_WORDS + state[QUANTILES] + 2 * state[THRESHOLDS]
    where = at + 8 * size
    rows = words[(at >> 3) + HEAD_ROWS] & LENGTH_MASK
    scratch = state[AT_SCRATCH]
    super_ = np.int64(0)
    for i in range(rows):
        for k in range(16):
            state[scratch + k] = 0
        step, form, where = _read_step(ring, where)
        super_ += step
        added, where = _add_row(ring, where, form, state, scratch)
        for k in range(16):
            halves[2 * side + 16 * i + k] = state[scratch + k]
        state[side + FOLD_ID * state[HALF_PLACES] + i] = super_
        state[side + FOLD_SUM * state[HALF_PLACES] + i] = added
    state[NEWEST_ROWS + state[ROWS_SIDE]] = rows


@inlined
def burst_threshold(effect, top_new, top_old, fraction):
    """The score above which a tail counts as larger: the asked effect, or four standard deviations if that is more.

    Two lists of order statistics, so the variance is not Mann and Whitney's: 4 (1/T + 1/T') (1/3 - f/4). Tails of
    fewer than about 43 values have a threshold above 1, which no score exceeds: they are too few to tell.
    """
    variance = 4.0 * (1.0 / top_new + 1.0 / top_old) * (1.0 / 3.0 - fraction / 4.0)
    return max(effect, 4.0 * math.sqrt(variance))


@inlined
def tail_depth(numerator, denominator, sub_windows, count):
    """How many of a sub-window's largest values could decide the window's quantile: min(N(1-phi), its count)."""
    window = count * sub_windows
    return min(window - rank_of(numerator, denominator, window) + 1, count)


DEPTH_WIDTH = 7  # phi as a fraction, and for the last two counts: how deep to look, and the limit of chance


@compiled
def _cut_row_wins(halves, x, y, skip_x, skip_y):
    """As _row_wins, without the lowest `skip_x` values of x and `skip_y` of y."""
    won, below = np.int64(0), np.int64(0)
    for k in range(16):
        a, b = np.int64(halves[x + k]), np.int64(halves[y + k])
        skipped = min(a, max(skip_x, 0))
        skip_x -= skipped
        a -= skipped
        skipped = min(b, max(skip_y, 0))
        skip_y -= skipped
        b -= skipped
        won += a * (2 * below + b)
        below += b
    return won, below


@inlined
def _score(state, halves, depth, new_count, old_count):
    """Mean of sign(x - y) over all pairs of the two tails at one depth, and the limits of chance."""
    at = state[AT_DEPTH] + DEPTH_WIDTH * depth
    if state[at + 2] != new_count or state[at + 3] != old_count:
        state[at + 2], state[at + 3] = new_count, old_count
        state[at + 4] = tail_depth(state[at], state[at + 1], state[SUB_WINDOWS], new_count)
        state[at + 5] = tail_depth(state[at], state[at + 1], state[SUB_WINDOWS], old_count)
        fraction = state[at + 4] / new_count
        limit = burst_threshold(_double(state[BURST_EFFECT]), state[at + 4], state[at + 5], fraction)
        state[at + 6] = _bits(limit)
    top_new, top_old = state[at + 4], state[at + 5]
    if _double(state[at + 6]) >= 1.0:
        return 0.0, 2.0
    half = state[HALF_PLACES]
    new_rows = state[NEWEST_ROWS + state[ROWS_SIDE]]
    old_rows = state[NEWEST_ROWS + 1 - state[ROWS_SIDE]]
    rows = _fold_side(state)
    old_at = state[AT_FOLD] + (1 - state[ROWS_SIDE]) * FOLD_WIDTH * half
    ids, sums = rows + FOLD_ID * half, rows + FOLD_SUM * half
    old_ids, old_sums = old_at + FOLD_ID * half, old_at + FOLD_SUM * half
    skip_new, skip_old = new_count - top_new, old_count - top_old
    i, j = 0, 0
    below, won = np.int64(0), np.int64(0)
    big = np.int64(2**62)
    while i < new_rows and skip_new >= state[sums + i]:
        skip_new -= state[sums + i]
        i += 1
    while j < old_rows and skip_old >= state[old_sums + j]:
        skip_old -= state[old_sums + j]
        j += 1
    while i < new_rows:
        new_super = state[ids + i]
        old_super = state[old_ids + j] if j < old_rows else big
        if old_super < new_super:
            below += state[old_sums + j] - skip_old
            skip_old = np.int64(0)
            j += 1
            continue
        won += 2 * below * (state[sums + i] - skip_new)
        if old_super == new_super:
            x, y = 2 * rows + 16 * i, 2 * old_at + 16 * j
            if skip_new | skip_old:
                level, passed = _cut_row_wins(halves, x, y, skip_new, skip_old)
            else:
                level, passed = _row_wins(halves, x, y)
            won += level
            below += passed
            skip_old = np.int64(0)
            j += 1
        skip_new = np.int64(0)
        i += 1
    score = won / (float(top_new) * float(top_old)) - 1.0
    return score, _double(state[at + 6])


@inlined
def _burst(state, halves, new_count, old_count):
    """Compare the newest tail with the one before at every depth watched, from envelope counts.

    Sets SCORE to the largest score and FLAG to +1 (larger than chance explains), -1 (smaller) or 0.
    """
    best, flag, tested = -1.0, 0, False
    for depth in range(state[DEPTHS]):
        score, limit = _score(state, halves, depth, new_count, old_count)
        if limit > 1.0:
            continue
        tested = True
        best = max(best, score)
        if score > limit:
            flag = 1
        elif score < -limit and flag == 0:
            flag = -1
    if tested:
        state[SCORE], state[FLAG] = _bits(best), flag


@inlined
def next_record(state, words, at):
    """Where the summary after the one at `at` begins."""
    size = HEAD_WORDS + state[QUANTILES] + 2 * state[THRESHOLDS]
    at += _word(words, at, HEAD_LENGTH) & LENGTH_MASK
    if at + 8 * size > 8 * words.size or _word(words, at, HEAD_COUNT) == 0:
        return np.int64(0)
    return at


@inlined
def find_room(state, words, need):
    """Where a summary of at most `need` bytes can go; -1 if the ring must grow."""
    first = state[RING_BEFORE] if state[RING_BEFORE] >= 0 else state[RING_OLDEST]
    if first < 0:
        state[RING_END] = 0
        return np.int64(0) if need <= 8 * words.size else np.int64(-1)
    end = state[RING_END]
    if end > first:
        if end + need <= 8 * words.size:
            return end
        if need < first:
            if end + 8 * HEAD_WORDS <= 8 * words.size:
                words[(end >> 3) + HEAD_COUNT] = 0
            return np.int64(0)
    elif end + need < first:
        return end
    return np.int64(-1)


@inlined
def expire(state, ring, words, before):
    """Deaccumulate every live summary whose number is below `before`."""
    if state[LIVE_SUMMARIES] == 0 or _word(words, state[RING_OLDEST], HEAD_NUMBER) >= before:
        return
    while state[LIVE_SUMMARIES] > 0 and _word(words, state[RING_OLDEST], HEAD_NUMBER) < before:
        oldest = state[RING_OLDEST]
        deaccumulate(state, ring, words, oldest)
        state[RING_BEFORE] = oldest
        state[RING_OLDEST] = next_record(state, words, oldest) if state[LIVE_SUMMARIES] > 0 else -1
    if state[LIVE_SUMMARIES] > COLD_FROM:
        for k in range(0, COLD_BYTES, 64):
            _prefetch(ring, min(state[RING_OLDEST] + k, ring.size - 1))
            _prefetch(ring, min(state[RING_END] + k, ring.size - 1))


@inlined
def enter(state, halves, ring, words, at, added):
    """Accumulate the summary at `at` as the newest of the window; `added` says that its rows are in the totals."""
    head = words[at >> 3 : (at >> 3) + HEAD_WORDS]
    number = head[HEAD_NUMBER]
    newest = state[RING_NEWEST]
    where, envelope_rows, band_rows = _apply_head(state, words, at, 1)
    if not added:
        accumulate(state, ring, where, envelope_rows, band_rows)
    state[SCORE], state[FLAG] = _bits(0.0), 0
    if newest >= 0 and state[HAS_ENVELOPE] and _word(words, newest, HEAD_NUMBER) >= number - state[SUB_WINDOWS]:
        _burst(state, halves, head[HEAD_COUNT], _word(words, newest, HEAD_COUNT))
        if state[FLAG] > 0:
            state[LAST_BURST] = number
        elif state[FLAG] < 0:
            state[LAST_RELEASE] = number
    _join(state, words, at)


@inlined
def _join(state, words, at):
    """Note the extremes of the summary at `at`, and that it is the newest."""
    quantiles = state[QUANTILES]
    head = words[at >> 3 : (at >> 3) + HEAD_WORDS + quantiles]
    state[ENTERED] += 1
    for q in range(quantiles):
        _push_extreme(state, 2 * q, head[HEAD_WORDS + q] >> CODE_SHIFT)
        _push_extreme(state, 2 * q + 1, -(head[HEAD_WORDS + q] & CODE_MASK))
    _push_extreme(state, 2 * quantiles, key_of_double(_double(head[HEAD_MAXIMUM])))
    _push_extreme(state, 2 * quantiles + 1, -key_of_double(_double(head[HEAD_MINIMUM])))
    state[NEWEST_NUMBER] = head[HEAD_NUMBER]
    state[RING_NEWEST] = at
    if state[RING_OLDEST] < 0:
        state[RING_OLDEST] = at
    state[RING_END] = at + (head[HEAD_LENGTH] & LENGTH_MASK)


@inlined
def _bucket_codes(state, bucket):
    """First and last code of a bucket (a logical number)."""
    super_, b = bucket >> 4, bucket & 15
    zero = state[ZERO_SUPER]
    if super_ == zero:
        return bucket << 4, bucket << 4
    if super_ > zero:
        slots = state[state[AT_SLOTS] + ((super_ - zero - 1) % state[SUPERS_PER_DECADE]) * 16 + b]
        return bucket << 4, (bucket << 4) + slots - 1
    slots = state[state[AT_SLOTS] + ((zero - super_ - 1) % state[SUPERS_PER_DECADE]) * 16 + 15 - b]
    return (bucket << 4) + 16 - slots, (bucket << 4) + 15


@compiled
def _beside_is_empty(state, code, up):
    """Whether the code next to `code` is known to be empty in the window."""
    first, last = _bucket_codes(state, code >> 4)
    if up and code < last:
        return state[_fine_at(state, code + 1)] == 0
    if not up and code > first:
        return state[_fine_at(state, code - 1)] == 0
    bucket = code >> 4
    zero = state[ZERO_SUPER]
    for _ in range(17):
        bucket += 1 if up else -1
        if bucket >> 4 == zero or bucket < 0 or bucket >> 4 > 2 * zero:
            return False
        first, last = _bucket_codes(state, bucket)
        if last >= first:
            break
    total = state[state[AT_TOTAL] + place_of(state, bucket >> 4) * 16 + (bucket & 15)]
    if total == 0:
        return True
    known = np.int64(0)
    for code_beside in range(first, last + 1):
        known += state[_fine_at(state, code_beside)]
    return known == total and state[_fine_at(state, first if up else last)] == 0


@inlined
def _fine_at(state, code):
    return state[AT_FINE] + place_of(state, code >> 8) * 256 + (code & 255)


TIES = 4  # a code with so many values and none beside it holds ties: they sit on its edge


@inlined
def within(value, low, high, guarantee):
    """The value nearest to `value` that is in [low, high] and within the guarantee of every point of it."""
    if low > 0.0:
        value = min(max(value, (1.0 - guarantee) * high), (1.0 + guarantee) * low)
    elif high < 0.0:
        value = min(max(value, (1.0 + guarantee) * high), (1.0 - guarantee) * low)
    return min(max(value, low), high)


@inlined
def _known_value(state, code, at, number, rank, domain):
    """The value of the `rank`-th largest of a code's `number` values: spread evenly, or ties on its edge.

    `at` is where the code's count is, between those of its neighbours in the bucket.
    """
    low, high = interval(state, code, domain)
    value = low
    if low != high:
        slot = code & 15
        alone = number >= TIES and (slot == 15 or state[at + 1] == 0) and (slot == 0 or state[at - 1] == 0)
        if alone and _beside_is_empty(state, code, True) and _beside_is_empty(state, code, False):
            value = low if low >= 0.0 else high
        else:
            value = high - (high - low) * ((rank - 0.5) / number)
    return value, low, high


@compiled
def _partly_known_value(state, bucket, total, known, above, domain, bounds):
    """As much as a bucket's fine counts tell of its `above`-th largest value when they are not all of them.

    Sets bounds to the codes between which it must lie: the highest it can reach if all unknown values are above,
    the lowest if all are below.
    """
    first, last = _bucket_codes(state, bucket)
    at = _fine_at(state, first)
    unknown = total - known
    top, bottom = first, first
    passed = np.int64(0)
    for k in range(last - first, -1, -1):
        passed += state[at + k]
        if top == first and passed + unknown >= above:
            top = first + k
        if passed >= above:
            bottom = first + k
            break
    bounds[0], bounds[1] = bottom, top
    low, _ = interval(state, first, domain)
    _, high = interval(state, last, domain)
    spread = high - (high - low) * ((above - 0.5) / total)
    share = known / total
    target = (above - 0.5) * share
    passed = np.int64(0)
    for k in range(last - first, -1, -1):
        number = state[at + k]
        if number > 0 and passed + number >= target:
            low, high = interval(state, first + k, domain)
            guess = high - (high - low) * ((target - passed) / number)
            return share * guess + (1.0 - share) * spread
        passed += number
    return spread


@inlined
def _live_domain(state):
    """What the window holds."""
    if state[LIVE_WITH_REALS] == 0:
        return INTEGERS
    return REALS if state[LIVE_WITH_INTEGERS] == 0 else BOTH


@inlined
def compute_result(state, number, out):
    """ComputeResult of Level 2: one row of results from the sliding totals."""
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    count = state[LIVE_COUNT]
    reals = out.view(np.float64)
    domain = _live_domain(state)
    guarantee = _double(state[GUARANTEE])
    _settle_extremes(state)
    minimum = double_of_key(-_extreme(state, 2 * quantiles + 1))
    maximum = double_of_key(_extreme(state, 2 * quantiles))
    out[OUT_NUMBER] = number
    out[OUT_COUNT] = count
    out[OUT_SUMMARIES] = state[LIVE_SUMMARIES]
    newest = state[NEWEST_NUMBER]
    oldest = number - state[SUB_WINDOWS] + 1
    ongoing = state[LAST_BURST] >= oldest and state[LAST_BURST] > state[LAST_RELEASE]
    out[OUT_BURST] = 1 if newest == number and (state[FLAG] > 0 or ongoing) else 0
    reals[OUT_MINIMUM] = minimum
    reals[OUT_MAXIMUM] = maximum
    out[OUT_SCORE] = state[SCORE] if newest == number else _bits(0.0)
    active = state[state[AT_ACTIVE] : state[AT_ACTIVE] + state[ACTIVE]]
    i = active.size - 1
    passed = np.int64(0)
    bounds = state[state[AT_SCRATCH] + 16 : state[AT_SCRATCH] + 18]
    for q in range(quantiles - 1, -1, -1):
        phi = state[AT_PHI] + PHI_WIDTH * q
        column = state[phi + PHI_COLUMN]
        above = count - _live_rank(state, phi, count) + 1
        lowest, highest = -_extreme(state, 2 * column + 1), _extreme(state, 2 * column)
        value, method = np.nan, METHOD_MEAN
        if state[HAS_ENVELOPE]:
            place = place_of(state, active[i])
            while passed + state[state[AT_SUPER_TOTAL] + place] < above:
                passed += state[state[AT_SUPER_TOTAL] + place]
                i -= 1
                place = place_of(state, active[i])
            b, over = _find_downwards(state, state[AT_TOTAL] + place * 16, above - passed)
            total, over = state[state[AT_TOTAL] + place * 16 + b], above - passed - over
            at = state[AT_FINE] + (place * 16 + b) * 16
            known = _sum_words(state, at)
            bucket = (active[i] << 4) | b
            if known == total:  # the certificate: every value of the bucket is known to its code
                slot, higher = _find_downwards(state, at, over)
                number = state[at + slot]
                rank = over - higher
                value, low, high = _known_value(state, (bucket << 4) | slot, at + slot, number, rank, domain)
                method = METHOD_EXACT
            else:
                value = _partly_known_value(state, bucket, total, known, over, domain, bounds)
                lowest, highest = max(lowest, bounds[0]), min(highest, bounds[1])
                method = METHOD_EXACT if lowest == highest else (METHOD_BAND if known else METHOD_ENVELOPE)
                low, _ = interval(state, lowest, domain)
                _, high = interval(state, highest, domain)
            low, high = max(low, minimum), min(high, maximum)
            value = within(value, low, high, guarantee)
        else:
            low, _ = interval(state, lowest, domain)
            _, high = interval(state, highest, domain)
            low, high = max(low, minimum), min(high, maximum)
        c = OUT_FIXED + 4 * column
        reals[c], reals[c + 1], reals[c + 2] = value, low, high
        out[c + 3] = method
    for t in range(thresholds):
        at = state[AT_THRESHOLD]
        limit = _double(state[at + 2 * t + 1])
        under, inside = state[at + 2 * thresholds + 2 * t], state[at + 2 * thresholds + 2 * t + 1]
        low, high = interval(state, state[at + 2 * t], domain)
        low, high = max(low, minimum), min(high, maximum)
        least, most, middle = float(under), float(under), float(under)
        if inside > 0:
            if limit >= low:
                most += inside
            if limit >= high:
                least += inside
                middle += inside
            elif limit >= low:
                width = high - low + 1.0 if domain == INTEGERS else high - low
                reach = math.floor(limit) - low + 1.0 if domain == INTEGERS else limit - low
                middle += inside * min(max(reach / width, 0.0), 1.0)
        c = OUT_FIXED + 4 * quantiles + 3 * t
        reals[c], reals[c + 1], reals[c + 2] = middle / count, least / count, most / count


@compiled
def merge_in(codes, counts, size, new_codes, new_counts):
    """Add ordered pairs to the first `size` pairs, in place, from the back; returns the new size."""
    known = 0
    j = 0
    for i in range(new_codes.size):
        while j < size and codes[j] < new_codes[i]:
            j += 1
        known += j < size and codes[j] == new_codes[i]
    grown = size + new_codes.size - known
    i, j, end = new_codes.size - 1, size - 1, grown - 1
    while i >= 0:
        while j >= 0 and codes[j] > new_codes[i]:
            codes[end], counts[end] = codes[j], counts[j]
            j -= 1
            end -= 1
        if j >= 0 and codes[j] == new_codes[i]:
            codes[end], counts[end] = codes[j], counts[j] + new_counts[i]
            j -= 1
        else:
            codes[end], counts[end] = new_codes[i], new_counts[i]
        end -= 1
        i -= 1
    return grown


@compiled
def merge_out(codes, counts, size, old_codes, old_counts):
    """Take away ordered pairs that are among the first `size`, in place; returns the new size."""
    kept, i = 0, 0
    for j in range(size):
        number = counts[j]
        if i < old_codes.size and codes[j] == old_codes[i]:
            number -= old_counts[i]
            i += 1
        if number > 0:
            codes[kept], counts[kept] = codes[j], number
            kept += 1
    return kept


@compiled
def largest_of_pairs(codes, counts, size, rank):
    """The code of the rank-th largest value of the first `size` ordered pairs."""
    at = size - 1
    passed = counts[at]
    while passed < rank:
        at -= 1
        passed += counts[at]
    return codes[at]


@inlined
def _merge_step(x, y, i, j, won):
    """One step of merging x and y upwards; `won` gets twice the values of y below x[i], plus those equal to it."""
    new, old = x[i], y[j]
    low = old < new
    won += (not low) * (2 * np.int64(j) + (old == new))
    return i + U64(not low), j + U64(low), won


@inlined
def _first_at_least(y, value):
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
    j0, j1, j2, j3 = U64(0), _first_at_least(y, x[i1]), _first_at_least(y, x[i2]), _first_at_least(y, x[i3])
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


@compiled
def locate(state, phi_index):
    """Where a quantile of the window lies: certified or not, its dense code, its rank from the top, and of how many."""
    count = state[LIVE_COUNT]
    above = count - _live_rank(state, state[AT_PHI] + PHI_WIDTH * phi_index, count) + 1
    i = state[ACTIVE] - 1
    passed = np.int64(0)
    place = place_of(state, state[state[AT_ACTIVE] + i])
    while passed + state[state[AT_SUPER_TOTAL] + place] < above:
        passed += state[state[AT_SUPER_TOTAL] + place]
        i -= 1
        place = place_of(state, state[state[AT_ACTIVE] + i])
    b = 15
    while passed + state[state[AT_TOTAL] + place * 16 + b] < above:
        passed += state[state[AT_TOTAL] + place * 16 + b]
        b -= 1
    at = state[AT_FINE] + (place * 16 + b) * 16
    if _sum_words(state, at) != state[state[AT_TOTAL] + place * 16 + b]:
        return False, np.int64(0), np.int64(0), np.int64(0)
    slot = 15
    while passed + state[at + slot] < above:
        passed += state[at + slot]
        slot -= 1
    code = (state[state[AT_ACTIVE] + i] << 8) | (b << 4) | slot
    return True, code, above - passed, state[at + slot]


@compiled
def close_open(state, ring, number, room, entering):
    """Write the summary of the open sub-window with `room` bytes to spare behind it; where, and how long, or -1."""
    words = ring.view(np.int64)
    halves = state.view(np.int32)
    at = find_room(state, words, record_room(state) + room)
    if at < 0:
        return np.int64(-1), np.int64(0)
    counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
    return at, close_dense(state, halves, counts, ring, words, at, number, entering)


@compiled
def enter_at(state, ring, at, closed_here):
    """Enter the summary at `at`; `closed_here` says that it has just been closed and its rows added."""
    words = ring.view(np.int64)
    halves = state.view(np.int32)
    if not closed_here:
        unfold(state, halves, ring, words, at)
    enter(state, halves, ring, words, at, closed_here)


@compiled
def expire_before(state, ring, before):
    """Expire every live summary whose number is below `before`."""
    expire(state, ring, ring.view(np.int64), before)


@compiled
def count_open(state, table, bits, real):
    """Accumulate of Level 1, called from Python."""
    halves = state.view(np.int32)
    return count_chunk(state, table, halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]], bits, real)


@compiled
def merge_open(state, codes, numbers, domain, minimum, maximum):
    """Accumulate counts from elsewhere, called from Python."""
    halves = state.view(np.int32)
    counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
    add_pairs(state, counts, codes, numbers, domain, minimum, maximum)


@compiled
def list_open(state, codes, numbers):
    """The open sub-window's pairs, called from Python."""
    halves = state.view(np.int32)
    return open_pairs(state, halves, halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]], codes, numbers)


@compiled
def forget_open(state):
    """Forget the open sub-window's counts."""
    state[ROWS_SIDE] ^= 1
    clear_counts(state, _fold(state, state.view(np.int32)))
    state[ROWS_SIDE] ^= 1


@compiled
def ring_records(state, ring, starts):
    """Where the kept summaries begin, oldest first (with the one before the oldest); returns how many."""
    words = ring.view(np.int64)
    first = state[RING_BEFORE] if state[RING_BEFORE] >= 0 else state[RING_OLDEST]
    if first < 0:
        return 0
    kept = 0
    at = first
    while True:
        starts[kept] = at
        kept += 1
        if at == state[RING_NEWEST]:
            return kept
        at = next_record(state, words, at)


@compiled
def count_entries(state, ring, at, found):
    """Count the entries that are not zero in the envelope rows and in the band rows of a summary."""
    head = ring.view(np.int64)[at >> 3 : (at >> 3) + HEAD_WORDS]
    where = at + 8 * (HEAD_WORDS + state[QUANTILES] + 2 * state[THRESHOLDS])
    scratch = state[AT_SCRATCH]
    for part in range(2):
        rows = head[HEAD_ROWS] & LENGTH_MASK if part == 0 else head[HEAD_ROWS] >> 32
        for _ in range(rows):
            for k in range(16):
                state[scratch + k] = 0
            _, form, where = _read_step(ring, where)
            _, where = _add_row(ring, where, form, state, scratch)
            for k in range(16):
                found[part] += state[scratch + k] != 0


@compiled
def record_is_sound(state, record):
    """Whether bytes are a summary of this query: lengths, rows, codes and counts all agree."""
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    size = 8 * (HEAD_WORDS + quantiles + 2 * thresholds)
    if record.size < size or record.size % 8:
        return False
    head = record.view(np.int64)
    count = head[HEAD_COUNT]
    if (head[HEAD_LENGTH] & LENGTH_MASK) != record.size or not 0 < count < 2**31:
        return False
    if (head[HEAD_LENGTH] >> DOMAIN_SHIFT) > BOTH or head[HEAD_LENGTH] < 0 or not -(2**61) < head[HEAD_NUMBER] < 2**61:
        return False
    minimum, maximum = _double(head[HEAD_MINIMUM]), _double(head[HEAD_MAXIMUM])
    if not (-np.inf < minimum <= maximum < np.inf):
        return False
    supers = 2 * state[ZERO_SUPER] + 1
    for q in range(quantiles):
        if not 0 <= head[HEAD_WORDS + q] & CODE_MASK <= head[HEAD_WORDS + q] >> CODE_SHIFT < supers * 256:
            return False
    for t in range(thresholds):
        under, inside = head[HEAD_WORDS + quantiles + 2 * t], head[HEAD_WORDS + quantiles + 2 * t + 1]
        if under < 0 or inside < 0 or under + inside > count:
            return False
    envelope_rows, band_rows = head[HEAD_ROWS] & LENGTH_MASK, head[HEAD_ROWS] >> 32
    if band_rows < 0 or (envelope_rows > 0) != (state[HAS_ENVELOPE] != 0) or envelope_rows > supers:
        return False
    end = record.size
    if head[HEAD_FINE] != 0:
        if not size <= head[HEAD_FINE] <= record.size or head[HEAD_FINE] % 8:
            return False
        end = head[HEAD_FINE]
    scratch = state[AT_SCRATCH]
    where = np.int64(size)
    total = np.int64(0)
    for part in range(2):
        limit = supers if part == 0 else supers * 16
        position = np.int64(0)
        for row in range(envelope_rows if part == 0 else band_rows):
            if where + 3 > end or (where + 7 > end and (record[where] >> 2) == 63 and record[where + 1] == 255):
                return False
            step, form, where = _read_step(record, where)
            position += step
            if (row > 0 and step == 0) or position >= limit:
                return False
            length = (np.int64(record[where]) + 1) if form == 0 else 16 * ((1 << form) >> 1)
            if where + length > end:
                return False
            for k in range(16):
                state[scratch + k] = 0
            added, where = _add_row(record, where, form, state, scratch)
            if added <= 0:
                return False
            if part == 0:
                total += added
    return (envelope_rows == 0 or total == count) and end - where < 8


@compiled
def push_counted(state, table, ring, bits, start, real, out):
    """Push elements of windows counted in elements, from `start` on.

    Returns (next element, rows of results, elements of the open sub-window); stops early, before a close, when the
    ring needs to grow.
    """
    halves = state.view(np.int32)
    words = ring.view(np.int64)
    counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
    period = state[PERIOD]
    rows = 0
    i = start
    while i < bits.size or state[FILLED] == period:
        if state[FILLED] < period:
            chunk = bits[i : i + period - state[FILLED]]
            i += chunk.size
            count_chunk(state, table, counts, chunk, real)
        if state[FILLED] == period:
            number = state[OPEN_NUMBER]
            expire(state, ring, words, number - state[SUB_WINDOWS] + 1)
            at = find_room(state, words, record_room(state))
            if at < 0:
                return i, rows, state[FILLED]
            close_dense(state, halves, counts, ring, words, at, number, True)
            enter(state, halves, ring, words, at, True)
            state[OPEN_NUMBER] += 1
            if state[PARTIAL] or state[LIVE_SUMMARIES] == state[SUB_WINDOWS]:
                compute_result(state, number, out[rows])
                rows += 1
    return i, rows, state[FILLED]


# ---------------------------------------------------------------------------------------------------------------
# Raw values without an envelope, as the paper ran them: sorted sub-windows, exact means, few-k lists
# ---------------------------------------------------------------------------------------------------------------

# A plan says what is read from a sub-window of so many elements: its fixed words; then for each column of quantiles
# the index of its element, those on either side whose distance tells the density, and the probability between these
# (a double); then for each high quantile its tail's depth, how many samples, by how many positions they may turn (0:
# the golden ratio decides) and where in the plan their ranks from the top begin, the largest first.
PLAN_COUNT, PLAN_ROOM, PLAN_TOP, PLAN_WORDS = range(4)
PLAN_INDEX, PLAN_LOWER, PLAN_UPPER, PLAN_BETWEEN, PLAN_QUANTILE = range(5)
PLAN_DEPTH, PLAN_SAMPLES, PLAN_TURN, PLAN_RANKS, PLAN_TAIL = range(5)
GOLDEN = 0.6180339887498949

# registers of Level 2 for raw values (the array `level`), then where its areas begin
AS_PAPER, KEEPS_LISTS, WITHOUT_TOP, AT_COLUMN, AT_DEPTH_SUM, AT_LIMBS, AT_SUM, AT_RAW_EXTREME = range(8)
AT_MERGED, MERGED_WIDTH, LEVEL_REGISTERS = range(8, 11)
# a column: which of the high quantiles it is or -1, whether top-k may answer, live sub-windows of unknown density
COLUMN_HIGH, COLUMN_TOP_K, COLUMN_UNKNOWN, COLUMN_WIDTH = range(4)
# a sum without rounding: the range of limbs that were ever used, and the limbs. Every double is a whole multiple of
# 2^-1074; a limb is worth 2^32 of the one before, and carries wait until the sum is read.
SUM_FIRST, SUM_END, SUM_WORDS = range(3)
LIMBS = 70
SUM_WIDTH = SUM_WORDS + LIMBS
LIMB_MASK = np.int64(0xFFFFFFFF)
# merged lists: a code, how many values of all live lists are above it and how many equal it, and how many there are.
# Then for each live list (its slot): its pairs up to the code, the largest code up to it, the smallest above it, where
# in the ring the list is, and how many values it has.
MERGED_CODE, MERGED_ABOVE, MERGED_EQUAL, MERGED_TOTAL, MERGED_WORDS = range(5)
SLOT_CURSOR, SLOT_BELOW, SLOT_OVER, SLOT_WHERE, SLOT_TOTAL, SLOT_WIDTH = range(6)
LOWEST_CODE, HIGHEST_CODE = np.int64(-(2**63)), np.int64(2**63 - 1)  # no value has these


@compiled
def note_open(state, domain, low, high, size):
    """Note that elements wait for their sub-window to fill; low and high are their extremes, as sortable keys."""
    state[FILLED] += size
    state[OPEN_MINIMUM] = min(state[OPEN_MINIMUM], low)
    state[OPEN_MAXIMUM] = max(state[OPEN_MAXIMUM], high)
    _note_domain(state, domain)


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
def _raw_middle(key, domain):
    """What a raw value's key reports."""
    low, high = _raw_interval(key, domain)
    return low + (high - low) / 2


@compiled
def _write_raw(state, table, words, at, plan, keys, low, high, domain, number):
    """Write the summary of a sub-window from its sorted keys; low and high are the keys of its extremes."""
    quantiles = state[QUANTILES]
    head = at >> 3
    words[head + HEAD_NUMBER] = number
    words[head + HEAD_COUNT] = keys.size
    words[head + HEAD_MINIMUM] = _bits(double_of_key(low))
    words[head + HEAD_MAXIMUM] = _bits(double_of_key(high))
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
        rise = _raw_middle(above, domain) - _raw_middle(below, domain)
        inverse = rise / _double(plan[entry + PLAN_BETWEEN]) if rise > 0.0 else np.nan
        words[inverses + column] = _bits(inverse if abs(inverse) < np.inf else np.nan)
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


@compiled
def _add_to_sum(level, at, value, weight, sign):
    """Add a value `weight` times to the sum at `at`, or take it away."""
    bits = _bits(value)
    mantissa, exponent = bits & ((1 << 52) - 1), (bits >> 52) & 0x7FF
    if exponent > 0:
        mantissa |= 1 << 52
        exponent -= 1
    if mantissa == 0:
        return
    if bits < 0:
        sign = -sign
    limb, shift = exponent >> 5, U64(exponent & 31)
    low, high = U64(mantissa & LIMB_MASK) << shift, U64(mantissa >> 32) << shift
    mask = U64(0xFFFFFFFF)
    level[at + SUM_FIRST] = min(level[at + SUM_FIRST], limb)
    level[at + SUM_END] = max(level[at + SUM_END], limb + 4)
    at += SUM_WORDS + limb
    for part in (low & mask, (low >> U64(32)) + (high & mask), high >> U64(32)):
        product = part * U64(weight)
        level[at] += sign * np.int64(product & mask)
        level[at + 1] += sign * np.int64(product >> U64(32))
        at += 1


@compiled
def _mean_of_sum(level, at, weight):
    """The sum at `at` divided by a weight below 2^32, correctly rounded."""
    first, end = level[at + SUM_FIRST], level[at + SUM_END] + 3  # two more for what is carried
    if first >= end:
        return 0.0
    limbs, at = level[AT_LIMBS], at + SUM_WORDS
    sign = 1
    for _ in range(2):  # again, negated, if the sum is negative
        carry = np.int64(0)
        for j in range(first, end):
            carry += sign * level[at + j]
            level[limbs + j] = carry & LIMB_MASK
            carry >>= 32
        if carry >= 0:
            break
        sign = -1
    j = end - 1
    while j >= first and level[limbs + j] == 0:
        j -= 1
    if j < first:
        return 0.0
    divisor = U64(weight)
    mantissa, remainder, exponent = U64(0), U64(0), np.int64(0)
    sticky = False
    while j >= 0:
        dividend = remainder << U64(32)
        if j >= first:
            dividend |= U64(level[limbs + j])
        digit = dividend // divisor
        remainder = dividend - digit * divisor
        if mantissa >> U64(32) == U64(0):
            mantissa = (mantissa << U64(32)) | digit
            exponent = 32 * j
        else:  # as many bits of the digit as there is room for
            room = np.int64(0)
            while mantissa >> U64(63) == U64(0):
                mantissa <<= U64(1)
                room += 1
            mantissa |= digit >> U64(32 - room)
            sticky = (digit & ((U64(1) << U64(32 - room)) - U64(1))) != U64(0)
            exponent = 32 * j + 32 - room
        if mantissa >> U64(54) != U64(0):
            break
        j -= 1
    sticky = sticky or remainder != U64(0)
    for i in range(first, j):
        sticky = sticky or level[limbs + i] != 0
    if mantissa >> U64(53) == U64(0):  # exponent is 0: units of the smallest double
        twice = U64(2) * remainder
        up = twice > divisor or (twice == divisor and mantissa & U64(1) == U64(1))
    else:
        dropped = np.int64(1)
        while mantissa >> U64(dropped + 53) != U64(0):
            dropped += 1
        half = U64(1) << U64(dropped - 1)
        rest = mantissa & (half + half - U64(1))
        mantissa >>= U64(dropped)
        exponent += dropped
        up = rest > half or (rest == half and (sticky or mantissa & U64(1) == U64(1)))
    bits = (exponent << 52) + np.int64(mantissa) + np.int64(up)
    return sign * _double(bits)


@inlined
def _lists_at(state, at):
    """Where the lists of the raw summary at `at` begin: top, band, samples of each high quantile; sizes first."""
    return (at >> 3) + HEAD_WORDS + 3 * state[QUANTILES]


@inlined
def _next_list(words, where):
    return where + 1 + 2 * words[where]


@inlined
def _values_of(words, where):
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
def _merged_at(level, which):
    return level[AT_MERGED] + which * level[MERGED_WIDTH]


@inlined
def _has_top(level, column, rank):
    """Whether the merged top lists are long enough for a rank."""
    return level[WITHOUT_TOP] == 0 and rank <= level[_merged_at(level, column) + MERGED_TOTAL]


@inlined
def _sample_rank(state, level, high, rank):
    """The rank among the merged samples of a high quantile that stands for a rank among all values; 0 for none."""
    total = level[_merged_at(level, state[QUANTILES] + high) + MERGED_TOTAL]
    if total == 0:
        return np.int64(0)
    depth = level[level[AT_DEPTH_SUM] + high]
    sampled = (rank // depth) * total + ((rank % depth) * total + depth - 1) // depth
    sampled = max(sampled, 1)
    return sampled if sampled <= total else np.int64(0)


@compiled
def _find_every_merged(state, words, level):
    """Find the value of each quantile in its merged lists."""
    count, room = state[LIVE_COUNT], state[EXTREME_ROOM]
    for q in range(state[QUANTILES]):
        phi = state[AT_PHI] + PHI_WIDTH * q
        column = state[phi + PHI_COLUMN]
        rank = count - _live_rank(state, phi, count) + 1
        if _has_top(level, column, rank):
            _find_merged(words, level, _merged_at(level, column), room, rank)
        high = level[level[AT_COLUMN] + COLUMN_WIDTH * column + COLUMN_HIGH]
        if high >= 0:
            sampled = _sample_rank(state, level, high, rank)
            if sampled > 0:
                _find_merged(words, level, _merged_at(level, state[QUANTILES] + high), room, sampled)


@compiled
def _shift_lists(state, words, level, at, slot, sign):
    """Let the lists of the raw summary at `at` enter (+1) or leave (-1)."""
    quantiles, room = state[QUANTILES], state[EXTREME_ROOM]
    where = _lists_at(state, at)
    level[WITHOUT_TOP] += sign * (words[where] == 0)
    total = _values_of(words, where) if sign > 0 else np.int64(0)
    for which in range(quantiles + state[DEPTHS]):
        if which >= quantiles:
            where = _next_list(words, where)
            if which == quantiles:
                where = _next_list(words, where)
            total = _values_of(words, where) if sign > 0 else np.int64(0)
        if sign > 0:
            _list_enters(words, level, _merged_at(level, which), room, slot, where, total)
        else:
            _list_leaves(words, level, _merged_at(level, which), room, slot)
    if state[DEPTHS] > 0:
        where = _next_list(words, where)
    for high in range(state[DEPTHS]):
        level[level[AT_DEPTH_SUM] + high] += sign * words[where + high]


@compiled
def _shift_raw(state, words, level, at, slot, sign):
    """Let what the raw summary at `at` says enter (+1) or leave (-1) sums and merged lists."""
    quantiles = state[QUANTILES]
    head = at >> 3
    domain = words[head + HEAD_LENGTH] >> DOMAIN_SHIFT
    codes = head + HEAD_WORDS + quantiles
    weight = 1 if level[AS_PAPER] else words[head + HEAD_COUNT]
    for column in range(quantiles):
        total = level[AT_SUM] + 2 * SUM_WIDTH * column
        _add_to_sum(level, total, _raw_middle(words[codes + column], domain), weight, sign)
        inverse = _double(words[codes + quantiles + column])
        if abs(inverse) < np.inf:
            _add_to_sum(level, total + SUM_WIDTH, inverse, 1, sign)
        else:
            level[level[AT_COLUMN] + COLUMN_WIDTH * column + COLUMN_UNKNOWN] += sign
    if level[KEEPS_LISTS]:
        _shift_lists(state, words, level, at, slot, sign)


@compiled
def _watch_tails(state, words, previous, at):
    """Compare the tails of the raw summary at `at` with those of the one before it."""
    effect = _double(state[BURST_EFFECT])
    number, count = _word(words, at, HEAD_NUMBER), _word(words, at, HEAD_COUNT)
    new, old = _lists_at(state, at), _lists_at(state, previous)
    for _ in range(2):
        new, old = _next_list(words, new), _next_list(words, old)
    new_depth, old_depth = new, old
    for _ in range(state[DEPTHS]):
        new_depth, old_depth = _next_list(words, new_depth), _next_list(words, old_depth)
    best, flag = -2.0, 0
    for high in range(state[DEPTHS]):
        depth = words[new_depth + high]
        chance = burst_threshold(effect, depth, words[old_depth + high], depth / count)
        x, y = words[new], words[old]
        if chance < 1.0 and x > 0 and y > 0:
            score = score_pairs(
                words[new + 1 : new + 1 + x],
                words[new + 1 + x : new + 1 + 2 * x],
                words[old + 1 : old + 1 + y],
                words[old + 1 + y : old + 1 + 2 * y],
            )
            best = max(best, score)
            if score > chance:
                flag = 1
            elif score < -chance and flag == 0:
                flag = -1
        new, old = _next_list(words, new), _next_list(words, old)
    if best >= -1.0:
        state[SCORE] = _bits(best)
    state[FLAG] = flag
    if flag > 0:
        state[LAST_BURST] = number
    elif flag < 0:
        state[LAST_RELEASE] = number


@compiled
def _enter_raw(state, halves, ring, words, level, at):
    """Accumulate of Level 2: let the raw summary at `at` enter as the newest."""
    quantiles, room = state[QUANTILES], state[EXTREME_ROOM]
    previous = state[RING_NEWEST]
    enter(state, halves, ring, words, at, True)
    number, count = _word(words, at, HEAD_NUMBER), _word(words, at, HEAD_COUNT)
    if previous >= 0 and _word(words, previous, HEAD_NUMBER) >= number - state[SUB_WINDOWS]:
        _watch_tails(state, words, previous, at)
    entered = state[ENTERED]
    slot = entered % room
    _shift_raw(state, words, level, at, slot, 1)
    codes = (at >> 3) + HEAD_WORDS + quantiles
    width = 2 * room + 1
    for column in range(quantiles):
        _push_largest(level, level[AT_RAW_EXTREME] + 2 * column * width, room, entered, words[codes + column])
        _push_largest(level, level[AT_RAW_EXTREME] + (2 * column + 1) * width, room, entered, -words[codes + column])
    if level[KEEPS_LISTS]:
        top = _lists_at(state, at)
        cut = words[top + 1] if 0 < _values_of(words, top) < count else LOWEST_CODE  # where a list was cut short
        _push_largest(level, level[AT_RAW_EXTREME] + 2 * quantiles * width, room, entered, cut)
        _find_every_merged(state, words, level)


@compiled
def _expire_raw(state, ring, words, level, before):
    """Deaccumulate of Level 2: let every raw summary leave whose number is below `before`."""
    while state[LIVE_SUMMARIES] > 0 and _word(words, state[RING_OLDEST], HEAD_NUMBER) < before:
        oldest = state[RING_OLDEST]
        slot = (state[ENTERED] - state[LIVE_SUMMARIES] + 1) % state[EXTREME_ROOM]
        _shift_raw(state, words, level, oldest, slot, -1)
        expire(state, ring, words, _word(words, oldest, HEAD_NUMBER) + 1)


@inlined
def _raw_extreme(state, level, extreme):
    room = state[EXTREME_ROOM]
    oldest = state[ENTERED] - state[LIVE_SUMMARIES] + 1
    return _largest(level, level[AT_RAW_EXTREME] + extreme * (2 * room + 1), room, oldest)


@compiled
def _raw_result(state, level, number, out, densities):
    """ComputeResult of Level 2: a row of results, and what Theorem 1 needs. core.refinement says what is chosen."""
    quantiles, room = state[QUANTILES], state[EXTREME_ROOM]
    live, count = state[LIVE_SUMMARIES], state[LIVE_COUNT]
    if state[ENTERED] - live + 1 >= state[TURNED]:
        for extreme in range(2 * quantiles + (level[KEEPS_LISTS] != 0)):
            _turn(level, level[AT_RAW_EXTREME] + extreme * (2 * room + 1), room, state[ENTERED], live)
    compute_result(state, number, out)
    reals = out.view(np.float64)
    domain = _live_domain(state)
    bursting = state[LAST_BURST] >= number - state[SUB_WINDOWS] + 1
    cut = _raw_extreme(state, level, 2 * quantiles) if level[KEEPS_LISTS] else LOWEST_CODE
    for q in range(quantiles):
        phi = state[AT_PHI] + PHI_WIDTH * q
        column = state[phi + PHI_COLUMN]
        entry = level[AT_COLUMN] + COLUMN_WIDTH * column
        rank = count - _live_rank(state, phi, count) + 1
        low, lowest_high = _raw_interval(-_raw_extreme(state, level, 2 * column + 1), domain)
        highest_low, high = _raw_interval(_raw_extreme(state, level, 2 * column), domain)
        spread = (highest_low - low) / 2 + (high - lowest_high) / 2
        c = OUT_FIXED + 4 * column
        dense_low, dense_high = reals[c + 1], reals[c + 2]
        if domain != REALS:  # longs may have been rounded across the ends
            dense_low = next_down(dense_low) if abs(dense_low) >= EXACT_INTEGERS else dense_low
            dense_high = next_up(dense_high) if abs(dense_high) >= EXACT_INTEGERS else dense_high
        low = max(low, dense_low, reals[OUT_MINIMUM])
        high = min(high, dense_high, reals[OUT_MAXIMUM])
        value, method = np.nan, METHOD_MEAN
        if level[KEEPS_LISTS]:
            has_top, certified = _has_top(level, column, rank), False
            top = LOWEST_CODE
            if has_top:  # never above the exact value, which is at most where a list was cut
                top = level[_merged_at(level, column) + MERGED_CODE]
                certified = cut <= top
                low = max(low, _raw_interval(top, domain)[0])
                high = min(high, _raw_interval(max(top, cut), domain)[1])
            high_at = level[entry + COLUMN_HIGH]
            if certified and not level[AS_PAPER]:
                value, method = _raw_middle(top, domain), METHOD_EXACT
            elif high_at >= 0:
                if bursting and _sample_rank(state, level, high_at, rank) > 0:
                    code = level[_merged_at(level, quantiles + high_at) + MERGED_CODE]
                    value, method = _raw_middle(code, domain), METHOD_SAMPLE_K
                elif has_top and level[entry + COLUMN_TOP_K]:
                    value, method = _raw_middle(top, domain), METHOD_TOP_K
        if method == METHOD_MEAN:
            total = level[AT_SUM] + 2 * SUM_WIDTH * column
            value = _mean_of_sum(level, total, live if level[AS_PAPER] else count)
            if not bursting and level[entry + COLUMN_UNKNOWN] == 0:
                densities[column, 0] = _mean_of_sum(level, total + SUM_WIDTH, live)
                densities[column, 1] = spread
        reals[c], reals[c + 1], reals[c + 2] = min(max(value, low), high), low, high
        out[c + 3] = method


@compiled
def enter_raw(state, ring, level, at):
    """Let the raw summary at `at` enter, called from Python."""
    _enter_raw(state, state.view(np.int32), ring, ring.view(np.int64), level, at)


@compiled
def expire_raw(state, ring, level, before):
    """Expire every raw summary whose number is below `before`, called from Python."""
    _expire_raw(state, ring, ring.view(np.int64), level, before)


@compiled
def result_raw(state, ring, level, number, out, densities):
    """A row of results from the live raw summaries, called from Python."""
    if level[KEEPS_LISTS]:
        _find_every_merged(state, ring.view(np.int64), level)
    _raw_result(state, level, number, out, densities)


@compiled
def close_sorted(state, table, ring, level, plan, keys, lows, highs, domain, first, start, out, densities):
    """Close sub-windows, each a row of sorted keys, from row `start` on; the first row's number is `first`.

    Returns (next row, rows of results); stops early, before a close, when the ring needs to grow.
    """
    words = ring.view(np.int64)
    halves = state.view(np.int32)
    results = 0
    for row in range(start, keys.shape[0]):
        number = first + row
        _expire_raw(state, ring, words, level, number - state[SUB_WINDOWS] + 1)
        at = find_room(state, words, plan[PLAN_ROOM])
        if at < 0:
            return row, results
        _write_raw(state, table, words, at, plan, keys[row], lows[row], highs[row], domain, number)
        _enter_raw(state, halves, ring, words, level, at)
        if state[PARTIAL] or state[LIVE_SUMMARIES] == state[SUB_WINDOWS]:
            _raw_result(state, level, number, out[results], densities[results])
            results += 1
    return keys.shape[0], results


# ---------------------------------------------------------------------------------------------------------------
# Many keys at once: counts on their way (tallies), and the windows of one key after another
# ---------------------------------------------------------------------------------------------------------------

# what a row brings: a summary that is live already, counts of a sub-window, or the summary of one that closed elsewhere
ROW_LIVE, ROW_COUNTS, ROW_SUMMARY = range(3)
SUMMED, SUM_TAIL = 2, 24  # the flag of a live row that is a sum of summaries, and its bytes behind those of a summary
MOST_SUMMED = 2**31 - 1  # events of a sum: its counts have 32 bits
SUM_ROOM = 20  # a row of 4 bytes may become one of 70
# how far `slide_keys` has come, so that it can go on after something grew
P_ROW, P_KEY, P_NEXT, P_OPEN, P_RESULTS, P_KEPT, P_KEPT_BYTES, P_NEED, PROGRESS = range(9)
DONE, RING_FULL, RESULTS_FULL, KEPT_FULL = range(4)
KEPT_KEY, KEPT_NUMBER, KEPT_START, KEPT_FLAG, KEPT_WIDTH = range(5)
TALLY_HEAD = 17  # bytes: domain, minimum, maximum
FEW = 48  # values of a group that are sorted rather than counted


@inlined
def _put_number(data, at, number):
    """Seven bits a byte, lowest first."""
    number = U64(number)
    while number >= U64(128):
        data[at] = np.uint8((number & U64(127)) | U64(128))
        number >>= U64(7)
        at += 1
    data[at] = np.uint8(number)
    return at + 1


@inlined
def _get_number(data, at):
    number, shift = U64(0), U64(0)
    while data[at] >= 128:
        number |= U64(data[at] & 127) << shift
        shift += U64(7)
        at += 1
    return np.int64(number | (U64(data[at]) << shift)), at + 1


@inlined
def _put_word(data, at, word):
    for k in range(8):
        data[at + k] = np.uint8((U64(word) >> U64(8 * k)) & U64(255))
    return at + 8


@inlined
def _get_word(data, at):
    word = U64(0)
    for k in range(8):
        word |= U64(data[at + k]) << U64(8 * k)
    return np.int64(word)


@inlined
def _put_code(data, at, code, before, number, first):
    """One pair: its code, whole if it is the first, else as the distance from the one before, and its count."""
    at = _put_word(data, at, code) if first else _put_number(data, at, code - before)
    return _put_number(data, at, number)


@inlined
def _put_pairs(data, at, codes, numbers, first, last):
    at = _put_number(data, at, last - first)
    before = np.int64(0)
    for i in range(first, last):
        at = _put_code(data, at, codes[i], before, numbers[i], i == first)
        before = codes[i]
    return at


@compiled
def write_tallies(domain, minima, maxima, starts, codes, numbers, fine_starts, fine_codes, fine_numbers, data, offsets):
    """Write the counts of every group one after the other; returns the bytes. Needs 20 a pair and 37 a group."""
    at = np.int64(0)
    for group in range(minima.size):
        offsets[group] = at
        data[at] = domain
        at = _put_word(data, at + 1, _bits(minima[group]))
        at = _put_word(data, at, _bits(maxima[group]))
        at = _put_pairs(data, at, codes, numbers, starts[group], starts[group + 1])
        if fine_starts.size > 0:
            at = _put_pairs(data, at, fine_codes, fine_numbers, fine_starts[group], fine_starts[group + 1])
    offsets[minima.size] = at
    return at


@compiled
def scatter(groups, bits, ends, grouped):
    """Put the values of each group side by side, in their order; `ends` come as the groups' beginnings."""
    for i in range(groups.size):
        group = groups[i]
        grouped[ends[group]] = bits[i]
        ends[group] += 1


@inlined
def _few_codes(state, table, bits, first, last, real, codes):
    """Codes of a few values in ascending order, and their extremes as sortable keys."""
    low, high = np.int64(2**63 - 1), np.int64(-(2**63) + 1)
    for i in range(first, last):
        if real:
            x = _double(bits[i])
            cell = cell_of_double(state, table, x)
            low, high = min(low, key_of_double(x)), max(high, key_of_double(x))
        else:
            v = bits[i]
            if v >= 0:
                cell = _cell_of_integer(state, table, U64(v))
            else:
                cell = _negative_cell(state, _cell_of_integer(state, table, U64(0) - U64(v)))
            low, high = min(low, key_of_double(round_down(v))), max(high, key_of_double(round_up(v)))
        code = code_of_cell(state, cell)
        j = i - first
        while j > 0 and codes[j - 1] > code:
            codes[j] = codes[j - 1]
            j -= 1
        codes[j] = code
    return low, high


@inlined
def _put_open(state, halves, counts, data, at):
    """Write the pairs of the open sub-window, and forget it; returns where they end."""
    state[ROWS_SIDE] ^= 1  # the newest sub-window's totals stay
    folded = _fold(state, halves)
    side = _fold_side(state)
    ids = side + FOLD_ID * state[HALF_PLACES]
    pairs = 0
    for i in range(folded):
        cells = place_of(state, state[ids + i]) * 256
        for within_super in range(256):
            pairs += counts[cells + within_super] != 0
    at = _put_number(data, at, pairs)
    before = np.int64(-1)
    for i in range(folded):
        super_ = state[ids + i]
        cells = place_of(state, super_) * 256
        filled = _filled_mask(halves, 2 * side + 16 * i)
        while filled != 0:
            bucket = _lowest_bit(filled)
            filled &= filled - 1
            for slot in range(16):
                number = counts[cells + 16 * bucket + slot]
                if number != 0:
                    code = (super_ << 8) | (bucket << 4) | slot
                    at = _put_code(data, at, code, before, number, before < 0)
                    before = code
    clear_counts(state, folded)
    state[ROWS_SIDE] ^= 1
    return at


@compiled
def tally_groups(state, table, bits, starts, real, codes, data, offsets):
    """Write the tally of every group; returns the bytes.

    `starts` are where the groups' values begin, and the end; `codes` has room for FEW. Needs 4 bytes a value and 40 a
    group. The open sub-window of the state is used and left empty.
    """
    halves = state.view(np.int32)
    counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
    domain = REALS if real else INTEGERS
    at = np.int64(0)
    for group in range(starts.size - 1):
        first, last = starts[group], starts[group + 1]
        offsets[group] = at
        data[at] = domain
        head = at + 1
        at += TALLY_HEAD
        before, pairs = np.int64(-1), 0
        if last - first <= FEW:
            low, high = _few_codes(state, table, bits, first, last, real, codes)
            for i in range(last - first):
                pairs += i == 0 or codes[i] != codes[i - 1]
            at = _put_number(data, at, pairs)
            number = 0
            for i in range(last - first):
                number += 1
                if i + 1 == last - first or codes[i + 1] != codes[i]:
                    at = _put_code(data, at, codes[i], before, number, before < 0)
                    before, number = codes[i], 0
        else:
            count_chunk(state, table, counts, bits[first:last], real)
            low, high = state[OPEN_MINIMUM], state[OPEN_MAXIMUM]
            at = _put_open(state, halves, counts, data, at)
        _put_word(data, head, _bits(double_of_key(low)))
        _put_word(data, head + 8, _bits(double_of_key(high)))
    offsets[starts.size - 1] = at
    return at


@compiled
def read_pairs(data, at, codes, numbers):
    """Read pairs that begin at `at`; returns where they end. `codes` and `numbers` have room for all."""
    size, at = _get_number(data, at)
    code = np.int64(0)
    for i in range(size):
        if i == 0:
            code, at = _get_word(data, at), at + 8
        else:
            step, at = _get_number(data, at)
            code += step
        codes[i] = code
        numbers[i], at = _get_number(data, at)
    return at


@compiled
def pairs_of(data, at):
    """How many pairs begin at `at`."""
    size, _ = _get_number(data, at)
    return size


@inlined
def _add_tally(state, counts, data, at):
    """Accumulate of Level 1 from the bytes of a tally."""
    domain = np.int64(data[at])
    minimum, maximum = _double(_get_word(data, at + 1)), _double(_get_word(data, at + 9))
    size, at = _get_number(data, at + TALLY_HEAD)
    code, cell = np.int64(0), np.int64(0)
    for i in range(size):
        if i == 0:
            code, at = _get_word(data, at), at + 8
        else:
            step, at = _get_number(data, at)
            code += step
        number, at = _get_number(data, at)
        known = cell >> 8
        cell = cell_of_code(state, code)
        counts[cell] += number
        state[FILLED] += number
        if i == 0 or cell >> 8 != known:
            _note_cell(state, cell)
    _note_extremes(state, minimum, maximum)
    _note_domain(state, domain)


@compiled
def merge_tallies(state, groups, offsets, data, merged, merged_offsets):
    """Add up the tallies of each group; `groups` are ascending. Returns how many there are; needs no more room.

    The open sub-window of the state is used and left empty.
    """
    halves = state.view(np.int32)
    counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
    at, found, row = np.int64(0), 0, 0
    while row < groups.size:
        first = row
        while row < groups.size and groups[row] == groups[first]:
            row += 1
        merged_offsets[found] = at
        if row - first == 1:
            for j in range(offsets[first], offsets[row]):
                merged[at] = data[j]
                at += 1
        else:
            for i in range(first, row):
                _add_tally(state, counts, data, offsets[i])
            merged[at] = state[OPEN_DOMAIN]
            _put_word(merged, at + 1, _bits(double_of_key(state[OPEN_MINIMUM])))
            _put_word(merged, at + 9, _bits(double_of_key(state[OPEN_MAXIMUM])))
            at = _put_open(state, halves, counts, merged, at + TALLY_HEAD)
        found += 1
    merged_offsets[found] = at
    return found


@compiled
def restart(state):
    """Forget every live summary, as if the state were new. Costs O(live supers)."""
    active = state[state[AT_ACTIVE] : state[AT_ACTIVE] + state[ACTIVE]]
    for i in range(active.size):
        place = place_of(state, active[i])
        state[state[AT_SUPER_TOTAL] + place] = 0
        for j in range(state[AT_TOTAL] + place * 16, state[AT_TOTAL] + place * 16 + 16):
            state[j] = 0
        for j in range(state[AT_FINE] + place * 256, state[AT_FINE] + place * 256 + 256):
            state[j] = 0
    thresholds = state[THRESHOLDS]
    for t in range(2 * thresholds):
        state[state[AT_THRESHOLD] + 2 * thresholds + t] = 0
    state[ACTIVE] = state[LIVE_COUNT] = state[LIVE_SUMMARIES] = 0
    state[LIVE_WITH_REALS] = state[LIVE_WITH_INTEGERS] = 0
    state[RING_BEFORE] = state[RING_OLDEST] = state[RING_NEWEST] = -1
    state[RING_END] = 0
    state[LAST_BURST] = state[LAST_RELEASE] = state[NEWEST_NUMBER] = NONE
    state[SCORE], state[FLAG] = _bits(0.0), 0


@inlined
def _put_record(state, ring, words, data, first, last):
    """Copy a summary's bytes into the ring; where it is, or -1."""
    at = find_room(state, words, last - first)
    if at >= 0:
        for j in range(last - first):
            ring[at + j] = data[first + j]
    return at


@inlined
def _rejoin(state, ring, words, at, flag):
    """Enter a summary that had entered before: what the burst detector said of it then is known."""
    where, envelope_rows, band_rows = _apply_head(state, words, at, 1)
    accumulate(state, ring, where, envelope_rows, band_rows)
    if flag > 0:
        state[LAST_BURST] = _word(words, at, HEAD_NUMBER)
    elif flag < 0:
        state[LAST_RELEASE] = _word(words, at, HEAD_NUMBER)
    _join(state, words, at)


@inlined
def _rejoin_sum(state, ring, words, at, data, tail):
    """Enter a sum of summaries, none of which leaves before the state is started again; its last words are at `tail`.

    To the extremes it is as many summaries as it is of, each as wide as all of them.
    """
    where, envelope_rows, band_rows = _apply_head(state, words, at, 1)
    accumulate(state, ring, where, envelope_rows, band_rows)
    summaries = _get_word(data, tail)
    state[LIVE_SUMMARIES] += summaries - 1
    state[LAST_BURST] = max(state[LAST_BURST], _get_word(data, tail + 8))
    state[LAST_RELEASE] = max(state[LAST_RELEASE], _get_word(data, tail + 16))
    for _ in range(summaries):
        _join(state, words, at)


@compiled
def slide_keys(
    state,
    ring,
    progress,
    keys,
    numbers,
    kinds,
    flags,
    offsets,
    data,
    live_to,
    ends,
    answering,
    out,
    out_keys,
    kept,
    index,
):
    """Close the sub-windows of one key after another, up to its end, and answer for each.

    Rows are ordered by key, then live summaries before the rest, then number. Live summaries have answered up to
    `live_to` of their key. Idle sub-windows answer while any summary is live. With `kept` (bytes) and `index` the
    summaries that close are handed out; without `answering` they are closed only. Returns DONE, or what has to grow.
    """
    words = ring.view(np.int64)
    halves = state.view(np.int32)
    counts = halves[2 * state[AT_COUNTS] : 2 * state[AT_TOTAL]]
    sub_windows = state[SUB_WINDOWS]
    size = keys.size
    while True:
        if progress[P_KEY] < 0:
            if progress[P_ROW] == size:
                return DONE
            restart(state)
            progress[P_KEY] = keys[progress[P_ROW]]
            progress[P_NEXT] = NONE
        key, row = progress[P_KEY], progress[P_ROW]
        closing = progress[P_OPEN] != NONE
        more = row < size and keys[row] == key
        if not closing and more and kinds[row] == ROW_LIVE:
            length = offsets[row + 1] - offsets[row] - (SUM_TAIL if flags[row] == SUMMED else 0)
            at = _put_record(state, ring, words, data, offsets[row], offsets[row] + length)
            if at < 0:
                progress[P_NEED] = length
                return RING_FULL
            if flags[row] == SUMMED:
                _rejoin_sum(state, ring, words, at, data, offsets[row + 1] - SUM_TAIL)
            else:
                _rejoin(state, ring, words, at, flags[row])
            progress[P_ROW] += 1
            progress[P_NEXT] = live_to[key]
            if row + 1 == size or keys[row + 1] != key or kinds[row + 1] != ROW_LIVE:
                unfold(state, halves, ring, words, at)
            continue
        number = progress[P_OPEN] if closing else (numbers[row] if more else ends[key])
        if answering and not closing and progress[P_NEXT] != NONE:
            while progress[P_NEXT] < number:
                idle = progress[P_NEXT]
                expire(state, ring, words, idle - sub_windows + 1)
                if state[LIVE_SUMMARIES] == 0:
                    progress[P_NEXT] = number
                    break
                if state[PARTIAL] or state[LIVE_SUMMARIES] == sub_windows:
                    if progress[P_RESULTS] == out.shape[0]:
                        return RESULTS_FULL
                    compute_result(state, idle, out[progress[P_RESULTS]])
                    out_keys[progress[P_RESULTS]] = key
                    progress[P_RESULTS] += 1
                progress[P_NEXT] += 1
        if not more and not closing:
            progress[P_KEY] = -1
            continue
        # a sub-window closes
        if answering and progress[P_RESULTS] == out.shape[0]:
            return RESULTS_FULL
        if not closing and kinds[row] == ROW_COUNTS:
            while row < size and keys[row] == key and numbers[row] == number and kinds[row] == ROW_COUNTS:
                _add_tally(state, counts, data, offsets[row])
                row += 1
            progress[P_ROW] = row
            progress[P_OPEN] = number
            closing = True
        if answering:
            expire(state, ring, words, number - sub_windows + 1)
        if closing:
            room = record_room(state)
            if kept.size > 0 and (progress[P_KEPT_BYTES] + room > kept.size or progress[P_KEPT] == index.shape[0]):
                progress[P_NEED] = room
                return KEPT_FULL
            at = find_room(state, words, room)
            if at < 0:
                progress[P_NEED] = room
                return RING_FULL
            length = close_dense(state, halves, counts, ring, words, at, number, answering)
            progress[P_OPEN] = NONE
        else:
            length = offsets[row + 1] - offsets[row]
            if kept.size > 0 and (progress[P_KEPT_BYTES] + length > kept.size or progress[P_KEPT] == index.shape[0]):
                progress[P_NEED] = length
                return KEPT_FULL
            at = _put_record(state, ring, words, data, offsets[row], offsets[row + 1])
            if at < 0:
                progress[P_NEED] = length
                return RING_FULL
            unfold(state, halves, ring, words, at)
            progress[P_ROW] += 1
        if answering:
            enter(state, halves, ring, words, at, closing)
            progress[P_NEXT] = number + 1
        if kept.size > 0:
            entry, start = progress[P_KEPT], progress[P_KEPT_BYTES]
            for j in range(length):
                kept[start + j] = ring[at + j]
            index[entry, KEPT_KEY], index[entry, KEPT_NUMBER] = key, number
            index[entry, KEPT_START], index[entry, KEPT_FLAG] = start, state[FLAG]
            progress[P_KEPT] += 1
            progress[P_KEPT_BYTES] += length
        if answering and (state[PARTIAL] or state[LIVE_SUMMARIES] == sub_windows):
            compute_result(state, number, out[progress[P_RESULTS]])
            out_keys[progress[P_RESULTS]] = key
            progress[P_RESULTS] += 1


@inlined
def _put_total_row(state, halves, ring, at, step, first, sparse):
    """Append a row of 16 totals, which are 64-bit words; returns its end."""
    scratch = 2 * state[AT_SCRATCH]
    for j in range(16):
        halves[scratch + j] = state[first + j]
    return _write_counts(ring, at, step, halves, scratch, sparse)


@inlined
def _put_totals(state, halves, out, at, sparse):
    """Write the sliding totals as the rows of a summary, from `at` on; returns their end and the rows of the band."""
    before = np.int64(0)
    for i in range(state[ACTIVE]):
        super_ = state[state[AT_ACTIVE] + i]
        first = state[AT_TOTAL] + place_of(state, super_) * 16
        at = _put_total_row(state, halves, out, at, super_ - before, first, sparse)
        before = super_
    band_rows, before = np.int64(0), np.int64(0)
    for i in range(state[ACTIVE]):
        super_ = state[state[AT_ACTIVE] + i]
        for b in range(16):
            first = state[AT_FINE] + (place_of(state, super_) * 16 + b) * 16
            if _sum_words(state, first) > 0:
                bucket = (super_ << 4) | b
                at = _put_total_row(state, halves, out, at, bucket - before, first, sparse)
                before = bucket
                band_rows += 1
    while at & 7:
        out[at] = 0
        at += 1
    return at, band_rows


@inlined
def _codes_at(state, rank):
    """The lowest and the highest code that the value of a rank, counted from below, may have."""
    i, below = 0, np.int64(0)
    place = place_of(state, state[state[AT_ACTIVE]])
    while below + state[state[AT_SUPER_TOTAL] + place] < rank:
        below += state[state[AT_SUPER_TOTAL] + place]
        i += 1
        place = place_of(state, state[state[AT_ACTIVE] + i])
    b = 0
    while below + state[state[AT_TOTAL] + place * 16 + b] < rank:
        below += state[state[AT_TOTAL] + place * 16 + b]
        b += 1
    bucket = (state[state[AT_ACTIVE] + i] << 4) | b
    at = state[AT_FINE] + (place * 16 + b) * 16
    if _sum_words(state, at) != state[state[AT_TOTAL] + place * 16 + b]:
        return _bucket_codes(state, bucket)
    slot = 0
    while below + state[at + slot] < rank:
        below += state[at + slot]
        slot += 1
    return (bucket << 4) | slot, (bucket << 4) | slot


@compiled
def recast(state, data, starts, quantiles, thresholds, columns, limits, out):
    """Add up summaries of one sub-window and write their sum as a summary of this state's query; returns its length.

    The summaries begin at `starts` (in bytes of `data`) and have so many quantiles and thresholds; `columns` and
    `limits` say which of theirs each of ours is, -1 for none. The state has nothing live and is left so.
    """
    restart(state)
    halves = state.view(np.int32)
    words, target = data.view(np.int64), out.view(np.int64)
    own, own_limits = state[QUANTILES], state[THRESHOLDS]
    size = HEAD_WORDS + own + 2 * own_limits
    target[:size] = 0
    count, domain = np.int64(0), NOTHING
    minimum, maximum = np.inf, -np.inf
    for r in range(starts.size):
        head = words[starts[r] >> 3 : (starts[r] >> 3) + HEAD_WORDS + quantiles + 2 * thresholds]
        count += head[HEAD_COUNT]
        minimum, maximum = min(minimum, _double(head[HEAD_MINIMUM])), max(maximum, _double(head[HEAD_MAXIMUM]))
        theirs = head[HEAD_LENGTH] >> DOMAIN_SHIFT
        domain = theirs if domain in (NOTHING, theirs) else BOTH
        for t in range(own_limits):
            for part in range(2):
                target[HEAD_WORDS + own + 2 * t + part] += head[HEAD_WORDS + quantiles + 2 * limits[t] + part]
        where = starts[r] + 8 * (HEAD_WORDS + quantiles + 2 * thresholds)
        accumulate(state, data, where, head[HEAD_ROWS] & LENGTH_MASK, head[HEAD_ROWS] >> 32)
    for q in range(own):
        phi = state[AT_PHI] + PHI_WIDTH * q
        column = state[phi + PHI_COLUMN]
        if starts.size == 1 and columns[column] >= 0:
            target[HEAD_WORDS + column] = words[(starts[0] >> 3) + HEAD_WORDS + columns[column]]
            continue
        low, high = _codes_at(state, rank_of(state[phi + PHI_NUMERATOR], state[phi + PHI_DENOMINATOR], count))
        target[HEAD_WORDS + column] = low | (high << CODE_SHIFT)
    at, band_rows = _put_totals(state, halves, out, 8 * size, count >= SPARSE_FROM)
    target[HEAD_NUMBER] = words[(starts[0] >> 3) + HEAD_NUMBER]
    target[HEAD_COUNT] = count
    target[HEAD_MINIMUM], target[HEAD_MAXIMUM] = _bits(minimum), _bits(maximum)
    target[HEAD_LENGTH] = at | (domain << DOMAIN_SHIFT)
    target[HEAD_ROWS] = state[ACTIVE] | (band_rows << 32)
    restart(state)
    return at


@inlined
def _sum_summaries(state, first, last, numbers, flags, offsets, data, out, at):
    """Write the sum of the summaries of rows first to last (exclusive), which are one key's, at `at`; returns its end.

    Behind the bytes of a summary, whose quantiles span those of all, come three words: how many summaries it is of,
    and the numbers of the last one that began a burst and of the last that ended one.
    """
    restart(state)
    halves = state.view(np.int32)
    words, target = data.view(np.int64), out.view(np.int64)
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    size = HEAD_WORDS + quantiles + 2 * thresholds
    head = target[at >> 3 : (at >> 3) + size]
    source = words[offsets[first] >> 3 : (offsets[first] >> 3) + size]
    for j in range(size):
        head[j] = source[j]
    domain = source[HEAD_LENGTH] >> DOMAIN_SHIFT
    burst, release = NONE, NONE
    for row in range(first, last):
        source = words[offsets[row] >> 3 : (offsets[row] >> 3) + size]
        if row > first:
            head[HEAD_COUNT] += source[HEAD_COUNT]
            head[HEAD_MINIMUM] = _bits(min(_double(head[HEAD_MINIMUM]), _double(source[HEAD_MINIMUM])))
            head[HEAD_MAXIMUM] = _bits(max(_double(head[HEAD_MAXIMUM]), _double(source[HEAD_MAXIMUM])))
            if source[HEAD_LENGTH] >> DOMAIN_SHIFT != domain:
                domain = BOTH
            for q in range(HEAD_WORDS, HEAD_WORDS + quantiles):
                low = min(head[q] & CODE_MASK, source[q] & CODE_MASK)
                head[q] = low | (max(head[q] >> CODE_SHIFT, source[q] >> CODE_SHIFT) << CODE_SHIFT)
            for j in range(HEAD_WORDS + quantiles, size):
                head[j] += source[j]
        if flags[row] > 0:
            burst = numbers[row]
        elif flags[row] < 0:
            release = numbers[row]
        accumulate(state, data, offsets[row] + 8 * size, source[HEAD_ROWS] & LENGTH_MASK, source[HEAD_ROWS] >> 32)
    end, band_rows = _put_totals(state, halves, out, at + 8 * size, head[HEAD_COUNT] >= SPARSE_FROM)
    head[HEAD_LENGTH] = (end - at) | (domain << DOMAIN_SHIFT)
    head[HEAD_ROWS] = state[ACTIVE] | (band_rows << 32)
    restart(state)
    target[end >> 3] = last - first
    target[(end >> 3) + 1] = burst
    target[(end >> 3) + 2] = release
    return end + SUM_TAIL


@compiled
def sum_keys(state, keys, numbers, flags, offsets, data, out, index):
    """Write the live rows of each key as two: the sum of all but the newest, and the newest; returns how many.

    `index` gets the key, number, start and flag of each. Rows stay as they are where there is nothing to add up, or
    more events than a sum can hold. Rows are ordered by key and number, their bytes begin at multiples of 8; `out`
    needs SUM_ROOM times the bytes. The state has nothing live and is left so.
    """
    words = data.view(np.int64)
    size, made, at = keys.size, 0, np.int64(0)
    row = 0
    while row < size:
        last = row
        events = np.int64(0)
        while last + 1 < size and keys[last + 1] == keys[row]:
            events += words[(offsets[last] >> 3) + HEAD_COUNT]
            last += 1
        if last - row > 1 and events <= MOST_SUMMED:
            index[made, KEPT_KEY], index[made, KEPT_NUMBER] = keys[row], numbers[row]
            index[made, KEPT_START], index[made, KEPT_FLAG] = at, SUMMED
            at = _sum_summaries(state, row, last, numbers, flags, offsets, data, out, at)
            made += 1
            row = last
        while row <= last:
            index[made, KEPT_KEY], index[made, KEPT_NUMBER] = keys[row], numbers[row]
            index[made, KEPT_START], index[made, KEPT_FLAG] = at, flags[row]
            for j in range(offsets[row], offsets[row + 1]):
                out[at] = data[j]
                at += 1
            made += 1
            row += 1
    index[made, KEPT_START] = at
    return made
