"""Summaries of few codes: writes and reads them, and derives envelope, band and quantiles when they enter.

A sub-window of few distinct codes keeps all of them, as (code, count) pairs in one or two bytes each. What the same
sub-window would keep as rows is a function of these pairs, so answers do not depend on the form.

The pairs of the list that is being written or read are in the state (AT_PAIRS: codes, counts, and the events up to
each), and so is the head that it would have as rows (AT_HEAD).
"""

import numpy as np

from aomg.core.kernels._compile import compiled, copied, inlined
from aomg.core.kernels.active_supers import activate_super, deactivate_super
from aomg.core.kernels.codes import place_of
from aomg.core.kernels.folds import FOLD_ID, FOLD_SUM, fold_cells, fold_side, scaled
from aomg.core.kernels.heads import (
    LIST_COUNT_MASK,
    WEIGHTED,
    count_of,
    head_word,
    length_of,
    list_domain,
    list_head,
    list_maximum,
    list_words,
)
from aomg.core.kernels.lanes import count_bits, filled_mask, lowest_bit
from aomg.core.kernels.ranks import PHI_COLUMN, PHI_REACH, PHI_WIDTH, open_rank
from aomg.core.kernels.registers import (
    AT_BAND,
    AT_FINE,
    AT_HEAD,
    AT_PAIRS,
    AT_PHI,
    AT_SUPER_TOTAL,
    AT_THRESHOLD,
    AT_TOTAL,
    BOTH_CODES,
    DOMAIN_SHIFT,
    HALF_PLACES,
    HEAD_COUNT,
    HEAD_FINE,
    HEAD_LENGTH,
    HEAD_MAXIMUM,
    HEAD_MINIMUM,
    HEAD_NUMBER,
    HEAD_ROWS,
    HEAD_WORDS,
    NEWEST_ROWS,
    QUANTILES,
    ROWS_SIDE,
    THRESHOLDS,
)
from aomg.core.kernels.varints import get_number, put_number

MOST_PAIRS = 1024  # of a list
ALWAYS_LISTED = 256  # events that are a list, whatever they are
LISTED_PER_SUPER = 32  # events a super, up to which a list takes less than rows
LIST_HEAD_ROOM, PAIR_ROOM = 48, 9  # bytes that are enough for the head with padding, and for a pair


@copied
def _codes(state):
    return state[state[AT_PAIRS] : state[AT_PAIRS] + MOST_PAIRS]


@copied
def _numbers(state):
    return state[state[AT_PAIRS] + MOST_PAIRS : state[AT_PAIRS] + 2 * MOST_PAIRS]


@copied
def _ends(state):
    return state[state[AT_PAIRS] + 2 * MOST_PAIRS : state[AT_PAIRS] + 3 * MOST_PAIRS]


@copied
def pair_arrays(state):
    """Codes, counts, and the events up to each, of the pairs in the state."""
    return _codes(state), _numbers(state), _ends(state)


@inlined
def list_room(events):
    """Bytes that are enough for the list of so many events."""
    return (LIST_HEAD_ROOM + PAIR_ROOM * events + 7) & ~7


@inlined
def few_events(supers, count):
    """Whether so many events in so many supers are a list."""
    return count <= max(ALWAYS_LISTED, min(LISTED_PER_SUPER * supers, MOST_PAIRS))


@inlined
def is_few(state, cells, folded, count):
    """Whether the folded sub-window has so few codes that a list is smaller: by its events, or by its buckets."""
    if few_events(folded, count):
        return True
    if count > LIST_COUNT_MASK:
        return False
    totals, buckets = fold_cells(state, state[ROWS_SIDE]), np.int64(0)
    for i in range(folded):
        buckets += count_bits(filled_mask(cells, totals + 16 * i))
        if buckets * 16 > ALWAYS_LISTED:
            return False
    return True


@inlined
def list_open_pairs(state, cells, folded):
    """List the pairs of the folded sub-window; returns how many."""
    codes, numbers = _codes(state), _numbers(state)
    ids = fold_side(state) + FOLD_ID * state[HALF_PLACES]
    pairs = 0
    for i in range(folded):
        super_ = state[ids + i]
        place = place_of(state, super_)
        for part in range(0, 256, 64):  # four buckets at a time: fewer loops of unknown length
            first = 256 * place + part
            filled = filled_mask(cells, first) | (filled_mask(cells, first + 16) << 16)
            filled |= (filled_mask(cells, first + 32) << 32) | (filled_mask(cells, first + 48) << 48)
            while filled != 0:
                cell = lowest_bit(filled)
                filled &= filled - 1
                codes[pairs] = (super_ << 8) | (part + cell)
                numbers[pairs] = cells[first + cell]
                pairs += 1
    return pairs


@inlined
def add_pair(state, pairs, code, number):
    """Append a pair to those in the state; returns how many there are."""
    state[state[AT_PAIRS] + pairs] = code
    state[state[AT_PAIRS] + MOST_PAIRS + pairs] = number
    return pairs + 1


