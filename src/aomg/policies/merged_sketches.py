"""Policies that keep one library sketch for each sub-window, and merge them for an answer."""

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.policies.base import Integers, Policy, Values, unbounded
from aomg.policies.two_stacks import TwoStacks
from aomg.query import Query


class MergedSketches(Policy):
    """One sketch a sub-window, in two stacks. What a sketch is, and how it is asked, the library's adapter says.

    Nothing is promised of a single answer: where a library has bounds, they hold with a stated probability only.
    """

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self._open = self._make()
        self._window: TwoStacks[Any] = TwoStacks(self._make, self._merge)

    @abstractmethod
    def _make(self) -> Any:
        """An empty sketch of the library."""

    @abstractmethod
    def _values_at(self, sketch: Any, ranks: Integers, count: int) -> npt.ArrayLike:
        """What the sketch answers for ranks, from 1 to its count."""

    @abstractmethod
    def _variables_of(self, sketch: Any) -> int:
        """Live scalars of one sketch."""

    @abstractmethod
    def _bytes_of(self, sketch: Any) -> int:
        """Bytes of one sketch, as the library serializes it."""

    def _merge(self, into: Any, other: Any) -> None:
        into.merge(other)

    def accumulate(self, values: Values) -> None:
        """Give the values to the library, all at once. It takes no array that it may not write to."""
        self._open.update(values if values.flags.writeable else values.copy())

    def close(self) -> None:
        """Put the sub-window's sketch in the window."""
        self._window.push(self._open)
        self._open = self._make()

    def expire(self) -> None:
        """Drop the oldest sketch."""
        self._window.pop()

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Ask the merger of the live sketches."""
        return unbounded(self._values_at(self._window.merged(), self.asked.ranks(count), count))

    def variables(self) -> int:
        """Of every sketch that is held: one for each sub-window, the merger of the new ones, the open one."""
        return sum(map(self._variables_of, self._window)) + self._variables_of(self._open)

    @property
    def nbytes(self) -> int:
        """Bytes of the same, serialized."""
        return sum(map(self._bytes_of, self._window)) + self._bytes_of(self._open)
