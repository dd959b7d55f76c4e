"""Generates normally distributed integers; the paper's Normal data have mean 1 million and standard deviation 50,000.

A value is the rounded quantile of a random rank of 32 bits. So the farthest values are 6.3 standard deviations from the
mean; among a billion true ones, the farthest is expected at 6.1.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from aomg.streams import Stream, from_blocks
from aomg.streams.distribution import checked_seed, words

MEAN, SD = 1_000_000, 50_000
_BITS = 18  # of a rank select its cell; the other 14 are the position in the cell
_OUTER = 1 << 21  # ranks this near to an end (1 in 2,000) are not interpolated: the cells are too wide there


@dataclass(frozen=True)
class Normal(Stream):
    """The stream that :func:`normal` returns."""

    seed: int
    mean: int
    sd: int

    def take(self, n: int, start: int = 0) -> NDArray[np.int64]:
        """Return the ``n`` values at positions ``start`` to ``start + n - 1``."""
        return from_blocks(self._block, n, start)

    def _block(self, index: int) -> NDArray[np.int64]:
        bits = words(self.seed, "normal", index).view(np.uint32)
        deviations = deviation(bits)
        deviations *= self.sd
        values = np.rint(deviations, out=deviations).astype(np.int64)
        values += self.mean
        return values


def deviation(bits: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Return the standard normal quantile of each rank (bits + 1/2) / 2**32, accurate to 1e-5."""
    starts, widths = _cells()
    cell = (bits >> (32 - _BITS)).astype(np.intp)
    inside = (bits & np.uint32((1 << (32 - _BITS)) - 1)).astype(np.float64)
    inside += 0.5
    inside *= widths.take(cell)
    inside += starts.take(cell)
    outer = np.flatnonzero(bits + np.uint32(_OUTER) < 2 * _OUTER)  # wraps around, so this is both ends
    inside[outer] = _quantile((bits[outer] + 0.5) / (1 << 32))
    return inside


@cache
def _cells() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the start of each cell of ranks and the step per rank; the outermost two are never read."""
    ends = _quantile(np.arange((1 << _BITS) + 1).clip(0.5, (1 << _BITS) - 0.5) / (1 << _BITS))
    return ends[:-1], np.diff(ends) / (1 << (32 - _BITS))


def _quantile(rank: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard normal quantiles of ranks from 2**-34 to 1 - 2**-34, accurate to 1e-7."""
    known, deviations = _known()
    return np.interp(np.log(rank / (1 - rank)), known, deviations)


@cache
def _known() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log-odds of 16,385 deviations, which are nearly linear in between."""
    deviations = np.linspace(-6.5, 6.5, 16_385)
    below = np.array([math.erfc(-z / math.sqrt(2)) / 2 for z in deviations])
    return np.log(below) - np.log(below[::-1]), deviations


def normal(seed: int = 1, mean: int = MEAN, sd: int = SD) -> Normal:
    """Return an endless stream of normally distributed integers.

    Parameters
    ----------
    seed
        Zero or more; streams of different seeds are independent.
    mean, sd
        Of the distribution. Defaults: the paper's.

    Notes
    -----
    A value costs 32 random bits, two lookups in tables of 2 MB, and an interpolation.

    Examples
    --------
    >>> values = normal(seed=1).take(1_000_000)
    >>> bool(abs(values.mean() - 1_000_000) < 200 and abs(values.std() - 50_000) < 200)
    True
    """
    if not 1 <= sd <= 1 << 40 or abs(mean) > 1 << 60:
        raise ValueError(f"mean is {mean} and sd is {sd}; sd is from 1 to 2**40, mean from -2**60 to 2**60")
    return Normal(checked_seed(seed), mean, sd)
