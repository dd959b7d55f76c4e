"""DDSketch, with the mapping, the store and the quantile code of DataDog's library `ddsketch` (Python).

The library adds values one by one. We compute its keys for whole arrays and pass the counts of keys to its store.
Counts can be subtracted, so the window is one store and an answer merges nothing.
"""

from collections import deque
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from aomg.errors import InputError
from aomg.policies.base import Integers, Policy, Values
from aomg.policies.libraries import library
from aomg.policies.pairs import sum_of_pairs
from aomg.query import Query

_NEAR_AN_EDGE = 1e-13  # relative to a key: logarithms of two libraries differ by less
_ROUNDING = 1e-11  # of the library's powers and logarithms, relative to a value


class _Bins(NamedTuple):
    """Ascending distinct keys, and the count of each."""

    keys: Integers
    counts: Integers


class _Dense:
    """Counts of a range of keys, in the layout of the library's dense store."""

    def __init__(self) -> None:
        self.first = 0
        self.counts = np.zeros(0, np.int64)

    def add(self, bins: _Bins) -> None:
        """Add counts; widen the range if needed."""
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

    def subtract(self, bins: _Bins) -> None:
        """Subtract counts; shrink the range to the keys that are left."""
        self.counts[bins.keys - self.first] -= bins.counts
        filled = np.flatnonzero(self.counts)
        first, last = (filled[0], filled[-1] + 1) if filled.size else (0, 0)
        self.first, self.counts = self.first + int(first), self.counts[first:last]

    def put_into(self, store: Any) -> None:
        """Copy these counts into the library's store."""
        store.bins = self.counts.tolist()
        store.count = int(self.counts.sum())
        store.offset = store.min_key = self.first
        store.max_key = self.first + self.counts.size - 1


class DDSketch(Policy):
    """Counts of logarithmic bins, each about 2 % wide at the default accuracy.

    Costs O(1) per event; an answer scans the bins. Bins are never collapsed, so the guarantee holds for every quantile,
    and the ratio of the largest to the smallest value sets the space.
    """

    name: ClassVar[str] = "ddsketch"
    title: ClassVar[str] = "DDSketch"
    promise: ClassVar[str] = "within 1 % of the exact value (relative_accuracy), for every quantile"

    def __init__(self, query: Query, relative_accuracy: float = 0.01) -> None:
        super().__init__(query)
        module = library("ddsketch")
        try:
            self._sketch = module.DDSketch(relative_accuracy)
        except (ValueError, TypeError) as error:
            raise InputError(f"ddsketch does not accept relative_accuracy={relative_accuracy!r}: {error}") from None
        self.relative_accuracy = relative_accuracy
        self._mapping = self._sketch._mapping
        self._open: list[tuple[_Bins, _Bins, int]] = []
        self._closed: deque[tuple[_Bins, _Bins, int]] = deque()
        self._positive, self._negative, self._zeros = _Dense(), _Dense(), 0

    def keys(self, magnitudes: Values) -> Integers:
        """Return the library's keys of positive values.

        If a logarithm is so near to an integer that two math libraries may round it differently, the library's mapping
        decides.
        """
        exact = np.log(magnitudes) * (self._mapping._multiplier / np.log(2.0))
        keys: Values = np.ceil(exact)
        unsure = np.flatnonzero(np.abs(exact - np.rint(exact)) <= _NEAR_AN_EDGE * (1 + np.abs(exact)))
        if unsure.size:
            values, inverse = np.unique(magnitudes[unsure], return_inverse=True)
            keys[unsure] = np.array([self._mapping.key(value) for value in values.tolist()])[inverse]
        return keys.astype(np.int64)

    def accumulate(self, values: Values) -> None:
        """Count the keys of positive and of negative values."""
        least = self._mapping.min_possible
        parts: list[_Bins] = []
        for sign in (1, -1):
            magnitudes = sign * values
            magnitudes = magnitudes[magnitudes > least]
            if magnitudes.size and magnitudes.max() > self._mapping.max_possible:
                raise InputError(f"ddsketch does not accept values above {self._mapping.max_possible:.4g}")
            parts.append(_Bins(*np.unique(self.keys(magnitudes), return_counts=True)))
        positive, negative = parts
        zeros = values.size - int(positive.counts.sum()) - int(negative.counts.sum())
        self._open.append((positive, negative, zeros))

    def close(self) -> None:
        """Add the sub-window's counts to the window's."""
        positives, negatives, counts_of_zero = zip(*self._open, strict=True)
        bins = (_Bins(*sum_of_pairs(parts)) for parts in (positives, negatives))
        self._closed.append((*bins, sum(counts_of_zero)))
        self._open = []
        positive, negative, zeros = self._closed[-1]
        self._positive.add(positive)
        self._negative.add(negative)
        self._zeros += zeros

    def expire(self) -> None:
        """Subtract the oldest sub-window's counts from the window's."""
        positive, negative, zeros = self._closed.popleft()
        self._positive.subtract(positive)
        self._negative.subtract(negative)
        self._zeros -= zeros

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Query the library's sketch; low and high are the bounds of the bin, widened by its rounding error."""
        self._positive.put_into(self._sketch._store)
        self._negative.put_into(self._sketch._negative_store)
        self._sketch._zero_count = self._zeros
        self._sketch._count = count
        return np.array([self._answer_of(int(rank), count) for rank in self.quantiles.ranks(count)])

    def _answer_of(self, rank: int, count: int) -> tuple[float, float, float]:
        """Return value, low and high of a rank.

        The library maps a share q to rank 1 + q (n - 1), rounded down; adding half a rank makes rounding harmless.
        """
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
        """Count two per non-empty bin of a sub-window, one per bin of the window, one for each count of zeros."""
        dense = self._positive.counts.size + self._negative.counts.size
        return 2 * self._pairs() + len(self._closed) + bool(self._open) + dense + 1

    @property
    def nbytes(self) -> int:
        """Return the bytes of the same state."""
        return 8 * self.variables()

    def parameters(self) -> dict[str, Any]:
        """Return the relative accuracy."""
        return {"relative_accuracy": self.relative_accuracy}
