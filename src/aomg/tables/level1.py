"""Level 1: counts events into tallies, one for each key and sub-window.

One sort by key, sub-window and value for the events of a call; everything else works on distinct values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aomg.core.keyed import TALLY
from aomg.core.sliding import Sliding
from aomg.core.tally import Tallies, merge_tallies, tally
from aomg.query import Query
from aomg.tables.keyed_windows import keyed_windows
from aomg.tables.rows import content_table, sorted_rows

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class KeyTallies:
    """Tallies of one key and sub-window each: ids and numbers tell which."""

    ids: Integers
    numbers: Integers
    tallies: Tallies

    def table(self, values: Sequence[pa.Array]) -> pa.Table:
        """The tallies as a content table; `values` are the by columns of each key."""
        return content_table(
            values,
            self.ids,
            self.numbers,
            TALLY,
            self.tallies.offsets,
            self.tallies.data,
            events=self.tallies.events,
        )


def tally_events(
    query: Query, ids: Integers, numbers: Integers, values: npt.NDArray[Any], weights: Integers | None = None
) -> KeyTallies:
    """Count events by the ids of their keys and the numbers of their sub-windows. There must be one at least.

    weights
        How many events each one counts as, 1 or more; None: once.
    """
    lowest, highest = int(numbers.min()), int(numbers.max())
    span, distinct = highest - lowest + 1, None
    if span > 1 << 31:
        distinct, numbers = np.unique(numbers, return_inverse=True)
        lowest, span = 0, distinct.size
    tallies = tally(keyed_windows(query).sliding, ids * span + (numbers - lowest), values, weights)
    ids, numbers = tallies.groups // span, tallies.groups % span + lowest
    return KeyTallies(ids, numbers if distinct is None else distinct[numbers], tallies)


def merge_tally_rows(sliding: Sliding, table: pa.Table) -> pa.Table:
    """Merge tallies of the same key and sub-window: one row for each."""
    if table.num_rows == 0:
        return table
    rows, values, events = sorted_rows(table)
    changes = (rows.keys[1:] != rows.keys[:-1]) | (rows.numbers[1:] != rows.numbers[:-1])
    groups = np.concatenate([[0], np.cumsum(changes)])
    tallies = merge_tallies(sliding, Tallies(groups, events, rows.offsets, rows.data))
    firsts = np.searchsorted(groups, tallies.groups)
    return KeyTallies(rows.keys[firsts], rows.numbers[firsts], tallies).table(values)


def filled(column: pa.Array) -> npt.NDArray[Any]:
    """The column as NumPy, zero where it is null."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if column.null_count:
        column = column.fill_null(0)
    return np.asarray(column.to_numpy(zero_copy_only=False))
