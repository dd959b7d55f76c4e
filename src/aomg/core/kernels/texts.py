"""Numbers texts, and writes texts by their numbers.

Texts are numbered in the order of their first appearance, with a hash table of open addressing.

A slot of the table has two words of a text, its length plus 1 (0 if the slot is free), and its number. For texts of up
to 16 bytes these tell all, so a look-up reads one line of a cache. The first word of a longer text is a hash of all its
bytes but the last eight: it is compared with the text in `pool`, which has the bytes of all different texts, one after
the other; `bounds` has where each begins. So equal hashes do no harm.
"""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.lanes import load_word, store_word
from aomg.core.kernels.sortable import U64, high_product

SLOT_FIRST, SLOT_LAST, SLOT_LENGTH, SLOT_NUMBER, SLOT_WIDTH = range(5)
_SHORT = 16  # bytes of a text that two words hold
_FACTOR, _OTHER = U64(0x9E3779B97F4A7C15), U64(0xD6E8FEB86659FD93)
_BYTE = U64(8)


@inlined
def _short_word(data, start, length):
    """Up to seven bytes as a word; nothing beyond the data is read."""
    word = U64(0)
    if start + 8 <= data.size:
        if length > 0:
            word = load_word(data, start) & (U64(0xFFFFFFFFFFFFFFFF) >> U64(64 - 8 * length))
    else:
        for i in range(length):
            word |= U64(data[start + i]) << (_BYTE * U64(i))
    return word


@inlined
def _mixed(a, b):
    """Both halves of a product as one word: each of its bits depends on every bit of both."""
    return (a * b) ^ high_product(a, b)


@inlined
def _words_of(data, start, length):
    """The two words of a text: its first and its last eight bytes, which overlap, or all of it if it has fewer."""
    if length < 8:
        return _short_word(data, start, length), U64(0)
    first = load_word(data, start)
    if length > _SHORT:
        for i in range(8, length - 8, 8):
            first = _mixed(first ^ _FACTOR, load_word(data, start + i) ^ _OTHER)
    return first, load_word(data, start + length - 8)


@inlined
def home_slot(first, last, length, mask):
    """The slot where a text belongs."""
    return _mixed(first ^ _FACTOR, last ^ (U64(length) * _OTHER)) & mask


@inlined
def _is_equal(data, start, length, pool, there):
    """Whether a text of 8 bytes or more is the one that begins at `there`, and is as long."""
    for i in range(0, length - 8, 8):
        if load_word(data, start + i) != load_word(pool, there + i):
            return False
    return load_word(data, start + length - 8) == load_word(pool, there + length - 8)


@compiled
def number_texts(offsets, data, done, slots, pool, bounds, known, codes):
    """Write the number of each text from `done` on to `codes`; text i is data[offsets[i] : offsets[i + 1]].

    `known` texts have a number. Stops where the table or the pool has no room: returns that text, and how many are
    known then.
    """
    mask = U64(slots.shape[0] - 1)
    start = np.int64(offsets[done])
    for i in range(done, codes.size):
        length = np.int64(offsets[i + 1]) - start
        first, last = _words_of(data, start, length)
        slot = home_slot(first, last, length, mask)
        while True:
            other = (slots[slot, SLOT_FIRST] ^ first) | (slots[slot, SLOT_LAST] ^ last)
            other |= slots[slot, SLOT_LENGTH] ^ U64(length + 1)
            if other == U64(0):
                number = np.int64(slots[slot, SLOT_NUMBER])
                if length <= _SHORT or _is_equal(data, start, length, pool, bounds[number]):
                    break
            elif slots[slot, SLOT_LENGTH] == U64(0):
                number = np.int64(known)
                end = bounds[known] + length
                if 2 * known >= slots.shape[0] or known + 2 > bounds.size or end > pool.size:
                    return i, known
                for byte in range(length):
                    pool[bounds[known] + byte] = data[start + byte]
                bounds[known + 1] = end
                slots[slot, SLOT_FIRST], slots[slot, SLOT_LAST] = first, last
                slots[slot, SLOT_LENGTH], slots[slot, SLOT_NUMBER] = U64(length + 1), U64(known)
                known += 1
                break
            slot = (slot + U64(1)) & mask
        codes[i] = number
        start += length
    return codes.size, known


@compiled
def enter_numbers(old_slots, slots):
    """Enter all numbers into a larger table."""
    mask = U64(slots.shape[0] - 1)
    for old in range(old_slots.shape[0]):
        entry = old_slots[old]
        if entry[SLOT_LENGTH] != U64(0):
            slot = home_slot(entry[SLOT_FIRST], entry[SLOT_LAST], np.int64(entry[SLOT_LENGTH]) - 1, mask)
            while slots[slot, SLOT_LENGTH] != U64(0):
                slot = (slot + U64(1)) & mask
            for word in range(SLOT_WIDTH):
                slots[slot, word] = entry[word]


@compiled
def write_texts(numbers, words, lengths, offsets, data):
    """Write one text after the other; returns their bytes. Needs 16 a text.

    Text k is the first lengths[k] bytes of the words 2 k and 2 k + 1, at most 16.
    """
    end = np.int64(0)
    for i in range(numbers.size):
        number = numbers[i]
        offsets[i] = end
        store_word(data, end, words[2 * number])
        store_word(data, end + 8, words[2 * number + 1])
        end += lengths[number]
    offsets[numbers.size] = end
    return end
