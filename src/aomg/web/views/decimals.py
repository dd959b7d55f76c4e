"""Rounds the numbers of a history to seven digits, so that low <= exact <= high still holds.

A history has float32, where 0.421 is 0.42100000381469727: written out, a response would be twice as long and look
wrong. Seven digits are about the precision of float32. Whole numbers are not rounded.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aomg.numbers import MOST_DIGITS

Reals = NDArray[np.float64]


def nearest(numbers: NDArray[Any]) -> Reals:
    """Return the nearest numbers of seven digits; rounding never changes their order.

    >>> nearest(np.array([0.421, 12345678, np.nan], np.float32)).tolist()
    [0.421, 12345678.0, nan]
    """
    return _rounded(numbers, np.rint)


def down(numbers: NDArray[Any]) -> Reals:
    """Return numbers of seven digits that are not above the given ones."""
    rounded: Reals = np.minimum(_rounded(numbers, np.floor), numbers)
    return rounded


def up(numbers: NDArray[Any]) -> Reals:
    """Return numbers of seven digits that are not below the given ones."""
    rounded: Reals = np.maximum(_rounded(numbers, np.ceil), numbers)
    return rounded


def intervals(numbers: NDArray[Any]) -> Reals:
    """Round value, low, high in the last dimension: low down, high up, the value to the nearest between them.

    Between the given ends, if a number of seven digits lies there; else between the rounded ends.
    """
    value, low, high = (numbers[..., part] for part in range(3))
    rounded = np.empty(numbers.shape)
    rounded[..., 0], rounded[..., 1], rounded[..., 2] = nearest(value), down(low), up(high)
    least, most = up(low), down(high)
    inside = (low <= value) & (value <= high) & (least <= most)
    np.clip(rounded[..., 0], least, most, out=rounded[..., 0], where=inside)
    return rounded


def rounded_interval(low: float, value: float, high: float) -> list[float | None]:
    """Return low, value and high of one interval with seven digits; None for what is not finite.

    An exact value keeps all of its digits: they are known.

    >>> rounded_interval(4980.0, 5042.2150000000765, 5119.0)
    [4980.0, 5042.215, 5119.0]
    >>> rounded_interval(2232.85263125, 2232.85263125, 2232.85263125)
    [2232.85263125, 2232.85263125, 2232.85263125]
    """
    if low == value == high and np.isfinite(value):
        return [low, value, high]
    middle, bottom, top = listed(intervals(np.array([value, low, high])))
    return [bottom, middle, top]


def listed(numbers: NDArray[Any]) -> list[Any]:
    """Return nested lists for JSON: None for what is not finite.

    >>> listed(np.array([[1.0, np.nan], [np.inf, 2.5]]))
    [[1.0, None], [None, 2.5]]
    """
    finite = np.isfinite(numbers)
    if finite.all():
        return list(numbers.tolist())
    rounded = numbers.astype(object)
    rounded[~finite] = None
    return list(rounded.tolist())


def _rounded(numbers: NDArray[Any], rounding: np.ufunc) -> Reals:
    exact = numbers.astype(np.float64)
    usual = np.isfinite(exact) & (exact != np.trunc(exact))
    if not usual.any():
        return exact
    part = exact[usual]
    places = MOST_DIGITS - 1 - np.floor(np.log10(np.abs(part))).astype(np.int64)
    # dividing by a power of ten gives the number that people write; multiplying by a negative power would not
    many, few = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    exact[usual] = rounding(part * many / few) / many * few
    return exact
