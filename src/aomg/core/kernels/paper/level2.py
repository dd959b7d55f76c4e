"""Level 2 of raw values: enters and expires sorted sub-windows, and computes results as the paper does."""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.answering import compute_result, live_domain
from aomg.core.kernels.bursts import burst_threshold
from aomg.core.kernels.codes import raw_interval
from aomg.core.kernels.extremes import largest_of, push_largest, turn_stack
from aomg.core.kernels.pairs import score_pairs
from aomg.core.kernels.paper.limbs import SUM_WIDTH, add_to_sum, mean_of_sum
from aomg.core.kernels.paper.lists import (
    LOWEST_CODE,
    MERGED_CODE,
    find_every_merged,
    has_top_list,
    lists_at,
    merged_at,
    next_list,
    sample_rank,
    shift_lists,
    values_of,
)
from aomg.core.kernels.paper.plans import PLAN_ROOM, raw_middle, write_raw
from aomg.core.kernels.paper.registers import (
    AS_PAPER,
    AT_COLUMN,
    AT_RAW_EXTREME,
    AT_SUM,
    COLUMN_HIGH,
    COLUMN_TOP_K,
    COLUMN_UNKNOWN,
    COLUMN_WIDTH,
    KEEPS_LISTS,
)
from aomg.core.kernels.ranks import PHI_COLUMN, PHI_WIDTH, live_rank
from aomg.core.kernels.registers import (
    AT_PHI,
    BURST_EFFECT,
    DEPTHS,
    DOMAIN_SHIFT,
    ENTERED,
    EXTREME_ROOM,
    FLAG,
    HEAD_COUNT,
    HEAD_LENGTH,
    HEAD_NUMBER,
    HEAD_WORDS,
    LAST_BURST,
    LAST_RELEASE,
    LIVE_COUNT,
    LIVE_SUMMARIES,
    METHOD_EXACT,
    METHOD_MEAN,
    METHOD_SAMPLE_K,
    METHOD_TOP_K,
    OUT_FIXED,
    OUT_MAXIMUM,
    OUT_MINIMUM,
    PARTIAL,
    QUANTILES,
    REALS,
    RING_NEWEST,
    RING_OLDEST,
    SCORE,
    SUB_WINDOWS,
    TURNED,
)
from aomg.core.kernels.ring import enter, expire, find_room, head_word
from aomg.core.kernels.sortable import EXACT_INTEGERS, bits_of, double_of, next_down, next_up


@compiled
def _shift_raw(state, words, level, at, slot, sign):
    """Let what the raw summary at `at` says enter (+1) or leave (-1) sums and merged lists."""
    quantiles = state[QUANTILES]
    head = at >> 3
    domain = words[head + HEAD_LENGTH] >> DOMAIN_SHIFT
    codes = head + HEAD_WORDS + quantiles
    weight = 1 if level[AS_PAPER] else words[head + HEAD_COUNT]
    for column in range(quantiles):
        total = level[AT_SUM] + 2 * SUM_WIDTH * column
        add_to_sum(level, total, raw_middle(words[codes + column], domain), weight, sign)
        inverse = double_of(words[codes + quantiles + column])
        if abs(inverse) < np.inf:
            add_to_sum(level, total + SUM_WIDTH, inverse, 1, sign)
        else:
            level[level[AT_COLUMN] + COLUMN_WIDTH * column + COLUMN_UNKNOWN] += sign
    if level[KEEPS_LISTS]:
        shift_lists(state, words, level, at, slot, sign)


@compiled
def _watch_tails(state, words, previous, at):
    """Compare the tails of the raw summary at `at` with those of the one before it."""
    effect = double_of(state[BURST_EFFECT])
    number, count = head_word(words, at, HEAD_NUMBER), head_word(words, at, HEAD_COUNT)
    new, old = lists_at(state, at), lists_at(state, previous)
    for _ in range(2):
        new, old = next_list(words, new), next_list(words, old)
    new_depth, old_depth = new, old
    for _ in range(state[DEPTHS]):
        new_depth, old_depth = next_list(words, new_depth), next_list(words, old_depth)
    best, flag = -2.0, 0
    for high in range(state[DEPTHS]):
        depth = words[new_depth + high]
        chance = burst_threshold(effect, depth, words[old_depth + high], depth / count)
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
def enter_fine(state, words, level, at, previous):
    """Accumulate of Level 2: let the raw summary at `at` enter as the newest."""
    quantiles, room = state[QUANTILES], state[EXTREME_ROOM]
    number, count = head_word(words, at, HEAD_NUMBER), head_word(words, at, HEAD_COUNT)
    if previous >= 0 and head_word(words, previous, HEAD_NUMBER) >= number - state[SUB_WINDOWS]:
        _watch_tails(state, words, previous, at)
    entered = state[ENTERED]
    slot = entered % room
    _shift_raw(state, words, level, at, slot, 1)
    codes = (at >> 3) + HEAD_WORDS + quantiles
    width = 2 * room + 1
    for column in range(quantiles):
        push_largest(level, level[AT_RAW_EXTREME] + 2 * column * width, room, entered, words[codes + column])
        push_largest(level, level[AT_RAW_EXTREME] + (2 * column + 1) * width, room, entered, -words[codes + column])
    if level[KEEPS_LISTS]:
        top = lists_at(state, at)
        cut = words[top + 1] if 0 < values_of(words, top) < count else LOWEST_CODE  # where a list was cut short
        push_largest(level, level[AT_RAW_EXTREME] + 2 * quantiles * width, room, entered, cut)


