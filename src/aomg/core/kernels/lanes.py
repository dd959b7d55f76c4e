"""Vector instructions for rows of 16 counts.

Plain loops of sixteen steps are unrolled into scalars and run half as fast. `cells` are counts of 32 bits, or of 64
where a sub-window may have more than 2^31 - 1 events.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _vector_at(context, builder, array_type, array, index, element, lanes):
    """A pointer to `lanes` elements of an array from `index` on, and the vector's type."""
    data = context.make_array(array_type)(context, builder, array).data
    vector = ir.VectorType(element, lanes)
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer()), vector


def _cell_of(array_type):
    """The LLVM type of an array's elements, and their bytes."""
    bits = array_type.dtype.bitwidth
    return ir.IntType(bits), bits // 8


def _widened(builder, value, word):
    """A count as a word, or a vector of counts as one of words."""
    return value if value.type == word else builder.zext(value, word)


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
def fold_rows(typing_context, cells, first, out):
    """cells[out:out+16] = the sums of the 16 rows of 16 from `first` on; returns the sum of those 16."""

    def generate(context, builder, signature, arguments):
        word = ir.IntType(64)
        cell, align = _cell_of(signature.args[0])

        def shuffled(a, b, lanes):
            return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))

        def paired(a, b):  # neighbouring lanes added, of a and b in turn: one instruction on x86
            return builder.add(shuffled(a, b, [0, 2, 8, 10, 4, 6, 12, 14]), shuffled(a, b, [1, 3, 9, 11, 5, 7, 13, 15]))

        rows = []
        for row in range(16):
            index = builder.add(arguments[1], ir.Constant(word, 16 * row))
            pointer, _ = _vector_at(context, builder, signature.args[0], arguments[0], index, cell, 16)
            loaded = builder.load(pointer, align=align)
            rows.append(
                builder.add(shuffled(loaded, loaded, list(range(8))), shuffled(loaded, loaded, list(range(8, 16))))
            )
        fours = []
        for row in range(0, 16, 4):
            both = paired(paired(rows[row], rows[row + 1]), paired(rows[row + 2], rows[row + 3]))
            fours.append(builder.add(shuffled(both, both, [0, 1, 2, 3]), shuffled(both, both, [4, 5, 6, 7])))
        eights = [shuffled(fours[i], fours[i + 1], list(range(8))) for i in (0, 2)]
        sums = shuffled(eights[0], eights[1], list(range(16)))
        pointer, _ = _vector_at(context, builder, signature.args[0], arguments[0], arguments[2], cell, 16)
        builder.store(sums, pointer, align=align)
        return _widened(builder, _across_lanes(builder, "add", sums, 16), word)

    return types.int64(cells, types.int64, types.int64), generate


def _running_sums(builder, value, vector):
    """Each of 16 lanes plus all before it."""
    zeros = ir.Constant(vector, [0] * 16)
    for shift in (1, 2, 4, 8):
        lanes = [16 + i if i < shift else i - shift for i in range(16)]
        shifted = ir.Constant(ir.VectorType(ir.IntType(32), 16), lanes)
        value = builder.add(value, builder.shuffle_vector(value, zeros, shifted))
    return value


