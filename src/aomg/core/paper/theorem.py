"""Computes the bound of Theorem 1: the paper's statistical bound of the mean's error.

It says that Level 2's mean is within 2 z sqrt(phi (1 - phi)) / (sqrt(N) f) of the exact quantile with probability
95 %, f being the density there, for independent sub-windows of one continuous distribution. The paper's z = 1.96
leaves 90 % by its own proof (a union of two events); 2.2414 gives 95 %. Both are reported, only for the mean, and only
where the assumptions can hold. The guaranteed interval does not use it (core.certainty).
"""

import math
from decimal import Decimal
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

PAPER_Z = 1.96
UNION_Z = 2.2414
FEWEST_BEYOND = 10  # values that each sub-window must have on either side of the quantile
_NORMAL = NormalDist()


def bandwidth(phi: float, count: int) -> float:
    """Hall and Sheather's width of the difference quotient that estimates 1/f, kept inside (0, 1)."""
    u = _NORMAL.inv_cdf(phi)
    g = _NORMAL.pdf(u)
    h: float = float(count) ** (-1 / 3) * _NORMAL.inv_cdf(0.975) ** (2 / 3) * (1.5 * g * g / (2 * u * u + 1)) ** (1 / 3)
    return min(h, 0.5 * min(phi, 1 - phi))


@lru_cache(maxsize=1024)
def difference_ranks(quantiles: tuple[Decimal, ...], count: int) -> tuple[Integers, npt.NDArray[np.float64]]:
    """The ranks on either side of each quantile and the probability between them; NaN where too few lie beyond."""
    ranks, between = [], []
    for phi in map(float, quantiles):
        if count * min(phi, 1 - phi) < FEWEST_BEYOND:
            ranks += [1, 1]
            between.append(math.nan)
            continue
        h = bandwidth(phi, count)
        ranks += [max(math.ceil(count * (phi - h)), 1), min(math.ceil(count * (phi + h)), count)]
        between.append(2 * h)
    return np.array(ranks), np.array(between)


def theorem_1(quantile: Decimal, count: int, inverse: float, spread: float, sub_windows: int) -> tuple[float, float]:
    """The bound with the paper's constant and with the corrected one; NaN where the sub-windows are not alike.

    `spread` is the range of the sub-windows' quantiles. If they were independent draws of one distribution it would
    stay within (2 sqrt(2 ln n) + 3) standard deviations; drift and bursts exceed that.
    """
    phi = float(quantile)
    deviation = math.sqrt(max(phi * (1 - phi), 0.0)) * inverse
    if not deviation < math.inf:
        return math.nan, math.nan
    alike = (2 * math.sqrt(2 * math.log(sub_windows)) + 3) * deviation / math.sqrt(count / sub_windows)
    if not (inverse > 0 and spread <= alike):
        return math.nan, math.nan
    unit = 2 * deviation / math.sqrt(count)
    return PAPER_Z * unit, UNION_Z * unit
