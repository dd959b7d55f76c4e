"""The summaries that later windows of a stream need, kept in Spark's state store so that a step reads few of them.

A window of a day by the minute has 1,440 summaries for each key, and a minute changes two of them. So sub-windows
form blocks, about as many as each has sub-windows. Kept are

* `live`: the summaries that are in no block, an entry for each time that sub-windows closed,
* `blocks`: for each block the sums of its summaries, which are read while all of them stay in the window,
* `summaries`: for each block its summaries, which are read when it leaves.

A step reads about three times the square root of a window's summaries rather than all. Short windows, those counted in
elements and queries whose summaries cannot be added up have no blocks. Nor do steps form any that close a good part of
a window at once, as a stream does that catches up: the next such step would find them leaving.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isqrt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle

from aomg.core.keyed import LIVE
from aomg.errors import StateError
from aomg.query import Query
from aomg.spark.parcels import pack, rows_table, sorted_rows, unpack
from aomg.spark.worker import fleet_of

MAPS = ("live", "blocks", "summaries")
_SHORT = 16  # a window of fewer sub-windows has no blocks
_PART = 4  # a step that closes more than this part of a window forms no blocks

Entries = dict[int, pa.Table]


def map_state(handle: StatefulProcessorHandle, name: str) -> MapState:
    """A map of tables by number."""
    return handle.getMapState(name, "entry long", "content binary")


def entries(state: MapState) -> Entries:
    """All tables of a map."""
    return {entry: unpack(content) for (entry,), (content,) in state.iterator()}


def put(state: MapState, entry: int, table: pa.Table) -> None:
    """Keep a table, unless it is empty."""
    if table.num_rows:
        state.updateValue((entry,), (pack(table, "lz4"),))


def remove(state: MapState, gone: Iterable[int]) -> None:
    """Forget tables."""
    for entry in gone:
        state.removeKey((entry,))


@dataclass(frozen=True)
class Known:
    """What a shard has at the beginning of a step: entries of `live`, and the bytes of `blocks`."""

    recent: Entries
    blocks: dict[int, bytes]


def block_of(query: Query) -> int:
    """How many sub-windows a block has; 0 where there are no blocks."""
    forms = query.sub_windows >= _SHORT and not query.counted and fleet_of(query).adds_up
    return isqrt(query.sub_windows) if forms else 0


def maps_of(query: Query) -> tuple[str, ...]:
    """The maps that are kept for a query."""
    return MAPS if block_of(query) else MAPS[:1]


def summaries_of(query: Query) -> tuple[str, ...]:
    """The maps that have the live summaries themselves, rather than sums of them."""
    return ("live", "summaries") if block_of(query) else ("live",)


class Living:
    """A shard's live summaries: `known` at the beginning of a step, the `rows` that it needs, `keep` what it leaves."""

    def __init__(self, handle: StatefulProcessorHandle, query: Query) -> None:
        self._query = query
        self._length = block_of(query)
        self._live = map_state(handle, "live")
        if self._length:
            self._blocks, self._summaries = map_state(handle, "blocks"), map_state(handle, "summaries")

    def known(self) -> Known:
        """Read what is kept, but for the summaries in blocks."""
        blocks = {block: sums for (block,), (sums,) in self._blocks.iterator()} if self._length else {}
        return Known(entries(self._live), blocks)

    def rows(self, known: Known, end: int) -> list[pa.Table]:
        """The live rows with which sub-windows up to `end` (exclusive) can close."""
        tables = list(known.recent.values())
        for block, sums in known.blocks.items():
            tables.append(unpack(self._content(block) if self._leaves(block, end) else sums))
        return tables

    def keep(self, known: Known, closed: pa.Table | None, start: int, end: int, entry: int) -> None:
        """Put what a step from `start` to `end` closed to the rest, as `entry`; forget what no later window needs."""
        needed = end - fleet_of(self._query).live_span
        gone = [block for block in known.blocks if (block + 1) * self._length <= needed]
        if gone:
            remove(self._blocks, gone)
            remove(self._summaries, gone)
        recent = {number: table for number, table in known.recent.items() if _highest(table) >= needed}
        remove(self._live, known.recent.keys() - recent.keys())
        fresh = [table for table in [*recent.values(), _from(closed, needed)] if table is not None and table.num_rows]
        rest = fresh[len(recent) :]
        if end - start <= self._query.sub_windows // _PART and any(self._complete(table, end) for table in fresh):
            remove(self._live, recent)
            rest = [self._put_blocks(_from(pa.concat_tables(fresh), needed), end)]
        for table in rest:
            put(self._live, entry, table)

    def replace(self, recent: Entries, kept: pa.Table, entry: int) -> None:
        """Have these rows, as `entry`, in the place of all recent ones."""
        remove(self._live, recent)
        put(self._live, entry, kept)

    def _content(self, block: int) -> bytes:
        """The summaries of a block."""
        content = self._summaries.getValue((block,))
        if content is None:
            raise StateError(f"the checkpoint has lost summaries (block {block}); start with a new one")
        return bytes(content[0])

    def _leaves(self, block: int, end: int) -> bool:
        """Whether some summary of a block has left the window when sub-windows up to `end` have closed."""
        return block * self._length < end - self._query.sub_windows

    def _complete(self, table: pa.Table, end: int) -> bool:
        """Whether these rows have some of a block that gets no more."""
        return bool(self._length) and _lowest(table) // self._length < end // self._length

    def _put_blocks(self, rows: pa.Table, end: int) -> pa.Table:
        """Keep the rows of complete blocks; returns the others."""
        blocks = np.asarray(rows["number"]) // self._length
        complete = end // self._length
        for block in np.unique(blocks[blocks < complete]).tolist():
            members = rows.filter(pa.array(blocks == block))
            put(self._summaries, block, members)
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


def _from(table: pa.Table | None, number: int) -> pa.Table | None:
    """The rows from a sub-window on."""
    return None if table is None else table.filter(pc.greater_equal(table["number"], number))


def _lowest(table: pa.Table) -> int:
    return int(pc.min(table["number"]).as_py())


def _highest(table: pa.Table) -> int:
    return int(pc.max(table["number"]).as_py())
