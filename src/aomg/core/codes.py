"""Converts values to codes, by their significant decimal digits, and codes to intervals of values.

A code covers all values with the same sign, decade and first `digits` decimal digits: truncation towards zero.
Its edges are the doubles nearest to their decimal text (beyond 10^22 and below 10^-22 within one unit in the last
place), and a value belongs to the largest edge at or below it, in integers by integer division and in doubles by
comparison with the edge itself: no value is misplaced by rounding.

Special values:

* zero has its own code, and -0.0 is zero;
* subnormal doubles are coded as all others, by the edges nearest to their decimals;
* integers are exact up to both ends of 64 bits, the smallest included; where a bound is reported as a double beyond
  2^53 it is rounded outward;
* raw longs (digits=None) beyond 2^53 are taken as the nearest double, and their interval covers the rounding;
* a code of one integer reports that integer, any other its middle; a window that holds both integers and doubles
  is taken as doubles, with intervals that cover its longs (`domain`: REALS, INTEGERS or BOTH).
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.codes import (
    DECADES,
    codes_of_doubles,
    codes_of_integers,
    dense_intervals,
    digits_codes_of_doubles,
    digits_codes_of_integers,
    digits_intervals,
    raw_intervals,
)
from aomg.core.kernels.registers import BOTH, INTEGERS, NOTHING, REALS, ZERO_SUPER
from aomg.core.kernels.sortable import LARGEST_DOUBLE, key_of_double, keys_of_doubles

__all__ = ["BOTH", "INTEGERS", "NOTHING", "REALS", "Codec", "DenseCodec", "DigitsCodec", "RawCodec", "middles"]

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


class Codec(Protocol):
    """Codes of one resolution, ordered as their values."""

    @property
    def span(self) -> tuple[int, int]:
        """The lowest and the highest code there can be."""

    def codes(self, values: npt.NDArray[np.generic]) -> Integers:
        """Codes of finite int64 or float64 values."""

    def intervals(self, codes: Integers, domain: int) -> tuple[Reals, Reals]:
        """Lowest and highest value of each code, inclusive and rounded outward."""


def middles(codec: Codec, codes: Integers, domain: int) -> Reals:
    """What a code reports: its one integer, or its middle."""
    low, high = codec.intervals(codes, domain)
    return low + (high - low) / 2


class DenseCodec:
    """One to three digits: few enough codes to count in an array. The geometry is the state's."""

    def __init__(self, state: Integers, table: npt.NDArray[np.uint64]) -> None:
        self._state = state
        self._table = table
        self.span = (0, 256 * (2 * int(state[ZERO_SUPER]) + 1) - 1)

    def codes(self, values: npt.NDArray[np.generic]) -> Integers:
        """Codes of finite values; O(n), no allocation but the result."""
        codes = np.empty(values.size, np.int64)
        if values.dtype == np.int64:
            codes_of_integers(self._state, self._table, values, codes)
        else:
            codes_of_doubles(self._state, self._table, values, codes)
        return codes

    def intervals(self, codes: Integers, domain: int) -> tuple[Reals, Reals]:
        """Lowest and highest value of each code."""
        lows, highs = np.empty(codes.size), np.empty(codes.size)
        dense_intervals(self._state, codes, domain, lows, highs)
        return lows, highs


class DigitsCodec:
    """Four to six digits: too many codes for an array, so they are sorted."""

    def __init__(self, digits: int) -> None:
        self._digits = digits
        most = DECADES * 9 * 10 ** (digits - 1)
        self.span = (-most, most)

    def codes(self, values: npt.NDArray[np.generic]) -> Integers:
        """Codes of finite values."""
        codes = np.empty(values.size, np.int64)
        if values.dtype == np.int64:
            digits_codes_of_integers(values, self._digits, codes)
        else:
            digits_codes_of_doubles(values, self._digits, codes)
        return codes

    def intervals(self, codes: Integers, domain: int) -> tuple[Reals, Reals]:
        """Lowest and highest value of each code."""
        lows, highs = np.empty(codes.size), np.empty(codes.size)
        digits_intervals(codes, self._digits, domain, lows, highs)
        return lows, highs


class RawCodec:
    """Raw values: the code is a 64-bit integer that sorts as the double does."""

    span = (
        int(key_of_double(-LARGEST_DOUBLE)),
        int(key_of_double(LARGEST_DOUBLE)),
    )

    def codes(self, values: npt.NDArray[np.generic]) -> Integers:
        """Sortable keys of finite values."""
        keys = np.empty(values.size, np.int64)
        keys_of_doubles(values.astype(np.float64, copy=False), keys)
        return keys

    def intervals(self, codes: Integers, domain: int) -> tuple[Reals, Reals]:
        """The value itself; beyond 2^53, where a long may have been rounded to it, its neighbours."""
        lows, highs = np.empty(codes.size), np.empty(codes.size)
        raw_intervals(codes, domain, lows, highs)
        return lows, highs
