"""Generates uniformly distributed integers; the paper's Uniform data range from 90 to 110."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aomg.streams import Stream, from_blocks
from aomg.streams.distribution import checked_seed, words


@dataclass(frozen=True)
class Uniform(Stream):
    """The stream that :func:`uniform` returns."""

    seed: int
    low: int
    high: int

    def take(self, n: int, start: int = 0) -> NDArray[np.int64]:
        """Return the ``n`` values at positions ``start`` to ``start + n - 1``."""
        return from_blocks(self._block, n, start)

    def _block(self, index: int) -> NDArray[np.int64]:
        bits = words(self.seed, "uniform", index).view(np.uint32)
        scaled = np.multiply(bits, self.high - self.low + 1, dtype=np.uint64)
        return (scaled >> np.uint64(32)).view(np.int64) + self.low


def uniform(seed: int = 1, low: int = 90, high: int = 110) -> Uniform:
    """Return an endless stream of integers from ``low`` to ``high``, both included.

    Parameters
    ----------
    seed
        Zero or more; streams of different seeds are independent.
    low, high
        The range, of at most 2**32 integers. Defaults: the paper's.

    Notes
    -----
    A value costs 32 random bits and a multiplication. With k integers in the range, their probabilities differ by less
    than one in 2**32 / k.

    Examples
    --------
    >>> values = uniform().take(10_000)
    >>> int(values.min()), int(values.max())
    (90, 110)
    """
    if not low <= high or high - low >= 1 << 32:
        raise ValueError(f"low is {low} and high is {high}; low must not be above high, nor 2**32 or more below it")
    return Uniform(checked_seed(seed), low, high)
