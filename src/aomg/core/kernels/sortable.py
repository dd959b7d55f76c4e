"""Converts doubles to integers that sort the same way, and rounds outward to neighbouring doubles."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from aomg.core.kernels._compile import compiled, inlined

U64 = np.uint64
SIGN_BIT = U64(1) << U64(63)
EXACT_INTEGERS = 9007199254740992.0  # 2^53
LARGEST_DOUBLE = 1.7976931348623157e308


@intrinsic
def bits_of(typing_context, x):
    """The 64 bits of a double, as an integer."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def double_of(typing_context, bits):
    """The double of 64 bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@intrinsic
def high_product(typing_context, a, b):
    """The upper 64 bits of the product of two unsigned integers."""

    def generate(context, builder, signature, arguments):
        word, long = ir.IntType(64), ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, long) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(long, 64)), word)

    return types.uint64(types.uint64, types.uint64), generate


@inlined
def key_of_double(x):
    """An integer that sorts as the double does (-0.0 as 0.0)."""
    bits = bits_of(x + 0.0)
    return bits if bits >= 0 else bits ^ np.int64(0x7FFFFFFFFFFFFFFF)


@inlined
def double_of_key(key):
    """The double of a sortable key."""
    return double_of(key if key >= 0 else key ^ np.int64(0x7FFFFFFFFFFFFFFF))


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


@compiled
def keys_of_doubles(values, keys):
    """Sortable keys of finite doubles."""
    for i in range(values.size):
        keys[i] = key_of_double(values[i])