def _generate_search(upwards):
    """Code for: which of 16 counts holds the rank-th value, from below or from above, and how many come before."""

    def generate(context, builder, signature, arguments):
        word = ir.IntType(64)
        cell, align = _cell_of(signature.args[0])
        pointer, vector = _vector_at(context, builder, signature.args[0], arguments[0], arguments[1], cell, 16)
        counts = builder.load(pointer, align=align)
        zeros = ir.Constant(vector, [0] * 16)
        if not upwards:
            backwards = ir.Constant(ir.VectorType(ir.IntType(32), 16), list(range(15, -1, -1)))
            counts = builder.shuffle_vector(counts, zeros, backwards)
        sums = _running_sums(builder, counts, vector)
        rank = arguments[2] if cell == word else builder.trunc(arguments[2], cell)
        ranks = builder.insert_element(ir.Constant(vector, ir.Undefined), rank, ir.Constant(ir.IntType(32), 0))
        ranks = builder.shuffle_vector(ranks, zeros, ir.Constant(ir.VectorType(ir.IntType(32), 16), [0] * 16))
        before = builder.bitcast(builder.icmp_signed("<", sums, ranks), ir.IntType(16))
        position = builder.zext(builder.ctpop(before), word)
        passed = builder.extract_element(builder.sub(sums, counts), builder.trunc(position, ir.IntType(32)))
        passed = _widened(builder, passed, word)
        if not upwards:
            position = builder.sub(ir.Constant(word, 15), position)
        return context.make_tuple(builder, signature.return_type, [position, passed])

    return generate


@intrinsic
def find_upwards(typing_context, cells, first, rank):
    """Which of cells[first:first+16] holds the rank-th smallest, and how many are below it."""
    pair = types.UniTuple(types.int64, 2)
    return pair(cells, types.int64, types.int64), _generate_search(True)


@intrinsic
def find_downwards(typing_context, words, first, rank):
    """Which of words[first:first+16] holds the rank-th largest, and how many are above it."""
    pair = types.UniTuple(types.int64, 2)
    return pair(words, types.int64, types.int64), _generate_search(False)


@intrinsic
def row_wins(typing_context, cells, x, y):
    """Twice the pairs of rows x and y in which x is in a higher bucket, plus those in the same; and the sum of y."""

    def generate(context, builder, signature, arguments):
        word = ir.IntType(64)
        cell, align = _cell_of(signature.args[0])
        loaded = []
        for index in arguments[1:]:
            pointer, vector = _vector_at(context, builder, signature.args[0], arguments[0], index, cell, 16)
            loaded.append(builder.load(pointer, align=align))
        new, old = loaded
        below = _running_sums(builder, old, vector)
        weight = builder.sub(builder.add(below, below), old)
        wide = ir.VectorType(word, 16)
        products = builder.mul(_widened(builder, new, wide), _widened(builder, weight, wide))
        wins = _across_lanes(builder, "add", products, 16)
        total = _widened(builder, builder.extract_element(below, ir.Constant(ir.IntType(32), 15)), word)
        return context.make_tuple(builder, signature.return_type, [wins, total])

    return types.UniTuple(types.int64, 2)(cells, types.int64, types.int64), generate


@intrinsic
def add_cells(typing_context, words, index, cells, first):
    """words[index:index+16] += cells[first:first+16]."""

    def generate(context, builder, signature, arguments):
        words, index, cells, first = arguments
        word = ir.IntType(64)
        cell, align = _cell_of(signature.args[2])
        source, _ = _vector_at(context, builder, signature.args[2], cells, first, cell, 16)
        target, vector = _vector_at(context, builder, signature.args[0], words, index, word, 16)
        wide = _widened(builder, builder.load(source, align=align), vector)
        builder.store(builder.add(builder.load(target, align=8), wide), target, align=8)
        return context.get_dummy_value()

    return types.void(words, types.int64, cells, types.int64), generate


def _generate_row_update(operation, nibbles=False):
    def generate(context, builder, signature, arguments):
        words, index, ring, where = arguments
        byte, word = ir.IntType(8), ir.IntType(64)
        source, half_row = _vector_at(context, builder, signature.args[2], ring, where, byte, 8 if nibbles else 16)
        target, _ = _vector_at(context, builder, signature.args[0], words, index, word, 16)
        bytes_ = builder.load(source, align=1)
        if nibbles:
            low = builder.and_(bytes_, ir.Constant(half_row, [15] * 8))
            high = builder.lshr(bytes_, ir.Constant(half_row, [4] * 8))
            both = ir.Constant(ir.VectorType(ir.IntType(32), 16), list(range(16)))
            bytes_ = builder.shuffle_vector(low, high, both)
        wide = builder.zext(bytes_, ir.VectorType(word, 16))
        builder.store(getattr(builder, operation)(builder.load(target, align=8), wide), target, align=8)
        short = builder.zext(bytes_, ir.VectorType(ir.IntType(16), 16))
        return builder.zext(_across_lanes(builder, "add", short, 16), word)

    return generate


