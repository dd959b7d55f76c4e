"""Computes the median of some ratios, and an interval that contains the true median at least 95 times in 100.

The interval goes from one of the sorted ratios to another, selected by the binomial distribution (the interval of the
sign test). It makes no assumption about the distribution of the ratios, only that they are independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

LEAST = 6
"""With fewer values not even the smallest and the largest contain the median 95 times in 100."""


@dataclass(frozen=True)
class Interval:
    """A median and the interval around it."""

    low: float
    median: float
    high: float


def of_median(values: Sequence[float]) -> Interval:
    """Return the median of the values and its 95 % interval."""
    n = len(values)
    if n < LEAST:
        raise ValueError(f"{n} values have no interval of 95 %: give {LEAST} or more")
    ordered = sorted(values)
    # The true median is below the k-th smallest value if fewer than k values are below it: sum(comb(n, i), i < k)
    # of the 2 ** n ways in which values fall below or above. Each end may miss it once in 40 times.
    ways, k = 1, 0
    while ways * 40 <= 2**n:
        k += 1
        ways += comb(n, k)
    return Interval(ordered[k - 1], median(ordered), ordered[n - k])
