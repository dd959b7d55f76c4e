"""Generates correlated values: an autoregressive model of order 1, as in the paper's section on non-i.i.d. data.

Each value is psi times the previous one plus fresh noise, and all have the same normal distribution. An endless
recursion cannot be evaluated at one position, but noise that is J values old counts only psi**J. So a value here is the
sum of its latest J noises, with psi**J below 1e-9: older noise would change a value of the paper's spread by less than
a thousandth.
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
        """J, the number of noises that are summed for a value: a power of two."""
        if self.psi == 0:
            return 1
        return 1 << max(math.ceil(math.log2(math.log(_FORGOTTEN) / math.log(abs(self.psi)))), 0)

    def take(self, n: int, start: int = 0) -> NDArray[np.int64]:
        """Return the ``n`` values at positions ``start`` to ``start + n - 1``; needs ``memory - 1`` more noises."""
        if n < 0 or start < 0:
            raise ValueError(f"n is {n} and start is {start}; a stream has no negative positions")
        out = np.empty(n, dtype=np.int64)
        step = 8 * BLOCK  # fits into the caches, and only the block after each part is generated twice
        for done in range(0, n, step):
            part = out[done : done + step]
            part[:] = self._part(part.size, start + done)
        return out

    def _part(self, n: int, start: int) -> NDArray[np.int64]:
        memory = self.memory
        sums = (self.noise.take(n + memory - 1, start) - self.noise.mean).astype(np.float64)
        reach = 1  # the number of noises that each sum has; every round doubles it
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
        The correlation of a value with the next one, from -0.999 to 0.999; the paper uses 0 to 0.9.
        With 0 this is the stream ``normal`` of the same seed.
    seed
        Zero or more; streams of different seeds are independent.
    mean, sd
        Of each value, for any ``psi``. Defaults: the paper's.

    Notes
    -----
    A value costs a value of ``normal`` and log2(J) additions, 8 for psi = 0.9; a slice needs J extra noises.

    Examples
    --------
    >>> values = ar1(psi=0.8).take(1_000_000)
    >>> print(f"{np.corrcoef(values[1:], values[:-1])[0, 1]:.1f}")
    0.8
    """
    if not abs(psi) <= LARGEST:
        raise ValueError(f"psi is {psi}; give a number from -{LARGEST} to {LARGEST}")
    return Ar1(psi, normal(seed, mean, sd))
