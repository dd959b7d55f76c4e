"""Adds summaries up: for other quantiles, longer windows, several keys in one, and blocks of a long window."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.answering import bucket_codes
from aomg.core.kernels.code_lists import (
    ALWAYS_LISTED,
    LIST_HEAD_ROOM,
    MOST_PAIRS,
    PAIR_ROOM,
    add_pair,
    few_events,
    shift_list,
    write_list,
)
from aomg.core.kernels.codes import interval, place_of
from aomg.core.kernels.heads import LIST_COUNT_MASK, ROWS_WEIGHTED, domain_in, is_listed, surplus_of
from aomg.core.kernels.keys import INDEX_FLAG, INDEX_KEY, INDEX_NUMBER, INDEX_START, SUM_TAIL, SUMMED, restart
from aomg.core.kernels.lanes import sum_words
from aomg.core.kernels.ranks import PHI_COLUMN, PHI_DENOMINATOR, PHI_NUMERATOR, PHI_WIDTH, rank_of
from aomg.core.kernels.registers import (
    ACTIVE,
    ADD,
    AT_ACTIVE,
    AT_FINE,
    AT_PHI,
    AT_SUPER_TOTAL,
    AT_TOTAL,
    BOTH,
    CODE_MASK,
    CODE_SHIFT,
    DOMAIN_SHIFT,
    HEAD_COUNT,
    HEAD_LENGTH,
    HEAD_MAXIMUM,
    HEAD_MINIMUM,
    HEAD_NUMBER,
    HEAD_ROWS,
    HEAD_WORDS,
    LENGTH_MASK,
    LISTS_CODES,
    NO,
    NONE,
    NOTHING,
    QUANTILES,
    REALS,
    THRESHOLDS,
    YES,
    ZERO_SUPER,
)
from aomg.core.kernels.rows import LONGEST_WIDE_ROW, SPARSE_FROM, write_counts
from aomg.core.kernels.sortable import bits_of, double_of, next_up
from aomg.core.kernels.totals import accumulate, head_of, open_head, shift_rows


@inlined
def _put_totals(state, out, end, sparse):
    """Write the sliding totals as the rows of a summary, from `end` on; returns their end and the rows of the band."""
    before = np.int64(0)
    for i in range(state[ACTIVE]):
        super_ = state[state[AT_ACTIVE] + i]
        first = state[AT_TOTAL] + place_of(state, super_) * 16
        end = write_counts(out, end, super_ - before, state, first, sparse)
        before = super_
    band_rows, before = np.int64(0), np.int64(0)
    for i in range(state[ACTIVE]):
        super_ = state[state[AT_ACTIVE] + i]
        for b in range(16):
            first = state[AT_FINE] + (place_of(state, super_) * 16 + b) * 16
            if sum_words(state, first) > 0:
                bucket = (super_ << 4) | b
                end = write_counts(out, end, bucket - before, state, first, sparse)
                before = bucket
                band_rows += 1
    while end & 7:
        out[end] = 0
        end += 1
    return end, band_rows


@inlined
def _codes_at(state, rank):
    """The lowest and the highest code that the value of a rank, counted from below, may have."""
    i, below = 0, np.int64(0)
    place = place_of(state, state[state[AT_ACTIVE]])
    while below + state[state[AT_SUPER_TOTAL] + place] < rank:
        below += state[state[AT_SUPER_TOTAL] + place]
        i += 1
        place = place_of(state, state[state[AT_ACTIVE] + i])
    b = 0
    while below + state[state[AT_TOTAL] + place * 16 + b] < rank:
        below += state[state[AT_TOTAL] + place * 16 + b]
        b += 1
    bucket = (state[state[AT_ACTIVE] + i] << 4) | b
    base = state[AT_FINE] + (place * 16 + b) * 16
    if sum_words(state, base) != state[state[AT_TOTAL] + place * 16 + b]:
        return bucket_codes(state, bucket)
    slot = 0
    while below + state[base + slot] < rank:
        below += state[base + slot]
        slot += 1
    return (bucket << 4) | slot, (bucket << 4) | slot


@inlined
def _totals_room(state):
    """Bytes that are enough for the sliding totals as a summary, in either form."""
    fixed = 8 * (HEAD_WORDS + state[QUANTILES] + 2 * state[THRESHOLDS]) + 24
    return fixed + max(state[ACTIVE] * 17 * LONGEST_WIDE_ROW, LIST_HEAD_ROOM + PAIR_ROOM * MOST_PAIRS)


@inlined
def _list_totals(state, count):
    """List the sliding totals as pairs in the state if a sub-window with these counts would be a list of codes.

    Returns how many pairs, or -1: too many, or not every value is known to its code.
    """
    few = few_events(state[ACTIVE], count)
    if not state[LISTS_CODES] or (not few and state[ACTIVE] * 16 > ALWAYS_LISTED) or count > LIST_COUNT_MASK:
        return np.int64(-1)
    pairs, buckets = np.int64(0), 0
    for i in range(state[ACTIVE]):
        super_ = state[state[AT_ACTIVE] + i]
        for b in range(16):
            bucket = place_of(state, super_) * 16 + b
            total, fine = state[state[AT_TOTAL] + bucket], state[AT_FINE] + 16 * bucket
            if total == 0:
                continue
            buckets += 1
            if sum_words(state, fine) != total or (not few and 16 * buckets > ALWAYS_LISTED):
                return np.int64(-1)
            for slot in range(16):
                if state[fine + slot] > 0:
                    pairs = add_pair(state, pairs, (super_ << 8) | (b << 4) | slot, state[fine + slot])
    return pairs


@compiled
def recast(state, data, starts, quantiles, thresholds, columns, limits, out):
    """Add up summaries of one sub-window and write their sum as a summary of this state's query; returns its length.

    The summaries begin at `starts` (in bytes of `data`) and, as rows, have so many quantiles and thresholds; `columns`
    and `limits` say which of theirs each of ours is, -1 for none. The state has nothing live and is left so. If `out`
    is too small, returns the bytes that it must have, negated.
    """
    restart(state, None)
    words, target = data.view(np.int64), out.view(np.int64)
    own, own_limits = state[QUANTILES], state[THRESHOLDS]
    size = HEAD_WORDS + own + 2 * own_limits
    target[:size] = 0
    count, surplus, domain = np.int64(0), np.int64(0), NOTHING
    minimum, maximum = np.inf, -np.inf
    for r in range(starts.size):
        pairs = open_head(state, data, words, starts[r], NO)
        if pairs >= 0:
            head, limits_start = head_of(state, words, starts[r]), HEAD_WORDS + own
        else:
            head = words[starts[r] >> 3 : (starts[r] >> 3) + HEAD_WORDS + quantiles + 2 * thresholds]
            limits_start = HEAD_WORDS + quantiles
        count += head[HEAD_COUNT]
        surplus += surplus_of(words, starts[r])
        minimum, maximum = min(minimum, double_of(head[HEAD_MINIMUM])), max(maximum, double_of(head[HEAD_MAXIMUM]))
        theirs = domain_in(head[HEAD_LENGTH])
        domain = theirs if domain in (NOTHING, theirs) else BOTH
        for t in range(own_limits):
            limit = t if pairs >= 0 else limits[t]  # the head of a list is derived for our own thresholds
            for part in range(2):
                target[HEAD_WORDS + own + 2 * t + part] += head[limits_start + 2 * limit + part]
        if pairs >= 0:
            shift_list(state, pairs, head[HEAD_COUNT], ADD, YES)
        else:
            rows = head[HEAD_ROWS]
            where = starts[r] + 8 * (HEAD_WORDS + quantiles + 2 * thresholds)
            shift_rows(state, data, where, rows & LENGTH_MASK, rows >> 32, 1)
    need = _totals_room(state)
    if need > out.size:
        restart(state, None)
        return -need
    number = words[(starts[0] >> 3) + HEAD_NUMBER]
    pairs = _list_totals(state, count)
    if pairs >= 0:
        bounds = bits_of(minimum), bits_of(maximum)
        end = write_list(state, out, target, 0, number, count, bounds[0], bounds[1], domain, surplus, pairs)
        restart(state, None)
        return end
    for q in range(own):
        phi = state[AT_PHI] + PHI_WIDTH * q
        column = state[phi + PHI_COLUMN]
        if starts.size == 1 and columns[column] >= 0 and not is_listed(words, starts[0]):
            target[HEAD_WORDS + column] = words[(starts[0] >> 3) + HEAD_WORDS + columns[column]]
            continue
        low, high = _codes_at(state, rank_of(state[phi + PHI_NUMERATOR], state[phi + PHI_DENOMINATOR], count))
        target[HEAD_WORDS + column] = low | (high << CODE_SHIFT)
    end, band_rows = _put_totals(state, out, 8 * size, count >= SPARSE_FROM)
    target[HEAD_NUMBER] = number
    target[HEAD_COUNT] = count
    target[HEAD_MINIMUM], target[HEAD_MAXIMUM] = bits_of(minimum), bits_of(maximum)
    target[HEAD_LENGTH] = end | (domain << DOMAIN_SHIFT)
    if surplus > 0:
        target[end >> 3] = surplus
        end += 8
        target[HEAD_LENGTH] = end | (domain << DOMAIN_SHIFT) | ROWS_WEIGHTED
    target[HEAD_ROWS] = state[ACTIVE] | (band_rows << 32)
    restart(state, None)
    return end


@inlined
def _sum_summaries(state, rows, first, last, out, start):
    """Write the sum of one key's summaries, rows first to last (exclusive), at `start`; returns its end.

    If `out` is too small, returns the bytes that it must have, negated. The sum has the form of rows. Behind its bytes
    as a summary, whose quantiles span those of all, come three words: how many summaries it is of, and the numbers of
    the last one that began a burst and of the last that ended one.
    """
    restart(state, None)
    words, target = rows.data.view(np.int64), out.view(np.int64)
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    size = HEAD_WORDS + quantiles + 2 * thresholds
    head = target[start >> 3 : (start >> 3) + size]
    domain = NOTHING
    burst, release = NONE, NONE
    for row in range(first, last):
        offset = rows.offsets[row]
        pairs = open_head(state, rows.data, words, offset, YES)
        source = head_of(state, words, offset)
        if row == first:
            domain = domain_in(source[HEAD_LENGTH])
            if start + 8 * size > out.size:
                return np.int64(-(start + 8 * size))
            for j in range(size):
                head[j] = source[j]
        else:
            head[HEAD_COUNT] += source[HEAD_COUNT]
            head[HEAD_MINIMUM] = bits_of(min(double_of(head[HEAD_MINIMUM]), double_of(source[HEAD_MINIMUM])))
            head[HEAD_MAXIMUM] = bits_of(max(double_of(head[HEAD_MAXIMUM]), double_of(source[HEAD_MAXIMUM])))
            if domain_in(source[HEAD_LENGTH]) != domain:
                domain = BOTH
            for q in range(HEAD_WORDS, HEAD_WORDS + quantiles):
                low = min(head[q] & CODE_MASK, source[q] & CODE_MASK)
                head[q] = low | (max(head[q] >> CODE_SHIFT, source[q] >> CODE_SHIFT) << CODE_SHIFT)
            for j in range(HEAD_WORDS + quantiles, size):
                head[j] += source[j]
        if rows.flags[row] > 0:
            burst = rows.numbers[row]
        elif rows.flags[row] < 0:
            release = rows.numbers[row]
        accumulate(state, rows.data, words, offset, pairs, NO)
    need = start + _totals_room(state) + SUM_TAIL
    if need > out.size:
        restart(state, None)
        return -need
    end, band_rows = _put_totals(state, out, start + 8 * size, head[HEAD_COUNT] >= SPARSE_FROM)
    head[HEAD_LENGTH] = (end - start) | (domain << DOMAIN_SHIFT)
    head[HEAD_ROWS] = state[ACTIVE] | (band_rows << 32)
    restart(state, None)
    target[end >> 3] = last - first
    target[(end >> 3) + 1] = burst
    target[(end >> 3) + 2] = release
    return end + SUM_TAIL


S_ROW, S_WRITTEN, S_START, S_NEED, SUMMING = range(5)  # progress of `sum_keys`


@compiled
def sum_keys(state, rows, out, index, progress):
    """Write the live rows of each key as two: the sum of all but the newest, and the newest.

    `index` gets the key, number, start and flag of each. Rows stay as they are where there is nothing to add up. Rows
    are ordered by key and number, their bytes begin at multiples of 8. Returns
    whether all is done; if not, `out` must have progress[S_NEED] bytes. The state has nothing live and is left so.
    """
    size = rows.keys.size
    row, written, start = progress[S_ROW], progress[S_WRITTEN], progress[S_START]
    while row < size:
        progress[S_ROW], progress[S_WRITTEN], progress[S_START] = row, written, start
        last = row
        while last + 1 < size and rows.keys[last + 1] == rows.keys[row]:
            last += 1
        if last - row > 1:
            index[written, INDEX_KEY], index[written, INDEX_NUMBER] = rows.keys[row], rows.numbers[row]
            index[written, INDEX_START], index[written, INDEX_FLAG] = start, SUMMED
            end = _sum_summaries(state, rows, row, last, out, start)
            if end < 0:
                progress[S_NEED] = -end
                return False
            start = end
            written += 1
            row = last
        if start + rows.offsets[last + 1] - rows.offsets[row] > out.size:
            progress[S_NEED] = start + rows.offsets[last + 1] - rows.offsets[row]
            return False
        while row <= last:
            index[written, INDEX_KEY], index[written, INDEX_NUMBER] = rows.keys[row], rows.numbers[row]
            index[written, INDEX_START], index[written, INDEX_FLAG] = start, rows.flags[row]
            for j in range(rows.offsets[row], rows.offsets[row + 1]):
                out[start] = rows.data[j]
                start += 1
            written += 1
            row += 1
    index[written, INDEX_START] = start
    progress[S_ROW], progress[S_WRITTEN], progress[S_START] = row, written, start
    return True


@compiled
def list_buckets(state, lows, highs, counts):
    """List the buckets that hold live values: their smallest double, the smallest above them, and their counts.

    Returns how many, or -1 if counts lie in a bucket that does not exist.
    """
    size = 0
    for i in range(state[ACTIVE]):
        super_ = state[state[AT_ACTIVE] + i]
        totals = state[AT_TOTAL] + place_of(state, super_) * 16
        for b in range(16):
            if state[totals + b] == 0:
                continue
            first, last = bucket_codes(state, (super_ << 4) | b)
            if last < first or (super_ == state[ZERO_SUPER] and b > 0):
                return -1
            lows[size] = interval(state, first, REALS)[0]
            highs[size] = next_up(interval(state, last, REALS)[1])
            counts[size] = state[totals + b]
            size += 1
    return size
