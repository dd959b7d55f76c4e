"""Scales the moments of a window to [-1, 1], drops those that rounding spoiled, and selects the better scale."""

from functools import cache
from math import comb, fsum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aomg.policies.base import Values

_WORST_ERROR = 1e-3  # largest error of a usable Chebyshev moment
_ROUNDING = 4 * 2.0**-53


class Basis(NamedTuple):
    """The moments of the window's values, or of their logarithms, on a scale where the extremes are -1 and 1."""

    name: str
    centre: float
    radius: float
    scaled: Values
    """Means of powers from order 0 on, without those that rounding spoiled."""
    chebyshev: Values
    """Means of Chebyshev polynomials, of the same orders."""


@cache
def _chebyshev_coefficients(orders: int) -> Values:
    return np.array(
        [np.pad(np.polynomial.chebyshev.cheb2poly([0] * i + [1]), (0, orders - i)) for i in range(orders + 1)]
    )


@cache
def _binomials(orders: int) -> Values:
    return np.array([[float(comb(j, i)) for i in range(orders + 1)] for j in range(orders + 1)])


def basis_of(name: str, sums: Values, count: float, least: float, most: float) -> Basis:
    """Scale moments, and drop those that rounding spoiled.

    The terms of a moment around the centre cancel, so its error is that of the sum of absolute terms. All orders from
    the first with an error above 1e-3, or with a mean outside [-1, 1], are dropped.
    """
    orders = sums.size
    centre, radius = most / 2 + least / 2, most / 2 - least / 2
    powers = np.arange(orders + 1)
    lower = np.tril(np.ones((orders + 1, orders + 1)))
    with np.errstate(all="ignore"):
        means = np.concatenate([[1.0], sums / count]) / np.power(radius, powers)
        shifts = (
            np.power(np.divide(-centre, radius), np.maximum(powers[:, None] - powers, 0)) * lower * _binomials(orders)
        )
        terms = np.where(lower > 0, shifts * means, 0.0)
        coefficients = _chebyshev_coefficients(orders)
        sizes = np.where(coefficients != 0, np.abs(coefficients) * np.abs(terms).sum(axis=1), 0.0)
        errors = _ROUNDING * sizes.sum(axis=1)
    usable = _first(~(errors <= _WORST_ERROR))
    scaled = np.array([fsum(row) for row in terms[:usable].tolist()])
    chebyshev = np.array([fsum(row) for row in (coefficients[:usable, :usable] * scaled).tolist()])
    usable = _first(np.abs(chebyshev) > 1 + 1e-6)
    return Basis(name, centre, radius, scaled[:usable], chebyshev[:usable])


def _first(wrong: npt.NDArray[np.bool_]) -> int:
    """Return the index of the first wrong order, or the number of orders."""
    return int(np.argmax(wrong)) if wrong.any() else wrong.size


def nearest_to_uniform(bases: list[Basis]) -> list[Basis]:
    """Return the bases, the one with moments nearer to those of a uniform density first."""
    orders = np.arange(min(basis.scaled.size for basis in bases))
    if orders.size < 2:
        return sorted(bases, key=lambda basis: -basis.scaled.size)
    uniform = np.where(orders % 2 == 0, 1 / (orders + 1), 0.0)
    return sorted(bases, key=lambda basis: float(np.abs(basis.scaled[: orders.size] - uniform).sum()))
