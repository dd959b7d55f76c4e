"""Adds up doubles without rounding, so that a mean does not depend on the order of its terms."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.paper.registers import AT_LIMBS
from aomg.core.kernels.sortable import U64, bits_of, double_of

# a sum without rounding: the range of limbs that were ever used, and the limbs. Every double is a whole multiple of
# 2^-1074; a limb is worth 2^32 of the one before, and carries wait until the sum is read.
SUM_FIRST, SUM_END, SUM_WORDS = range(3)
LIMBS = 70
SUM_WIDTH = SUM_WORDS + LIMBS
LIMB_MASK = np.int64(0xFFFFFFFF)


@compiled
def add_to_sum(level, offset, value, weight, sign):
    """Add a value `weight` times (below 2^31) to the sum at `offset`, or take it away."""
    bits = bits_of(value)
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
    level[offset + SUM_FIRST] = min(level[offset + SUM_FIRST], limb)
    level[offset + SUM_END] = max(level[offset + SUM_END], limb + 4)
    offset += SUM_WORDS + limb
    for part in (low & mask, (low >> U64(32)) + (high & mask), high >> U64(32)):
        product = part * U64(weight)
        level[offset] += sign * np.int64(product & mask)
        level[offset + 1] += sign * np.int64(product >> U64(32))
        offset += 1


@inlined
def _divide_step(remainder, limb, divisor):
    """One step of a long division: the next digit (32 bits) and the remainder."""
    if divisor >> U64(32) == U64(0):
        dividend = (remainder << U64(32)) | limb
        digit = dividend // divisor
        return digit, dividend - digit * divisor
    digit = U64(0)
    for shift in range(24, -8, -8):  # a byte at a time: a remainder of 53 bits leaves no room for more
        dividend = (remainder << U64(8)) | ((limb >> U64(shift)) & U64(0xFF))
        part = dividend // divisor
        remainder = dividend - part * divisor
        digit = (digit << U64(8)) | part
    return digit, remainder


@compiled
def mean_of_sum(level, offset, weight):
    """The sum at `offset` divided by a weight up to 2^53, correctly rounded."""
    first, end = level[offset + SUM_FIRST], level[offset + SUM_END] + 3  # two more for what is carried
    if first >= end:
        return 0.0
    limbs, offset = level[AT_LIMBS], offset + SUM_WORDS
    sign = 1
    for _ in range(2):  # again, negated, if the sum is negative
        carry = np.int64(0)
        for j in range(first, end):
            carry += sign * level[offset + j]
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
        limb = U64(level[limbs + j]) if j >= first else U64(0)
        digit, remainder = _divide_step(remainder, limb, divisor)
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
        below = mantissa & (half + half - U64(1))
        mantissa >>= U64(dropped)
        exponent += dropped
        up = below > half or (below == half and (sticky or mantissa & U64(1) == U64(1)))
    bits = (exponent << 52) + np.int64(mantissa) + np.int64(up)
    return sign * double_of(bits)
