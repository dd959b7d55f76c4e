"""Correlated values: an autoregressive model of order 1, as in the paper's section on data that is not i.i.d.

Each value is psi times the one before plus fresh noise, and all have the same normal distribution. An endless
recursion has no value that can be had by its position alone; but what is older than J values has been multiplied by
psi**J. Here a value is the sum of its latest J noises, with J so large that psi**J is below 1e-9: older ones would
move a value of the paper's spread by less than a thousandth.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aomg.streams import BLOCK, Stream
from aomg.streams.normal import MEAN, SD, Normal, normal

LARGEST = 0.999
_FORGOTTEN = 1e-9


@dataclass(frozen=True)
class Ar1(Stream):
    """The stream that :func:`ar1` returns."""

    psi: float
    noise: Normal

    @property
    def memory(self) -> int:
        """J: how many noises a value is made of, a power of two."""
        if self.psi == 0:
            return 1
        return 1 << max(math.ceil(math.log2(math.log(_FORGOTTEN) / math.log(abs(self.psi)))), 0)

    def take(self, n: int, start: int = 0) -> NDArray[np.int64]:
        """Return the ``n`` values at positions ``start`` to ``start + n - 1``; reads ``memory - 1`` more noises."""
        if n < 0 or start < 0:
            raise ValueError(f"n is {n} and start is {start}; a stream has no negative positions")
        out = np.empty(n, dtype=np.int64)
        step = 8 * BLOCK  # small enough for the caches, and only the block behind each is generated twice
        for done in range(0, n, step):
            part = out[done : done + step]
            part[:] = self._part(part.size, start + done)
        return out

    def _part(self, n: int, start: int) -> NDArray[np.int64]:
        memory = self.memory
        sums = (self.noise.take(n + memory - 1, start) - self.noise.mean).astype(np.float64)
        reach = 1  # each entry is the sum of so many noises; every round doubles it
        while reach < memory:
            sums = sums[reach:] + self.psi**reach * sums[:-reach]
            reach *= 2
        sums *= math.sqrt((1 - self.psi**2) / (1 - self.psi ** (2 * memory)))
        return np.rint(sums, out=sums).astype(np.int64) + self.noise.mean


def ar1(psi: float = 0.8, seed: int = 1, mean: int = MEAN, sd: int = SD) -> Ar1:
    """Return an endless stream of correlated, normally distributed integers.

    Parameters
    ----------
    psi
        The correlation of a value with the next one, from -0.999 to 0.999; the paper has 0 to 0.9.
        With 0 this is the stream ``normal`` of the same seed.
    seed
        Zero or more; streams of different seeds are independent.
    mean, sd
        Of each value, whatever ``psi``; the paper's unless told.

    Notes
    -----
    A value costs one of ``normal`` and log2(J) additions, 8 of them for psi = 0.9; a slice costs J noises more.

    Examples
    --------
    >>> values = ar1(psi=0.8).take(1_000_000)
    >>> print(f"{np.corrcoef(values[1:], values[:-1])[0, 1]:.1f}")
    0.8
    """
    if not abs(psi) <= LARGEST:
        raise ValueError(f"psi is {psi}; give a number from -{LARGEST} to {LARGEST}")
    return Ar1(psi, normal(seed, mean, sd))
