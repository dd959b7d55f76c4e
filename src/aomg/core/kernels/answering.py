"""Computes a window's result from the sliding totals: each quantile with its interval, and the shares."""

import math

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.codes import interval, place_of
from aomg.core.kernels.extremes import extreme_of, oldest_slot, settle_extremes
from aomg.core.kernels.lanes import find_downwards, sum_words
from aomg.core.kernels.ranks import PHI_COLUMN, PHI_WIDTH, live_rank
from aomg.core.kernels.registers import (
    ACTIVE,
    AT_ACTIVE,
    AT_FINE,
    AT_PHI,
    AT_SCRATCH,
    AT_SLOTS,
    AT_SUPER_TOTAL,
    AT_THRESHOLD,
    AT_TOTAL,
    BOTH,
    FLAG,
    GUARANTEE,
    HAS_ENVELOPE,
    INTEGERS,
    LAST_BURST,
    LAST_RELEASE,
    LIVE_COUNT,
    LIVE_SUMMARIES,
    LIVE_WITH_INTEGERS,
    LIVE_WITH_REALS,
    METHOD_BAND,
    METHOD_CERTIFIED,
    METHOD_ENVELOPE,
    METHOD_EXACT,
    METHOD_MEAN,
    NEWEST_NUMBER,
    NO,
    OUT_BURST,
    OUT_COUNT,
    OUT_FIXED,
    OUT_MAXIMUM,
    OUT_MINIMUM,
    OUT_NUMBER,
    OUT_SCORE,
    OUT_SUMMARIES,
    QUANTILES,
    REALS,
    SCORE,
    SUB_WINDOWS,
    SUPERS_PER_DECADE,
    THRESHOLDS,
    YES,
    ZERO_SUPER,
)
from aomg.core.kernels.sortable import bits_of, double_of, double_of_key


@inlined
def bucket_codes(state, bucket):
    """First and last code of a bucket (a logical number)."""
    super_, b = bucket >> 4, bucket & 15
    zero = state[ZERO_SUPER]
    if super_ == zero:
        return bucket << 4, bucket << 4
    if super_ > zero:
        slots = state[state[AT_SLOTS] + ((super_ - zero - 1) % state[SUPERS_PER_DECADE]) * 16 + b]
        return bucket << 4, (bucket << 4) + slots - 1
    slots = state[state[AT_SLOTS] + ((zero - super_ - 1) % state[SUPERS_PER_DECADE]) * 16 + 15 - b]
    return (bucket << 4) + 16 - slots, (bucket << 4) + 15


@compiled
def _beside_is_empty(state, code, up):
    """Whether the code next to `code` is known to be empty in the window."""
    first, last = bucket_codes(state, code >> 4)
    if up and code < last:
        return state[_fine_at(state, code + 1)] == 0
    if not up and code > first:
        return state[_fine_at(state, code - 1)] == 0
    bucket = code >> 4
    zero = state[ZERO_SUPER]
    for _ in range(17):
        bucket += 1 if up else -1
        if bucket >> 4 == zero or bucket < 0 or bucket >> 4 > 2 * zero:
            return False
        first, last = bucket_codes(state, bucket)
        if last >= first:
            break
    total = state[state[AT_TOTAL] + place_of(state, bucket >> 4) * 16 + (bucket & 15)]
    if total == 0:
        return True
    known = np.int64(0)
    for code_beside in range(first, last + 1):
        known += state[_fine_at(state, code_beside)]
    return known == total and state[_fine_at(state, first if up else last)] == 0


@inlined
def _fine_at(state, code):
    return state[AT_FINE] + place_of(state, code >> 8) * 256 + (code & 255)


TIES = 4  # a code with at least this many values and empty neighbours has ties: place them on its edge


@inlined
def within(value, low, high, guarantee):
    """The value nearest to `value` that is in [low, high] and within the guarantee of every point of it."""
    if low > 0.0:
        value = min(max(value, (1.0 - guarantee) * high), (1.0 + guarantee) * low)
    elif high < 0.0:
        value = min(max(value, (1.0 + guarantee) * high), (1.0 - guarantee) * low)
    return min(max(value, low), high)


