"""Base of policies with one library sketch per sub-window, merged for an answer."""

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.policies.base import Integers, Policy, Values, unbounded
from aomg.policies.two_stacks import TwoStacks
from aomg.query import Query


class MergedSketches(Policy):
    """One sketch per sub-window, in two stacks. A subclass adapts the library.

    A single answer has no guarantee: bounds of the libraries hold only with a stated probability.
    """

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self._open = self._make()
        self._window: TwoStacks[Any] = TwoStacks(self._make, self._merge)

    @abstractmethod
    def _make(self) -> Any:
        """Return an empty sketch of the library."""

    @abstractmethod
    def _values_at(self, sketch: Any, ranks: Integers, count: int) -> npt.ArrayLike:
        """Return the sketch's values for ranks, from 1 to its count."""

    @abstractmethod
    def _variables_of(self, sketch: Any) -> int:
        """Return the number of live scalars of one sketch."""

    @abstractmethod
    def _bytes_of(self, sketch: Any) -> int:
        """Return the bytes of one sketch, serialized by the library."""

    def _merge(self, into: Any, sketch: Any) -> None:
        into.merge(sketch)

    def accumulate(self, values: Values) -> None:
        """Pass the values to the library, which requires a writeable array."""
        self._open.update(values if values.flags.writeable else values.copy())

    def close(self) -> None:
        """Add the sub-window's sketch to the window."""
        self._window.push(self._open)
        self._open = self._make()

    def expire(self) -> None:
        """Drop the oldest sketch."""
        self._window.pop()

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Query the merged live sketches."""
        return unbounded(self._values_at(self._window.merged(), self.quantiles.ranks(count), count))

    def variables(self) -> int:
        """Count the variables of every sketch: one per sub-window, the merged new ones, the open one."""
        return sum(map(self._variables_of, self._window)) + self._variables_of(self._open)

    @property
    def nbytes(self) -> int:
        """Return the bytes of the same state, serialized."""
        return sum(map(self._bytes_of, self._window)) + self._bytes_of(self._open)
