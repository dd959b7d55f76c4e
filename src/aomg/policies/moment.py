"""The Moment sketch: power sums per sub-window, and the density of maximum entropy with the window's moments.

Every answer adds the sums anew instead of updating running sums: the conversion to Chebyshev moments multiplies the
rounding error that a burst leaves in a running sum by millions.
"""

from collections import deque
from math import fsum
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from aomg.errors import InputError
from aomg.policies import maximum_entropy
from aomg.policies.base import Integers, Policy, Values, unbounded
from aomg.policies.kernels.moments import (
    MOMENT_COUNT,
    MOMENT_MAXIMUM,
    MOMENT_MINIMUM,
    MOMENT_SUMS,
    TOO_MANY,
    add_distinct,
    add_powers,
)
from aomg.policies.scaled_moments import basis_of, nearest_to_uniform
from aomg.query import Query

_DISTINCT_A_MOMENT = 5  # up to this many distinct values per moment are counted instead
_FEWEST_ORDERS = 2
_ROUNDING_OF_VARIANCE = 1e-13  # relative to the mean square
_SMALLEST_SQUARE = 1e-280  # smaller ones lose digits to underflow


class _SubWindow(NamedTuple):
    """Count, minimum, maximum and sums; and the distinct values with their counts, None if there are too many."""

    row: Values
    counts: tuple[Values, Integers] | None


