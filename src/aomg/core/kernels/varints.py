"""Writes and reads numbers as bytes: seven bits a byte with the lowest first, or words of eight bytes."""

import numpy as np

from aomg.core.kernels._compile import inlined
from aomg.core.kernels.sortable import U64

MOST_BYTES = 10  # of a number


@inlined
def put_number(data, offset, number):
    """Write a number that is not negative, seven bits a byte; returns its end."""
    number = U64(number)
    while number >= U64(128):
        data[offset] = np.uint8((number & U64(127)) | U64(128))
        number >>= U64(7)
        offset += 1
    data[offset] = np.uint8(number)
    return offset + 1


@inlined
def get_number(data, offset):
    """Read a number; returns it and its end."""
    number, shift = U64(0), U64(0)
    while data[offset] >= 128:
        number |= U64(data[offset] & 127) << shift
        shift += U64(7)
        offset += 1
    return np.int64(number | (U64(data[offset]) << shift)), offset + 1


@inlined
def put_word(data, offset, word):
    """Write a word as 8 bytes; returns its end."""
    for k in range(8):
        data[offset + k] = np.uint8((U64(word) >> U64(8 * k)) & U64(255))
    return offset + 8


@inlined
def get_word(data, offset):
    """Read 8 bytes as a word."""
    word = U64(0)
    for k in range(8):
        word |= U64(data[offset + k]) << U64(8 * k)
    return np.int64(word)
