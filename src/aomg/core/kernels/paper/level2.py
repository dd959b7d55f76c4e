"""Level 2 at the query's own resolution: enters and expires fine parts, and refines each result with them.

Queries with raw values, more than three digits, few-k lists or no guarantee keep a fine part in every summary. Each
result that the dense part has begun (core.kernels.answering) is refined from the live fine parts:

1. an answer that is certified wins: the band's certificate at full resolution, then top-k's;
2. with a guarantee, the envelope's answer;
3. without: sample-k while a burst is live, top-k where sub-windows are too small for the quantile, else Level 2's
   mean. In paper mode only this step applies.

Every value is then moved into the interval that is proved for it.
"""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.answering import live_domain, within
from aomg.core.kernels.bursts import burst_threshold
from aomg.core.kernels.extremes import largest_of, newest_slot, oldest_slot, push_largest, turn_stack
from aomg.core.kernels.heads import domain_in, head_word
from aomg.core.kernels.pairs import score_pairs
from aomg.core.kernels.paper.bands import certified_code, note_band
from aomg.core.kernels.paper.limbs import LIMBS, SUM_END, SUM_FIRST, SUM_WIDTH, SUM_WORDS, add_to_sum, mean_of_sum
from aomg.core.kernels.paper.lists import (
    ABOVE_ALL,
    BELOW_ALL,
    MERGED_CODE,
    MERGED_WORDS,
    SLOT_BELOW,
    SLOT_OVER,
    find_every_merged,
    fine_of,
    has_top_list,
    lists_of,
    merged_list,
    next_list,
    sample_rank,
    shift_lists,
    values_of,
)
from aomg.core.kernels.paper.registers import (
    AS_PAPER,
    AT_CODE_EXTREME,
    AT_COLUMN,
    AT_DEPTH_SUM,
    AT_LIMIT,
    AT_SUM,
    COLUMN_BEYOND,
    COLUMN_HIGH,
    COLUMN_UNKNOWN,
    COLUMN_WIDTH,
    KEEPS_BAND,
    KEEPS_LISTS,
    LEVEL_TURNED,
    LIMIT_CODE,
    LIMIT_INSIDE,
    LIMIT_UNDER,
    LIMIT_VALUE,
    LIMIT_WIDTH,
    PERIOD_EVENTS,
    RAW,
    RESOLUTION,
    TAILS,
    TOP_K_BELOW,
    WITHOUT_TOP,
)
from aomg.core.kernels.paper.resolution import fine_code, fine_interval, fine_middle
from aomg.core.kernels.ranks import PHI_COLUMN, PHI_WIDTH, live_rank
from aomg.core.kernels.registers import (
    AT_PHI,
    BURST_EFFECT,
    ENTERED,
    EXTREME_ROOM,
    FLAG,
    GUARANTEE,
    HAS_ENVELOPE,
    HEAD_COUNT,
    HEAD_LENGTH,
    HEAD_NUMBER,
    LAST_BURST,
    LAST_RELEASE,
    LIVE_COUNT,
    LIVE_SUMMARIES,
    METHOD_BAND,
    METHOD_CERTIFIED,
    METHOD_EXACT,
    METHOD_MEAN,
    METHOD_SAMPLE_K,
    METHOD_TOP_K,
    OUT_FIXED,
    OUT_MAXIMUM,
    OUT_MINIMUM,
    OUT_NUMBER,
    QUANTILES,
    REALS,
    SCORE,
    SUB_WINDOWS,
    THRESHOLDS,
)
from aomg.core.kernels.sortable import EXACT_INTEGERS, bits_of, double_of, next_down, next_up

# -- Accumulate and Deaccumulate -------------------------------------------------------------------------------------


