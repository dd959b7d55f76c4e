"""Builds the plan of a closing sub-window: which ranks its fine part keeps (core.kernels.paper.plans)."""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from aomg.core.certainty import EXTRA, Z
from aomg.core.kernels.paper.plans import (
    PLAN_BETWEEN,
    PLAN_FIRST,
    PLAN_LAST,
    PLAN_LOWER,
    PLAN_QUANTILE,
    PLAN_RANK,
    PLAN_TAIL,
    PLAN_UPPER,
    PLAN_WORDS,
)
from aomg.core.paper.few_k import fixed_positions, ranks_from_top, tail_sizes
from aomg.core.paper.theorem import difference_ranks
from aomg.query import Query

Integers = npt.NDArray[np.int64]


@lru_cache(maxsize=64)
def plan_of(query: Query, count: int) -> Integers:
    """Return the plan of a sub-window of `count` events; cached, because counts repeat. Costs some 50 us."""
    quantiles = query.quantiles
    columns = np.zeros((len(quantiles), PLAN_QUANTILE), np.int64)
    ranks = count + 1 - ranks_from_top(quantiles, count)
    columns[:, PLAN_RANK] = ranks
    if query.guarantee is None:
        either_side, between = difference_ranks(quantiles, count)
        columns[:, PLAN_LOWER], columns[:, PLAN_UPPER] = either_side[0::2], either_side[1::2]
        columns[:, PLAN_BETWEEN] = between.view(np.int64)
    else:
        reach = [int(Z * math.sqrt(count * phi * (1 - phi))) + EXTRA for phi in map(float, quantiles)]
        columns[:, PLAN_FIRST], columns[:, PLAN_LAST] = (ranks - reach).clip(1), (ranks + reach).clip(None, count)
    tailed = query.high if query.guarantee is None or query.keeps_lists else ()
    sizes = [tail_sizes(query, quantile, count) for quantile in tailed]
    top = max((size.top for size in sizes), default=0)
    tails = np.empty((len(sizes), PLAN_TAIL), np.int64)
    end = PLAN_WORDS + columns.size + tails.size
    positions = []
    for tail, size in zip(tails, sizes, strict=True):
        turn, fixed = fixed_positions(size.depth, size.samples, query.few_k.offset if query.few_k else "rotate")
        tail[:] = size.depth, size.samples, turn, end
        positions.append(fixed[::-1])
        end += fixed.size
    fixed_words = len(quantiles) * (2 if query.guarantee is None else 1) + 2 * len(query.thresholds)
    lists = (1 + 2 * top) + 1 + sum(1 + 2 * size.samples for size in sizes)
    room = 8 * (fixed_words + lists + len(sizes))
    return np.concatenate([np.array([count, room, top], np.int64), columns.ravel(), tails.ravel(), *positions])
