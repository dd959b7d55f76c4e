"""DDSketch, with the mapping, the store and the quantile code of DataDog's library `ddsketch` (Python).

The library adds values one by one. Here the keys of its mapping are worked out for whole arrays, and its store is given
the counts of keys. Counts can be taken away again, so the window is one store: nothing is merged for an answer.
"""

from collections import deque
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from aomg.errors import InputError
from aomg.policies.base import Integers, Policy, Values
from aomg.policies.libraries import library
from aomg.query import Query

_NEAR_AN_EDGE = 1e-13  # in parts of a key: no two libraries' logarithms differ by as much
_ROUNDING = 1e-11  # of the library's powers and logarithms, in parts of a value


class _Bins(NamedTuple):
    """The keys that occur, ascending, and how often."""

    keys: Integers
    counts: Integers


class _Dense:
    """Counts of a range of keys, as the library's dense store keeps them."""

    def __init__(self) -> None:
        self.first = 0
        self.counts = np.zeros(0, np.int64)

    def add(self, bins: _Bins) -> None:
        """Count more, in a wider range where needed."""
        if not bins.keys.size:
            return
        least, most = int(bins.keys[0]), int(bins.keys[-1])
        if self.counts.size:
            least, most = min(least, self.first), max(most, self.first + self.counts.size - 1)
        if most - least + 1 > self.counts.size:
            wider = np.zeros(most - least + 1, np.int64)
            wider[self.first - least : self.first - least + self.counts.size] = self.counts
            self.first, self.counts = least, wider
        self.counts[bins.keys - self.first] += bins.counts

    def take(self, bins: _Bins) -> None:
        """Count less, in a range that ends where counts do."""
        self.counts[bins.keys - self.first] -= bins.counts
        filled = np.flatnonzero(self.counts)
        first, last = (filled[0], filled[-1] + 1) if filled.size else (0, 0)
        self.first, self.counts = self.first + int(first), self.counts[first:last]

    def put_into(self, store: Any) -> None:
        """Make the library's store hold these counts."""
        store.bins = self.counts.tolist()
        store.count = int(self.counts.sum())
        store.offset = store.min_key = self.first
        store.max_key = self.first + self.counts.size - 1


class DDSketch(Policy):
    """Counts of keys that grow like logarithms: about one bin for each 2 % of a value, at the default accuracy.

    O(1) an element; an answer walks the bins. No bin is ever collapsed, so the guarantee holds for every quantile; the
    price is that the ratio of the largest value to the smallest decides the space.
    """

    name: ClassVar[str] = "ddsketch"
    promise: ClassVar[str] = "within 1 % of the exact value (relative_accuracy), for every quantile"

    def __init__(self, query: Query, relative_accuracy: float = 0.01) -> None:
        super().__init__(query)
        module = library("ddsketch")
        try:
            self._sketch = module.DDSketch(relative_accuracy)
        except (ValueError, TypeError) as error:
            raise InputError(f"ddsketch takes no relative_accuracy={relative_accuracy!r}: {error}") from None
        self.relative_accuracy = relative_accuracy
        self._mapping = self._sketch._mapping
        self._open: list[tuple[_Bins, _Bins, int]] = []
        self._closed: deque[tuple[_Bins, _Bins, int]] = deque()
        self._positive, self._negative, self._zeros = _Dense(), _Dense(), 0

    def keys(self, magnitudes: Values) -> Integers:
        """The library's keys of positive values.

        Where the logarithm is so near to a whole number that two libraries of mathematics may round it to either side,
        the mapping itself is asked.
        """
        exact = np.log(magnitudes) * (self._mapping._multiplier / np.log(2.0))
        keys: Values = np.ceil(exact)
        unsure = np.flatnonzero(np.abs(exact - np.rint(exact)) <= _NEAR_AN_EDGE * (1 + np.abs(exact)))
        if unsure.size:
            values, inverse = np.unique(magnitudes[unsure], return_inverse=True)
            keys[unsure] = np.array([self._mapping.key(value) for value in values.tolist()])[inverse]
        return keys.astype(np.int64)

    def accumulate(self, values: Values) -> None:
        """Count the keys of the values, of the positive and the negative ones apart."""
        least = self._mapping.min_possible
        parts: list[_Bins] = []
        for sign in (1, -1):
            magnitudes = sign * values
            magnitudes = magnitudes[magnitudes > least]
            if magnitudes.size and magnitudes.max() > self._mapping.max_possible:
                raise InputError(f"ddsketch takes no value beyond {self._mapping.max_possible:.4g}")
            parts.append(_Bins(*np.unique(self.keys(magnitudes), return_counts=True)))
        positive, negative = parts
        zeros = values.size - int(positive.counts.sum()) - int(negative.counts.sum())
        self._open.append((positive, negative, zeros))

    def close(self) -> None:
        """Add the sub-window's counts to the window's."""
        part = _together([p for p, _, _ in self._open]), _together([n for _, n, _ in self._open])
        self._closed.append((*part, sum(zeros for _, _, zeros in self._open)))
        self._open = []
        positive, negative, zeros = self._closed[-1]
        self._positive.add(positive)
        self._negative.add(negative)
        self._zeros += zeros

    def expire(self) -> None:
        """Take the oldest sub-window's counts from the window's."""
        positive, negative, zeros = self._closed.popleft()
        self._positive.take(positive)
        self._negative.take(negative)
        self._zeros -= zeros

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Ask the library's sketch; low and high are the ends of the bin, widened by the rounding of its powers."""
        self._positive.put_into(self._sketch._store)
        self._negative.put_into(self._sketch._negative_store)
        self._sketch._zero_count = self._zeros
        self._sketch._count = count
        return np.array([self._answer_of(int(rank), count) for rank in self.asked.ranks(count)])

    def _answer_of(self, rank: int, count: int) -> tuple[float, float, float]:
        """The library's share q is the rank 1 + q (n - 1), rounded down; half a rank more makes rounding harmless."""
        value = float(self._sketch.get_quantile_value(min((rank - 0.5) / max(count - 1, 1), 1.0)))
        if value == 0:
            return 0.0, -self._mapping.min_possible, self._mapping.min_possible
        size = abs(value)
        low = size / (1 + self.relative_accuracy) * (1 - _ROUNDING)
        high = size / (1 - self.relative_accuracy) * (1 + _ROUNDING)
        return (value, low, high) if value > 0 else (value, -high, -low)

    def _pairs(self) -> int:
        parts = (*self._closed, *self._open)
        return sum(positive.keys.size + negative.keys.size for positive, negative, _ in parts)

    def variables(self) -> int:
        """Two for each bin of a sub-window that is not empty, one for each of the window's; zeros are one each."""
        dense = self._positive.counts.size + self._negative.counts.size
        return 2 * self._pairs() + len(self._closed) + bool(self._open) + dense + 1

    @property
    def nbytes(self) -> int:
        """Bytes of the same."""
        return 8 * self.variables()

    def parameters(self) -> dict[str, Any]:
        """Return the relative accuracy."""
        return {"relative_accuracy": self.relative_accuracy}


def _together(parts: list[_Bins]) -> _Bins:
    """The counts of several parts of a sub-window."""
    if len(parts) == 1:
        return parts[0]
    keys, inverse = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    counts = np.zeros(keys.size, np.int64)
    np.add.at(counts, inverse, np.concatenate([part.counts for part in parts]))
    return _Bins(keys, counts)
