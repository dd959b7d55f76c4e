"""Finds the density of maximum entropy on [-1, 1] for given Chebyshev moments.

It is the exponential of a polynomial whose coefficients minimise a convex function. Newton's method with backtracking
finds them, if a density with these moments exists. Integrals are sums over Chebyshev nodes with Fejér's weights.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from aomg.policies.base import Values
from aomg.policies.kernels.moments import exponential, integrals_of, newton_step

MOST_ORDERS = 16
NODES = 1024
TOLERANCE = 1e-7  # root mean square error of the moments
STEPS = 100
_HIGHEST_EXPONENT = 300.0
_SMALLEST_STEP = 2.0**-30


class Fit(NamedTuple):
    """A density as masses at the ascending nodes, with the number of steps and the error."""

    masses: Values
    steps: int
    residual: float
    """The largest difference between a moment of the density and the given one."""


class _Grid(NamedTuple):
    nodes: Values
    weights: Values
    polynomials: Values
    """T_0 to T_2K at the nodes, one row each."""


@cache
def _grid() -> _Grid:
    angles = np.pi * (np.arange(NODES, 0, -1) - 0.5) / NODES
    halves = np.arange(1, NODES // 2 + 1)
    weights = 2 / NODES * (1 - 2 * (np.cos(2 * angles[:, None] * halves) / (4.0 * halves**2 - 1)).sum(axis=1))
    polynomials = np.cos(np.arange(2 * MOST_ORDERS + 1)[:, None] * angles)
    return _Grid(np.cos(angles), weights, polynomials)


def fit(moments: Values) -> Fit | None:
    """Return the density with these moments of order 0 (which is 1) to k; None if none is found.

    A step costs O(k NODES): by T_i T_j = (T_{i+j} + T_{|i-j|}) / 2, 2 k + 1 integrals give the whole Hessian.
    """
    grid = _grid()
    polynomials = grid.polynomials[: 2 * moments.size - 1]
    multipliers = np.zeros(moments.size)
    multipliers[0] = np.log(0.5)
    masses = grid.weights / 2
    objective = float(masses.sum() - multipliers @ moments)
    for step in range(STEPS):
        integrals = integrals_of(polynomials, masses)
        gradient = integrals[: moments.size] - moments
        if float(gradient @ gradient) < moments.size * TOLERANCE**2:
            return Fit(masses, step, float(np.abs(gradient).max()))
        direction = _direction(integrals, gradient)
        slope = float(gradient @ direction)
        if not slope < 0:
            return None
        length = 1.0
        while True:
            trial = multipliers + length * direction
            masses, exponent = exponential(trial, grid.polynomials, grid.weights)
            if exponent < _HIGHEST_EXPONENT:
                reached = float(masses.sum() - trial @ moments)
                rounding = 1e-15 * (1 + abs(objective))
                if reached <= objective + 0.3 * length * slope + rounding:
                    break
            length /= 2
            if length < _SMALLEST_STEP:
                return None
        multipliers, objective = trial, reached
    return None


def _direction(integrals: Values, gradient: Values) -> Values:
    """Return Newton's step; by least squares if rounding made the Hessian indefinite."""
    step: Values = newton_step(integrals, gradient)
    if np.isfinite(step).all():
        return step
    orders = np.arange(gradient.size)
    sums, differences = orders[:, None] + orders, np.abs(orders[:, None] - orders)
    hessian = (integrals[sums] + integrals[differences]) / 2
    step = -np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0]
    return step


def quantiles(masses: Values, shares: Values) -> Values:
    """Return the points below which a density has each share of its mass; half of a node's mass is on either side."""
    walked = (np.cumsum(masses) - masses / 2) / masses.sum()
    nodes = np.concatenate([[-1.0], _grid().nodes, [1.0]])
    places: Values = np.interp(shares, np.concatenate([[0.0], walked, [1.0]]), nodes)
    return places
