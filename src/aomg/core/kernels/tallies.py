"""Writes, merges and reads tallies: the counts of many groups of events as bytes."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.codes import cell_of_code, place_of
from aomg.core.kernels.counting import count_chunk, note_cell, note_domain, note_extremes, weigh
from aomg.core.kernels.few_events import FEW, few_codes
from aomg.core.kernels.folds import FOLD_ID, MOST_NARROW, clear_counts, fold_cells, fold_open, fold_side
from aomg.core.kernels.lanes import filled_mask, lowest_bit
from aomg.core.kernels.registers import (
    ADD,
    FILLED,
    HALF_PLACES,
    INTEGERS,
    OPEN_DOMAIN,
    OPEN_MAXIMUM,
    OPEN_MINIMUM,
    REALS,
    ROWS_SIDE,
    SUBTRACT,
    SURPLUS,
)
from aomg.core.kernels.sortable import bits_of, double_of, double_of_key
from aomg.core.kernels.varints import get_number, get_word, put_number, put_word

TALLY_HEAD = 17  # bytes: domain, minimum, maximum
TALLY_DOMAIN, TALLY_WEIGHTED = 3, 4  # of the first byte: the domain, and a flag that the surplus follows the head


@inlined
def _put_code(data, offset, code, before, number, first):
    """One pair: its code, whole if it is the first, else as the distance from the one before, and its count."""
    offset = put_word(data, offset, code) if first else put_number(data, offset, code - before)
    return put_number(data, offset, number)


@inlined
def _put_domain(data, offset, domain, surplus):
    """The first byte of a tally, and the surplus behind its head; returns where the pairs begin."""
    data[offset] = domain | TALLY_WEIGHTED if surplus > 0 else domain
    offset += TALLY_HEAD
    return put_number(data, offset, surplus) if surplus > 0 else offset


@inlined
def tally_surplus(data, offset):
    """The surplus of the tally at `offset`, and where its pairs begin."""
    if data[offset] & TALLY_WEIGHTED:
        return get_number(data, offset + TALLY_HEAD)
    return np.int64(0), np.int64(offset + TALLY_HEAD)


@inlined
def _put_pairs(data, offset, codes, numbers, first, last):
    offset = put_number(data, offset, last - first)
    before = np.int64(0)
    for i in range(first, last):
        offset = _put_code(data, offset, codes[i], before, numbers[i], i == first)
        before = codes[i]
    return offset


@compiled
def write_tallies(
    domain, minima, maxima, surpluses, starts, codes, numbers, fine_starts, fine_codes, fine_numbers, data, offsets
):
    """Write the counts of every group one after the other; returns the bytes. Needs 20 a pair and 47 a group."""
    offset = np.int64(0)
    for group in range(minima.size):
        offsets[group] = offset
        put_word(data, offset + 1, bits_of(minima[group]))
        put_word(data, offset + 9, bits_of(maxima[group]))
        offset = _put_domain(data, offset, domain, surpluses[group])
        offset = _put_pairs(data, offset, codes, numbers, starts[group], starts[group + 1])
        if fine_starts.size > 0:
            offset = _put_pairs(data, offset, fine_codes, fine_numbers, fine_starts[group], fine_starts[group + 1])
    offsets[minima.size] = offset
    return offset


@compiled
def scatter(groups, bits, ends, grouped):
    """Order the values by group, keeping their order in it; `ends` holds the groups' starts when called."""
    for i in range(groups.size):
        group = groups[i]
        grouped[ends[group]] = bits[i]
        ends[group] += 1


@inlined
def _put_open(state, cells, data, offset):
    """Write the pairs of the open sub-window, and clear it; returns where they end."""
    state[ROWS_SIDE] ^= 1  # the newest sub-window's totals stay
    folded = fold_open(state, cells)
    side, totals = fold_side(state), fold_cells(state, state[ROWS_SIDE])
    ids = side + FOLD_ID * state[HALF_PLACES]
    pairs = 0
    for i in range(folded):
        first = place_of(state, state[ids + i]) * 256
        for within_super in range(256):
            pairs += cells[first + within_super] != 0
    offset = put_number(data, offset, pairs)
    before = np.int64(-1)
    for i in range(folded):
        super_ = state[ids + i]
        first = place_of(state, super_) * 256
        filled = filled_mask(cells, totals + 16 * i)
        while filled != 0:
            bucket = lowest_bit(filled)
            filled &= filled - 1
            for slot in range(16):
                number = cells[first + 16 * bucket + slot]
                if number != 0:
                    code = (super_ << 8) | (bucket << 4) | slot
                    offset = _put_code(data, offset, code, before, number, before < 0)
                    before = code
    clear_counts(state, cells, folded)
    state[ROWS_SIDE] ^= 1
    return offset


