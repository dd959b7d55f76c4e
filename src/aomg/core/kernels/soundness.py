"""Checks that bytes are a summary of the query, and counts its entries that are not zero."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.code_lists import list_is_sound, read_list
from aomg.core.kernels.heads import FLAGS_END, LEAST_WORDS, ROWS_WEIGHTED, is_listed, list_domain, list_maximum
from aomg.core.kernels.registers import (
    AT_SCRATCH,
    BOTH,
    CODE_MASK,
    CODE_SHIFT,
    DOMAIN_SHIFT,
    HAS_ENVELOPE,
    HEAD_COUNT,
    HEAD_FINE,
    HEAD_LENGTH,
    HEAD_MAXIMUM,
    HEAD_MINIMUM,
    HEAD_NUMBER,
    HEAD_ROWS,
    HEAD_WORDS,
    LENGTH_MASK,
    LISTS_CODES,
    QUANTILES,
    THRESHOLDS,
    ZERO_SUPER,
)
from aomg.core.kernels.rows import read_row, read_step, short_length
from aomg.core.kernels.sortable import double_of


@compiled
def count_entries(state, ring, start, entries):
    """Count the entries of a summary that are not zero, of envelope and band; the codes of a list count as band."""
    words = ring.view(np.int64)
    if is_listed(words, start):
        entries[1] += read_list(state, ring, words, start)
        return
    head = words[start >> 3 : (start >> 3) + HEAD_WORDS]
    where = start + 8 * (HEAD_WORDS + state[QUANTILES] + 2 * state[THRESHOLDS])
    scratch = state[AT_SCRATCH]
    for part in range(2):
        rows = head[HEAD_ROWS] & LENGTH_MASK if part == 0 else head[HEAD_ROWS] >> 32
        for _ in range(rows):
            _, form, where = read_step(ring, where)
            _, where = read_row(ring, where, form, state, scratch)
            for k in range(16):
                entries[part] += state[scratch + k] != 0


@inlined
def _list_is_sound(state, record):
    """Whether bytes are a summary of this query, in the form of a list of codes."""
    words = record.view(np.int64)
    if not state[LISTS_CODES] or words[HEAD_COUNT] >> FLAGS_END or not list_is_sound(record, 2 * state[ZERO_SUPER] + 1):
        return False
    minimum = double_of(words[HEAD_MINIMUM])
    maximum = double_of(words[list_maximum(words, 0)])
    one_value = list_maximum(words, 0) == HEAD_MINIMUM
    in_order = -np.inf < minimum <= maximum < np.inf and (one_value or words[HEAD_MINIMUM] != words[HEAD_MAXIMUM])
    return in_order and list_domain(words, 0) <= BOTH and -(2**61) < words[HEAD_NUMBER] < 2**61


@compiled
def summary_is_sound(state, record):
    """Whether bytes are a summary of this query: lengths, rows, codes and counts all agree."""
    if record.size >= 8 * LEAST_WORDS and record.size % 8 == 0 and is_listed(record.view(np.int64), 0):
        return _list_is_sound(state, record)
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    size = 8 * (HEAD_WORDS + quantiles + 2 * thresholds)
    if record.size < size or record.size % 8:
        return False
    head = record.view(np.int64)
    count = head[HEAD_COUNT]
    if (head[HEAD_LENGTH] & LENGTH_MASK) != record.size or not 0 < count < 2**62:
        return False
    flags = head[HEAD_LENGTH] & ~(LENGTH_MASK | ROWS_WEIGHTED)
    if not 0 <= flags >> DOMAIN_SHIFT <= BOTH or not -(2**61) < head[HEAD_NUMBER] < 2**61:
        return False
    minimum, maximum = double_of(head[HEAD_MINIMUM]), double_of(head[HEAD_MAXIMUM])
    if not (-np.inf < minimum <= maximum < np.inf):
        return False
    supers = 2 * state[ZERO_SUPER] + 1
    for q in range(quantiles):
        if not 0 <= head[HEAD_WORDS + q] & CODE_MASK <= head[HEAD_WORDS + q] >> CODE_SHIFT < supers * 256:
            return False
    for t in range(thresholds):
        under, inside = head[HEAD_WORDS + quantiles + 2 * t], head[HEAD_WORDS + quantiles + 2 * t + 1]
        if under < 0 or inside < 0 or under + inside > count:
            return False
    envelope_rows, band_rows = head[HEAD_ROWS] & LENGTH_MASK, head[HEAD_ROWS] >> 32
    if band_rows < 0 or (envelope_rows > 0) != (state[HAS_ENVELOPE] != 0) or envelope_rows > supers:
        return False
    end = record.size
    if head[HEAD_FINE] != 0:
        if not size <= head[HEAD_FINE] <= record.size or head[HEAD_FINE] % 8:
            return False
        end = head[HEAD_FINE]
    if head[HEAD_LENGTH] & ROWS_WEIGHTED:
        end -= 8
        if end < size or not 0 < head[end >> 3] < count:
            return False
    scratch = state[AT_SCRATCH]
    where = np.int64(size)
    total = np.int64(0)
    for part in range(2):
        limit = supers if part == 0 else supers * 16
        position = np.int64(0)
        for row in range(envelope_rows if part == 0 else band_rows):
            if where + 3 > end or (where + 7 > end and (record[where] >> 2) == 63 and record[where + 1] == 255):
                return False
            step, form, where = read_step(record, where)
            position += step
            if (row > 0 and step == 0) or position >= limit:
                return False
            length = short_length(record, where) if form == 0 else 16 * ((1 << form) >> 1)
            if length == 0 or where + length > end:
                return False
            added, where = read_row(record, where, form, state, scratch)
            if added <= 0:
                return False
            if part == 0:
                total += added
    return (envelope_rows == 0 or total == count) and end - where < 8
