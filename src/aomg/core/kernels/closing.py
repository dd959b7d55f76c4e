"""Closes the open sub-window: writes its summary and clears its counts."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.active_supers import activate_super
from aomg.core.kernels.code_lists import (
    ALWAYS_LISTED,
    LIST_HEAD_ROOM,
    PAIR_ROOM,
    derive_head,
    end_pairs,
    is_few,
    list_open_pairs,
    list_room,
    shift_list,
    write_list,
)
from aomg.core.kernels.codes import place_of
from aomg.core.kernels.folds import (
    FOLD_ID,
    FOLD_SUM,
    MOST_NARROW,
    clear_counts,
    fold_cells,
    fold_open,
    fold_side,
    scale_fold,
    touched_supers,
)
from aomg.core.kernels.heads import ROWS_WEIGHTED
from aomg.core.kernels.lanes import add_cells, filled_mask, find_upwards, lowest_bit
from aomg.core.kernels.ranks import PHI_COLUMN, PHI_REACH, PHI_WIDTH, open_rank
from aomg.core.kernels.registers import (
    ADD,
    AT_FINE,
    AT_PHI,
    AT_SUPER_TOTAL,
    AT_THRESHOLD,
    AT_TOTAL,
    BOTH_CODES,
    DOMAIN_SHIFT,
    FILLED,
    HALF_PLACES,
    HAS_ENVELOPE,
    HEAD_COUNT,
    HEAD_FINE,
    HEAD_LENGTH,
    HEAD_MAXIMUM,
    HEAD_MINIMUM,
    HEAD_NUMBER,
    HEAD_ROWS,
    HEAD_WORDS,
    LISTS_CODES,
    NEWEST_ROWS,
    NO,
    OPEN_DOMAIN,
    OPEN_MAXIMUM,
    OPEN_MINIMUM,
    QUANTILES,
    ROWS_SIDE,
    SURPLUS,
    THRESHOLDS,
    YES,
)
from aomg.core.kernels.rows import LONGEST_ROW, LONGEST_WIDE_ROW, SPARSE_FROM, write_band_counts, write_counts
from aomg.core.kernels.sortable import bits_of, double_of_key


@inlined
def summary_room(state):
    """Bytes that are enough for the summary of the open sub-window."""
    if state[LISTS_CODES] and state[FILLED] <= ALWAYS_LISTED:
        return list_room(state[FILLED])
    fixed = 8 * (HEAD_WORDS + state[QUANTILES] + 2 * state[THRESHOLDS]) + 24
    row = LONGEST_ROW if state[FILLED] <= MOST_NARROW else LONGEST_WIDE_ROW
    return fixed + max(touched_supers(state) * 17 * row, LIST_HEAD_ROOM + PAIR_ROOM * ALWAYS_LISTED)


@compiled
def _close_list(state, cells, ring, words, start, number, folded, entering):
    """Write the folded sub-window as a list of codes, and clear its counts; returns the length in bytes."""
    count, domain, surplus = state[FILLED], state[OPEN_DOMAIN], state[SURPLUS]
    pairs = list_open_pairs(state, cells, folded)
    minimum, maximum = bits_of(double_of_key(state[OPEN_MINIMUM])), bits_of(double_of_key(state[OPEN_MAXIMUM]))
    length = write_list(state, ring, words, start, number, count, minimum, maximum, domain, surplus, pairs)
    if entering:
        end_pairs(state, pairs)
        derive_head(state, words, start, pairs, YES)
        shift_list(state, pairs, count, ADD, NO)
    scale_fold(state, cells, folded, count, surplus)
    clear_counts(state, cells, folded)
    return length


@compiled
def close_dense(state, cells, ring, words, start, number, entering):
    """ComputeResult of Level 1: write the open sub-window's summary at `start` and clear its counts.

    Pure: a function of the counts, the number and the query. Returns the length in bytes. `entering` adds it to the
    sliding totals at the same time, as `accumulate` would from the bytes, and derives the head of a list.
    """
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    at_total, at_super_total, at_fine = state[AT_TOTAL], state[AT_SUPER_TOTAL], state[AT_FINE]
    count = state[FILLED]
    state[ROWS_SIDE] ^= 1
    folded = fold_open(state, cells)
    state[NEWEST_ROWS + state[ROWS_SIDE]] = folded
    if state[LISTS_CODES] and is_few(state, cells, folded, count):
        return _close_list(state, cells, ring, words, start, number, folded, entering)
    side = fold_side(state)
    ids, super_sums = side + FOLD_ID * state[HALF_PLACES], side + FOLD_SUM * state[HALF_PLACES]
    totals = fold_cells(state, state[ROWS_SIDE])
    sums = cells[totals : totals + folded * 16]
    size = HEAD_WORDS + quantiles + 2 * thresholds
    head = words[start >> 3 : (start >> 3) + size]
    head[HEAD_NUMBER] = number
    head[HEAD_COUNT] = count
    head[HEAD_MINIMUM] = bits_of(double_of_key(state[OPEN_MINIMUM]))
    head[HEAD_MAXIMUM] = bits_of(double_of_key(state[OPEN_MAXIMUM]))
    end = start + 8 * size

    has_envelope = state[HAS_ENVELOPE] != 0
    sparse = count >= SPARSE_FROM
    envelope_rows = 0
    if has_envelope:
        before = np.int64(0)
        for i in range(folded):
            super_ = state[ids + i]
            end = write_counts(ring, end, super_ - before, sums, 16 * i, sparse)
            before = super_
            if entering:
                place = place_of(state, super_)
                add_cells(state, at_total + place * 16, sums, 16 * i)
                if state[at_super_total + place] == 0:
                    activate_super(state, super_)
                state[at_super_total + place] += state[super_sums + i]
        envelope_rows = folded

    # quantiles in ascending order: one walk over supers, then a search among buckets, then among slots
    band_rows = 0
    band_before = np.int64(0)
    kept_to = np.int64(-1)
    i, below = 0, np.int64(0)
    for q in range(quantiles):
        phi = state[AT_PHI] + PHI_WIDTH * q
        rank = open_rank(state, phi, count)
        while below + state[super_sums + i] < rank:
            below += state[super_sums + i]
            i += 1
        bucket, under = find_upwards(sums, 16 * i, rank - below)
        under += below
        super_ = state[ids + i]
        slot, _ = find_upwards(cells, place_of(state, super_) * 256 + 16 * bucket, rank - under)
        head[HEAD_WORDS + state[phi + PHI_COLUMN]] = ((super_ << 8) | (bucket << 4) | slot) * BOTH_CODES
        if not has_envelope:
            continue
        # the band: whole buckets from rank - reach to rank + reach
        reach = state[phi + PHI_REACH]
        bucket += 16 * i
        first, under_first = bucket, under
        lowest = max(rank - reach, 1)
        while under_first >= lowest:
            first -= 1
            under_first -= sums[first]
        if rank + reach >= count:
            last = np.int64(16 * folded - 1)
        else:
            last, upto = bucket, under + sums[bucket]
            while upto < rank + reach:
                last += 1
                upto += sums[last]
        first = max(first, kept_to + 1)
        for j in range(first >> 4, (last >> 4) + 1):
            filled = filled_mask(sums, 16 * j)
            if j == first >> 4:
                filled &= 0xFFFF << (first & 15)
            if j == last >> 4:
                filled &= 0xFFFF >> (15 - (last & 15))
            super_ = state[ids + j]
            first_cell = place_of(state, super_) * 256
            while filled != 0:
                b = lowest_bit(filled)
                filled &= filled - 1
                where = (super_ << 4) | b
                end = write_band_counts(ring, end, where - band_before, cells, first_cell + 16 * b, sparse)
                if entering:
                    add_cells(state, at_fine + first_cell + 16 * b, cells, first_cell + 16 * b)
                band_before = where
                band_rows += 1
        kept_to = max(kept_to, last)

    for t in range(thresholds):
        code = state[state[AT_THRESHOLD] + 2 * t]
        under, inside = np.int64(0), np.int64(0)
        for i in range(folded):
            super_ = state[ids + i]
            if super_ < code >> 8:
                under += state[super_sums + i]
            elif super_ == code >> 8:
                first = place_of(state, super_) * 256
                for within_super in range(code & 255):
                    under += cells[first + within_super]
                inside = np.int64(cells[first + (code & 255)])
        head[HEAD_WORDS + quantiles + 2 * t] = under
        head[HEAD_WORDS + quantiles + 2 * t + 1] = inside

    while (end - start) & 7:
        ring[end] = 0
        end += 1
    weighted = np.int64(0)
    if state[SURPLUS] > 0:
        words[end >> 3] = state[SURPLUS]
        end += 8
        weighted = ROWS_WEIGHTED
    head[HEAD_LENGTH] = (end - start) | (state[OPEN_DOMAIN] << DOMAIN_SHIFT) | weighted
    head[HEAD_ROWS] = envelope_rows | (np.int64(band_rows) << 32)
    head[HEAD_FINE] = 0
    scale_fold(state, cells, folded, count, state[SURPLUS])
    clear_counts(state, cells, folded)
    return end - start
