"""Writes and reads the rows of a summary: 16 counts in as few bytes as they need."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.lanes import add_bytes, pack_row, subtract_bytes

SPARSE_FROM = 4096  # smaller summaries spend bytes, not branches that cannot be foreseen


@inlined
def _write_head(ring, at, step, form):
    """The head of a row: the step from the row before (14 bits, else 4 bytes more) and the form of its counts."""
    short = min(step, 0x3FFF)
    head = (short << 2) | form
    ring[at] = head & 255
    ring[at + 1] = head >> 8
    at += 2
    if short == 0x3FFF:
        for k in range(4):
            ring[at + k] = (step >> (8 * k)) & 255
        at += 4
    return at


@inlined
def write_counts(ring, at, step, counts, first, sparse):
    """Append a row of the 16 counts from `first` on; returns its end.

    Forms: 0 pairs of nibbles (position, count); 1, 2, 3 one, two or four planes of 16 bytes.
    """
    every = pack_row(counts, first, ring, at + 2)
    if every < 256 and step < 0x3FFF and not sparse:
        head = (step << 2) | 1
        ring[at] = head & 255
        ring[at + 1] = head >> 8
        return at + 18
    return _write_other_forms(ring, at, step, counts, first, sparse, every)


@compiled
def _write_other_forms(ring, at, step, counts, first, sparse, every):
    """The rows of write_counts that are not 16 bytes behind a short step."""
    filled = 0
    for k in range(16):
        filled += counts[first + k] != 0
    if sparse and every < 16 and filled <= 5:
        at = _write_head(ring, at, step, 0)
        ring[at] = filled
        at += 1
        for k in range(16):
            number = counts[first + k]
            ring[at] = (k << 4) | number
            at += number != 0
        return at
    form = 1 if every < 256 else (2 if every < 65536 else 3)
    at = _write_head(ring, at, step, form)
    for plane in range((1 << form) >> 1):
        for k in range(16):
            ring[at + k] = (counts[first + k] >> (8 * plane)) & 255
        at += 16
    return at


@inlined
def read_step(ring, at):
    """The head of a row: its step, its form, and where its counts begin."""
    head = np.int64(ring[at]) | (np.int64(ring[at + 1]) << 8)
    at += 2
    step = head >> 2
    if step == 0x3FFF:
        step = np.int64(0)
        for k in range(4):
            step |= np.int64(ring[at + k]) << (8 * k)
        at += 4
    return step, head & 3, at


@inlined
def add_row(ring, where, form, state, at):
    """state[at:at+16] += the row's counts; returns their sum and the row's end."""
    if form == 1:
        return add_bytes(state, at, ring, where), where + 16
    added = np.int64(0)
    if form == 0:
        filled = np.int64(ring[where])
        where += 1
        for k in range(filled):
            pair = np.int64(ring[where + k])
            state[at + (pair >> 4)] += pair & 15
            added += pair & 15
        return added, where + filled
    for plane in range((1 << form) >> 1):
        for k in range(16):
            number = np.int64(ring[where + k]) << (8 * plane)
            state[at + k] += number
            added += number
        where += 16
    return added, where


@inlined
def subtract_row(ring, where, form, state, at):
    """state[at:at+16] -= the row's counts; returns their sum and the row's end."""
    if form == 1:
        return subtract_bytes(state, at, ring, where), where + 16
    removed = np.int64(0)
    if form == 0:
        filled = np.int64(ring[where])
        where += 1
        for k in range(filled):
            pair = np.int64(ring[where + k])
            state[at + (pair >> 4)] -= pair & 15
            removed += pair & 15
        return removed, where + filled
    for plane in range((1 << form) >> 1):
        for k in range(16):
            number = np.int64(ring[where + k]) << (8 * plane)
            state[at + k] -= number
            removed += number
        where += 16
    return removed, where
