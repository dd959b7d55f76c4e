"""Numbers texts in the order of their first appearance, with a hash table of open addressing.

A text is compared with the one of the same hash, eight bytes at a time, so equal hashes do no harm. A slot of the table
has a hash and the text's number, -1 if it is free; `pool` has the bytes of all different texts, one after the other,
and `bounds` where each begins.
"""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.lanes import load_word

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_BYTE = np.uint64(8)


@inlined
def _short_word(data, start, length):
    """Up to seven bytes as a word; nothing beyond the data is read."""
    word = np.uint64(0)
    if start + 8 <= data.size:
        if length > 0:
            word = load_word(data, start) & (np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 8 * length))
    else:
        for i in range(length):
            word |= np.uint64(data[start + i]) << (_BYTE * np.uint64(i))
    return word


@inlined
def _mixed(key, word):
    product = (key ^ word) * _FACTOR
    return product ^ (product >> _HALF)


@inlined
def _hash(data, start, length):
    """The hash of a text, whose upper half depends on every bit. The last word of a long text overlaps the one before.

    The last characters of texts differ most: they are the upper bits of a word, and a product brings bits upwards only.
    So the last word is mixed twice.
    """
    key = np.uint64(length) * _FACTOR
    if length < 8:
        return _mixed(_mixed(key, _short_word(data, start, length)), np.uint64(0))
    for i in range(0, length - 8, 8):
        key = _mixed(key, load_word(data, start + i))
    return _mixed(_mixed(key, load_word(data, start + length - 8)), np.uint64(0))


@inlined
def _equal(data, start, length, pool, bounds, number):
    """Whether a text is that of a number."""
    there = bounds[number]
    if bounds[number + 1] - there != length:
        return False
    if length < 8:
        return _short_word(data, start, length) == _short_word(pool, there, length)
    for i in range(0, length - 8, 8):
        if load_word(data, start + i) != load_word(pool, there + i):
            return False
    return load_word(data, start + length - 8) == load_word(pool, there + length - 8)


@compiled
def number_texts(offsets, data, first, hashes, numbers, pool, bounds, known, codes):
    """Write the number of each text from `first` on to `codes`; text i is data[offsets[i] : offsets[i + 1]].

    `known` texts have a number. Stops where the table or the pool has no room: returns that text, and how many are
    known then.
    """
    mask = hashes.size - 1
    for i in range(first, codes.size):
        start = np.int64(offsets[i])
        length = np.int64(offsets[i + 1]) - start
        key = _hash(data, start, length)
        slot = np.int64(key >> _HALF) & mask
        while numbers[slot] >= 0 and not (
            hashes[slot] == key and _equal(data, start, length, pool, bounds, numbers[slot])
        ):
            slot = (slot + 1) & mask
        if numbers[slot] < 0:
            end = bounds[known] + length
            if 2 * known >= hashes.size or known + 2 > bounds.size or end > pool.size:
                return i, known
            for byte in range(length):
                pool[bounds[known] + byte] = data[start + byte]
            bounds[known + 1] = end
            hashes[slot], numbers[slot] = key, known
            known += 1
        codes[i] = numbers[slot]
    return codes.size, known


@compiled
def enter_numbers(old_hashes, old_numbers, hashes, numbers):
    """Enter all numbers into a larger table."""
    mask = hashes.size - 1
    for old in range(old_hashes.size):
        if old_numbers[old] >= 0:
            slot = np.int64(old_hashes[old] >> _HALF) & mask
            while numbers[slot] >= 0:
                slot = (slot + 1) & mask
            hashes[slot], numbers[slot] = old_hashes[old], old_numbers[old]
