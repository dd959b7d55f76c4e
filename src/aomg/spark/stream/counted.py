"""Windows counted in elements, on a stream: every key has its own time, the numbers of its elements.

A sub-window of a key closes when all its numbers came, or when one came that lies a whole window beyond its end: then
what is missing is given up. Sub-windows close in order. Elements of closed ones are late.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aomg.core.keyed import LIVE
from aomg.query import Query
from aomg.spark.keys import key_ids
from aomg.spark.level1 import merged
from aomg.spark.parcels import NEVER, by_columns

Integers = npt.NDArray[np.int64]


class Counted:
    """What a micro-batch brings to a shard: the tallies that are due, those that wait, and how many events each has."""

    def __init__(self, query: Query, live: Sequence[pa.Table], waiting: Sequence[pa.Table], new: pa.Table) -> None:
        self.came = int(pc.sum(new["seen"]).as_py() or 0)
        known = pa.concat_tables([*live, *waiting, new])
        keys, _ = key_ids(by_columns(known), known.num_rows)
        numbers, kinds = np.asarray(known["number"]), np.asarray(known["kind"])
        seen = np.asarray(known["seen"])
        closed_to = np.full(int(keys.max()) + 1, NEVER, np.int64)
        np.maximum.at(closed_to, keys[kinds == LIVE], numbers[kinds == LIVE] + 1)
        open_ = kinds != LIVE
        late = open_ & (numbers < closed_to[keys])
        self.late = int(seen[late].sum())
        rows = np.flatnonzero(open_ & ~late)
        due = rows[_due(query, keys[rows], numbers[rows], seen[rows], closed_to)]
        self.used = int(seen[due].sum())
        self.due = merged(query, known.take(pa.array(due)))
        self.waiting = merged(query, known.take(pa.array(np.setdiff1d(rows, due))))


def _due(query: Query, keys: Integers, numbers: Integers, seen: Integers, closed_to: Integers) -> npt.NDArray[np.bool_]:
    """Which rows are of sub-windows that close now."""
    if keys.size == 0:
        return np.zeros(0, bool)
    furthest = np.full(closed_to.size, NEVER, np.int64)
    np.maximum.at(furthest, keys, numbers)
    order = np.lexsort((numbers, keys))
    k, n = keys[order], numbers[order]
    starts = np.flatnonzero(np.concatenate([[True], (k[1:] != k[:-1]) | (n[1:] != n[:-1])]))
    k, n, came = k[starts], n[starts], np.add.reduceat(seen[order], starts)
    given_up = n + 1 + query.sub_windows <= furthest[k]
    first = np.concatenate([[True], k[1:] != k[:-1]])
    before = np.where(first, closed_to[k], np.concatenate([[0], n[:-1] + 1]))
    follows = (n == before) | (before == NEVER) | (n + query.sub_windows <= furthest[k])
    waits = ~((came >= query.period) | given_up) | ~follows
    waited = np.cumsum(waits)
    of_key = waited - np.repeat((waited - waits)[first], np.diff(np.append(np.flatnonzero(first), k.size)))
    closes = np.zeros(keys.size, bool)
    closes[order] = np.repeat(of_key == 0, np.diff(np.append(starts, keys.size)))
    return closes


def newest(tables: Sequence[pa.Table], keeps: int) -> pa.Table:
    """The summaries that later windows need: the newest ones of each key."""
    table = pa.concat_tables(tables)
    keys, _ = key_ids(by_columns(table), table.num_rows)
    numbers = np.asarray(table["number"])
    latest = np.full(int(keys.max()) + 1 if keys.size else 0, NEVER, np.int64)
    np.maximum.at(latest, keys, numbers)
    return table.filter(pa.array(numbers > latest[keys] - keeps))
