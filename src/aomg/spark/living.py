"""The summaries that later windows of a stream need, kept in Spark's state store so that a step reads few of them.

A window of a day by the minute has 1,440 summaries for each key, and a minute changes two of them. So sub-windows
form blocks, about as many as each has sub-windows. Kept are

* `live`: the summaries that are in no block yet, an entry for each time that sub-windows closed,
* `blocks`: for each complete block the sums of its summaries, or nothing once it has begun to leave the window,
* `summaries`: for each complete block its summaries, which are read while it leaves.

A step reads about three times the square root of a window's summaries rather than all. Short windows, those counted in
elements and queries whose summaries cannot be added up have all of them in `live`.
"""

from collections.abc import Iterable
from math import isqrt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle

from aomg.core.fleet import LIVE
from aomg.query import Query
from aomg.spark.parcels import pack, rows_table, sorted_rows, unpack
from aomg.spark.worker import fleet_of

MAPS = ("live", "blocks", "summaries")
_SHORT = 16  # a window of fewer sub-windows has no blocks

Entries = dict[int, pa.Table]


def map_state(handle: StatefulProcessorHandle, name: str) -> MapState:
    """A map of tables by number."""
    return handle.getMapState(name, "entry long", "content binary")


def entries(state: MapState) -> Entries:
    """All tables of a map."""
    return {entry: unpack(content) for (entry,), (content,) in state.iterator()}


def put(state: MapState, entry: int, table: pa.Table) -> None:
    """Keep a table."""
    state.updateValue((entry,), (pack(table, "lz4"),))


def remove(state: MapState, gone: Iterable[int]) -> None:
    """Forget tables."""
    for entry in gone:
        state.removeKey((entry,))


class Living:
    """A shard's live summaries: `recent` and `read` what a step needs, `keep` what it leaves."""

    def __init__(self, handle: StatefulProcessorHandle, query: Query) -> None:
        self._query = query
        self._live, self._blocks, self._summaries = (map_state(handle, name) for name in MAPS)

    def recent(self) -> Entries:
        """The summaries that are in no block."""
        return entries(self._live)

    def read(self, recent: Entries, end: int) -> list[pa.Table]:
        """The rows with which sub-windows up to `end` (exclusive) can close."""
        tables = list(recent.values())
        for (block,), (sums,) in list(self._blocks.iterator()):
            if not sums or self._leaves(block, end):
                (sums,) = self._summaries.getValue((block,)) or (sums,)
            tables.append(unpack(sums))
        return tables

    def keep(self, recent: Entries, closed: pa.Table | None, end: int, entry: int) -> bool:
        """Put what closed to the recent summaries, as `entry`; forget what no window after `end` needs.

        Returns whether any summary is left.
        """
        needed = end - fleet_of(self._query).keeps
        closed = _from(closed, needed) if closed is not None else None
        left = self._forget(needed, end)
        fresh = [*recent.values(), *([closed] if closed is not None and closed.num_rows else [])]
        if self._length and any(_lowest(table) // self._length < end // self._length for table in fresh):
            remove(self._live, recent)
            rest = self._put_blocks(_from(pa.concat_tables(fresh), needed), end)
            if rest.num_rows:
                put(self._live, entry, rest)
            return True
        gone = [known for known, table in recent.items() if _highest(table) < needed]
        remove(self._live, gone)
        if closed is not None and closed.num_rows:
            put(self._live, entry, closed)
        return left or len(fresh) > len(gone)

    def replace(self, recent: Entries, kept: pa.Table, entry: int) -> None:
        """Have these rows, as `entry`, in the place of all recent ones."""
        remove(self._live, recent)
        if kept.num_rows:
            put(self._live, entry, kept)

    @property
    def _length(self) -> int:
        """Sub-windows of a block; 0 where there are no blocks."""
        query = self._query
        forms = query.sub_windows >= _SHORT and not query.counted and fleet_of(query).adds_up
        return isqrt(query.sub_windows) if forms else 0

    def _leaves(self, block: int, end: int) -> bool:
        """Whether some summary of a block has left the window when sub-windows up to `end` have closed."""
        return block * self._length < end - self._query.sub_windows

    def _put_blocks(self, rows: pa.Table, end: int) -> pa.Table:
        """Keep the rows of complete blocks; returns the others."""
        blocks = np.asarray(rows["number"]) // self._length
        complete = end // self._length
        for block in np.unique(blocks[blocks < complete]).tolist():
            members = rows.filter(pa.array(blocks == block))
            put(self._summaries, block, members)
            if self._leaves(block, end):
                self._blocks.updateValue((block,), (b"",))
            else:
                put(self._blocks, block, self._sums(members))
        return rows.filter(pa.array(blocks >= complete))

    def _sums(self, members: pa.Table) -> pa.Table:
        """The summaries of a block, added up for each key."""
        rows, values, _ = sorted_rows(members)
        sums = fleet_of(self._query).add_up(rows)
        keys = pa.array(sums.keys)
        nothing = np.zeros(sums.keys.size, np.int64)
        return rows_table(
            [column.take(keys) for column in values], sums.numbers, LIVE, sums.flags, nothing, sums.offsets, sums.data
        )

    def _forget(self, needed: int, end: int) -> bool:
        """Drop blocks that have left the window, and the sums of those that are leaving; whether any is left."""
        left = False
        for (block,), (sums,) in list(self._blocks.iterator()) if self._length else []:
            if (block + 1) * self._length <= needed:
                remove(self._blocks, [block])
                remove(self._summaries, [block])
                continue
            left = True
            if sums and self._leaves(block, end):
                self._blocks.updateValue((block,), (b"",))
        return left


def _from(table: pa.Table, number: int) -> pa.Table:
    return table.filter(pc.greater_equal(table["number"], number))


def _lowest(table: pa.Table) -> int:
    return int(pc.min(table["number"]).as_py())


def _highest(table: pa.Table) -> int:
    return int(pc.max(table["number"]).as_py())
