"""Few-k merging: computes how many of the largest values a sub-window keeps, and which ones.

The window's phi-quantile is its r-th largest value, r = floor(N (1 - phi)) + 1. Top-k merging reads it from the
largest values of each sub-window; sample-k merging from every i-th of them. A summary depends on its own sub-window
alone, so N is its own count times the number of sub-windows. Tails are stored as (code, count) pairs.

The certificate: if every list that was cut short ends at or below the merged answer, nothing above it is missing and
the answer is exact. Otherwise the answer is still never above the exact value, and the exact value is at most the
larger of the answer and the largest of the smallest values of lists that were cut short.
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.paper.plans import GOLDEN
from aomg.query import FewK, Query

Integers = npt.NDArray[np.int64]

MOST_ENTRIES = 1 << 16
BURST_SAMPLES = 16  # of a tail that only the burst detector reads: its noise does not depend on how many


def rank_from_top(quantile: Decimal, count: int) -> int:
    """R such that the phi-quantile of `count` values is the r-th largest."""
    return count - max(math.ceil(Fraction(quantile) * count), 1) + 1


@lru_cache(maxsize=4096)
def ranks_from_top(quantiles: tuple[Decimal, ...], count: int) -> Integers:
    """The same for several quantiles; remembered, because counts repeat."""
    return np.array([rank_from_top(q, count) for q in quantiles])


@dataclass(frozen=True)
class TailSizes:
    """How much of one sub-window's tail is kept for one quantile: its depth, and entries for top-k and sample-k."""

    depth: int
    top: int
    samples: int


def inefficient(few_k: FewK, quantile: Decimal, count: float) -> bool:
    """The paper's rule: fewer than `threshold` values of the sub-window lie beyond the quantile."""
    return count * float(1 - quantile) < few_k.threshold


@lru_cache(maxsize=4096)
def tail_sizes(query: Query, quantile: Decimal, count: int) -> TailSizes:
    """Decide k_t and k_s of a sub-window of `count` values from the fraction or the budget."""
    need = rank_from_top(quantile, count * query.sub_windows)
    depth = min(need, count)
    if query.few_k is None or not query.keeps_lists:
        return TailSizes(depth, 0, min(depth, BURST_SAMPLES))
    few_k = query.few_k
    wants_top = inefficient(few_k, quantile, count)
    if few_k.budget is not None:
        entries = max(few_k.budget // query.sub_windows, 1)
        top = min(entries, max(math.ceil(2 * need / query.sub_windows), 4)) if wants_top else 0
        samples = entries - top
    else:
        samples = math.ceil(Fraction(str(few_k.fraction)) * need)
        top = max(samples, math.ceil(need / query.sub_windows)) if wants_top else 0
    return TailSizes(depth, min(top, count, MOST_ENTRIES), min(samples, depth, MOST_ENTRIES))


def sample_positions(depth: int, samples: int, number: int, offset: str) -> Integers:
    """Ranks from the top, 1..depth, of an interval sample.

    "rotate" starts at another of the interval's positions in every sub-window, which makes the expected number of
    samples above any value right; "paper" ends every interval and reads too low.
    """
    turn, fixed = fixed_positions(depth, samples, offset)
    if turn:
        return fixed + number % turn
    start = (number * GOLDEN) % 1.0 or 1.0
    positions: Integers = np.ceil((np.arange(samples) + start) * (depth / samples)).astype(np.int64)
    return positions.clip(1, depth)


def fixed_positions(depth: int, samples: int, offset: str) -> tuple[int, Integers]:
    """By how many positions an interval sample turns with the sub-window's number, and its positions before it does.

    Uneven intervals turn by no whole number of positions: 0, and none.
    """
    steps = np.arange(samples, dtype=np.int64)
    if samples == 0 or offset == "paper":
        return 1, -(-((steps + 1) * depth) // max(samples, 1))
    interval, uneven = divmod(depth, samples)
    return (0, steps[:0]) if uneven else (interval, steps * interval + 1)
