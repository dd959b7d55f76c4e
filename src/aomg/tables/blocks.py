"""Collects results column by column, in blocks that become Arrow tables without another copy."""

import numpy as np
import pyarrow as pa

from aomg.core.keyed import ClosedWindows
from aomg.result import Results, row_width
from aomg.tables.level2 import Answer

AT_ONCE = 2048
"""Results that Level 2 hands over at once: they stay in a core's cache until they are copied."""

_BLOCK = 1 << 16


class ResultBlocks:
    """The results of an answer; `keys` are the by columns of each key."""

    def __init__(self, answer: Answer, keys: list[pa.Array]) -> None:
        self._answer = answer
        self._keys = keys
        self._tables: list[pa.Table] = []
        self._start_block()

    def _start_block(self) -> None:
        query, self._filled = self._answer.query, 0
        self._columns = np.empty((row_width(query), _BLOCK), np.int64)
        self._result_keys = np.empty(_BLOCK, np.int64)
        has_bounds = query.guarantee is None
        self._densities = np.empty((_BLOCK, len(query.quantiles), 2)) if has_bounds else None

    def add(self, closed: ClosedWindows) -> None:
        """Copy some results."""
        rows, done = closed.results.rows, 0
        while done < len(rows):
            size = min(len(rows) - done, _BLOCK - self._filled)
            here, there = slice(self._filled, self._filled + size), slice(done, done + size)
            self._columns[:, here] = rows[there].T
            self._result_keys[here] = closed.result_keys[there]
            if self._densities is not None and closed.results.densities is not None:
                self._densities[here] = closed.results.densities[there]
            self._filled, done = self._filled + size, done + size
            if self._filled == _BLOCK:
                self._end_block()

    def _end_block(self) -> None:
        size = self._filled
        densities = None if self._densities is None else self._densities[:size]
        results = Results(self._answer.query, self._columns[:, :size].T, densities)
        self._tables.append(self._answer.windows(results, self._result_keys[:size], self._keys))
        self._start_block()

    def tables(self) -> list[pa.Table]:
        """All results, in tables."""
        if self._filled:
            self._end_block()
        return self._tables