@compiled
def write_list(state, ring, words, start, number, count, minimum, maximum, domain, surplus, pairs):
    """Write the pairs in the state as a summary at `start`; `minimum` and `maximum` are bits. Returns its length."""
    codes, numbers = _codes(state), _numbers(state)
    head = start >> 3
    one_value = minimum == maximum
    words[head + HEAD_NUMBER] = number
    words[head + HEAD_MINIMUM] = minimum
    if not one_value:
        words[head + HEAD_MAXIMUM] = maximum
    end = put_number(ring, start + 8 * (HEAD_MAXIMUM if one_value else HEAD_MAXIMUM + 1), pairs)
    before = np.int64(-1)
    for i in range(pairs):
        step = ((codes[i] - before - 1) << 1) | (numbers[i] > 1)
        before = codes[i]
        if step < 128:
            ring[end] = step
            end += 1
        else:
            end = put_number(ring, end, step)
    for i in range(pairs):  # a byte that is overwritten unless the pair has one: no branch to mispredict
        ring[end] = numbers[i] - 2
        if numbers[i] >= 130:
            end = put_number(ring, end, numbers[i] - 2)
        else:
            end += numbers[i] > 1
    while (end - start) & 7:
        ring[end] = 0
        end += 1
    if surplus > 0:
        words[end >> 3] = surplus
        end += 8
    words[head + HEAD_COUNT] = list_head(count, end - start, domain, one_value, surplus > 0)
    return end - start


@compiled
def read_list(state, ring, words, start):
    """Read the pairs of the list at `start` into the state; returns how many."""
    codes, numbers, ends = _codes(state), _numbers(state), _ends(state)
    pairs, where = get_number(ring, start + 8 * list_words(words, start))
    last = start + length_of(words, start) - 1
    code = np.int64(-1)
    for i in range(pairs):
        step = np.int64(ring[where])
        if step < 128:
            where += 1
        else:
            step, where = get_number(ring, where)
        code += (step >> 1) + 1
        codes[i], numbers[i] = code, step & 1
    total = np.int64(0)
    for i in range(pairs):
        more = numbers[i]
        rest = np.int64(ring[min(where, last)])
        if more * rest >= 128:
            rest, where = get_number(ring, where)
        else:
            where += more
        numbers[i] = 1 + more * (rest + 1)
        total += numbers[i]
        ends[i] = total
    return pairs


@inlined
def _is_number(record, where):
    """Whether a number of at most five bytes begins at `where`."""
    last = where
    while last < record.size and last < where + 5 and record[last] >= 128:
        last += 1
    return last < record.size and last < where + 5


@compiled
def list_is_sound(record, supers):
    """Whether length, codes and counts of a list agree, of which the first two words are there."""
    words = record.view(np.int64)
    if record.size < 24 or record.size < 8 * list_words(words, 0) or length_of(words, 0) != record.size:
        return False
    where = np.int64(8 * list_words(words, 0))
    if not _is_number(record, where):
        return False
    pairs, where = get_number(record, where)
    if not 0 < pairs <= MOST_PAIRS:
        return False
    code, more = np.int64(-1), np.int64(0)
    for _ in range(pairs):
        if not _is_number(record, where):
            return False
        step, where = get_number(record, where)
        code += (step >> 1) + 1
        more += step & 1
    total = np.int64(pairs)
    for _ in range(more):
        if not _is_number(record, where):
            return False
        rest, where = get_number(record, where)
        total += rest + 1
    end = record.size
    if words[HEAD_COUNT] & WEIGHTED:
        end -= 8
        if where > end or not 0 < words[end >> 3] < total:
            return False
    padding = np.uint8(0)
    for k in range(where, end):
        padding |= record[k]
    return code < supers * 256 and total == count_of(words, 0) and end - where < 8 and padding == 0


@inlined
def _pair_at(ends, pairs, rank):
    """The pair that holds a rank: as many as end before it. No branch to mispredict."""
    before = np.int64(0)
    for i in range(pairs):
        before += ends[i] < rank
    return before


@inlined
def end_pairs(state, pairs):
    """Add up the pairs in the state: how many events there are up to each."""
    numbers, ends = _numbers(state), _ends(state)
    total = np.int64(0)
    for i in range(pairs):
        total += numbers[i]
        ends[i] = total


