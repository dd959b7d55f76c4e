"""Adds a slowly changing level to any stream: a sinusoidal day, and growth from day to day.

The paper has no such data. It names the case as its limit: if a distribution changes fast, sub-windows are no longer
similar. The defaults are our choice.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aomg.streams import Stream

LARGEST = 1 << 53
"""Values stop growing here: doubles do not represent every larger integer."""


@dataclass(frozen=True)
class Drift(Stream):
    """The stream that :func:`drift` returns."""

    stream: Stream
    day: int
    swing: float
    trend: float

    def level(self, n: int, start: int = 0) -> NDArray[np.float64]:
        """Return the factors of the values at ``n`` positions. The factor at position zero is 1."""
        position = np.arange(start, start + n)
        wave = 1 + self.swing * np.sin(position % self.day * (2 * np.pi / self.day))
        with np.errstate(over="ignore"):  # values are limited to LARGEST
            growth = np.power(1 + self.trend, position / self.day) if self.trend else 1.0
        level: NDArray[np.float64] = wave * growth
        return level

    def take(self, n: int, start: int = 0) -> NDArray[np.int64]:
        """Return the ``n`` values at positions ``start`` to ``start + n - 1``."""
        values = self.stream.take(n, start)
        with np.errstate(invalid="ignore"):  # zero times infinity
            scaled = np.nan_to_num(values * self.level(n, start), nan=0.0)
        return np.rint(scaled).clip(-LARGEST, LARGEST).astype(np.int64)


def drift(stream: Stream, day: int = 10_000_000, swing: float = 0.2, trend: float = 0.0) -> Drift:
    """Return ``stream`` with a level that changes slowly.

    Parameters
    ----------
    stream
        Any workload. It is not changed.
    day
        The number of values in a day.
    swing
        The amplitude within a day, below 1: 0.2 means from 80 % to 120 %.
    trend
        Compound growth per day, above -1: 0.01 means 1 %.

    Notes
    -----
    Values are rounded and limited to +-2**53. Costs a sine per value, and a power if there is a trend.

    Examples
    --------
    >>> from aomg.streams.uniform import uniform
    >>> drift(uniform(low=1_000, high=1_000), day=8, swing=0.5).take(8)
    array([1000, 1354, 1500, 1354, 1000,  646,  500,  646])
    """
    if day < 1:
        raise ValueError(f"day is {day}; a day has at least one value")
    if not 0 <= swing < 1:
        raise ValueError(f"swing is {swing}; give a number from 0 to below 1, so that the level stays above zero")
    if not -1 < trend < float("inf"):
        raise ValueError(f"trend is {trend}; give a number above -1, so that the level stays above zero")
    return Drift(stream, day, swing, trend)
