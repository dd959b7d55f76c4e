"""Interval arithmetic and comparisons: a quantity is an interval; a condition is true, false or unknown.

The exact value of a quantity lies in low..high; `value` is the estimate. Results are rounded outward, except between
whole numbers up to 2^53, which are exact: the exact result always lies in the interval. Everything works on columns,
with a row for each key.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

CERTAIN, POINT, POSSIBLE = 0, 1, 2
_EXACT = 2.0**53


@dataclass(frozen=True)
class Interval:
    """A column of quantities. A bound that is infinite is unknown."""

    low: Reals
    value: Reals
    high: Reals

    @classmethod
    def exactly(cls, value: Any) -> "Interval":
        """Return exact quantities."""
        value = np.asarray(value, dtype=np.float64)
        return cls(value, value, value)

    @classmethod
    def between(cls, low: Reals, value: Reals, high: Reals) -> "Interval":
        """Return quantities between two bounds, which may be missing (NaN)."""
        return cls(np.where(np.isnan(low), -np.inf, low), value, np.where(np.isnan(high), np.inf, high))

    def take(self, rows: NDArray[np.intp]) -> "Interval":
        """Return these rows; -1 returns any row, for the caller to mask."""
        return Interval(self.low[rows], self.value[rows], self.high[rows])

    def __neg__(self) -> "Interval":
        return Interval(-self.high, -self.value, -self.low)

    def __add__(self, other: "Interval") -> "Interval":
        with np.errstate(all="ignore"):
            exact = _whole(self.low, self.high, other.low, other.high)
            low, high = self.low + other.low, self.high + other.high
            return _outward(np.stack([low, high]), self.value + other.value, exact)

    def __sub__(self, other: "Interval") -> "Interval":
        return self + (-other)

    def __mul__(self, other: "Interval") -> "Interval":
        with np.errstate(all="ignore"):
            exact = _whole(self.low, self.high, other.low, other.high)
            ends = np.stack(
                [self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high]
            )
            # an infinite end means arbitrarily large numbers: zero times any of them is zero
            return _outward(np.where(np.isnan(ends), 0.0, ends), self.value * other.value, exact)

    def __truediv__(self, other: "Interval") -> "Interval":
        """Divide. If the divisor may be zero, the result is unknown."""
        with np.errstate(all="ignore"):
            ends = np.stack(
                [self.low / other.low, self.low / other.high, self.high / other.low, self.high / other.high]
            )
            exact = _whole(self.low, self.high, other.low, other.high) & _whole(*ends)
            exact &= (ends[0] * other.low == self.low) & (ends[1] * other.high == self.low)
            exact &= (ends[2] * other.low == self.high) & (ends[3] * other.high == self.high)
            quotient = _outward(np.where(np.isnan(ends), 0.0, ends), self.value / other.value, exact)
            unknown = (other.low <= 0) & (other.high >= 0)
            return Interval(
                np.where(unknown, -np.inf, quotient.low), quotient.value, np.where(unknown, np.inf, quotient.high)
            )


@dataclass(frozen=True)
class Truth:
    """Whether a condition holds and whether it fails, for each row: certainly, by the values alone, possibly.

    For a row with data, a condition that does not certainly hold possibly fails, and so on. For a row without data it
    neither holds nor fails, not even possibly; so `not` does not make it hold either.
    """

    holds: Flags  # three rows: CERTAIN, POINT, POSSIBLE
    fails: Flags

    @classmethod
    def of(cls, certain: Flags, point: Flags, possible: Flags) -> "Truth":
        """Return the truth of rows that all have data."""
        holds = np.stack([certain, point, possible])
        return cls(holds, ~holds[::-1])

    def where(self, present: Flags) -> "Truth":
        """Return the truth with the other rows marked as without data."""
        return Truth(self.holds & present, self.fails & present)

    def __and__(self, other: "Truth") -> "Truth":
        return Truth(self.holds & other.holds, self.fails | other.fails)

    def __or__(self, other: "Truth") -> "Truth":
        return Truth(self.holds | other.holds, self.fails & other.fails)

    def __invert__(self) -> "Truth":
        return Truth(self.fails, self.holds)


def compare(sign: str, left: Interval, right: Interval) -> Truth:
    """Compare two columns: certain if true for all values in the intervals, possible if true for some."""
    with np.errstate(invalid="ignore"):
        if sign in ("<", "<="):
            left, right, sign = right, left, ">" if sign == "<" else ">="
        if sign == ">":
            return Truth.of(left.low > right.high, left.value > right.value, left.high > right.low)
        if sign == ">=":
            return Truth.of(left.low >= right.high, left.value >= right.value, left.high >= right.low)
        same = (left.low == right.high) & (left.high == right.low)
        overlap = (left.low <= right.high) & (right.low <= left.high)
        equal = Truth.of(same, left.value == right.value, overlap)
        return equal if sign == "==" else ~equal


def _whole(*numbers: Reals) -> Any:
    """Whether all numbers are whole and small enough for exact arithmetic."""
    exact: Any = True
    for number in numbers:
        exact = exact & (np.abs(number) < _EXACT) & (number == np.floor(number))
    return exact


def _outward(ends: Reals, value: Reals, exact: Any) -> Interval:
    """Return the interval that spans these ends, rounded outward."""
    low, high = ends.min(axis=0), ends.max(axis=0)
    exact = exact & (np.abs(low) < _EXACT) & (np.abs(high) < _EXACT)
    low = np.where(exact, low, np.nextafter(low, -np.inf))
    high = np.where(exact, high, np.nextafter(high, np.inf))
    return Interval(np.where(np.isnan(low), -np.inf, low), value, np.where(np.isnan(high), np.inf, high))
