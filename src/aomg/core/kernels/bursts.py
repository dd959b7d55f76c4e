"""Detects bursts: compares the newest sub-window with the one before it, at the depth of every high quantile.

Score
    The mean of sign(x - y) over all pairs of the two tails, in [-1, 1]: 0 if they are alike, near 1 if almost every
    value of the new tail is above almost every value of the old one. The tail is larger if the score is above the
    effect size of the query and above four standard deviations of what chance gives for lists of order statistics
    (`burst_threshold`), which no tail of fewer than about 43 values can exceed. There is a score for every high
    quantile's depth: a burst that raises only the top 0.1 % does not change the order of the top 1 %.
Exceedances
    If a tail is too short for the score, the largest events of both sub-windows are compared
    (core.kernels.exceedances). Their chance of a false alarm is known for every distribution.

With an envelope both are computed here, from bucket totals. Without one, the score alone is computed from the tails'
samples (core.kernels.paper.level2).

A burst lasts until a sub-window's tail is smaller than the one before by the same measures, at most one window long.
"""

import math

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.exceedances import LEAST_LOG, compare_exceedances
from aomg.core.kernels.folds import FOLD_ID, FOLD_SUM, FOLD_WIDTH, fold_cells, fold_side
from aomg.core.kernels.lanes import row_wins
from aomg.core.kernels.ranks import tail_depth
from aomg.core.kernels.registers import (
    AT_DEPTH,
    AT_FOLD,
    BURST_EFFECT,
    DEPTHS,
    FLAG,
    HALF_PLACES,
    NEWEST_ROWS,
    ROWS_SIDE,
    SCORE,
    SUB_WINDOWS,
)
from aomg.core.kernels.sortable import bits_of, double_of


@inlined
def burst_threshold(effect, top_new, top_old, fraction):
    """The score above which a tail counts as larger: the query's effect size, or four standard deviations if more.

    Two lists of order statistics, so the variance is not Mann and Whitney's: 4 (1/T + 1/T') (1/3 - f/4). Tails of
    fewer than about 43 values have a threshold above 1, which no score exceeds: they are too few to tell.
    """
    variance = 4.0 * (1.0 / top_new + 1.0 / top_old) * (1.0 / 3.0 - fraction / 4.0)
    return max(effect, 4.0 * math.sqrt(variance))


DEPTH_WIDTH = 7  # phi as a fraction, and for the last two counts: how deep to look, and the limit of chance


@compiled
def _cut_row_wins(cells, x, y, skip_x, skip_y):
    """As row_wins, without the lowest `skip_x` values of x and `skip_y` of y."""
    won, below = np.int64(0), np.int64(0)
    for k in range(16):
        a, b = np.int64(cells[x + k]), np.int64(cells[y + k])
        skipped = min(a, max(skip_x, 0))
        skip_x -= skipped
        a -= skipped
        skipped = min(b, max(skip_y, 0))
        skip_y -= skipped
        b -= skipped
        won += a * (2 * below + b)
        below += b
    return won, below


@inlined
def _tail_limit(state, depth, new_count, old_count):
    """The limit of chance at one depth, 1 or more if a tail is too short. Cached, with how deep to look."""
    entry = state[AT_DEPTH] + DEPTH_WIDTH * depth
    if state[entry + 2] != new_count or state[entry + 3] != old_count:
        state[entry + 2], state[entry + 3] = new_count, old_count
        state[entry + 4] = tail_depth(state[entry], state[entry + 1], state[SUB_WINDOWS], new_count)
        state[entry + 5] = tail_depth(state[entry], state[entry + 1], state[SUB_WINDOWS], old_count)
        fraction = state[entry + 4] / new_count
        limit = burst_threshold(double_of(state[BURST_EFFECT]), state[entry + 4], state[entry + 5], fraction)
        state[entry + 6] = bits_of(limit)
    return double_of(state[entry + 6])


@inlined
def _score(state, cells, depth, new_count, old_count):
    """Mean of sign(x - y) over all pairs of the two tails at one depth."""
    entry = state[AT_DEPTH] + DEPTH_WIDTH * depth
    top_new, top_old = state[entry + 4], state[entry + 5]
    half = state[HALF_PLACES]
    new_rows = state[NEWEST_ROWS + state[ROWS_SIDE]]
    old_rows = state[NEWEST_ROWS + 1 - state[ROWS_SIDE]]
    rows = fold_side(state)
    old_side = state[AT_FOLD] + (1 - state[ROWS_SIDE]) * FOLD_WIDTH * half
    ids, sums = rows + FOLD_ID * half, rows + FOLD_SUM * half
    old_ids, old_sums = old_side + FOLD_ID * half, old_side + FOLD_SUM * half
    new_cells, old_cells = fold_cells(state, state[ROWS_SIDE]), fold_cells(state, 1 - state[ROWS_SIDE])
    skip_new, skip_old = new_count - top_new, old_count - top_old
    i, j = 0, 0
    below, won = np.int64(0), np.int64(0)
    big = np.int64(2**62)
    while i < new_rows and skip_new >= state[sums + i]:
        skip_new -= state[sums + i]
        i += 1
    while j < old_rows and skip_old >= state[old_sums + j]:
        skip_old -= state[old_sums + j]
        j += 1
    while i < new_rows:
        new_super = state[ids + i]
        old_super = state[old_ids + j] if j < old_rows else big
        if old_super < new_super:
            below += state[old_sums + j] - skip_old
            skip_old = np.int64(0)
            j += 1
            continue
        won += 2 * below * (state[sums + i] - skip_new)
        if old_super == new_super:
            x, y = new_cells + 16 * i, old_cells + 16 * j
            if skip_new | skip_old:
                level, passed = _cut_row_wins(cells, x, y, skip_new, skip_old)
            else:
                level, passed = row_wins(cells, x, y)
            won += level
            below += passed
            skip_old = np.int64(0)
            j += 1
        skip_new = np.int64(0)
        i += 1
    return won / (float(top_new) * float(top_old)) - 1.0


@inlined
def compare_tails(state, cells, new_count, old_count):
    """Compare the newest sub-window with the one before, from envelope counts.

    Sets FLAG to +1 (larger than chance explains), -1 (smaller) or 0, and SCORE to the largest score. The score of a
    short tail counts only if its exceedances show a difference: else it is noise.
    """
    if max(new_count, old_count) < LEAST_LOG:  # no tail is long enough, and no events above are too many for chance
        return
    any_short = False
    for depth in range(state[DEPTHS]):
        any_short |= _tail_limit(state, depth, new_count, old_count) >= 1.0
    flag = compare_exceedances(state, cells, new_count, old_count) if any_short else 0
    has_exceedances = flag != 0
    best, compared = -1.0, False
    for depth in range(state[DEPTHS]):
        limit = double_of(state[state[AT_DEPTH] + DEPTH_WIDTH * depth + 6])
        if limit >= 1.0 and not has_exceedances:
            continue
        compared = True
        score = _score(state, cells, depth, new_count, old_count)
        best = max(best, score)
        if score > limit:
            flag = 1
        elif score < -limit and flag == 0:
            flag = -1
    if compared:
        state[SCORE], state[FLAG] = bits_of(best), flag