@compiled
def _shift(state, words, level, start, slot, sign):
    """Let the fine part of the summary at `start` enter (+1) or leave (-1) sums and merged lists."""
    quantiles, thresholds = state[QUANTILES], state[THRESHOLDS]
    head, codes = start >> 3, fine_of(words, start)
    limits = codes + quantiles
    for t in range(thresholds):
        limit = level[AT_LIMIT] + LIMIT_WIDTH * t
        level[limit + LIMIT_UNDER] += sign * words[limits + 2 * t]
        level[limit + LIMIT_INSIDE] += sign * words[limits + 2 * t + 1]
    if state[HAS_ENVELOPE] == 0:
        domain = domain_in(words[head + HEAD_LENGTH])
        weight = 1 if level[AS_PAPER] else words[head + HEAD_COUNT]
        inverses = limits + 2 * thresholds
        for column in range(quantiles):
            total = level[AT_SUM] + 2 * SUM_WIDTH * column
            add_to_sum(level, total, fine_middle(state, level, words[codes + column], domain), weight, sign)
            inverse = double_of(words[inverses + column])
            if abs(inverse) < np.inf:
                add_to_sum(level, total + SUM_WIDTH, inverse, 1, sign)
            else:
                level[level[AT_COLUMN] + COLUMN_WIDTH * column + COLUMN_UNKNOWN] += sign
    if level[KEEPS_LISTS]:
        shift_lists(state, words, level, start, slot, sign)


@compiled
def _watch_tails(state, words, level, start, previous):
    """Compare the sampled tails of the summary at `start` with those of the one before it."""
    effect = double_of(state[BURST_EFFECT])
    number, count = head_word(words, start, HEAD_NUMBER), head_word(words, start, HEAD_COUNT)
    new, old = lists_of(words, level, start), lists_of(words, level, previous)
    for _ in range(2):
        new, old = next_list(words, new), next_list(words, old)
    new_depth, old_depth = new, old
    for _ in range(level[TAILS]):
        new_depth, old_depth = next_list(words, new_depth), next_list(words, old_depth)
    best, flag = -2.0, 0
    for tail in range(level[TAILS]):
        depth = words[new_depth + tail]
        chance = burst_threshold(effect, depth, words[old_depth + tail], depth / count)
        x, y = words[new], words[old]
        if chance < 1.0 and x > 0 and y > 0:
            score = score_pairs(
                words[new + 1 : new + 1 + x],
                words[new + 1 + x : new + 1 + 2 * x],
                words[old + 1 : old + 1 + y],
                words[old + 1 + y : old + 1 + 2 * y],
            )
            best = max(best, score)
            if score > chance:
                flag = 1
            elif score < -chance and flag == 0:
                flag = -1
        new, old = next_list(words, new), next_list(words, old)
    if best >= -1.0:
        state[SCORE] = bits_of(best)
    state[FLAG] = flag
    if flag > 0:
        state[LAST_BURST] = number
    elif flag < 0:
        state[LAST_RELEASE] = number


@compiled
def enter_fine(state, words, level, start, previous):
    """Accumulate the fine part of the summary at `start`, which has just entered the ring as the newest.

    previous
        Where the newest summary before it is, -1 if there was none.
    """
    quantiles, room = state[QUANTILES], state[EXTREME_ROOM]
    number, count = head_word(words, start, HEAD_NUMBER), head_word(words, start, HEAD_COUNT)
    recent = previous >= 0 and head_word(words, previous, HEAD_NUMBER) >= number - state[SUB_WINDOWS]
    if recent and state[HAS_ENVELOPE] == 0:  # with an envelope, the ring has compared the tails
        _watch_tails(state, words, level, start, previous)
    slot = newest_slot(state)
    _shift(state, words, level, start, slot, 1)
    codes, extremes = fine_of(words, start), level[AT_CODE_EXTREME]
    width = 2 * room + 1
    for column in range(quantiles):
        code = words[codes + column]
        push_largest(level, extremes + 2 * column * width, slot, code)
        push_largest(level, extremes + (2 * column + 1) * width, slot, -code)
    if level[KEEPS_LISTS]:
        top = lists_of(words, level, start)
        cut = words[top + 1] if 0 < values_of(words, top) < count else BELOW_ALL  # where a list was cut short
        push_largest(level, extremes + 2 * quantiles * width, slot, cut)
    if level[KEEPS_BAND]:
        note_band(words, level, start, slot)


@compiled
def leave_fine(state, words, level, start):
    """Deaccumulate the fine part of the oldest live summary, at `start`, before it leaves the ring."""
    slot = oldest_slot(state)
    _shift(state, words, level, start, slot, -1)


