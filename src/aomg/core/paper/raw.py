"""Raw values without an envelope, as the paper ran them, in one compiled loop.

A sub-window of raw values is sorted once; its quantiles, the density at each and few-k's lists are read at their ranks
(the `plan`) and written as the same bytes that core.summary describes. Level 2 (the array `level` of
core.kernels.paper) is that of core.refinement, bit for bit, in arrays: extremes in two stacks, means from sums without
rounding, and the values of merged lists, which move a few places with each sub-window instead of being merged again.

Event time, thresholds and other resolutions go through core.refinement.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.paper.limbs import LIMBS, SUM_WIDTH, SUM_WORDS
from aomg.core.kernels.paper.lists import (
    HIGHEST_CODE,
    LOWEST_CODE,
    MERGED_CODE,
    MERGED_WORDS,
    SLOT_BELOW,
    SLOT_OVER,
    SLOT_WHERE,
    SLOT_WIDTH,
)
from aomg.core.kernels.paper.plans import (
    PLAN_BETWEEN,
    PLAN_INDEX,
    PLAN_LOWER,
    PLAN_QUANTILE,
    PLAN_ROOM,
    PLAN_TAIL,
    PLAN_UPPER,
    PLAN_WORDS,
)
from aomg.core.kernels.paper.registers import (
    AS_PAPER,
    AT_COLUMN,
    AT_DEPTH_SUM,
    AT_LIMBS,
    AT_MERGED,
    AT_RAW_EXTREME,
    AT_SUM,
    COLUMN_HIGH,
    COLUMN_TOP_K,
    COLUMN_WIDTH,
    KEEPS_LISTS,
    LEVEL_REGISTERS,
    MERGED_WIDTH,
)
from aomg.core.kernels.registers import HEAD_WORDS, INTEGERS, REALS
from aomg.core.kernels.sortable import EXACT_INTEGERS, key_of_double, round_down, round_up
from aomg.core.kernels.steps import push_sorted
from aomg.core.paper.few_k import fixed_positions, inefficient, ranks_from_top, tail_sizes
from aomg.core.paper.theorem import difference_ranks
from aomg.query import Query

if TYPE_CHECKING:
    from aomg.core.sliding import Sliding

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

_AT_ONCE = 1 << 17  # elements that are sorted at once: they stay in a core's cache
_MOST_WEIGHT = 1 << 32  # of a mean


def plan_of(query: Query, count: int) -> Integers:
    """What is read from a sub-window of `count` elements: see PLAN_COUNT of core.kernels.paper.plans."""
    quantiles, high = query.quantiles, query.high
    sizes = [tail_sizes(query, quantile, count) for quantile in high]
    top = max((size.top for size in sizes), default=0)
    columns = np.empty((len(quantiles), PLAN_QUANTILE), np.int64)
    columns[:, PLAN_INDEX] = count - ranks_from_top(quantiles, count)
    ranks, between = difference_ranks(quantiles, count)
    columns[:, PLAN_LOWER], columns[:, PLAN_UPPER] = ranks[0::2] - 1, ranks[1::2] - 1
    columns[:, PLAN_BETWEEN] = between.view(np.int64)
    tails = np.empty((len(high), PLAN_TAIL), np.int64)
    at = PLAN_WORDS + columns.size + tails.size
    positions = []
    for tail, size in zip(tails, sizes, strict=True):
        turn, fixed = fixed_positions(size.depth, size.samples, query.few_k.offset if query.few_k else "rotate")
        tail[:] = size.depth, size.samples, turn, at
        positions.append(fixed[::-1])
        at += fixed.size
    lists = (1 + 2 * top) + 1 + sum(1 + 2 * size.samples for size in sizes)
    room = 8 * (HEAD_WORDS + 3 * len(quantiles) + lists + len(high))
    return np.concatenate([np.array([count, room, top], np.int64), columns.ravel(), tails.ravel(), *positions])


def new_level(query: Query) -> Integers:
    """Level 2 with nothing live: see core.kernels.paper.registers."""
    quantiles, high, room = len(query.quantiles), query.high, query.sub_windows + 1
    lists = quantiles + len(high) if query.keeps_lists else 0
    width = MERGED_WORDS + SLOT_WIDTH * room
    at, offsets = LEVEL_REGISTERS, {}
    for register, words in (
        (AT_COLUMN, COLUMN_WIDTH * quantiles),
        (AT_DEPTH_SUM, len(high)),
        (AT_LIMBS, LIMBS),
        (AT_SUM, 2 * SUM_WIDTH * quantiles),
        (AT_RAW_EXTREME, (2 * quantiles + 1) * (2 * room + 1)),
        (AT_MERGED, lists * width),
    ):
        offsets[register] = at
        at += words
    level = np.zeros(at, np.int64)
    for register, offset in offsets.items():
        level[register] = offset
    level[AS_PAPER], level[KEEPS_LISTS], level[MERGED_WIDTH] = query.as_paper, query.keeps_lists, width
    for column, quantile in enumerate(query.quantiles):
        entry = offsets[AT_COLUMN] + COLUMN_WIDTH * column
        level[entry + COLUMN_HIGH] = high.index(quantile) if quantile in high else -1
        few_k = query.few_k
        level[entry + COLUMN_TOP_K] = few_k is not None and inefficient(few_k, quantile, query.period)
    level[offsets[AT_SUM] :][: 2 * SUM_WIDTH * quantiles : SUM_WIDTH] = LIMBS
    merged = level[offsets[AT_MERGED] :].reshape(lists, width)
    merged[:, MERGED_CODE] = HIGHEST_CODE
    slots = merged[:, MERGED_WORDS:].reshape(lists, SLOT_WIDTH, room)
    slots[:, SLOT_BELOW], slots[:, SLOT_OVER] = LOWEST_CODE, HIGHEST_CODE
    return level


def _key(value: float) -> int:
    return int(key_of_double(value))


_LONG = _key(EXACT_INTEGERS)


def extreme_keys(values: npt.NDArray[np.generic]) -> tuple[int, int]:
    """Sortable keys of the smallest and the largest of some values; longs beyond 2^53 are rounded outward."""
    low, high = values.min(), values.max()
    if values.dtype == np.int64:
        return _key(round_down(int(low))), _key(round_up(int(high)))
    return _key(float(low)), _key(float(high))


class RawLoop:
    """The loop that closes whole sub-windows of raw values. Writes to the state of `sliding`.

    A close costs a sort and a few microseconds, with few-k besides about as much as it takes to write its lists.
    """

    def __init__(self, sliding: "Sliding") -> None:
        self._sliding, self.query = sliding, sliding.query
        self._plan = plan_of(self.query, self.query.period)

    @staticmethod
    def suits(query: Query) -> bool:
        """Whether a query's sub-windows can be closed here."""
        free = query.digits is None and query.guarantee is None and not query.thresholds
        return query.counted and free and (query.as_paper or query.size < _MOST_WEIGHT)

    def close_values(self, values: npt.NDArray[np.generic], first: int) -> tuple[Integers, Reals]:
        """Close the sub-windows, of `period` values each, from number `first` on; their results and densities."""
        period = self.query.period
        at_once = max(_AT_ONCE // period, 1) * period
        parts = [
            self._close_part(values[start : start + at_once].reshape(-1, period), first + start // period)
            for start in range(0, values.size, at_once)
        ]
        return np.concatenate([rows for rows, _ in parts]), np.concatenate([densities for _, densities in parts])

    def _close_part(self, values: npt.NDArray[np.generic], first: int) -> tuple[Integers, Reals]:
        keys = self._sliding.codec.codes(values.ravel()).reshape(values.shape)
        keys.sort(axis=1)
        lows, highs = keys[:, 0].copy(), keys[:, -1].copy()
        integers = values.dtype == np.int64
        if integers and max(-int(lows.min()), int(highs.max())) >= _LONG:
            lows[:], highs[:] = np.array([extreme_keys(row) for row in values], np.int64).T
        return self.close_sorted(keys, lows, highs, INTEGERS if integers else REALS, first)

    def close_sorted(
        self, keys: Integers, lows: Integers, highs: Integers, domain: int, first: int
    ) -> tuple[Integers, Reals]:
        """Close sub-windows, each a row of sorted keys with its extremes, from number `first` on."""
        size, count = keys.shape
        plan = self._plan if count == self.query.period else plan_of(self.query, count)
        sliding, state = self._sliding, self._sliding.state
        rows, densities = sliding.new_rows(size)
        assert densities is not None
        done = written = 0
        while done < size:
            done, more = push_sorted(
                state.words,
                state.table,
                state.ring,
                sliding.level,
                plan,
                keys,
                lows,
                highs,
                domain,
                first,
                done,
                rows[written:],
                densities[written:],
            )
            written += more
            if done < size:
                sliding.grow(int(plan[PLAN_ROOM]))
        return rows[:written], densities[:written]

    def dense_codes(self, keys: Integers) -> Integers:
        """Dense codes of raw values' keys."""
        values, _ = self._sliding.codec.intervals(keys, REALS)
        return self._sliding.dense.codes(values)
