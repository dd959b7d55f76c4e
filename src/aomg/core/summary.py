"""Defines the bytes of a summary, which is what remains of a closed sub-window, and checks them.

A summary has one of two forms, little-endian, padded to 8 bytes. The form depends on the counts and the query alone.

A *list of codes* has every code of a sub-window with few of them: at most 256 events, at most 32 a super (up to 1,024),
or any number of events in at most 16 buckets. Queries with a fine part (below) have none.

==================  ===========================================================================================
number              the sub-window's number (start / period)
count               its events (31 bits); above them the length in bytes (24 bits), what it holds (2 bits: reals,
                    integers or both), and two flags: a list (bit 58), one value (bit 59)
minimum, maximum    doubles, rounded outward where longs exceed 2^53; only the minimum if both are one value
codes               how many; for each in ascending order twice the distance from the one before (less one; the
                    first from -1), plus one if it occurs more than once
counts              less two, of the codes that occur more than once; numbers have seven bits a byte, lowest first
==================  ===========================================================================================

*Rows* are a record of 8-byte words and rows of small counts:

==================  ===========================================================================================
number, count       the sub-window's number (start / period) and its events
minimum, maximum    doubles, rounded outward where longs exceed 2^53
length, domain      bytes of the record (32 bits) and what it holds (above: reals, integers or both)
rows                envelope rows (32 bits) and band rows (32 bits)
fine                where the fine part begins, from the record's start; 0 if there is none
a code a quantile   the sub-window's own quantiles, exact to the dense code
2 words a threshold events in codes below the threshold's, and in it
envelope rows       a super's 16 bucket counts each
band rows           a bucket's 16 code counts each
fine part           what queries with raw values, more than three digits, few-k lists or no guarantee keep besides
==================  ===========================================================================================

A row begins with two bytes: the distance from the row before (14 bits; 16383 means that 4 bytes with the distance
follow) and the form of its counts: 0 for up to seven bytes of (position, count) nibbles behind their number, or eight
bytes of nibbles behind a 16 (the first eight counts in their low halves); 1, 2 and 3 for one, two and four planes of 16
bytes.

The fine part is at the query's own resolution (a code is a raw value's sortable key, or has four to six digits):

==================  ===========================================================================================
a code a quantile   the sub-window's own quantiles
2 words a threshold events in codes below the threshold's, and in it
a density           1/f at each quantile, for Theorem 1: doubles, only without a guarantee
top list            the largest values
band list           values around the quantiles, whole dense codes: only with a guarantee, if codes are finer than dense
sample lists        one for each high quantile, of its tail: only without a guarantee, or with few-k lists
depths              how deep each of these tails reaches
==================  ===========================================================================================

A list is its number of pairs, their codes in ascending order, and how often each occurs.

A summary is a function of its sub-window's counts, its number and the query. Equal inputs give equal bytes.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.heads import LIST_COUNT_MASK, LISTED, ONE_VALUE, is_listed
from aomg.core.kernels.paper.soundness import fine_is_sound
from aomg.core.kernels.registers import HEAD_COUNT, HEAD_FINE, HEAD_MAXIMUM, HEAD_MINIMUM, HEAD_NUMBER
from aomg.core.kernels.soundness import summary_is_sound
from aomg.errors import StateError

NO_SUB_WINDOW = (1 << 61) - 1
"""The number of a summary that is the sum of several sub-windows."""

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

LEAST_BYTES = 32
"""Of any summary: a head of three words, and at least one byte behind it."""


class SummaryHeads(NamedTuple):
    """Number, events, minimum and maximum of each of some summaries."""

    numbers: Integers
    counts: Integers
    minima: Reals
    maxima: Reals


def heads_of(offsets: Integers, data: npt.NDArray[np.uint8]) -> SummaryHeads:
    """Return the heads of summaries of at least LEAST_BYTES each; their bytes are not checked."""
    words, starts = data.view(np.int64), offsets[:-1] // 8
    counts, maxima = words[starts + HEAD_COUNT], starts + HEAD_MAXIMUM
    maxima = np.where(counts & (LISTED | ONE_VALUE) == LISTED | ONE_VALUE, starts + HEAD_MINIMUM, maxima)
    counts = np.where(counts & LISTED, counts & LIST_COUNT_MASK, counts)
    minima = words[starts + HEAD_MINIMUM].view(np.float64)
    return SummaryHeads(words[starts + HEAD_NUMBER], counts, minima, words[maxima].view(np.float64))


def with_number(summary: bytes, number: int) -> bytes:
    """Return a summary as that of another sub-window."""
    return number.to_bytes(8, "little", signed=True) + summary[8:]


def events_of(summary: bytes) -> int:
    """Return how many events a summary is of; its bytes are not checked."""
    word = int.from_bytes(summary[8:16], "little")
    return word & int(LIST_COUNT_MASK) if word & int(LISTED) else word


def checked_summary(state: Integers, level: Integers | None, summary: bytes) -> npt.NDArray[np.uint8]:
    """Return a summary's bytes as a new array. Raises StateError if they are not a summary of this query."""
    content = np.frombuffer(summary, np.uint8).copy()
    check_summary(state, level, content)
    return content


def check_summary(state: Integers, level: Integers | None, content: npt.NDArray[np.uint8]) -> None:
    """Raise StateError if bytes, which begin at a word, are not a summary of this query."""
    if content.size % 8 or not summary_is_sound(state, content):
        raise StateError("a summary is damaged or of another query; start again from the events")
    words = content.view(np.int64)
    fine = 0 if is_listed(words, 0) else int(words[HEAD_FINE])
    if (fine != 0) != (level is not None):
        raise StateError("a summary is of another query; start again from the events")
    if level is not None and not fine_is_sound(state, level, words[fine // 8 :], int(words[HEAD_COUNT])):
        raise StateError("the fine part of a summary is damaged; start again from the events")
