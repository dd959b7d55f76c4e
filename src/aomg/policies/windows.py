"""Push values, get results, whoever works them out: the windows of AOMG's operator around any policy."""

from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.intake import values_of
from aomg.core.kernels.registers import OUT_COUNT, OUT_FIXED, OUT_MAXIMUM, OUT_MINIMUM, OUT_NUMBER, OUT_SUMMARIES
from aomg.errors import FinishedError, InputError, QueryError
from aomg.policies.base import Policy, Values
from aomg.query import Query
from aomg.result import METHODS, Results

_EXACT, _SKETCH = METHODS.index("exact"), METHODS.index("sketch")


def refuse_unfit(query: Query) -> None:
    """Refuse queries that only AOMG can answer."""
    if not isinstance(query, Query):
        raise InputError(f"a policy needs an aomg.Query, not {type(query).__name__}")
    if not query.counted:
        raise QueryError(
            "policies are compared on windows counted in elements, as in the paper: Query(131_072, 16_384); "
            "for windows in time use aomg.Operator"
        )
    if query.thresholds:
        raise QueryError("policies answer quantiles only: leave the thresholds out")


class PolicyOperator:
    """One stream of one query, answered by a policy: the same windows and verbs as `aomg.Operator`.

    Of a `Result`, burst is False, and low and high are NaN where the policy promises none. Values are taken as doubles.
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
        """Take elements and return the results of every window that closed; what is not finite is refused."""
        if self._finished:
            raise FinishedError("this stream has finished; make a new policy for the next")
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
        """End the stream: close the open sub-window, though it may be short, and answer for it."""
        if self._finished:
            raise FinishedError("this stream has finished already; make a new policy for the next")
        rows: list[npt.NDArray[np.int64]] = []
        if self._filled and not self.query.as_paper:
            self._close(rows)
        self._finished = True
        return self._results(rows)

    def variables(self) -> int:
        """Live scalars now, the paper's measure of space."""
        return self.policy.variables()

    def most_variables(self) -> int:
        """The most live scalars that there were just before a sub-window closed."""
        return max(self._most_variables, self.policy.variables())

    @property
    def nbytes(self) -> int:
        """Bytes of live state."""
        return self.policy.nbytes

    @property
    def open(self) -> int:
        """Elements that wait in the open sub-window."""
        return self._filled

    def _accumulate(self, chunk: Values) -> None:
        self.policy.accumulate(chunk)  # first: it may refuse
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
        """One row of results, in the operator's columns."""
        counts, minima, maxima = zip(*self._closed, strict=True)
        answers = self.policy.answer(sum(counts))
        row = np.zeros(OUT_FIXED + 4 * len(answers), np.int64)
        reals = row.view(np.float64)
        row[OUT_NUMBER], row[OUT_COUNT], row[OUT_SUMMARIES] = self._number, sum(counts), len(counts)
        reals[OUT_MINIMUM], reals[OUT_MAXIMUM] = min(minima), max(maxima)
        for column, (value, low, high) in enumerate(answers):
            at = OUT_FIXED + 4 * column
            reals[at : at + 3] = value, low, high
            row[at + 3] = _EXACT if low == value == high else _SKETCH
        return row

    def _results(self, rows: list[npt.NDArray[np.int64]]) -> Results:
        width = OUT_FIXED + 4 * len(self.query.quantiles)
        return Results(self.query, np.stack(rows) if rows else np.empty((0, width), np.int64))
