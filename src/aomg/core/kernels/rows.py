"""Writes and reads the rows of a summary: 16 counts in as few bytes as they need."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.lanes import (
    add_bytes,
    add_nibbles,
    pack_both,
    pack_nibbles,
    pack_row,
    store_word,
    subtract_bytes,
    subtract_nibbles,
)

SPARSE_FROM = 4096  # events: with fewer, saving bytes costs more time in mispredicted branches
MOST_POSITIONS = 7  # (position, count) nibbles of a row: with more, the counts of all positions take less
NIBBLES = 16  # instead of their number: eight bytes with the counts of all positions follow
WIDE = 4  # the form of counts from 2^32 on: eight planes; written as a long step with its highest bit set
WIDE_BIT = np.int64(1 << 31)
LONGEST_ROW, LONGEST_WIDE_ROW = 70, 134  # bytes


@inlined
def _write_head(ring, position, step, form):
    """The head of a row: the step from the row before (14 bits, else 4 bytes more) and the form of its counts."""
    short = min(step, 0x3FFF) if form < WIDE else 0x3FFF
    head = (short << 2) | min(form, 3)
    ring[position] = head & 255
    ring[position + 1] = head >> 8
    position += 2
    if form == WIDE:
        step |= WIDE_BIT
    if short == 0x3FFF:
        for k in range(4):
            ring[position + k] = (step >> (8 * k)) & 255
        position += 4
    return position


@inlined
def write_counts(ring, position, step, counts, first, sparse):
    """Append a row of the 16 counts from `first` on; returns its end.

    Forms: 0 counts below 16, as (position, count) nibbles or all of them; 1, 2, 3, 4 one, two, four or eight planes of
    16 bytes.
    """
    every = pack_row(counts, first, ring, position + 2)
    if every < 256 and step < 0x3FFF and not sparse:
        head = (step << 2) | 1
        ring[position] = head & 255
        ring[position + 1] = head >> 8
        return position + 18
    return _write_other_forms(ring, position, step, counts, first, sparse, every)


@inlined
def write_band_counts(ring, position, step, counts, first, sparse):
    """As write_counts, for a row whose counts are most often below 16."""
    every, nibbles = pack_both(counts, first, ring, position + 2)
    if every < 256 and step < 0x3FFF and not sparse:
        if every < 16:
            ring[position] = (step << 2) & 255
            ring[position + 1] = step >> 6
            ring[position + 2] = NIBBLES
            store_word(ring, position + 3, nibbles)
            return position + 11
        head = (step << 2) | 1
        ring[position] = head & 255
        ring[position + 1] = head >> 8
        return position + 18
    return _write_other_forms(ring, position, step, counts, first, sparse, every)


@compiled
def _write_other_forms(ring, position, step, counts, first, sparse, every):
    """The slow path of write_counts: rows that are not a short step and 16 bytes."""
    filled = 0
    for k in range(16):
        filled += counts[first + k] != 0
    if sparse and every < 16:
        position = _write_head(ring, position, step, 0)
        if filled > MOST_POSITIONS:
            ring[position] = NIBBLES
            pack_nibbles(counts, first, ring, position + 1)
            return position + 9
        ring[position] = filled
        position += 1
        for k in range(16):
            number = counts[first + k]
            ring[position] = (k << 4) | number
            position += number != 0
        return position
    form = 1 if every < 256 else (2 if every < 65536 else (3 if every < 2**32 else WIDE))
    position = _write_head(ring, position, step, form)
    for plane in range((1 << form) >> 1):
        for k in range(16):
            ring[position + k] = (np.int64(counts[first + k]) >> (8 * plane)) & 255
        position += 16
    return position


@inlined
def read_step(ring, position):
    """The head of a row: its step, its form, and where its counts begin."""
    head = np.int64(ring[position]) | (np.int64(ring[position + 1]) << 8)
    position += 2
    step, form = head >> 2, head & 3
    if step == 0x3FFF:
        step = np.int64(0)
        for k in range(4):
            step |= np.int64(ring[position + k]) << (8 * k)
        position += 4
        if step & WIDE_BIT:
            step ^= WIDE_BIT
            form = np.int64(WIDE)
    return step, form, position


@inlined
def short_length(ring, where):
    """Bytes of the counts of a row of form 0; 0 if there is no such row."""
    filled = np.int64(ring[where])
    return np.int64(9) if filled == NIBBLES else (filled + 1 if filled < NIBBLES else np.int64(0))


@inlined
def shift_row(ring, where, form, totals, first, sign):
    """Add (sign +1) or subtract (-1) the row's counts from totals[first] on; returns their sum and the row's end.

    `sign` is a constant wherever this is inlined, so that each caller gets a loop without it.
    """
    if form == 1:
        shift = add_bytes(totals, first, ring, where) if sign > 0 else subtract_bytes(totals, first, ring, where)
        return shift, where + 16
    shift = np.int64(0)
    if form == 0:
        filled = np.int64(ring[where])
        where += 1
        if filled == NIBBLES:
            if sign > 0:
                return add_nibbles(totals, first, ring, where), where + 8
            return subtract_nibbles(totals, first, ring, where), where + 8
        for k in range(filled):
            pair = np.int64(ring[where + k])
            totals[first + (pair >> 4)] += sign * (pair & 15)
            shift += pair & 15
        return shift, where + filled
    for plane in range((1 << form) >> 1):
        for k in range(16):
            number = np.int64(ring[where + k]) << (8 * plane)
            totals[first + k] += sign * number
            shift += number
        where += 16
    return shift, where


@inlined
def read_row(ring, where, form, counts, first):
    """Write the row's 16 counts from counts[first] on; returns their sum and the row's end."""
    for k in range(16):
        counts[first + k] = 0
    return shift_row(ring, where, form, counts, first, 1)
