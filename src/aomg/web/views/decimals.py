"""How the numbers of a history are told: with seven digits, and so that low <= exact <= high still holds.

A history keeps float32. 0.421 is 0.42100000381469727 there: told so, an answer is twice as long and looks wrong. Seven
digits are about what float32 holds; whole numbers are told as they are.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aomg.numbers import MOST_DIGITS

Reals = NDArray[np.float64]


def nearest(numbers: NDArray[Any]) -> Reals:
    """The nearest numbers of seven digits; never in another order than before.

    >>> nearest(np.array([0.421, 12345678, np.nan], np.float32)).tolist()
    [0.421, 12345678.0, nan]
    """
    return _rounded(numbers, np.rint)


def down(numbers: NDArray[Any]) -> Reals:
    """Numbers of seven digits that are not above the given ones."""
    told: Reals = np.minimum(_rounded(numbers, np.floor), numbers)
    return told


def up(numbers: NDArray[Any]) -> Reals:
    """Numbers of seven digits that are not below the given ones."""
    told: Reals = np.maximum(_rounded(numbers, np.ceil), numbers)
    return told


def intervals(numbers: NDArray[Any]) -> Reals:
    """Value, low, high in the last dimension: low down, high up, and the value to the nearest that is between them.

    Between the ends as they were given, wherever a number of seven digits is; else between them as they are told.
    """
    value, low, high = (numbers[..., part] for part in range(3))
    told = np.empty(numbers.shape)
    told[..., 0], told[..., 1], told[..., 2] = nearest(value), down(low), up(high)
    least, most = up(low), down(high)
    inside = (low <= value) & (value <= high) & (least <= most)
    np.clip(told[..., 0], least, most, out=told[..., 0], where=inside)
    return told


def listed(numbers: NDArray[Any]) -> list[Any]:
    """Nested lists as JSON has them: None for what is not finite.

    >>> listed(np.array([[1.0, np.nan], [np.inf, 2.5]]))
    [[1.0, None], [None, 2.5]]
    """
    finite = np.isfinite(numbers)
    if finite.all():
        return list(numbers.tolist())
    told = numbers.astype(object)
    told[~finite] = None
    return list(told.tolist())


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
