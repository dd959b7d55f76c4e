"""Many keys in memory: reads events, tallies open sub-windows, and slides the windows of all keys in several threads.

Tables of tallies and of live summaries are content tables (aomg.tables.rows) whose key is an id (`by0`); the by columns
of each id are in a `KeyIndex`. Events of sub-windows that close at once need no tally.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aomg.core.groups import Groups, MapParts, key_order
from aomg.core.keyed import EVENTS, LIVE, TALLY, KeyedWindows, KeyRows
from aomg.core.sliding import Sliding
from aomg.core.tally import tally_together
from aomg.query import Query
from aomg.tables.blocks import AT_ONCE, ResultBlocks
from aomg.tables.events import EventColumns, part_bounds
from aomg.tables.keys import KeyIndex
from aomg.tables.level1 import merge_tally_rows
from aomg.tables.level2 import Answer, key_ends
from aomg.tables.rows import binary_buffers, content_table

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_MERGED_BYTES = 1 << 26  # tallies are merged when they take twice as much as after the last time, and this at least
_WORDS = 16  # bytes of a row of events
_LEAST_ROWS = 1 << 10  # sub-windows that are worth a thread


@dataclass
class Arrived:
    """The events of one push: tallies of all but its last piece, and the groups of that.

    latest is the latest time of a usable event, None if there is none. weightless counts the events of weight 0, which
    are in no group.
    """

    tallies: list[pa.Table] = field(default_factory=list)
    groups: Groups | None = None
    came: int = 0
    refused: int = 0
    future: int = 0
    weightless: int = 0
    latest: int | None = None


@dataclass(frozen=True)
class Closed:
    """What a step puts out: tables of the answer, the summaries that closed, as live rows, and how many events did."""

    tables: list[pa.Table]
    live: pa.Table | None
    events: int


class KeyedState:
    """The keys of one query, and Level 1 and Level 2 for each thread."""

    def __init__(self, query: Query, key_types: Sequence[pa.DataType], threads: int) -> None:
        self.query = query
        self.keys = KeyIndex(key_types)
        self.threads = threads
        self._windows = [KeyedWindows(query) for _ in range(threads)]

    def with_key_types(self, key_types: Sequence[pa.DataType]) -> "KeyedState":
        """Return this state, or a copy where by columns that have only nulls so far get a type."""
        if all(column.type == kind for column, kind in zip(self.keys.values, key_types, strict=True)):
            return self
        state = KeyedState(self.query, key_types, self.threads)
        state.keys = self.keys.with_types(key_types)
        return state

    @property
    def live_span(self) -> int:
        """How many of the newest sub-window numbers have to be live."""
        return self._windows[0].live_span

    @property
    def sliding(self) -> Sliding:
        """Level 1 of the first thread."""
        return self._windows[0].sliding

    # -- Level 1 ------------------------------------------------------------------------------------------------------

    def read(
        self, columns: EventColumns, tables: Iterable[pa.Table], map_parts: MapParts, limit: int | None = None
    ) -> Arrived:
        """Read events. Of several tables, all but the last are tallied, so that events do not stay in memory."""
        arrived, merged = Arrived(), _MERGED_BYTES
        for table in tables:
            if arrived.groups is not None:
                arrived.tallies.append(self.tally(arrived.groups, map_parts))
                arrived.groups = None
                if sum(tallies.nbytes for tallies in arrived.tallies) > 2 * merged:
                    arrived.tallies = [merge_tally_rows(self.sliding, pa.concat_tables(arrived.tallies))]
                    merged = max(arrived.tallies[0].nbytes, _MERGED_BYTES)
            events = columns.read(table, self.threads, map_parts, limit)
            if events.groups is not None:
                arrived.groups = replace(events.groups, keys=self.keys.ids_of(events.keys)[events.groups.keys])
            arrived.came += events.came
            arrived.refused += events.refused
            arrived.future += events.future
            arrived.weightless += events.weightless
            if events.latest is not None:
                arrived.latest = events.latest if arrived.latest is None else max(arrived.latest, events.latest)
        if arrived.groups is not None and self.sliding.has_fine:
            arrived.tallies.append(self.tally(arrived.groups, map_parts))
            arrived.groups = None
        return arrived

    def tally(self, groups: Groups, map_parts: MapParts) -> pa.Table:
        """The tallies of groups, as a table."""
        ends = [part.stop for part in part_bounds(groups.values.size, self.threads)]
        edges = [0, *np.searchsorted(groups.bounds[:-1], ends).tolist()]
        parts = zip(self._windows, pairwise(edges), strict=False)
        return pa.concat_tables(map_parts(lambda part: _tallied(part[0], groups.between(*part[1])), parts))

    # -- Level 2 ------------------------------------------------------------------------------------------------------

    def slide(
        self,
        answer: Answer,
        tables: Sequence[pa.Table],
        groups: Groups | None,
        live_to: int,
        end: int,
        map_parts: MapParts,
        keep: bool = True,
    ) -> Closed:
        """Close the sub-windows of these rows and groups up to `end`, as `aomg.tables.level2.slide` does.

        Keys are in ascending order. Without `keep` the live summaries are not returned.
        """
        tables = [table for table in tables if table.num_rows]
        if not tables and groups is None:
            return Closed([], None, 0)
        order = self.keys.order()
        rows, events = _sorted_rows(tables, groups, order)
        rows, events, live_ends, ends = key_ends(self.query, rows, events, order.size, live_to, end)
        if rows.keys.size == 0:
            return Closed([], None, 0)
        values = [column.take(pa.array(order)) for column in self.keys.values]
        listing = keep or answer.summaries

        def run(part: tuple[KeyedWindows, KeyRows]) -> tuple[list[pa.Table], list[KeyRows]]:
            blocks, listed = ResultBlocks(answer, values), []
            windows, own = part
            for closed in windows.parts(own, live_ends, ends, not answer.summaries, listing, AT_ONCE):
                blocks.add(closed)
                if listing:
                    listed.append(_copied(closed.summaries))
            return blocks.tables(), listed

        try:
            done = list(map_parts(run, zip(self._windows, _split(rows, self.threads), strict=False)))
        except BaseException:  # their states are in the middle of a step
            self._windows = [KeyedWindows(self.query) for _ in self._windows]
            raise
        output = [table for part, _ in done for table in part]
        if not listing:
            return Closed(output, None, int(events.sum()))
        summaries = _joined([one for _, listed in done for one in listed])
        if answer.summaries:
            output = [answer.summary_table(summaries, values)] if summaries.keys.size else []
        return Closed(output, _live_table(summaries, order) if keep else None, int(events.sum()))


def _tallied(windows: KeyedWindows, groups: Groups) -> pa.Table:
    tallies = tally_together(windows.sliding, groups)
    return id_table(groups.keys, groups.numbers, TALLY, tallies.offsets, tallies.data, events=tallies.events)


def no_rows() -> pa.Table:
    """An empty content table whose key is an id."""
    none = np.empty(0, np.int64)
    return id_table(none, none, LIVE, np.zeros(1, np.int64), none.view(np.uint8))


def id_table(
    ids: Integers,
    numbers: Integers,
    kind: int,
    offsets: Integers,
    data: npt.NDArray[np.uint8],
    flags: Integers | None = None,
    events: Integers | None = None,
) -> pa.Table:
    """A content table whose key is an id."""
    table = content_table([], ids, numbers, kind, offsets, data, flags=flags, events=events)
    return table.add_column(0, "by0", pa.array(ids))


def _live_table(summaries: KeyRows, order: Integers) -> pa.Table:
    """Summaries as live rows; their keys are positions in `order`."""
    ids = order[summaries.keys]
    return id_table(ids, summaries.numbers, LIVE, summaries.offsets, summaries.data, summaries.flags)


def _sorted_rows(tables: Sequence[pa.Table], groups: Groups | None, order: Integers) -> tuple[KeyRows, Integers]:
    """Rows as core.keyed takes them, and the events of each; their keys are positions in `order`, which has ids."""
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.arange(order.size)
    if not tables:
        assert groups is not None
        chosen = key_order(groups.keys, ranks)
        size = chosen.size
        return KeyRows(
            ranks[groups.keys][chosen],
            groups.numbers[chosen],
            np.full(size, EVENTS, np.int64),
            np.zeros(size, np.int64),
            *_places(groups.bounds[:-1][chosen], groups.bounds[1:][chosen]),
            groups.values,
            groups.weights,
        ), groups.sizes[chosen]
    if groups is not None:
        places = _places(groups.bounds[:-1], groups.bounds[1:])
        tables = [*tables, id_table(groups.keys, groups.numbers, EVENTS, *places, events=groups.sizes)]
    table = pa.concat_tables(tables)
    keys, numbers = ranks[np.asarray(table["by0"])], np.asarray(table["number"])
    kinds = np.asarray(table["kind"]).astype(np.int64)
    chosen = np.lexsort((numbers, kinds != LIVE, keys))
    bytes_ = pa.concat_arrays(table["bytes"].chunks).take(pa.array(chosen))
    offsets, data = binary_buffers(bytes_)
    rows = KeyRows(
        keys[chosen],
        numbers[chosen],
        kinds[chosen],
        np.asarray(table["flag"]).astype(np.int64)[chosen],
        offsets.copy(),
        data[: int(offsets[-1])].copy(),
    )
    if groups is not None:
        rows.values, rows.weights = groups.values, groups.weights
    return rows, np.asarray(table["seen"])[chosen]


def _places(firsts: Integers, lasts: Integers) -> tuple[Integers, npt.NDArray[np.uint8]]:
    """Offsets and bytes of rows of events: two words each."""
    return np.arange(0, _WORDS * firsts.size + 1, _WORDS), np.stack([firsts, lasts], axis=1).view(np.uint8).ravel()


def _split(rows: KeyRows, parts: int) -> list[KeyRows]:
    """Divide rows into parts of about the same size, without dividing a key."""
    size = rows.keys.size
    parts = max(1, min(parts, size // _LEAST_ROWS))
    inner = [int(np.searchsorted(rows.keys, rows.keys[size * i // parts])) for i in range(1, parts)]
    edges = sorted({0, *inner, size})
    return [
        KeyRows(
            rows.keys[first:last],
            rows.numbers[first:last],
            rows.kinds[first:last],
            rows.flags[first:last],
            rows.offsets[first : last + 1],
            rows.data,
            rows.values,
            rows.weights,
        )
        for first, last in pairwise(edges)
    ]


def _copied(rows: KeyRows) -> KeyRows:
    """Rows that stay when the next part is taken."""
    return KeyRows(rows.keys.copy(), rows.numbers.copy(), rows.kinds, rows.flags.copy(), rows.offsets, rows.data.copy())


def _joined(parts: Sequence[KeyRows]) -> KeyRows:
    """Rows one after the other."""
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    return KeyRows(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.kinds for part in parts]),
        np.concatenate([part.flags for part in parts]),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([part.data for part in parts]),
    )