@compiled
def tally_groups(state, cells, table, bits, weights, starts, real, codes, numbers, data, offsets):
    """Write the tally of every group; returns the bytes.

    `starts` are where the groups' values begin, and the end; `codes` and `numbers` have room for FEW. Needs 4 bytes a
    value and 40 a group; with weights, which must not be zero, 12 and 50. The open sub-window of the state is used and
    left empty.
    """
    domain = REALS if real else INTEGERS
    offset = np.int64(0)
    for group in range(starts.size - 1):
        first, last = starts[group], starts[group + 1]
        offsets[group] = offset
        head = offset + 1
        surplus = np.int64(0)
        if weights is not None:
            events, total = weigh(weights[first:last])
            surplus = total - events
        offset = _put_domain(data, offset, domain, surplus)
        before, pairs = np.int64(-1), 0
        if last - first <= FEW:
            low, high = few_codes(state, table, bits, weights, first, last, real, codes, numbers)
            for i in range(last - first):
                pairs += i == 0 or codes[i] != codes[i - 1]
            offset = put_number(data, offset, pairs)
            number = np.int64(0)
            for i in range(last - first):
                number += np.int64(1) if weights is None else numbers[i]
                if i + 1 == last - first or codes[i + 1] != codes[i]:
                    offset = _put_code(data, offset, codes[i], before, number, before < 0)
                    before, number = codes[i], np.int64(0)
        else:
            count_chunk(state, table, cells, bits[first:last], None if weights is None else weights[first:last], real)
            low, high = state[OPEN_MINIMUM], state[OPEN_MAXIMUM]
            offset = _put_open(state, cells, data, offset)
        put_word(data, head, bits_of(double_of_key(low)))
        put_word(data, head + 8, bits_of(double_of_key(high)))
    offsets[starts.size - 1] = offset
    return offset


@compiled
def read_pairs(data, offset, codes, numbers):
    """Read pairs that begin at `offset`; returns where they end. `codes` and `numbers` have room for all."""
    size, offset = get_number(data, offset)
    code = np.int64(0)
    for i in range(size):
        if i == 0:
            code, offset = get_word(data, offset), offset + 8
        else:
            step, offset = get_number(data, offset)
            code += step
        codes[i] = code
        numbers[i], offset = get_number(data, offset)
    return offset


@compiled
def pairs_of(data, offset):
    """How many pairs begin at `offset`."""
    size, _ = get_number(data, offset)
    return size


@inlined
def _add_tally(state, cells, data, offset, sign):
    """Add (+1) the counts of a tally to the open sub-window, or subtract (-1) them again."""
    domain = np.int64(data[offset]) & TALLY_DOMAIN
    minimum, maximum = double_of(get_word(data, offset + 1)), double_of(get_word(data, offset + 9))
    surplus, offset = tally_surplus(data, offset)
    state[SURPLUS] += sign * surplus
    size, offset = get_number(data, offset)
    code, cell = np.int64(0), np.int64(0)
    for i in range(size):
        if i == 0:
            code, offset = get_word(data, offset), offset + 8
        else:
            step, offset = get_number(data, offset)
            code += step
        number, offset = get_number(data, offset)
        known = cell >> 8
        cell = cell_of_code(state, code)
        cells[cell] += sign * number
        state[FILLED] += sign * number
        if i == 0 or cell >> 8 != known:
            note_cell(state, cell)
    note_extremes(state, minimum, maximum)
    note_domain(state, domain)


@inlined
def add_tally(state, cells, data, offset):
    """Accumulate of Level 1 from the bytes of a tally; False, with nothing changed, if the cells must be wide.

    Counts of 32 bits that wrapped around are right again when the same is subtracted.
    """
    _add_tally(state, cells, data, offset, ADD)
    if cells.itemsize < 8 and state[FILLED] > MOST_NARROW:
        _add_tally(state, cells, data, offset, SUBTRACT)
        return False
    return True


@compiled
def merge_tallies(state, cells, groups, offsets, data, merged, merged_offsets):
    """Add up the tallies of each group; `groups` are ascending. Needs no more room than before.

    Returns how many groups there are, or -1 if the cells must be wide. The open sub-window of the state is used and
    left empty.
    """
    offset, written, row = np.int64(0), 0, 0
    while row < groups.size:
        first = row
        while row < groups.size and groups[row] == groups[first]:
            row += 1
        merged_offsets[written] = offset
        if row - first == 1:
            for j in range(offsets[first], offsets[row]):
                merged[offset] = data[j]
                offset += 1
        else:
            for i in range(first, row):
                if not add_tally(state, cells, data, offsets[i]):
                    state[ROWS_SIDE] ^= 1
                    clear_counts(state, cells, fold_open(state, cells))
                    state[ROWS_SIDE] ^= 1
                    return -1
            put_word(merged, offset + 1, bits_of(double_of_key(state[OPEN_MINIMUM])))
            put_word(merged, offset + 9, bits_of(double_of_key(state[OPEN_MAXIMUM])))
            offset = _put_domain(merged, offset, state[OPEN_DOMAIN], state[SURPLUS])
            offset = _put_open(state, cells, merged, offset)
        written += 1
    merged_offsets[written] = offset
    return written