@inlined
def _known_value(state, code, base, number, rank, domain):
    """The value of the `rank`-th largest of a code's `number` values: spread evenly, or ties on its edge.

    `base` is where the code's count is, between those of its neighbours in the bucket.
    """
    low, high = interval(state, code, domain)
    value = low
    if low != high:
        slot = code & 15
        alone = number >= TIES and (slot == 15 or state[base + 1] == 0) and (slot == 0 or state[base - 1] == 0)
        if alone and _beside_is_empty(state, code, YES) and _beside_is_empty(state, code, NO):
            value = low if low >= 0.0 else high
        else:
            value = high - (high - low) * ((rank - 0.5) / number)
    return value, low, high


@compiled
def _partly_known_value(state, bucket, total, known, above, domain, bounds):
    """Estimate a bucket's `above`-th largest value if the bands know only some of its events.

    Sets bounds to the codes between which it must be: the highest if all unknown values are above, the lowest if all
    are below.
    """
    first, last = bucket_codes(state, bucket)
    base = _fine_at(state, first)
    unknown = total - known
    top, bottom = first, first
    passed = np.int64(0)
    for k in range(last - first, -1, -1):
        passed += state[base + k]
        if top == first and passed + unknown >= above:
            top = first + k
        if passed >= above:
            bottom = first + k
            break
    bounds[0], bounds[1] = bottom, top
    low, _ = interval(state, first, domain)
    _, high = interval(state, last, domain)
    spread = high - (high - low) * ((above - 0.5) / total)
    share = known / total
    target = (above - 0.5) * share
    passed = np.int64(0)
    for k in range(last - first, -1, -1):
        number = state[base + k]
        if number > 0 and passed + number >= target:
            low, high = interval(state, first + k, domain)
            guess = high - (high - low) * ((target - passed) / number)
            return share * guess + (1.0 - share) * spread
        passed += number
    return spread


@inlined
def live_domain(state):
    """The domain of the window: integers, real numbers or both."""
    if state[LIVE_WITH_REALS] == 0:
        return INTEGERS
    return REALS if state[LIVE_WITH_INTEGERS] == 0 else BOTH