class Moment(Policy):
    """Power sums of x and ln x up to order K: O(K) per event, one Newton solve per answer.

    Up to 5 K distinct values are counted exactly instead, because no density fits them. `diagnostics` describes the
    last answer. `degraded` is the number of answers without a density: those are the middle of the bounds that mean,
    variance and extremes give.
    """

    name: ClassVar[str] = "moment"
    title: ClassVar[str] = "Moment"
    promise: ClassVar[str] = "none; small rank errors where the density is smooth (spikes and gaps are smoothed over)"

    def __init__(self, query: Query, K: int = 12) -> None:
        super().__init__(query)
        if not isinstance(K, int) or not _FEWEST_ORDERS <= K <= maximum_entropy.MOST_ORDERS:
            raise InputError(f"K={K!r} must be a whole number from 2 to {maximum_entropy.MOST_ORDERS}")
        self.K = K
        self.degraded = 0
        self.diagnostics: dict[str, Any] = {}
        self._distinct, self._tallies = np.empty(_DISTINCT_A_MOMENT * K), np.empty(_DISTINCT_A_MOMENT * K, np.int64)
        self._closed: deque[_SubWindow] = deque()
        self._begin()

    def _begin(self) -> None:
        self._row = np.zeros(MOMENT_SUMS + 2 * self.K)
        self._row[MOMENT_MINIMUM], self._row[MOMENT_MAXIMUM] = np.inf, -np.inf
        self._block = np.zeros(2 * self.K)
        self._known = 0

    def accumulate(self, values: Values) -> None:
        """Add the powers of the values. O(n K)."""
        add_powers(values, self._row, self._block)
        if self._known != TOO_MANY:
            self._known = add_distinct(values, self._known, self._distinct, self._tallies)

    def close(self) -> None:
        """Store the sums."""
        self._row[MOMENT_SUMS:] += self._block
        counts = None
        if self._known != TOO_MANY:
            counts = self._distinct[: self._known].copy(), self._tallies[: self._known].copy()
        self._closed.append(_SubWindow(self._row, counts))
        self._begin()

    def expire(self) -> None:
        """Drop the oldest sums."""
        self._closed.popleft()

    def merged(self) -> Values:
        """Return the sums of the whole window, as if it were one sub-window. O(K W)."""
        rows = np.array([part.row for part in self._closed])
        sums = rows[:, MOMENT_SUMS:]
        row = np.empty(rows.shape[1])
        row[MOMENT_COUNT] = rows[:, MOMENT_COUNT].sum()
        row[MOMENT_MINIMUM] = rows[:, MOMENT_MINIMUM].min()
        row[MOMENT_MAXIMUM] = rows[:, MOMENT_MAXIMUM].max()
        with np.errstate(all="ignore"):
            finite = np.isfinite(np.abs(sums).sum(axis=0))
        row[MOMENT_SUMS:] = [
            fsum(column) if fine else np.nan for column, fine in zip(sums.T.tolist(), finite, strict=True)
        ]
        return row

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Count, or fit a density and return its quantiles; without a density, return the middle of the bounds."""
        counted = self._counted(count)
        if counted is not None:
            return counted
        row = self.merged()
        least, most = float(row[MOMENT_MINIMUM]), float(row[MOMENT_MAXIMUM])
        raw, logarithms = np.split(row[MOMENT_SUMS:], 2)
        bases = [basis_of("raw", raw, count, least, most)]
        if least > 0:
            bases.append(basis_of("log", logarithms, count, float(np.log(least)), float(np.log(most))))
        for basis in nearest_to_uniform(bases):
            valid = basis.chebyshev.size - 1
            for orders in range(valid, min(valid, _FEWEST_ORDERS) - 1, -1):
                fit = maximum_entropy.fit(basis.chebyshev[: orders + 1]) if orders > 0 else None
                if fit is None:
                    continue
                self._diagnose(basis.name, True, orders=orders, valid=valid, steps=fit.steps, residual=fit.residual)
                places = basis.centre + basis.radius * maximum_entropy.quantiles(fit.masses, self.quantiles.shares)
                return unbounded(np.clip(np.exp(places) if basis.name == "log" else places, least, most))
        self.degraded += 1
        self._diagnose("bounds", False)
        lows, highs = bounds(raw, count, least, most, self.quantiles.ranks(count))
        return unbounded(np.clip(lows / 2 + highs / 2, least, most))

    def _diagnose(self, basis: str, converged: bool, **details: float) -> None:
        self.diagnostics = {"basis": basis, "converged": converged, **details}

    def _counted(self, count: int) -> npt.NDArray[np.float64] | None:
        """Return exact answers if the live sub-windows together have few distinct values, otherwise None."""
        parts = [part.counts for part in self._closed]
        known = [counts for counts in parts if counts is not None]
        if len(known) < len(parts):
            return None
        distinct, inverse = np.unique(np.concatenate([values for values, _ in known]), return_inverse=True)
        if distinct.size > _DISTINCT_A_MOMENT * self.K:
            return None
        tallies = np.bincount(inverse, np.concatenate([tallies for _, tallies in known]))
        self._diagnose("counts", True)
        values = distinct[np.searchsorted(np.cumsum(tallies), self.quantiles.ranks(count), "left")]
        return np.repeat(values[:, None], 3, axis=1)

    def variables(self) -> int:
        """Count 2 K sums, count, minimum, maximum, the number of distinct values and two per distinct value.

        The open sub-window has 2 K more: the sums of its last block.
        """
        fixed = MOMENT_SUMS + 2 * self.K + 1
        known = sum(part.counts[0].size for part in self._closed if part.counts is not None) + max(self._known, 0)
        return fixed * (len(self._closed) + 1) + 2 * self.K + 2 * known

    @property
    def nbytes(self) -> int:
        """Return the bytes of the same state."""
        return 8 * self.variables()

    def analytical(self) -> int:
        """Return the variables if every sub-window has the most distinct values that are counted."""
        fixed = MOMENT_SUMS + 2 * self.K + 1 + 2 * _DISTINCT_A_MOMENT * self.K
        return fixed * (self.query.sub_windows + 1) + 2 * self.K

    def parameters(self) -> dict[str, Any]:
        """Return K."""
        return {"K": self.K}


def bounds(sums: Values, count: int, least: float, most: float, ranks: Integers) -> tuple[Values, Values]:
    """Return bounds of each rank's value by Markov and Cantelli: wide, but valid for every stream.

    Of n events, n - r + 1 are at least as large as the one of rank r, and r at most as large.
    """
    above, below = (count - ranks + 1) / count, ranks / count
    with np.errstate(all="ignore"):
        mean, square = sums[0] / count, sums[1] / count
        variance = np.maximum(square - mean * mean, 0.0) + _ROUNDING_OF_VARIANCE * square
        spread = np.sqrt(variance) if square > _SMALLEST_SQUARE else np.nan  # below, use Markov alone
        highs = np.fmin(least + (mean - least) / above, mean + spread * np.sqrt((1 - above) / above))
        lows = np.fmax(most - (most - mean) / below, mean - spread * np.sqrt((1 - below) / below))
    highs = np.clip(np.nan_to_num(highs, nan=most), least, most)
    lows = np.clip(np.nan_to_num(lows, nan=least), least, most)
    return lows, highs
