"""Stores a stream's live summaries in Spark's state store so that a step reads few of them.

A window of a day by the minute has 1,440 summaries for each key, and a minute changes two of them. So sub-windows form
blocks, about as many as each has sub-windows. The state store has three maps of tables:

* `live`: the summaries that are in no block, a table for each time that sub-windows closed,
* `blocks`: for each block the sums of its summaries, which are read while all of them are in the window,
* `summaries`: for each block its summaries, which are read when it leaves the window.

Sums of few sub-windows, or of sub-windows of few events, take as much as their summaries or more. Where they take more
than half, `blocks` has a mark in place of them, and each step reads the summaries. Where it has sums, the summaries
are read once, and are compressed to two thirds.

A key leaves the state with the last of its summaries and tallies: nothing else in the state is of a key.

A step reads about three times the square root of a window's summaries instead of all. There are no blocks for short
windows, for windows counted in events and for summaries that cannot be added up. A step that closes a large part of a
window, as a stream that catches up does, forms none either: the next such step would already remove them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aomg.core.keyed import LIVE
from aomg.query import Query
from aomg.spark.stream.tables import MARK, SlotTables, StateMap, Tables
from aomg.tables.keyed_windows import keyed_windows
from aomg.tables.rows import content_table, sorted_rows, unpack

MAPS = ("live", "blocks", "summaries")
_SHORT = 16  # a window of fewer sub-windows has no blocks
_PART = 4  # a step that closes more than this part of a window forms no blocks
_WORTH = 2  # times smaller than their summaries, sums are stored
_DENSE = "zstd"  # takes a third less than lz4, and three times as long to read


@dataclass(frozen=True)
class StoredTables:
    """What a shard's state has at the beginning of a step: the tables of `live`, and the bytes of `blocks`."""

    recent: Tables
    blocks: dict[int, bytes]


def block_of(query: Query) -> int:
    """How many sub-windows a block has; 0 where there are no blocks."""
    forms = query.sub_windows >= _SHORT and not query.counted and keyed_windows(query).adds_up
    return isqrt(query.sub_windows) if forms else 0


def maps_of(query: Query) -> tuple[str, ...]:
    """The maps that a query uses."""
    return MAPS if block_of(query) else MAPS[:1]


def summaries_of(query: Query) -> tuple[str, ...]:
    """The maps that contain the live summaries themselves, not their sums."""
    return ("live", "summaries") if block_of(query) else ("live",)


class LiveSummaries:
    """A shard's live summaries. A step calls `read`, then `rows` for what it needs, then `store` for what it closed."""

    def __init__(self, maps: Mapping[str, StateMap], query: Query, slot: int) -> None:
        self._query = query
        self._length = block_of(query)
        self._live = SlotTables(maps["live"], slot)
        if self._length:
            self._blocks, self._summaries = (SlotTables(maps[name], slot) for name in ("blocks", "summaries"))

    def read(self) -> StoredTables:
        """Read the state, except for the summaries in blocks."""
        return StoredTables(self._live.read(), self._blocks.contents() if self._length else {})

    def rows(self, stored: StoredTables, end: int) -> list[pa.Table]:
        """The live rows that are needed to close sub-windows up to `end` (exclusive)."""
        tables = list(stored.recent.values())
        for block, sums in stored.blocks.items():
            read_all = sums == MARK or self._leaves(block, end)
            tables.append(unpack(self._summaries.get(block) if read_all else sums))
        return tables

    def store(self, stored: StoredTables, closed: pa.Table | None, start: int, end: int, number: int) -> None:
        """Store the summaries that a step from `start` to `end` closed, as table `number`; evict expired ones."""
        first = end - keyed_windows(self._query).live_span
        expired = [block for block in stored.blocks if (block + 1) * self._length <= first]
        if expired:
            self._blocks.remove(expired)
            self._summaries.remove(expired)
        recent = {entry: table for entry, table in stored.recent.items() if _highest(table) >= first}
        self._live.remove(stored.recent.keys() - recent.keys())
        tables = [table for table in [*recent.values(), _from(closed, first)] if table is not None and table.num_rows]
        new = tables[len(recent) :]
        if end - start <= self._query.sub_windows // _PART and any(self._complete(table, end) for table in tables):
            self._live.remove(recent)
            new = [self._put_blocks(_from(pa.concat_tables(tables), first), end)]
        for table in new:
            self._live.put(number, table)

    def replace(self, recent: Tables, summaries: pa.Table, number: int) -> None:
        """Store these summaries, as table `number`, in place of all recent ones."""
        self._live.remove(recent)
        self._live.put(number, summaries)

    def _leaves(self, block: int, end: int) -> bool:
        """Whether some summary of a block has left the window when sub-windows up to `end` have closed."""
        return block * self._length < end - self._query.sub_windows

    def _complete(self, table: pa.Table, end: int) -> bool:
        """Whether some of these rows are of a block that gets no more."""
        return bool(self._length) and _lowest(table) // self._length < end // self._length

    def _put_blocks(self, rows: pa.Table, end: int) -> pa.Table:
        """Store the rows of complete blocks; returns the others."""
        blocks = np.asarray(rows["number"]) // self._length
        complete = end // self._length
        for block in np.unique(blocks[blocks < complete]).tolist():
            members = rows.filter(pa.array(blocks == block))
            sums = self._sums(members)
            if _save_space(sums, members):
                self._summaries.put(block, members, _DENSE)
                self._blocks.put(block, sums)
            else:
                self._summaries.put(block, members)
                self._blocks.mark(block)
        return rows.filter(pa.array(blocks >= complete))

    def _sums(self, members: pa.Table) -> pa.Table:
        """The summaries of a block, added up for each key."""
        rows, values, _ = sorted_rows(members)
        sums = keyed_windows(self._query).add_up(rows)
        return content_table(values, sums.keys, sums.numbers, LIVE, sums.offsets, sums.data, flags=sums.flags)


def _save_space(sums: pa.Table, members: pa.Table) -> bool:
    """Whether the sums of some summaries take so much less than these that it is worth to store both."""
    return bool(_WORTH * sums.nbytes <= members.nbytes)


def _from(table: pa.Table | None, number: int) -> pa.Table | None:
    """The rows from a sub-window on."""
    return None if table is None else table.filter(pc.greater_equal(table["number"], number))


def _lowest(table: pa.Table) -> int:
    return int(pc.min(table["number"]).as_py())


def _highest(table: pa.Table) -> int:
    return int(pc.max(table["number"]).as_py())