@compiled
def derive_head(state, words, start, pairs, entering):
    """Derive the head that the list at `start` would have as rows; its quantiles only if `entering` is YES."""
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    codes, numbers = _codes(state), _numbers(state)
    head = state[state[AT_HEAD] : state[AT_HEAD] + HEAD_WORDS + quantiles + 2 * thresholds]
    count = count_of(words, start)
    head[HEAD_NUMBER] = head_word(words, start, HEAD_NUMBER)
    head[HEAD_COUNT] = count
    head[HEAD_MINIMUM] = head_word(words, start, HEAD_MINIMUM)
    head[HEAD_MAXIMUM] = head_word(words, start, list_maximum(words, start))
    head[HEAD_LENGTH] = length_of(words, start) | (list_domain(words, start) << DOMAIN_SHIFT)
    head[HEAD_ROWS] = head[HEAD_FINE] = 0
    if entering:
        ends = _ends(state)
        for q in range(quantiles):
            phi = state[AT_PHI] + PHI_WIDTH * q
            rank = open_rank(state, phi, count)
            head[HEAD_WORDS + state[phi + PHI_COLUMN]] = codes[_pair_at(ends, pairs, rank)] * BOTH_CODES
    for t in range(thresholds):
        code = state[state[AT_THRESHOLD] + 2 * t]
        under, inside = np.int64(0), np.int64(0)
        for i in range(pairs):
            if codes[i] < code:
                under += numbers[i]
            elif codes[i] == code:
                inside = numbers[i]
        head[HEAD_WORDS + quantiles + 2 * t] = under
        head[HEAD_WORDS + quantiles + 2 * t + 1] = inside


@inlined
def _list_band(state, pairs, count):
    """List the band as intervals of pairs (first, last) in the state (AT_BAND), ascending; returns how many.

    The band is whole buckets, from rank - reach to rank + reach of each quantile.
    """
    codes, ends = _codes(state), _ends(state)
    band, size = state[state[AT_BAND] : state[AT_BAND] + 2 * state[QUANTILES]], 0
    for q in range(state[QUANTILES]):  # intervals of ranks
        phi = state[AT_PHI] + PHI_WIDTH * q
        rank = open_rank(state, phi, count)
        first, last = max(rank - state[phi + PHI_REACH], 1), min(rank + state[phi + PHI_REACH], count)
        while size > 0 and first <= band[2 * size - 1] + 1:
            size -= 1
            first, last = min(first, band[2 * size]), max(last, band[2 * size + 1])
        band[2 * size], band[2 * size + 1] = first, last
        size += 1
    before = np.int64(-1)
    for k in range(size):  # intervals of pairs
        first = np.int64(0) if band[2 * k] == 1 else _pair_at(ends, pairs, band[2 * k])
        last = pairs - 1 if band[2 * k + 1] == count else _pair_at(ends, pairs, band[2 * k + 1])
        while first > 0 and codes[first - 1] >> 4 == codes[first] >> 4:
            first -= 1
        while last + 1 < pairs and codes[last + 1] >> 4 == codes[last] >> 4:
            last += 1
        band[2 * k], band[2 * k + 1] = max(first, before + 1), last  # two intervals may meet in a bucket
        before = last
    return size


@compiled
def shift_list(state, pairs, count, sign, everything):
    """Add (sign +1) or subtract (-1) the pairs in the state to the sliding totals: all buckets, and the band's codes.

    `everything` (YES or NO) takes all codes for the band, where no summary has to be subtracted again.
    """
    codes, numbers = _codes(state), _numbers(state)
    at_total, at_super_total, at_fine = state[AT_TOTAL], state[AT_SUPER_TOTAL], state[AT_FINE]
    band, intervals = state[AT_BAND], 1
    if everything:
        state[band], state[band + 1] = 0, pairs - 1
    else:
        intervals = _list_band(state, pairs, count)
    i = 0
    while i < pairs:
        super_ = codes[i] >> 8
        place = place_of(state, super_)
        shift = np.int64(0)
        while i < pairs and codes[i] >> 8 == super_:
            state[at_total + place * 16 + ((codes[i] >> 4) & 15)] += sign * numbers[i]
            shift += numbers[i]
            i += 1
        if sign > 0 and state[at_super_total + place] == 0:
            activate_super(state, super_)
        state[at_super_total + place] += sign * shift
        if sign < 0 and state[at_super_total + place] == 0:
            deactivate_super(state, super_)
    for k in range(intervals):
        for i in range(state[band + 2 * k], state[band + 2 * k + 1] + 1):
            state[at_fine + place_of(state, codes[i] >> 8) * 256 + (codes[i] & 255)] += sign * numbers[i]


@compiled
def unfold_list(state, cells, pairs, share):
    """Restore the newest bucket totals from the pairs in the state, each unit of weight as `share` events."""
    codes, numbers = _codes(state), _numbers(state)
    side, half = fold_side(state), state[HALF_PLACES]
    totals = fold_cells(state, state[ROWS_SIDE])
    rows, weight, below = 0, np.int64(0), np.int64(0)
    for i in range(pairs):
        super_ = codes[i] >> 8
        events = numbers[i]
        if share != 1.0:
            weight += events
            upto = scaled(weight, share)
            events, below = upto - below, upto
        if rows == 0 or state[side + FOLD_ID * half + rows - 1] != super_:
            for k in range(16):
                cells[totals + 16 * rows + k] = 0
            state[side + FOLD_ID * half + rows] = super_
            state[side + FOLD_SUM * half + rows] = 0
            rows += 1
        cells[totals + 16 * (rows - 1) + ((codes[i] >> 4) & 15)] += events
        state[side + FOLD_SUM * half + rows - 1] += events
    state[NEWEST_ROWS + state[ROWS_SIDE]] = rows
