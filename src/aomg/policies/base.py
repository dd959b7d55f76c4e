"""Base class of all policies: the four steps of incremental evaluation, and the space they need.

A policy does not manage windows. `aomg.policies.windows` tells it when a sub-window closes and when the oldest one
expires, and asks it for the quantiles of the live sub-windows.
"""

import warnings
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.ranks import rank_of
from aomg.query import Query

Values = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class QuantileRanks:
    """Exact ranks of the quantiles of a query."""

    def __init__(self, query: Query) -> None:
        fractions = [Fraction(quantile) for quantile in query.quantiles]
        self._parts = [(fraction.numerator, fraction.denominator) for fraction in fractions]
        self.shares = np.array([float(fraction) for fraction in fractions])

    def ranks(self, count: int) -> Integers:
        """Return the rank ceil(phi n) of each quantile among `count` events, from 1 to `count`."""
        return np.array([rank_of(over, under, count) for over, under in self._parts], np.int64)


class Policy(ABC):
    """Computes quantiles of a sliding window that moves by whole sub-windows.

    The driver calls `accumulate` any number of times, then `close`; then `expire` if the oldest closed sub-window has
    left the window; then `answer`. The first argument of every policy is the query; all others are keywords with a
    default. A sub-window may be short (the last one of a stream) but never empty.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """The name in tables and plots."""
    promise: ClassVar[str]
    """One line: what is guaranteed about an answer, and what is not."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.quantiles = QuantileRanks(query)

    @property
    def asked(self) -> QuantileRanks:
        """Deprecated: the old name of `quantiles`."""
        warnings.warn("Policy.asked is deprecated; write Policy.quantiles", DeprecationWarning, stacklevel=2)
        return self.quantiles

    @abstractmethod
    def accumulate(self, values: Values) -> None:
        """Add finite values to the open sub-window, in order of arrival. The array belongs to the caller."""

    @abstractmethod
    def close(self) -> None:
        """Close the open sub-window; the next value opens another one."""

    @abstractmethod
    def expire(self) -> None:
        """Deaccumulate: remove the oldest closed sub-window from the window."""

    @abstractmethod
    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Compute the quantiles of the `count` events in the closed sub-windows.

        One row per quantile of the query: value, low, high; low and high are NaN if nothing is guaranteed.
        """

    @abstractmethod
    def variables(self) -> int:
        """Return the number of live scalars needed for future answers: a (value, count) pair is two, a flag is one."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Return the bytes of the same state."""

    def analytical(self) -> int | None:
        """Return the largest possible number of variables by the policy's own analysis; None if it has none."""
        return None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters with computed defaults: epsilon, K, seeds..."""
        return {}


def unbounded(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return answers without a guaranteed interval."""
    answers = np.full((len(np.atleast_1d(values)), 3), np.nan)
    answers[:, 0] = values
    return answers