@intrinsic
def pack_row(typing_context, counts, first, ring, where):
    """ring[where:where+16] = the low bytes of counts[first:first+16]; returns all of them, or-ed."""

    def generate(context, builder, signature, arguments):
        counts, first, ring, where = arguments
        cell, align = _cell_of(signature.args[0])
        source, _ = _vector_at(context, builder, signature.args[0], counts, first, cell, 16)
        target, packed = _vector_at(context, builder, signature.args[2], ring, where, ir.IntType(8), 16)
        row = builder.load(source, align=align)
        builder.store(builder.trunc(row, packed), target, align=1)
        return _widened(builder, _across_lanes(builder, "or_", row, 16), ir.IntType(64))

    return types.int64(counts, types.int64, ring, types.int64), generate


def _nibbles(builder, row):
    """The 16 bytes of a row, which are below 16, in eight: the first eight in the low halves."""
    byte, number = ir.IntType(8), ir.IntType(32)
    low, high = (
        builder.shuffle_vector(row, row, ir.Constant(ir.VectorType(number, 8), list(range(i, i + 8)))) for i in (0, 8)
    )
    return builder.or_(low, builder.shl(high, ir.Constant(ir.VectorType(byte, 8), [4] * 8)))


@intrinsic
def pack_both(typing_context, counts, first, ring, where):
    """As pack_row; returns the row's nibbles as a word, too."""

    def generate(context, builder, signature, arguments):
        counts, first, ring, where = arguments
        word = ir.IntType(64)
        cell, align = _cell_of(signature.args[0])
        source, _ = _vector_at(context, builder, signature.args[0], counts, first, cell, 16)
        target, packed = _vector_at(context, builder, signature.args[2], ring, where, ir.IntType(8), 16)
        row = builder.load(source, align=align)
        bytes_ = builder.trunc(row, packed)
        builder.store(bytes_, target, align=1)
        every = _widened(builder, _across_lanes(builder, "or_", row, 16), word)
        return context.make_tuple(
            builder, signature.return_type, [every, builder.bitcast(_nibbles(builder, bytes_), word)]
        )

    return types.UniTuple(types.int64, 2)(counts, types.int64, ring, types.int64), generate


@intrinsic
def store_word(typing_context, ring, where, value):
    """ring[where:where+8] = the bytes of a word."""

    def generate(context, builder, signature, arguments):
        ring, where, value = arguments
        data = context.make_array(signature.args[0])(context, builder, ring).data
        pointer = builder.bitcast(builder.gep(data, [where]), ir.IntType(64).as_pointer())
        builder.store(value, pointer, align=1)
        return context.get_dummy_value()

    return types.void(ring, types.int64, types.int64), generate


