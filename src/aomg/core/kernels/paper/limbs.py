"""Adds up doubles without rounding, so that a mean does not depend on the order of its terms."""

import numpy as np

from aomg.core.kernels._compile import compiled
from aomg.core.kernels.paper.registers import AT_LIMBS
from aomg.core.kernels.sortable import U64, bits_of, double_of

# a sum without rounding: the range of limbs that were ever used, and the limbs. Every double is a whole multiple of
# 2^-1074; a limb is worth 2^32 of the one before, and carries wait until the sum is read.
SUM_FIRST, SUM_END, SUM_WORDS = range(3)
LIMBS = 70
SUM_WIDTH = SUM_WORDS + LIMBS
LIMB_MASK = np.int64(0xFFFFFFFF)


@compiled
def add_to_sum(level, at, value, weight, sign):
    """Add a value `weight` times to the sum at `at`, or take it away."""
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
    level[at + SUM_FIRST] = min(level[at + SUM_FIRST], limb)
    level[at + SUM_END] = max(level[at + SUM_END], limb + 4)
    at += SUM_WORDS + limb
    for part in (low & mask, (low >> U64(32)) + (high & mask), high >> U64(32)):
        product = part * U64(weight)
        level[at] += sign * np.int64(product & mask)
        level[at + 1] += sign * np.int64(product >> U64(32))
        at += 1


@compiled
def mean_of_sum(level, at, weight):
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
    return sign * double_of(bits)
