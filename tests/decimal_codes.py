"""Codes of one to three digits from the decimal text of values: slow, and without the tables of the package."""

from functools import cached_property

import numpy as np

from aomg.core.certainty import partition

LOWEST_DECADE, DECADES = -324, 633
NEAR_ONE = range(-13, 21)  # decades in which every edge is the double nearest to its decimal


class DecimalCodes:
    """The codes of one geometry."""

    def __init__(self, digits: int, guarantee: float) -> None:
        self._digits = digits
        buckets = partition(digits, guarantee)
        self._per_decade = -(-len(buckets) // 16)
        self._within_decade = [16 * bucket + slot for bucket, (_, width) in enumerate(buckets) for slot in range(width)]
        self._zero = (DECADES * self._per_decade) << 8

    def _code(self, decade: int, lead: int) -> int:
        """The code of a positive magnitude."""
        within = self._within_decade[lead - 10 ** (self._digits - 1)]
        return self._zero + 256 + (((decade - LOWEST_DECADE) * self._per_decade) << 8) + within

    def _negative(self, code):
        """The code of the negated value: supers, buckets and slots in reverse order."""
        return 2 * self._zero + 255 - code

    def of_integer(self, value: int) -> int:
        """The code of an integer, from its text."""
        if value == 0:
            return self._zero
        text = str(abs(value))
        code = self._code(len(text) - 1, int(text[: self._digits].ljust(self._digits, "0")))
        return code if value > 0 else self._negative(code)

    @cached_property
    def edges(self) -> np.ndarray:
        """Where each code begins, in ascending order: the doubles that Python reads from decimal text."""
        leads = range(10 ** (self._digits - 1), 10**self._digits)
        return np.array([float(f"{lead}e{decade - self._digits + 1}") for decade in NEAR_ONE for lead in leads])

    @cached_property
    def _codes_of_edges(self) -> np.ndarray:
        leads = range(10 ** (self._digits - 1), 10**self._digits)
        return np.array([self._code(decade, lead) for decade in NEAR_ONE for lead in leads])

    def of_doubles(self, values: np.ndarray) -> np.ndarray:
        """The codes of doubles whose decade is in NEAR_ONE: those of the largest edges at or below their magnitudes."""
        position = np.searchsorted(self.edges, np.abs(values), side="right") - 1
        assert (position >= 0).all()
        codes = self._codes_of_edges[position]
        return np.where(values > 0, codes, self._negative(codes))
