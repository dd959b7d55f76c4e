"""Compares two sub-windows by exceedances: counts the events of one above the largest events of the other.

k_j is how many events of one sub-window are in buckets above the bucket of the j-th largest event of the other. If both
sub-windows are alike, so that every order of their events is equally likely, then k_j >= k happens at most this often:

    p^k * sum over i < j of C(k + i - 1, i) (1 - p)^i        p: the share of the first sub-window in the events of both

This holds for every distribution. Drawing the events one by one from the top, without putting them back, makes it
rarer. So do ties: events of the same bucket are not above each other. A sub-window is larger if for some j up to 4 this
chance is at most CHANCES[j - 1]. Their sum bounds the false alarms: below 1 in 10,000 calm sub-windows.

With as many events in both sub-windows, 16 events above the largest event of the other are enough, or 17 above the
second largest, 25 above the third or 27 above the fourth. Most of the sum is spent on the second: if 17 events are
raised, one event of the other sub-window is often as large, two rarely are. The score of core.kernels.bursts cannot
find so few: it needs tails of about 43 events.

Costs tens of nanoseconds: the walk from the top ends after the fourth event of both, and a chance is only computed if
an upper bound of it, without powers, is small.
"""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.folds import FOLD_ID, FOLD_SUM, FOLD_WIDTH, fold_cells, fold_side
from aomg.core.kernels.lanes import filled_mask, highest_bit
from aomg.core.kernels.registers import AT_FOLD, HALF_PLACES, NEWEST_ROWS, NONE, ROWS_SIDE

CHANCES = (1.6e-5, 7.3e-5, 5e-6, 5e-6)  # of a false alarm, for each of the largest events
LARGEST = len(CHANCES)
FEWEST = 5  # fewer events above are outliers, however few events there are
LEAST_LOG = 9.5  # a little less than -ln of the largest chance


@inlined
def exceedance_chance(above, rank, share):
    """The largest chance that `above` events exceed the rank-th largest of the other sub-window, if both are alike.

    share
        The share of the first sub-window in the events of both.
    """
    power, square, left = 1.0, share, above
    while left > 0:
        if left & 1:
            power *= square
        square *= square
        left >>= 1
    total, term = 1.0, 1.0
    for i in range(1, rank):
        term *= (above + i - 1) / i * (1.0 - share)
        total += term
    return power * total


@inlined
def is_larger(above, rank, count, other_count):
    """Whether chance does not explain that so many of `count` events exceed the rank-th largest of `other_count`."""
    # -ln(share) = ln(1 + other_count / count) <= other_count / count: a chance this large is not worth computing
    if above < FEWEST or above * other_count < LEAST_LOG * count:
        return False
    return exceedance_chance(above, rank, count / (count + other_count)) <= CHANCES[rank - 1]


@compiled
def compare_exceedances(state, cells, new_count, old_count):
    """Compare the newest sub-window with the one before: +1 if it is larger, -1 if it is smaller, 0 if neither.

    At most one of the two can be: if five new events are above the fourth largest old event, three old events at most
    are above the fourth largest new one.
    """
    half = state[HALF_PLACES]
    new_side = fold_side(state)
    old_side = state[AT_FOLD] + (1 - state[ROWS_SIDE]) * FOLD_WIDTH * half
    new_cells, old_cells = fold_cells(state, state[ROWS_SIDE]), fold_cells(state, 1 - state[ROWS_SIDE])
    new_row = state[NEWEST_ROWS + state[ROWS_SIDE]] - 1
    old_row = state[NEWEST_ROWS + 1 - state[ROWS_SIDE]] - 1
    news, olds = np.int64(0), np.int64(0)  # above the current bucket
    while (olds < LARGEST and old_row >= 0) or (news < LARGEST and new_row >= 0):
        new_super = state[new_side + FOLD_ID * half + new_row] if new_row >= 0 else NONE
        old_super = state[old_side + FOLD_ID * half + old_row] if old_row >= 0 else NONE
        x, y = new_cells + 16 * new_row, old_cells + 16 * old_row
        both = new_super == old_super
        buckets = filled_mask(cells, x) | filled_mask(cells, y) if both else np.int64(1)  # else all are as one
        while buckets != 0:
            bucket = highest_bit(buckets)
            buckets ^= np.int64(1) << bucket
            if both:
                new, old = np.int64(cells[x + bucket]), np.int64(cells[y + bucket])
            else:
                new = state[new_side + FOLD_SUM * half + new_row] if new_super > old_super else np.int64(0)
                old = state[old_side + FOLD_SUM * half + old_row] if old_super > new_super else np.int64(0)
            for rank in range(olds + 1, min(olds + old, LARGEST) + 1):
                if is_larger(news, rank, new_count, old_count):
                    return 1
            for rank in range(news + 1, min(news + new, LARGEST) + 1):
                if is_larger(olds, rank, old_count, new_count):
                    return -1
            news += new
            olds += old
        new_row -= new_super >= old_super
        old_row -= old_super >= new_super
    return 0