@compiled
def restart_level(state, level):
    """Drop every live fine part, as if `level` were new; for a state without live summaries. O(sub-windows)."""
    quantiles, room = state[QUANTILES], state[EXTREME_ROOM]
    level[WITHOUT_TOP] = level[LEVEL_TURNED] = 0
    for column in range(quantiles):
        level[level[AT_COLUMN] + COLUMN_WIDTH * column + COLUMN_UNKNOWN] = 0
    for t in range(state[THRESHOLDS]):
        limit = level[AT_LIMIT] + LIMIT_WIDTH * t
        level[limit + LIMIT_UNDER] = level[limit + LIMIT_INSIDE] = 0
    for tail in range(level[TAILS]):
        level[level[AT_DEPTH_SUM] + tail] = 0
    for i in range(2 * quantiles):
        total = level[AT_SUM] + SUM_WIDTH * i
        level[total : total + SUM_WORDS + LIMBS] = 0
        level[total + SUM_FIRST], level[total + SUM_END] = LIMBS, 0
    if level[KEEPS_LISTS]:
        for i in range(quantiles + level[TAILS]):
            merged = merged_list(level, i)
            level[merged : merged + MERGED_WORDS] = 0
            level[merged + MERGED_CODE] = ABOVE_ALL
            for slot in range(room):
                level[merged + MERGED_WORDS + SLOT_BELOW * room + slot] = BELOW_ALL
                level[merged + MERGED_WORDS + SLOT_OVER * room + slot] = ABOVE_ALL


# -- ComputeResult ---------------------------------------------------------------------------------------------------


@inlined
def _extreme(state, level, extreme):
    """The largest live value of one of the extremes; after `_settle_extremes`."""
    room = state[EXTREME_ROOM]
    return largest_of(level, level[AT_CODE_EXTREME] + extreme * (2 * room + 1), room, oldest_slot(state))


@inlined
def _settle_extremes(state, level):
    """Turn the stacks of extremes when the second one has been used up."""
    room, live = state[EXTREME_ROOM], state[LIVE_SUMMARIES]
    if state[ENTERED] - live + 1 >= level[LEVEL_TURNED]:
        for extreme in range(2 * state[QUANTILES] + (level[KEEPS_LISTS] != 0)):
            turn_stack(level, level[AT_CODE_EXTREME] + extreme * (2 * room + 1), room, state[ENTERED], live)
        level[LEVEL_TURNED] = state[ENTERED] + 1


@inlined
def _are_small(state, level, column):
    """The paper's rule: top-k answers if too few values of a sub-window are beyond the quantile."""
    events = float(level[PERIOD_EVENTS])
    if level[PERIOD_EVENTS] == 0:  # event time
        events = state[LIVE_COUNT] / state[LIVE_SUMMARIES]
    return events * double_of(level[column + COLUMN_BEYOND]) < double_of(level[TOP_K_BELOW])


@compiled
def _method_within(state, level, method, low, high):
    """What the dense part's method means at the query's resolution: certified only if one code is left."""
    if fine_code(state, level, low) == fine_code(state, level, high):
        return METHOD_CERTIFIED
    return METHOD_BAND if method in (METHOD_EXACT, METHOD_CERTIFIED) else method


@compiled
def _refine_thresholds(state, level, out, domain):
    """Write the shares at the query's own resolution."""
    reals = out.view(np.float64)
    count = state[LIVE_COUNT]
    for t in range(state[THRESHOLDS]):
        limit = level[AT_LIMIT] + LIMIT_WIDTH * t
        value, inside = double_of(level[limit + LIMIT_VALUE]), level[limit + LIMIT_INSIDE]
        low, high = fine_interval(state, level, level[limit + LIMIT_CODE], domain)
        low, high = max(low, reals[OUT_MINIMUM]), min(high, reals[OUT_MAXIMUM])
        least = most = level[limit + LIMIT_UNDER]
        if value >= high:
            least += inside
        if value >= low:
            most += inside
        c = OUT_FIXED + 4 * state[QUANTILES] + 3 * t
        reals[c], reals[c + 1], reals[c + 2] = (least + most) / 2 / count, least / count, most / count