@inlined
def compute_result(state, number, out):
    """ComputeResult of Level 2: one row of results from the sliding totals."""
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    count = state[LIVE_COUNT]
    reals = out.view(np.float64)
    domain = live_domain(state)
    guarantee = double_of(state[GUARANTEE])
    settle_extremes(state)
    at_oldest = oldest_slot(state)
    minimum = double_of_key(-extreme_of(state, 2 * quantiles + 1, at_oldest))
    maximum = double_of_key(extreme_of(state, 2 * quantiles, at_oldest))
    out[OUT_NUMBER] = number
    out[OUT_COUNT] = count
    out[OUT_SUMMARIES] = state[LIVE_SUMMARIES]
    newest = state[NEWEST_NUMBER]
    oldest = number - state[SUB_WINDOWS] + 1
    ongoing = state[LAST_BURST] >= oldest and state[LAST_BURST] > state[LAST_RELEASE]
    out[OUT_BURST] = 1 if newest == number and (state[FLAG] > 0 or ongoing) else 0
    reals[OUT_MINIMUM] = minimum
    reals[OUT_MAXIMUM] = maximum
    out[OUT_SCORE] = state[SCORE] if newest == number else bits_of(0.0)
    active = state[state[AT_ACTIVE] : state[AT_ACTIVE] + state[ACTIVE]]
    i = active.size - 1
    passed = np.int64(0)
    bounds = state[state[AT_SCRATCH] + 16 : state[AT_SCRATCH] + 18]
    for q in range(quantiles - 1, -1, -1):
        phi = state[AT_PHI] + PHI_WIDTH * q
        column = state[phi + PHI_COLUMN]
        above = count - live_rank(state, phi, count) + 1
        lowest = -extreme_of(state, 2 * column + 1, at_oldest)
        highest = extreme_of(state, 2 * column, at_oldest)
        value, method = np.nan, METHOD_MEAN
        if state[HAS_ENVELOPE]:
            place = place_of(state, active[i])
            while passed + state[state[AT_SUPER_TOTAL] + place] < above:
                passed += state[state[AT_SUPER_TOTAL] + place]
                i -= 1
                place = place_of(state, active[i])
            b, over = find_downwards(state, state[AT_TOTAL] + place * 16, above - passed)
            total, over = state[state[AT_TOTAL] + place * 16 + b], above - passed - over
            base = state[AT_FINE] + (place * 16 + b) * 16
            known = sum_words(state, base)
            bucket = (active[i] << 4) | b
            if known == total:  # the certificate: every value of the bucket is known to its code
                slot, higher = find_downwards(state, base, over)
                number = state[base + slot]
                rank = over - higher
                value, low, high = _known_value(state, (bucket << 4) | slot, base + slot, number, rank, domain)
                method = METHOD_CERTIFIED
            else:
                value = _partly_known_value(state, bucket, total, known, over, domain, bounds)
                lowest, highest = max(lowest, bounds[0]), min(highest, bounds[1])
                method = METHOD_CERTIFIED if lowest == highest else (METHOD_BAND if known else METHOD_ENVELOPE)
                low, _ = interval(state, lowest, domain)
                _, high = interval(state, highest, domain)
            low, high = max(low, minimum), min(high, maximum)
            value = within(value, low, high, guarantee)
            if low == high:
                method = METHOD_EXACT
        else:
            low, _ = interval(state, lowest, domain)
            _, high = interval(state, highest, domain)
            low, high = max(low, minimum), min(high, maximum)
        c = OUT_FIXED + 4 * column
        reals[c], reals[c + 1], reals[c + 2] = value, low, high
        out[c + 3] = method
    for t in range(thresholds):
        base = state[AT_THRESHOLD]
        limit = double_of(state[base + 2 * t + 1])
        under, inside = state[base + 2 * thresholds + 2 * t], state[base + 2 * thresholds + 2 * t + 1]
        low, high = interval(state, state[base + 2 * t], domain)
        low, high = max(low, minimum), min(high, maximum)
        least, most, middle = float(under), float(under), float(under)
        if inside > 0:
            if limit >= low:
                most += inside
            if limit >= high:
                least += inside
                middle += inside
            elif limit >= low:
                width = high - low + 1.0 if domain == INTEGERS else high - low
                reach = math.floor(limit) - low + 1.0 if domain == INTEGERS else limit - low
                middle += inside * min(max(reach / width, 0.0), 1.0)
        c = OUT_FIXED + 4 * quantiles + 3 * t
        reals[c], reals[c + 1], reals[c + 2] = middle / count, least / count, most / count


@compiled
def locate(state, phi_index):
    """Find a quantile in the window: is it certified, its dense code, its rank in the code from the top, its events."""
    count = state[LIVE_COUNT]
    above = count - live_rank(state, state[AT_PHI] + PHI_WIDTH * phi_index, count) + 1
    i = state[ACTIVE] - 1
    passed = np.int64(0)
    place = place_of(state, state[state[AT_ACTIVE] + i])
    while passed + state[state[AT_SUPER_TOTAL] + place] < above:
        passed += state[state[AT_SUPER_TOTAL] + place]
        i -= 1
        place = place_of(state, state[state[AT_ACTIVE] + i])
    b = 15
    while passed + state[state[AT_TOTAL] + place * 16 + b] < above:
        passed += state[state[AT_TOTAL] + place * 16 + b]
        b -= 1
    base = state[AT_FINE] + (place * 16 + b) * 16
    if sum_words(state, base) != state[state[AT_TOTAL] + place * 16 + b]:
        return False, np.int64(0), np.int64(0), np.int64(0)
    slot = 15
    while passed + state[base + slot] < above:
        passed += state[base + slot]
        slot -= 1
    code = (state[state[AT_ACTIVE] + i] << 8) | (b << 4) | slot
    return True, code, above - passed, state[base + slot]
