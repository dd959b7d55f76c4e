"""Reads the head of a summary in either form: rows of counts, or a list of codes.

The first word of both is the number. The second word of a list has its count, and above it the length in bytes, the
domain and three flags; that of rows has the count alone.
"""

import numpy as np

from aomg.core.kernels._compile import copied, inlined
from aomg.core.kernels.registers import (
    DOMAIN_SHIFT,
    HEAD_COUNT,
    HEAD_FINE,
    HEAD_LENGTH,
    HEAD_MAXIMUM,
    HEAD_MINIMUM,
    LENGTH_MASK,
)

LIST_COUNT_MASK = np.int64(2**31 - 1)
LIST_LENGTH_SHIFT, LIST_LENGTH_MASK = 32, np.int64(2**24 - 1)
LIST_DOMAIN_SHIFT = 56
LISTED, ONE_VALUE = np.int64(1 << 58), np.int64(1 << 59)  # flags: a list; its maximum is its minimum, and left out
WEIGHTED = np.int64(1 << 60)  # flag: its last word is the surplus, by how much its weight exceeds its number of events
FLAGS_END = 61  # bits of this word from here on are zero
ROWS_WEIGHTED = np.int64(1 << 40)  # the same flag of rows, beside their length; their last word before the fine part
LEAST_WORDS = 2  # of any head


@copied
def head_word(words, start, word):
    """One word of the head of the summary at `start`."""
    return words[(start >> 3) + word]


@inlined
def is_listed(words, start):
    """Whether the summary at `start` is a list of codes."""
    return (head_word(words, start, HEAD_COUNT) & LISTED) != 0


@inlined
def count_of(words, start):
    """Events of the summary at `start`."""
    word = head_word(words, start, HEAD_COUNT)
    return word & LIST_COUNT_MASK if word & LISTED else word


@inlined
def length_of(words, start):
    """Bytes of the summary at `start`."""
    word = head_word(words, start, HEAD_COUNT)
    if word & LISTED:
        return (word >> LIST_LENGTH_SHIFT) & LIST_LENGTH_MASK
    return head_word(words, start, HEAD_LENGTH) & LENGTH_MASK


@inlined
def list_head(count, length, domain, one_value, weighted):
    """The second word of a list."""
    flags = LISTED | (one_value * ONE_VALUE) | (weighted * WEIGHTED)
    return count | (length << LIST_LENGTH_SHIFT) | (domain << LIST_DOMAIN_SHIFT) | flags


@inlined
def domain_in(word):
    """The domain of rows, from the word that has their length."""
    return (word >> DOMAIN_SHIFT) & 3


@inlined
def surplus_of(words, start):
    """By how much the weight of the summary at `start` exceeds its number of events: 0 if no event has a weight."""
    if head_word(words, start, HEAD_COUNT) & LISTED:
        if head_word(words, start, HEAD_COUNT) & WEIGHTED == 0:
            return np.int64(0)
        return words[((start + length_of(words, start)) >> 3) - 1]
    if head_word(words, start, HEAD_LENGTH) & ROWS_WEIGHTED == 0:
        return np.int64(0)
    fine = head_word(words, start, HEAD_FINE)
    return words[((start + (fine if fine != 0 else length_of(words, start))) >> 3) - 1]


@inlined
def list_domain(words, start):
    """The domain of the list at `start`."""
    return (head_word(words, start, HEAD_COUNT) >> LIST_DOMAIN_SHIFT) & 3


@inlined
def list_words(words, start):
    """Words of the head of the list at `start`: three, or four with its maximum."""
    return HEAD_MAXIMUM if head_word(words, start, HEAD_COUNT) & ONE_VALUE else HEAD_MAXIMUM + 1


@inlined
def list_maximum(words, start):
    """The word with the maximum of the list at `start`."""
    return HEAD_MINIMUM if head_word(words, start, HEAD_COUNT) & ONE_VALUE else HEAD_MAXIMUM
