"""HdrHistogram, by the library `hdrhistogram` (Python and C).

The window is one histogram of the library. Each sub-window stores (index, count) pairs, to subtract them when it
expires. The library records values one by one; we compute its indices for whole arrays and add to its counters.
"""

from collections import deque
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aomg.errors import InputError
from aomg.policies.base import Integers, Policy, Values
from aomg.policies.libraries import library
from aomg.policies.pairs import Pairs, sum_of_pairs
from aomg.query import Query

_LARGEST = 1 << 52
_ROUNDING = 2.0**-50  # of a division by the unit and a multiplication, relative to the value


class HdrHistogram(Policy):
    """Counters for every value with this many significant digits, up to `highest`. O(1) per event.

    It counts whole numbers from zero. With a `unit`, other values are rounded to multiples of it; without one they are
    refused. Negative values and those above `highest` units are refused, too. The number of counters is fixed: about
    2,000 per doubling of the range, at three digits.
    """

    name: ClassVar[str] = "hdr-histogram"
    title: ClassVar[str] = "HdrHistogram"
    promise: ClassVar[str] = (
        "within 0.1 % above the exact value (three digits), for whole numbers from 0 to a fixed highest"
    )

    def __init__(self, query: Query, digits: int = 3, highest: int = 3_600_000_000, unit: float | None = None) -> None:
        super().__init__(query)
        module = library("hdrh.histogram")
        if digits not in range(1, 6):
            raise InputError(f"digits={digits!r} must be 1 to 5")
        if not isinstance(highest, int) or not 2 <= highest <= _LARGEST:
            raise InputError(f"highest={highest!r} must be a whole number from 2 to 2**52")
        if unit is not None and not (unit > 0 and np.isfinite(unit)):
            raise InputError(f"unit={unit!r} must be a positive number")
        self.digits, self.highest, self.unit = int(digits), highest, unit
        self._histogram = module.HdrHistogram(1, highest, self.digits)
        self._counters: Integers = np.frombuffer(self._histogram.counts, np.int64)
        self._open: list[Pairs] = []
        self._closed: deque[Pairs] = deque()

    def indices(self, values: Values) -> Integers:
        """Return the index of each value's counter; raise InputError if a value has none."""
        units = values if self.unit is None else np.rint(values / self.unit)
        if values.size and not (units.min() >= 0 and units.max() <= self.highest):
            wrong = values[(units < 0) | (units > self.highest)][0]
            limit = f"highest={self.highest}{' units' * bool(self.unit)}"
            raise InputError(f"hdr-histogram accepts values from 0 to {limit}, not {wrong}")
        whole = units.astype(np.int64)
        if self.unit is None and (whole != units).any():
            wrong = values[whole != units][0]
            raise InputError(
                f"hdr-histogram counts whole numbers, and {wrong} is not one; unit=0.001 would round to thousandths"
            )
        half = self._histogram.sub_bucket_half_count_magnitude
        _, length = np.frexp((whole | (self._histogram.sub_bucket_count - 1)).astype(np.float64))
        bucket = length.astype(np.int64) - (half + 1)
        indices: Integers = (bucket << half) + (whole >> bucket)
        return indices

    def accumulate(self, values: Values) -> None:
        """Count the library's indices of the values."""
        self._open.append(np.unique(self.indices(values), return_counts=True))

    def close(self) -> None:
        """Add the sub-window's counts to the window's."""
        indices, counts = sum_of_pairs(self._open)
        self._open = []
        self._closed.append((indices, counts))
        self._counters[indices] += counts
        self._histogram.total_count += int(counts.sum())

    def expire(self) -> None:
        """Subtract the oldest sub-window's counts from the window's."""
        indices, counts = self._closed.popleft()
        self._counters[indices] -= counts
        self._histogram.total_count -= int(counts.sum())

    def answer(self, count: int) -> npt.NDArray[np.float64]:
        """Scan the counters to each rank; return the largest value that the library counts there."""
        last = max(int(indices[-1]) for indices, _ in self._closed)
        walked = np.cumsum(self._counters[: last + 1])
        step, around, rounding = (1.0, 0.0, 0.0) if self.unit is None else (self.unit, self.unit / 2, _ROUNDING)
        rows = []
        for index in np.searchsorted(walked, self.quantiles.ranks(count), "left").tolist():
            low = self._histogram.get_value_from_index(index)
            high = self._histogram.get_highest_equivalent_value(low)
            ends = (low * step - around) - rounding * high * step, (high * step + around) * (1 + rounding)
            rows.append((high * step, *ends))
        return np.array(rows)

    def _pairs(self) -> int:
        return sum(indices.size for indices, _ in (*self._closed, *self._open))

    def variables(self) -> int:
        """Count every counter of the window's histogram, and two per pair of the sub-windows."""
        return self._counters.size + 2 * self._pairs()

    @property
    def nbytes(self) -> int:
        """Return the bytes of the same state."""
        return 8 * self.variables()

    def parameters(self) -> dict[str, Any]:
        """Return the digits, the highest value and the unit."""
        return {"digits": self.digits, "highest": self.highest, "unit": self.unit}
