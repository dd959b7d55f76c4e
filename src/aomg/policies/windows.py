"""Runs any policy on the windows of `aomg.Operator`: push values, get results."""

from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.intake import values_of
from aomg.errors import FinishedError, InputError, QueryError
from aomg.policies.base import Policy, Values
from aomg.query import Query
from aomg.result import METHODS, Results, result_row, row_width

_EXACT, _SKETCH = METHODS.index("exact"), METHODS.index("sketch")


def refuse_unfit(query: Query) -> None:
    """Raise an error for a query that only AOMG can answer."""
    if not isinstance(query, Query):
        raise InputError(f"a policy needs an aomg.Query, not {type(query).__name__}")
    if not query.counted:
        raise QueryError(
            "policies run on windows counted in events, as in the paper: Query(131_072, 16_384); "
            "for windows in event time use aomg.Operator"
        )
    if query.thresholds:
        raise QueryError("policies compute quantiles only: remove the thresholds")


class PolicyOperator:
    """Runs one query on one stream with a policy; the windows and methods are those of `aomg.Operator`.

    In a `Result`, burst is False, and low and high are NaN if the policy guarantees no interval. Values become doubles.
    """

    def __init__(self, policy: Policy) -> None:
        refuse_unfit(policy.query)
        self.policy = policy
        self.query = policy.query
        self.refused = 0
        self._filled = 0
        self._number = 0
        self._minimum, self._maximum = np.inf, -np.inf
        self._closed: deque[tuple[int, float, float]] = deque()  # count, minimum, maximum of each live sub-window
        self._most_variables = 0
        self._finished = False

    def push(self, values: Any) -> Results:
        """Add events and return the results of every window that closed; values that are not finite are refused."""
        if self._finished:
            raise FinishedError("this stream has finished; create a new policy for the next one")
        array, valid = values_of(values)
        if valid is not None:
            self.refused += int(valid.size - valid.sum())
        reals = array.astype(np.float64, copy=False)
        if array.dtype == np.float64:
            finite = np.isfinite(reals)
            if not finite.all():
                self.refused += int(finite.size - finite.sum())
                reals = np.ascontiguousarray(reals[finite])
        rows: list[npt.NDArray[np.int64]] = []
        done = 0
        while done < reals.size:
            chunk = reals[done : done + self.query.period - self._filled]
            done += chunk.size
            self._accumulate(chunk)
            if self._filled == self.query.period:
                self._close(rows)
        return self._results(rows)

    def finish(self) -> Results:
        """End the stream: close the open sub-window, which may be short, and return its result."""
        if self._finished:
            raise FinishedError("this stream has already finished; create a new policy for the next one")
        rows: list[npt.NDArray[np.int64]] = []
        if self._filled and not self.query.as_paper:
            self._close(rows)
        self._finished = True
        return self._results(rows)

    def variables(self) -> int:
        """Return the number of live scalars, the paper's measure of space."""
        return self.policy.variables()

    def most_variables(self) -> int:
        """Return the largest number of live scalars just before a sub-window closed."""
        return max(self._most_variables, self.policy.variables())

    @property
    def nbytes(self) -> int:
        """The bytes of live state."""
        return self.policy.nbytes

    @property
    def open(self) -> int:
        """The number of events in the open sub-window."""
        return self._filled

    def _accumulate(self, chunk: Values) -> None:
        self.policy.accumulate(chunk)  # first: it may raise
        self._minimum = min(self._minimum, float(chunk.min()))
        self._maximum = max(self._maximum, float(chunk.max()))
        self._filled += chunk.size

    def _close(self, rows: list[npt.NDArray[np.int64]]) -> None:
        self._most_variables = max(self._most_variables, self.policy.variables())
        self.policy.close()
        self._closed.append((self._filled, self._minimum, self._maximum))
        if len(self._closed) > self.query.sub_windows:
            self._closed.popleft()
            self.policy.expire()
        if self.query.partial or len(self._closed) == self.query.sub_windows:
            rows.append(self._row())
        self._filled, self._minimum, self._maximum = 0, np.inf, -np.inf
        self._number += 1

    def _row(self) -> npt.NDArray[np.int64]:
        """Return one row of results, in the operator's columns."""
        counts, minima, maxima = zip(*self._closed, strict=True)
        estimates = [
            (value, low, high, _EXACT if low == value == high else _SKETCH)
            for value, low, high in self.policy.answer(sum(counts))
        ]
        return result_row(self._number, sum(counts), len(counts), (min(minima), max(maxima)), estimates)

    def _results(self, rows: list[npt.NDArray[np.int64]]) -> Results:
        return Results(self.query, np.stack(rows) if rows else np.empty((0, row_width(self.query)), np.int64))
