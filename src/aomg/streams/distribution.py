"""Streams whose values are drawn independently of each other from a table of equally likely ranks.

A distribution is given by a few quantiles. Between them the logarithm of the value is a straight line over the
log-odds of the rank: each piece of the body is log-logistic, each piece of the tail is Pareto.
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
    """Some quantiles, and what lies between them.

    Parameters
    ----------
    name
        Which random numbers are used; streams of two names are independent, with equal seeds too.
    quantiles
        Pairs of a rank and its value, both ascending; beyond the first and the last the value stays as it is there.
    unit
        Values are multiples of it.
    """

    name: str
    quantiles: tuple[tuple[float, int], ...]
    unit: int = 1


@dataclass(frozen=True)
class Drawn(Stream):
    """Independent values of one distribution. A value costs 32 random bits and one lookup."""

    distribution: Distribution
    seed: int

    def take(self, n: int, start: int = 0) -> NDArray[np.int64]:
        """Return the ``n`` values at positions ``start`` to ``start + n - 1``."""
        return from_blocks(self._block, n, start)

    def _block(self, index: int) -> NDArray[np.int32]:
        bits = words(self.seed, self.distribution.name, index).view(np.uint32)
        return table(self.distribution).take((bits >> (32 - BITS)).astype(np.intp))


def draw(distribution: Distribution, seed: int) -> Drawn:
    """Return the stream of a seed, zero or more; streams of different seeds are independent."""
    return Drawn(distribution, checked_seed(seed))


def words(seed: int, name: str, index: int, count: int = BLOCK // 2) -> NDArray[np.uint64]:
    """Random words for one block of a stream: the same for the same seed, name and block, on every machine."""
    # Pingmesh came first, and has its block's number for a key: a name of its own would change its values.
    key = (index,) if name == "pingmesh" else (index, crc32(name.encode()))
    source = np.random.Philox(np.random.SeedSequence(seed, spawn_key=key))
    raw: NDArray[np.uint64] = source.random_raw(count)
    return raw


def checked_seed(seed: int) -> int:
    """Return the seed, or refuse one below zero."""
    if seed < 0:
        raise ValueError(f"seed is {seed}; give zero or a positive number")
    return seed


@cache
def table(distribution: Distribution) -> NDArray[np.int32]:
    """Value of each of the 2**20 equally likely ranks; built once, in some 50 ms, for all seeds."""
    ranks = (np.arange(1 << BITS) + 0.5) / (1 << BITS)
    known, values_there = np.array(distribution.quantiles).T
    values = np.exp(np.interp(log_odds(ranks), log_odds(known), np.log(values_there)))
    rounded: NDArray[np.int32] = (np.rint(values / distribution.unit) * distribution.unit).astype(np.int32)
    return rounded


def log_odds(rank: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(rank / (1 - rank)): evens out both ends of a distribution."""
    odds: NDArray[np.float64] = np.log(rank / (1 - rank))
    return odds
