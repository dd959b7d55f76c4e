"""Level 1: counts how often each code occurs in an open sub-window.

One sub-window at a time is counted in the state's dense array (core.kernels). Any other open one, and counts that are
saved, sent or merged, are `Counts`: ordered (code, count) pairs. Merging is exact, in any order.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.registers import BOTH, NOTHING

Integers = npt.NDArray[np.int64]
_NONE = np.empty(0, np.int64)
BUFFER = 1 << 16  # fine codes that wait unsorted


def merge_pairs(codes: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """Sort pairs by code and add up equal codes. O(n log n)."""
    if codes.size == 0:
        return codes, counts
    order = np.argsort(codes, kind="stable")
    codes, counts = codes[order], counts[order]
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    return codes[starts], np.add.reduceat(counts, starts)


def count_codes(codes: Integers) -> tuple[Integers, Integers]:
    """Ordered pairs of unordered codes. O(n log n), mostly one vectorised sort."""
    codes = np.sort(codes)
    if codes.size == 0:
        return codes, codes
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    return codes[starts], np.diff(np.append(starts, codes.size))


@dataclass
class Counts:
    """The counts of one sub-window, by dense code and, where the query wants it, by fine code."""

    codes: Integers = field(default_factory=lambda: _NONE)
    numbers: Integers = field(default_factory=lambda: _NONE)
    fine_codes: Integers = field(default_factory=lambda: _NONE)
    fine_numbers: Integers = field(default_factory=lambda: _NONE)
    domain: int = NOTHING
    minimum: float = np.inf
    maximum: float = -np.inf
    surplus: int = 0  # by how much the weight of all exceeds the number of events

    @property
    def total(self) -> int:
        """Events counted; one with a weight is as many."""
        return int(self.numbers.sum())

    @property
    def events(self) -> int:
        """Events counted, whatever their weight."""
        return self.total - self.surplus

    def merge(self, other: "Counts") -> "Counts":
        """Counts of the same sub-window from two places, as if they had been counted in one."""
        codes, numbers = merge_pairs(
            np.concatenate([self.codes, other.codes]), np.concatenate([self.numbers, other.numbers])
        )
        fine_codes, fine_numbers = merge_pairs(
            np.concatenate([self.fine_codes, other.fine_codes]),
            np.concatenate([self.fine_numbers, other.fine_numbers]),
        )
        return Counts(
            codes,
            numbers,
            fine_codes,
            fine_numbers,
            _joint_domain(self.domain, other.domain),
            min(self.minimum, other.minimum),
            max(self.maximum, other.maximum),
            self.surplus + other.surplus,
        )


def _joint_domain(a: int, b: int) -> int:
    """What two parts hold together."""
    if NOTHING in (a, b):
        return min(a, b)
    return a if a == b else BOTH


class FineCounts:
    """Ordered fine counts of the sub-window that is being counted: sorted pairs and a buffer that waits."""

    def __init__(self) -> None:
        self._codes, self._numbers = _NONE, _NONE
        self._waiting: list[Integers] = []
        self._waits = 0

    def add(self, codes: Integers, weights: Integers | None = None) -> None:
        """Count codes, each as often as its weight says. Amortised O(log BUFFER) each."""
        if weights is not None:
            counted = weights > 0
            self.merge(*merge_pairs(codes[counted], weights[counted]))
            return
        self._waiting.append(codes)
        self._waits += codes.size
        if self._waits >= BUFFER:
            self.pairs()

    def merge(self, codes: Integers, numbers: Integers) -> None:
        """Count ordered pairs from elsewhere."""
        self.pairs()
        if self._codes.size:
            codes, numbers = merge_pairs(np.concatenate([self._codes, codes]), np.concatenate([self._numbers, numbers]))
        self._codes, self._numbers = codes, numbers

    def pairs(self) -> tuple[Integers, Integers]:
        """All that was counted, as ordered pairs."""
        if self._waits:
            waited = np.concatenate(self._waiting)
            self._waiting, self._waits = [], 0
            self.merge(*count_codes(waited))
        return self._codes, self._numbers

    def ordered(self) -> tuple[Integers, Integers | None]:
        """All codes, sorted: each as often as it was counted, or each once with how many were counted up to it."""
        if self._waits and not self._codes.size:
            return np.sort(np.concatenate(self._waiting)), None
        codes, numbers = self.pairs()
        return codes, np.cumsum(numbers)

    def clear(self) -> None:
        """Forget everything."""
        self.__init__()  # type: ignore[misc]

    @property
    def variables(self) -> int:
        """Live scalars: two a pair, one for each code that waits."""
        return 2 * self._codes.size + self._waits

    @property
    def nbytes(self) -> int:
        """Bytes of the above."""
        return 16 * self._codes.size + 8 * self._waits
