"""Draws independent values from a distribution that is given by a few quantiles.

Between two quantiles the logarithm of the value is linear in the log-odds of the rank: each piece of the body is
log-logistic, each piece of the tail is Pareto. A value costs 32 random bits and one lookup, in a table of 4 MB that is
built on first use and shared by all seeds.
"""

from dataclasses import dataclass
from functools import cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from aomg.streams import BLOCK, Stream, from_blocks

BITS = 20
"""A value's rank is one of 2**20; the table of a distribution has 4 MB."""


@dataclass(frozen=True)
class Distribution:
    """A distribution, given by some of its quantiles.

    Parameters
    ----------
    name
        Selects the random numbers: streams of two names are independent even if their seeds are equal.
    quantiles
        Pairs of rank and value, both ascending; constant beyond the first and the last.
    unit
        All values are multiples of it.
    """

    name: str
    quantiles: tuple[tuple[float, int], ...]
    unit: int = 1


@dataclass(frozen=True)
class DistributionStream(Stream):
    """A stream of independent values of one distribution."""

    distribution: Distribution
    seed: int

    def take(self, n: int, start: int = 0) -> NDArray[np.int64]:
        """Return the ``n`` values at positions ``start`` to ``start + n - 1``."""
        return from_blocks(self._block, n, start)

    def _block(self, index: int) -> NDArray[np.int32]:
        bits = words(self.seed, self.distribution.name, index).view(np.uint32)
        return table(self.distribution).take((bits >> (32 - BITS)).astype(np.intp))


def draw(distribution: Distribution, seed: int) -> DistributionStream:
    """Return the stream of a distribution and a seed (zero or more); different seeds give independent streams."""
    return DistributionStream(distribution, checked_seed(seed))


def words(seed: int, name: str, index: int, count: int = BLOCK // 2) -> NDArray[np.uint64]:
    """Return the random words of one block; they depend on seed, name and block number alone, on every machine."""
    # Pingmesh is older than the other streams: adding its name to the key would change its values.
    key = (index,) if name == "pingmesh" else (index, crc32(name.encode()))
    source = np.random.Philox(np.random.SeedSequence(seed, spawn_key=key))
    raw: NDArray[np.uint64] = source.random_raw(count)
    return raw


def checked_seed(seed: int) -> int:
    """Return the seed; raise ValueError if it is negative."""
    if seed < 0:
        raise ValueError(f"seed is {seed}; give zero or a positive number")
    return seed


@cache
def table(distribution: Distribution) -> NDArray[np.int32]:
    """Return the value of each of the 2**20 equally likely ranks. Built once, in about 50 ms."""
    ranks = (np.arange(1 << BITS) + 0.5) / (1 << BITS)
    known, values_there = np.array(distribution.quantiles).T
    values = np.exp(np.interp(log_odds(ranks), log_odds(known), np.log(values_there)))
    rounded: NDArray[np.int32] = (np.rint(values / distribution.unit) * distribution.unit).astype(np.int32)
    return rounded


def log_odds(rank: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(rank / (1 - rank)), which stretches both ends of a distribution."""
    odds: NDArray[np.float64] = np.log(rank / (1 - rank))
    return odds
