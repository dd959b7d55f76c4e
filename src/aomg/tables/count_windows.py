"""Closes windows counted in events as they fill, where the numbers of a key's events are its time.

A sub-window of a key closes when all its numbers have arrived, or when a number a whole window beyond its end has
arrived: the events that are missing then are given up. Sub-windows close in order. Events of closed ones are late.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aomg.core.keyed import LIVE
from aomg.core.sliding import Sliding
from aomg.query import Query
from aomg.tables.keys import key_ids
from aomg.tables.level1 import merge_tally_rows
from aomg.tables.rows import NEVER, by_columns

Integers = npt.NDArray[np.int64]


class CountWindows:
    """One step of a shard: which tallies are due and which stay open.

    came, late and used count events; due and waiting are tables of tallies.
    """

    def __init__(self, sliding: Sliding, live: Sequence[pa.Table], waiting: Sequence[pa.Table], new: pa.Table) -> None:
        self.came = int(pc.sum(new["seen"]).as_py() or 0)
        table = pa.concat_tables([*live, *waiting, new])
        keys, _ = key_ids(by_columns(table), table.num_rows)
        numbers, kinds = np.asarray(table["number"]), np.asarray(table["kind"])
        events = np.asarray(table["seen"])
        closed_to = np.full(int(keys.max()) + 1, NEVER, np.int64)
        np.maximum.at(closed_to, keys[kinds == LIVE], numbers[kinds == LIVE] + 1)
        tallies = kinds != LIVE
        late = tallies & (numbers < closed_to[keys])
        self.late = int(events[late].sum())
        rows = np.flatnonzero(tallies & ~late)
        due = rows[_due(sliding.query, keys[rows], numbers[rows], events[rows], closed_to)]
        self.used = int(events[due].sum())
        self.due = merge_tally_rows(sliding, table.take(pa.array(due)))
        self.waiting = merge_tally_rows(sliding, table.take(pa.array(np.setdiff1d(rows, due))))


def _due(
    query: Query, keys: Integers, numbers: Integers, events: Integers, closed_to: Integers
) -> npt.NDArray[np.bool_]:
    """Which rows are of sub-windows that close now."""
    if keys.size == 0:
        return np.zeros(0, bool)
    furthest = np.full(closed_to.size, NEVER, np.int64)
    np.maximum.at(furthest, keys, numbers)
    order = np.lexsort((numbers, keys))
    k, n = keys[order], numbers[order]
    starts = np.flatnonzero(np.concatenate([[True], (k[1:] != k[:-1]) | (n[1:] != n[:-1])]))
    k, n, size = k[starts], n[starts], np.add.reduceat(events[order], starts)
    given_up = n + 1 + query.sub_windows <= furthest[k]
    first = np.concatenate([[True], k[1:] != k[:-1]])
    expected = np.where(first, closed_to[k], np.concatenate([[0], n[:-1] + 1]))
    follows = (n == expected) | (expected == NEVER) | (n + query.sub_windows <= furthest[k])
    waits = ~((size >= query.period) | given_up) | ~follows
    total_waits = np.cumsum(waits)
    key_sizes = np.diff(np.append(np.flatnonzero(first), k.size))
    key_waits = total_waits - np.repeat((total_waits - waits)[first], key_sizes)
    closes = np.zeros(keys.size, bool)
    closes[order] = np.repeat(key_waits == 0, np.diff(np.append(starts, keys.size)))
    return closes


def newest_summaries(tables: Sequence[pa.Table], size: int) -> pa.Table:
    """The summaries that later windows need: of each key, those of its newest `size` sub-window numbers."""
    table = pa.concat_tables(tables)
    keys, _ = key_ids(by_columns(table), table.num_rows)
    numbers = np.asarray(table["number"])
    latest = np.full(int(keys.max()) + 1 if keys.size else 0, NEVER, np.int64)
    np.maximum.at(latest, keys, numbers)
    return table.filter(pa.array(numbers > latest[keys] - size))
