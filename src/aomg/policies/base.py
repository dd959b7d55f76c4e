"""What a policy does: the four verbs of incremental evaluation, and what it says of its space.

Windows are not its business. It is told (`aomg.policies.windows`) when a sub-window closes and when the oldest one
leaves, and it answers for what is left.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.ranks import rank_of
from aomg.query import Query

Values = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Asked:
    """The quantiles of a query, as exact ranks."""

    def __init__(self, query: Query) -> None:
        fractions = [Fraction(quantile) for quantile in query.quantiles]
        self._parts = [(fraction.numerator, fraction.denominator) for fraction in fractions]
        self.shares = np.array([float(fraction) for fraction in fractions])

    def ranks(self, count: int) -> Integers:
        """The rank ceil(phi n) of each quantile among `count` elements, from 1 to `count`."""
        return np.array([rank_of(over, under, count) for over, under in self._parts], np.int64)


class Policy(ABC):
    """One way to answer quantiles of a sliding window that moves by whole sub-windows.

    The driver calls `accumulate` any number of times, then `close`; then `expire` if the oldest of the closed
    sub-windows has left the window; then `answer`. The first argument of every policy is the query, all others are
    keywords with a default. A sub-window may be short (the last of a stream), never empty.
    """

    name: ClassVar[str]
    promise: ClassVar[str]
    """One line: what is guaranteed of an answer, and what is not."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.asked = Asked(query)

    @abstractmethod
    def accumulate(self, values: Values) -> None:
        """Take finite values of the open sub-window, in the order in which they came. The array is the caller's."""

    @abstractmethod
    def close(self) -> None:
        """The open sub-window is complete; the next value opens another one."""

    @abstractmethod
    def expire(self) -> None:
        """Deaccumulate: the oldest closed sub-window leaves the window."""

    @abstractmethod
    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Compute a result for the `count` elements of the closed sub-windows.

        A row for each quantile of the query: value, low, high; low and high are NaN where nothing is promised.
        """

    @abstractmethod
    def variables(self) -> int:
        """Live scalars that are needed for future answers: a (value, count) pair is two, a flag is one."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of the same."""

    def analytical(self) -> int | None:
        """The most variables that there can be, by the policy's own analysis; None where it has none."""
        return None

    def parameters(self) -> dict[str, Any]:
        """What the policy runs with, defaults worked out: epsilon, K, seeds..."""
        return {}


def unbounded(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Answers that promise no interval."""
    answers = np.full((len(np.atleast_1d(values)), 3), np.nan)
    answers[:, 0] = values
    return answers
