"""Adds bursts to any stream: once per window, the tail of one sub-window jumps.

The paper injects bursts like this in its section on bursty tails. In every (N/P)-th sub-window of P values, the largest
N(1 - phi) values are multiplied by ten. So every window of N has exactly one burst, which alone decides the
phi-quantile of the window.
"""

from dataclasses import dataclass
from math import floor

import numpy as np
from numpy.typing import NDArray

from aomg.streams import Stream


@dataclass(frozen=True)
class Bursts(Stream):
    """The stream that :func:`with_bursts` returns."""

    stream: Stream
    size: int
    period: int
    quantile: float
    factor: int
    raised: int
    """The number of values that a burst multiplies."""

    def take(self, n: int, start: int = 0) -> NDArray[np.int64]:
        """Return the ``n`` values at positions ``start`` to ``start + n - 1``.

        Reads whole sub-windows of the underlying stream, so up to ``2 * period - 2`` more values. A bursty sub-window
        also costs a partition, linear in ``period``.
        """
        if n < 0 or start < 0:
            raise ValueError(f"n is {n} and start is {start}; a stream has no negative positions")
        first, skipped = divmod(start, self.period)
        last = -(-(start + n) // self.period)
        values = self.stream.take((last - first) * self.period, first * self.period)
        for row in self._bursty_rows(first, last):
            sub_window = values[(row - first) * self.period :][: self.period]
            sub_window[self._top(sub_window)] *= self.factor
        return values[skipped : skipped + n].copy()

    def _bursty_rows(self, first: int, last: int) -> range:
        """Sub-windows W - 1, 2W - 1, ... (W = N/P) from ``first`` up to but without ``last``."""
        every = self.size // self.period
        return range(first + (every - 1 - first) % every, last, every)

    def _top(self, sub_window: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the positions of the largest values; among equal ones the earliest, on every machine."""
        least = np.partition(sub_window, -self.raised)[-self.raised]
        above = np.flatnonzero(sub_window > least)
        equal = np.flatnonzero(sub_window == least)
        return np.concatenate([above, equal[: self.raised - above.size]])


def with_bursts(
    stream: Stream, size: int, period: int, quantile: float = 0.999, factor: int = 10, raised: int = 0
) -> Bursts:
    """Return ``stream`` with one burst in every window.

    Parameters
    ----------
    stream
        Any workload. It is not changed.
    size
        N, the values in a window; a multiple of ``period``.
    period
        P, the values in a sub-window.
    quantile
        phi: the lowest quantile of the window that the burst decides.
    factor
        The raised values are multiplied by it.
    raised
        How many values a burst raises. 0 for those from the window's phi-quantile up: ``floor(N(1 - phi)) + 1``, or
        the whole sub-window if it is smaller. For 131,072 values and 0.999 that is the paper's 132.

    Notes
    -----
    All other values stay as they are.

    Examples
    --------
    >>> from aomg.streams.pingmesh import pingmesh
    >>> calm = pingmesh(seed=1)
    >>> bursty = with_bursts(calm, size=131_072, period=16_384)
    >>> int((bursty.take(131_072) != calm.take(131_072)).sum())
    132
    """
    if period < 1 or size < period or size % period:
        raise ValueError(f"size is {size} and period is {period}; size must be a multiple of period")
    if not 0 < quantile <= 1:
        raise ValueError(f"quantile is {quantile}; give a number above 0 and at most 1")
    if factor < 1:
        raise ValueError(f"factor is {factor}; a burst multiplies by 1 or more")
    if not 0 <= raised <= period:
        raise ValueError(f"raised is {raised} and period is {period}; a burst raises up to a whole sub-window")
    if raised == 0:
        # The small term keeps a product such as 20 * (1 - 0.9) from falling just below 2.
        raised = min(floor(size * (1 - quantile) + 1e-9) + 1, period)
    return Bursts(stream, size, period, quantile, factor, raised)