@compiled
def answer_fine(state, words, level, out, densities):
    """Refine the row `out` of compute_result with the live fine parts.

    Without a guarantee, densities[column] gets what Theorem 1 needs, where the mean answers.
    """
    quantiles = state[QUANTILES]
    live, count = state[LIVE_SUMMARIES], state[LIVE_COUNT]
    has_envelope, domain = state[HAS_ENVELOPE] != 0, live_domain(state)
    reals = out.view(np.float64)
    bursting = state[LAST_BURST] >= out[OUT_NUMBER] - state[SUB_WINDOWS] + 1
    _settle_extremes(state, level)
    cut = BELOW_ALL
    if level[KEEPS_LISTS]:
        find_every_merged(state, words, level)
        cut = _extreme(state, level, 2 * quantiles)
    for q in range(quantiles):
        phi = state[AT_PHI] + PHI_WIDTH * q
        column = state[phi + PHI_COLUMN]
        entry = level[AT_COLUMN] + COLUMN_WIDTH * column
        rank = count - live_rank(state, phi, count) + 1
        low, lowest_high = fine_interval(state, level, -_extreme(state, level, 2 * column + 1), domain)
        highest_low, high = fine_interval(state, level, _extreme(state, level, 2 * column), domain)
        spread = (highest_low - low) / 2 + (high - lowest_high) / 2
        c = OUT_FIXED + 4 * column
        value, dense_low, dense_high, method = reals[c], reals[c + 1], reals[c + 2], out[c + 3]
        if level[RESOLUTION] == RAW and domain != REALS:  # longs may have been rounded across the ends
            dense_low = next_down(dense_low) if abs(dense_low) >= EXACT_INTEGERS else dense_low
            dense_high = next_up(dense_high) if abs(dense_high) >= EXACT_INTEGERS else dense_high
        low = max(low, dense_low, reals[OUT_MINIMUM])
        high = min(high, dense_high, reals[OUT_MAXIMUM])
        certified, code = False, BELOW_ALL
        if level[KEEPS_BAND]:
            certified, code = certified_code(state, words, level, q)
        has_top, top = False, BELOW_ALL
        if level[KEEPS_LISTS]:
            has_top = has_top_list(level, column, rank)
            if has_top:  # never above the exact value, which is at most where a list was cut
                top = level[merged_list(level, column) + MERGED_CODE]
                low = max(low, fine_interval(state, level, top, domain)[0])
                high = min(high, fine_interval(state, level, max(top, cut), domain)[1])
                if not certified and cut <= top and not level[AS_PAPER]:
                    certified, code = True, top
        if certified:
            code_low, code_high = fine_interval(state, level, code, domain)
            low, high = max(low, code_low), min(high, code_high)
            value, method = code_low + (code_high - code_low) / 2, METHOD_CERTIFIED
        elif not has_envelope:
            method = METHOD_MEAN
            high_index = level[entry + COLUMN_HIGH]
            if level[KEEPS_LISTS] and high_index >= 0:
                if bursting and sample_rank(state, level, high_index, rank) > 0:
                    code = level[merged_list(level, quantiles + high_index) + MERGED_CODE]
                    value, method = fine_middle(state, level, code, domain), METHOD_SAMPLE_K
                elif has_top and _are_small(state, level, entry):
                    value, method = fine_middle(state, level, top, domain), METHOD_TOP_K
            if method == METHOD_MEAN:
                total = level[AT_SUM] + 2 * SUM_WIDTH * column
                value = mean_of_sum(level, total, live if level[AS_PAPER] else count)
                if not bursting and level[entry + COLUMN_UNKNOWN] == 0:
                    densities[column, 0] = mean_of_sum(level, total + SUM_WIDTH, live)
                    densities[column, 1] = spread
        if has_envelope:
            value = within(value, low, high, double_of(state[GUARANTEE]))
            if not certified:
                method = _method_within(state, level, method, low, high)
        if low == high and (certified or has_envelope):  # mean, top-k and sample-k name the paper's estimator
            method = METHOD_EXACT
        reals[c], reals[c + 1], reals[c + 2] = min(max(value, low), high), low, high
        out[c + 3] = method
    if state[THRESHOLDS] > 0:
        _refine_thresholds(state, level, out, domain)
