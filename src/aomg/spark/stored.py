"""Summaries that were stored: packing them again, and making them answer another query.

A stored summary says which query wrote it. It is recognised by all of its key columns and its sub-window: a second
copy with the same bytes is a replay and counts once, one with other bytes is an error. A roll-up drops key columns;
the summaries that then share a key and a sub-window are added up (core.recast).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from aomg.core.keyed import SUMMARY
from aomg.core.recast import Recast
from aomg.errors import StateError
from aomg.query import Query
from aomg.spark.keys import key_ids, shard_numbers
from aomg.spark.parcels import FIRST, NEVER, by_columns, in_tables, pack, parcel, rows_table

_TOGETHER = 1 << 16  # summaries that are packed at once


@lru_cache(maxsize=16)
def _recast(written: str, asked: Query) -> Recast:
    return Recast(Query.parse(written), asked)


@dataclass(frozen=True)
class Repack:
    """Stored summaries -> parcels.

    Comes: by0..., rest0... (the key columns that a roll-up drops), number, summary, query.
    """

    query: Query
    shards: tuple[int, ...]
    epoch: int
    by: int
    rest: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack a partition."""
        latest = NEVER
        for stored in in_tables(batches, _TOGETHER):
            latest = max(latest, int(np.asarray(stored["number"]).max()))
            yield from self._parcels(stored)
        if latest != NEVER:
            for shard in self.shards:
                yield parcel(shard, FIRST, latest=latest)

    def _parcels(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        size = table.num_rows
        columns = [table[f"by{i}"] for i in range(self.by)]
        ids, keys = key_ids(columns, size)
        shard = shard_numbers(keys, size if not keys else len(keys[0]), len(self.shards))[ids]
        number = np.asarray(table["number"])
        epoch = number // self.epoch
        rows = _summary_rows([column.combine_chunks() for column in columns], number, table["summary"])
        for i in range(self.rest):
            rows = rows.append_column(f"rest{i}", table[f"rest{i}"])
        rows = rows.append_column("written", table["query"])
        order = np.lexsort((epoch, shard))
        shard, epoch, rows = shard[order], epoch[order], rows.take(pa.array(order))
        starts = np.flatnonzero(np.concatenate([[True], (shard[1:] != shard[:-1]) | (epoch[1:] != epoch[:-1])]))
        for first, last in zip(starts, np.append(starts[1:], size), strict=True):
            yield parcel(self.shards[shard[first]], int(epoch[first]), content=pack(rows.slice(first, last - first)))


def _summary_rows(keys: list[pa.Array], number: np.ndarray, summaries: pa.ChunkedArray) -> pa.Table:
    """A table of rows whose bytes are summaries."""
    content = summaries.cast(pa.large_binary()).combine_chunks()
    if isinstance(content, pa.ChunkedArray):
        content = pa.concat_arrays(content.chunks)
    _, offsets, data = content.buffers()
    bounds = np.frombuffer(offsets, np.int64)[content.offset : content.offset + len(content) + 1]
    held = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    size = number.size
    return rows_table(keys, number, SUMMARY, np.zeros(size, np.int8), np.zeros(size, np.int64), bounds, held)


def answerable(table: pa.Table, query: Query) -> pa.Table:
    """Rows of stored summaries as those of this query, one for each key and sub-window; other rows as they are."""
    if "written" not in table.column_names or table.num_rows == 0:
        return table
    rest = [table[name] for name in table.column_names if name.startswith("rest")]
    owner, _ = key_ids([*by_columns(table), *rest], table.num_rows)
    ids, keys = key_ids(by_columns(table), table.num_rows)
    number = np.asarray(table["number"])
    records, written = table["bytes"].to_pylist(), table["written"].to_pylist()
    order = np.lexsort((owner, number, ids))
    sums: list[tuple[int, int, bytes]] = []
    group: list[bytes] = []
    for at, row in enumerate(order):
        before = order[at - 1] if at else None
        recast = _recast(written[row], query)
        if before is not None and owner[row] == owner[before] and number[row] == number[before]:
            if records[row] != records[before]:
                raise StateError(
                    f"there are two different summaries of sub-window {number[row]} of one key; the summaries were "
                    "made twice from different events: keep one of them"
                )
        else:
            recast.check(records[row])
            if group and written[row] != written[before]:
                raise StateError(
                    f"the summaries of sub-window {number[row]} were written by different queries: "
                    f"{Query.parse(written[before])!r} and {Query.parse(written[row])!r}; roll up each kind on its own"
                )
            group.append(records[row])
        last = at + 1 == order.size
        following = None if last else order[at + 1]
        if last or ids[following] != ids[row] or number[following] != number[row]:
            sums.append((int(ids[row]), int(number[row]), recast(group)))
            group = []
    at = pa.array([key for key, _, _ in sums], pa.int64())
    bounds = np.cumsum([0, *(len(record) for _, _, record in sums)], dtype=np.int64)
    size = len(sums)
    return rows_table(
        [column.take(at) for column in keys],
        np.array([number for _, number, _ in sums], np.int64),
        SUMMARY,
        np.zeros(size, np.int8),
        np.zeros(size, np.int64),
        bounds,
        np.frombuffer(b"".join(record for _, _, record in sums), np.uint8),
    )