@compiled
def expire_fine(state, ring, words, level, before):
    """Deaccumulate of Level 2: let every raw summary leave whose number is below `before`."""
    while state[LIVE_SUMMARIES] > 0 and head_word(words, state[RING_OLDEST], HEAD_NUMBER) < before:
        oldest = state[RING_OLDEST]
        slot = (state[ENTERED] - state[LIVE_SUMMARIES] + 1) % state[EXTREME_ROOM]
        _shift_raw(state, words, level, oldest, slot, -1)
        expire(state, ring, words, head_word(words, oldest, HEAD_NUMBER) + 1)


@inlined
def _raw_extreme(state, level, extreme):
    room = state[EXTREME_ROOM]
    oldest = state[ENTERED] - state[LIVE_SUMMARIES] + 1
    return largest_of(level, level[AT_RAW_EXTREME] + extreme * (2 * room + 1), room, oldest)


@compiled
def answer_fine(state, words, level, number, out, densities):
    """ComputeResult of Level 2: a row of results, and what Theorem 1 needs. core.refinement says what is chosen."""
    if level[KEEPS_LISTS]:
        find_every_merged(state, words, level)
    quantiles, room = state[QUANTILES], state[EXTREME_ROOM]
    live, count = state[LIVE_SUMMARIES], state[LIVE_COUNT]
    if state[ENTERED] - live + 1 >= state[TURNED]:
        for extreme in range(2 * quantiles + (level[KEEPS_LISTS] != 0)):
            turn_stack(level, level[AT_RAW_EXTREME] + extreme * (2 * room + 1), room, state[ENTERED], live)
    compute_result(state, number, out)
    reals = out.view(np.float64)
    domain = live_domain(state)
    bursting = state[LAST_BURST] >= number - state[SUB_WINDOWS] + 1
    cut = _raw_extreme(state, level, 2 * quantiles) if level[KEEPS_LISTS] else LOWEST_CODE
    for q in range(quantiles):
        phi = state[AT_PHI] + PHI_WIDTH * q
        column = state[phi + PHI_COLUMN]
        entry = level[AT_COLUMN] + COLUMN_WIDTH * column
        rank = count - live_rank(state, phi, count) + 1
        low, lowest_high = raw_interval(-_raw_extreme(state, level, 2 * column + 1), domain)
        highest_low, high = raw_interval(_raw_extreme(state, level, 2 * column), domain)
        spread = (highest_low - low) / 2 + (high - lowest_high) / 2
        c = OUT_FIXED + 4 * column
        dense_low, dense_high = reals[c + 1], reals[c + 2]
        if domain != REALS:  # longs may have been rounded across the ends
            dense_low = next_down(dense_low) if abs(dense_low) >= EXACT_INTEGERS else dense_low
            dense_high = next_up(dense_high) if abs(dense_high) >= EXACT_INTEGERS else dense_high
        low = max(low, dense_low, reals[OUT_MINIMUM])
        high = min(high, dense_high, reals[OUT_MAXIMUM])
        value, method = np.nan, METHOD_MEAN
        if level[KEEPS_LISTS]:
            has_top, certified = has_top_list(level, column, rank), False
            top = LOWEST_CODE
            if has_top:  # never above the exact value, which is at most where a list was cut
                top = level[merged_at(level, column) + MERGED_CODE]
                certified = cut <= top
                low = max(low, raw_interval(top, domain)[0])
                high = min(high, raw_interval(max(top, cut), domain)[1])
            high_at = level[entry + COLUMN_HIGH]
            if certified and not level[AS_PAPER]:
                value, method = raw_middle(top, domain), METHOD_EXACT
            elif high_at >= 0:
                if bursting and sample_rank(state, level, high_at, rank) > 0:
                    code = level[merged_at(level, quantiles + high_at) + MERGED_CODE]
                    value, method = raw_middle(code, domain), METHOD_SAMPLE_K
                elif has_top and level[entry + COLUMN_TOP_K]:
                    value, method = raw_middle(top, domain), METHOD_TOP_K
        if method == METHOD_MEAN:
            total = level[AT_SUM] + 2 * SUM_WIDTH * column
            value = mean_of_sum(level, total, live if level[AS_PAPER] else count)
            if not bursting and level[entry + COLUMN_UNKNOWN] == 0:
                densities[column, 0] = mean_of_sum(level, total + SUM_WIDTH, live)
                densities[column, 1] = spread
        reals[c], reals[c + 1], reals[c + 2] = min(max(value, low), high), low, high
        out[c + 3] = method


@compiled
def restart_level(level):
    """Forget."""
    level[0] = 0