@intrinsic
def load_word(typing_context, ring, where):
    """The word whose bytes are ring[where:where+8]."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(ring, types.int64), generate


@intrinsic
def pack_nibbles(typing_context, counts, first, ring, where):
    """ring[where:where+8] = counts[first:first+16], which are below 16: the first eight in the low halves of bytes."""

    def generate(context, builder, signature, arguments):
        counts, first, ring, where = arguments
        byte = ir.IntType(8)
        cell, align = _cell_of(signature.args[0])
        source, _ = _vector_at(context, builder, signature.args[0], counts, first, cell, 16)
        target, _ = _vector_at(context, builder, signature.args[2], ring, where, byte, 8)
        row = builder.trunc(builder.load(source, align=align), ir.VectorType(byte, 16))
        builder.store(_nibbles(builder, row), target, align=1)
        return context.get_dummy_value()

    return types.void(counts, types.int64, ring, types.int64), generate


@intrinsic
def add_bytes(typing_context, words, index, ring, where):
    """words[index:index+16] += ring[where:where+16]; returns the sum of what was added."""
    return types.int64(words, types.int64, ring, types.int64), _generate_row_update("add")


@intrinsic
def subtract_bytes(typing_context, words, index, ring, where):
    """words[index:index+16] -= ring[where:where+16]; returns the sum of what was subtracted."""
    return types.int64(words, types.int64, ring, types.int64), _generate_row_update("sub")


@intrinsic
def add_nibbles(typing_context, words, index, ring, where):
    """words[index:index+16] += what `pack_nibbles` wrote to ring[where:where+8]; returns the sum of what was added."""
    return types.int64(words, types.int64, ring, types.int64), _generate_row_update("add", nibbles=True)


@intrinsic
def subtract_nibbles(typing_context, words, index, ring, where):
    """words[index:index+16] -= what `pack_nibbles` wrote to ring[where:where+8]; returns the sum."""
    return types.int64(words, types.int64, ring, types.int64), _generate_row_update("sub", nibbles=True)


@intrinsic
def prefetch(typing_context, ring, index):
    """Prefetch the 64 bytes around ring[index]; the next close needs them."""

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
def sum_words(typing_context, words, first):
    """The sum of words[first:first+16]."""

    def generate(context, builder, signature, arguments):
        pointer, _ = _vector_at(context, builder, signature.args[0], arguments[0], arguments[1], ir.IntType(64), 16)
        return _across_lanes(builder, "add", builder.load(pointer, align=8), 16)

    return types.int64(words, types.int64), generate


@intrinsic
def count_below(typing_context, words, first, limit):
    """How many of words[first:first+16] are below a limit."""

    def generate(context, builder, signature, arguments):
        words, first, limit = arguments
        pointer, vector = _vector_at(context, builder, signature.args[0], words, first, ir.IntType(64), 16)
        limits = builder.insert_element(ir.Constant(vector, ir.Undefined), limit, ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), 16), [0] * 16)
        limits = builder.shuffle_vector(limits, ir.Constant(vector, ir.Undefined), everywhere)
        below = builder.icmp_signed("<", builder.load(pointer, align=8), limits)
        return builder.zext(builder.ctpop(builder.bitcast(below, ir.IntType(16))), ir.IntType(64))

    return types.int64(words, types.int64, types.int64), generate


@intrinsic
def filled_mask(typing_context, cells, first):
    """A bit for each of cells[first:first+16] that is not zero."""

    def generate(context, builder, signature, arguments):
        cell, align = _cell_of(signature.args[0])
        pointer, vector = _vector_at(context, builder, signature.args[0], arguments[0], arguments[1], cell, 16)
        filled = builder.icmp_signed("!=", builder.load(pointer, align=align), ir.Constant(vector, [0] * 16))
        return builder.zext(builder.bitcast(filled, ir.IntType(16)), ir.IntType(64))

    return types.int64(cells, types.int64), generate


@intrinsic
def lowest_bit(typing_context, mask):
    """The position of the lowest set bit of a mask that is not zero."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@intrinsic
def highest_bit(typing_context, mask):
    """The position of the highest set bit of a mask that is not zero."""

    def generate(context, builder, signature, arguments):
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

    return types.int64(types.int64), generate


@intrinsic
def count_bits(typing_context, mask):
    """How many bits of a mask are set."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@intrinsic
def clear_super(typing_context, cells, first):
    """cells[first:first+256] = 0."""

    def generate(context, builder, signature, arguments):
        cell, align = _cell_of(signature.args[0])
        for part in range(0, 256, 32):
            index = builder.add(arguments[1], ir.Constant(ir.IntType(64), part))
            pointer, vector = _vector_at(context, builder, signature.args[0], arguments[0], index, cell, 32)
            builder.store(ir.Constant(vector, [0] * 32), pointer, align=align)
        return context.get_dummy_value()

    return types.void(cells, types.int64), generate
