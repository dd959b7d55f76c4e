"""Level 2: turns the tallies of keys into windows, or into summaries.

`slide` is one step of a shard, for tables in memory (`Shard`) and for those of a stream's state store
(`aomg.spark.stream.processor`). The algorithm is in aomg.core.keyed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aomg.core.keyed import LIVE, TALLY, ClosedWindows, KeyRows
from aomg.query import Query
from aomg.result import Results, row_width
from aomg.tables.columns import SUMMARY, flat_names_of, names_of, refuse_clash, result_table, summary_table
from aomg.tables.keyed_windows import keyed_windows
from aomg.tables.rows import NEVER, content_table, sorted_rows
from aomg.tables.summary_store import recast_summaries

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Answer:
    """What Level 2 puts out: the windows of a query, or (`summaries`) the summary of each sub-window.

    names are the by columns, time is the type of times.
    """

    query: Query
    names: tuple[str, ...]
    time: pa.DataType
    summaries: bool = False

    def __post_init__(self) -> None:
        """Refuse by columns that have the name of an output column."""
        names = SUMMARY if self.summaries else [*names_of(self.query), *flat_names_of(self.query)]
        refuse_clash(names, self.names)

    @property
    def windowed(self) -> bool:
        """Whether it needs windows, and so live summaries."""
        return not self.summaries

    def outputs(self, closed: ClosedWindows, values: Sequence[pa.Array]) -> list[pa.Table]:
        """The output of a step, in tables that are not empty; `values` are the by columns of each key."""
        if self.windowed:
            return [self.windows(closed.results, closed.result_keys, values)] if len(closed.results) else []
        return [self.summary_table(closed.summaries, values)] if closed.summaries.keys.size else []

    def empty(self, key_types: Sequence[pa.DataType]) -> pa.Table:
        """A table without rows; `key_types` are the types of the by columns."""
        none = np.empty(0, np.int64)
        keys = [pa.array([], kind) for kind in key_types]
        if self.summaries:
            return self.summary_table(KeyRows(none, none, none, none, np.zeros(1, np.int64), none.view(np.uint8)), keys)
        densities = np.empty((0, len(self.query.quantiles), 2)) if self.query.guarantee is None else None
        return self.windows(Results(self.query, none.reshape(0, row_width(self.query)), densities), none, keys)

    def summary_table(self, summaries: KeyRows, values: Sequence[pa.Array]) -> pa.Table:
        """Summaries as a table; `values` are the by columns of each key."""
        keys = [column.take(pa.array(summaries.keys)) for column in values]
        return summary_table(summaries, self.query, keys, self.names, self.time)

    def windows(self, results: Results, ids: Integers, values: Sequence[pa.Array]) -> pa.Table:
        """Results as a table; `ids` are their keys, `values` the by columns of each key."""
        keys = [column.take(pa.array(ids)) for column in values]
        return result_table(results, keys, self.names, self.time)


def slide(answer: Answer, tables: Sequence[pa.Table], live_to: int, end: int) -> tuple[list[pa.Table], pa.Table | None]:
    """Close the sub-windows of these rows up to `end`: the outputs, and the summaries that closed, as live rows.

    Windows counted in events have no common time: a key's live summaries have answered up to its newest one, and it
    answers up to its last row.
    """
    tables = [table for table in tables if table.num_rows]
    if not tables:
        return [], None
    query = answer.query
    rows, values, events = sorted_rows(pa.concat_tables(tables))
    rows, _, live_ends, ends = key_ends(query, rows, events, int(rows.keys[-1]) + 1, live_to, end)
    closed = keyed_windows(query).slide(rows, live_ends, ends, answering=answer.windowed)
    summaries = content_table(
        values,
        closed.summaries.keys,
        closed.summaries.numbers,
        LIVE,
        closed.summaries.offsets,
        closed.summaries.data,
        flags=closed.summaries.flags,
    )
    return answer.outputs(closed, values), summaries


def key_ends(
    query: Query, rows: KeyRows, events: Integers, keys: int, live_to: int, end: int
) -> tuple[KeyRows, Integers, Integers, Integers]:
    """The rows that close with their events, up to where each key's live summaries have answered, and its end now."""
    if not query.counted:
        return rows, events, np.full(keys, live_to, np.int64), np.full(keys, end, np.int64)
    live_ends, ends = np.full(keys, NEVER, np.int64), np.full(keys, NEVER, np.int64)
    live = rows.kinds == LIVE
    np.maximum.at(live_ends, rows.keys[live], rows.numbers[live] + 1)
    np.maximum.at(ends, rows.keys, rows.numbers + 1)
    if query.as_paper:
        rows, events = _full_sub_windows(rows, events, query.period, ends)
    return rows, events, live_ends, ends


def _full_sub_windows(rows: KeyRows, events: Integers, period: int, ends: Integers) -> tuple[KeyRows, Integers]:
    """The paper answers for full sub-windows only: leave out the last one of a key if it is not full."""
    last = (rows.kinds == TALLY) & (rows.numbers + 1 == ends[rows.keys])
    last_events = np.zeros(ends.size, np.int64)
    np.add.at(last_events, rows.keys[last], events[last])
    drop = last & (last_events[rows.keys] < period)
    ends[rows.keys[drop]] -= 1
    keep = np.flatnonzero(~drop)
    lengths = np.diff(rows.offsets)[keep]
    parts = [rows.data[rows.offsets[i] : rows.offsets[i + 1]] for i in keep]
    data = np.concatenate(parts) if parts else np.empty(0, np.uint8)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    full = KeyRows(rows.keys[keep], rows.numbers[keep], rows.kinds[keep], rows.flags[keep], offsets, data)
    return full, events[keep]


class Shard:
    """The keys of one shard, epoch by epoch; live summaries are in memory."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._live: list[pa.Table] = []
        self._live_to = NEVER

    def close(self, tables: Sequence[pa.Table], end: int) -> list[pa.Table]:
        """Close every sub-window below `end`; returns the outputs."""
        tables = [recast_summaries(pa.concat_tables(tables), self._answer.query)] if tables else []
        outputs, summaries = slide(self._answer, [*self._live, *tables], self._live_to, end)
        if summaries is not None and self._answer.windowed:
            self._live.append(summaries)
        self._evict(end)
        self._live_to = end
        return outputs

    def _evict(self, end: int) -> None:
        """Drop the summaries that no later window needs."""
        if not self._live or self._answer.query.counted:
            return  # windows counted in events have one epoch
        live = pa.concat_tables(self._live).combine_chunks()
        needed = np.asarray(live["number"]) >= end - keyed_windows(self._answer.query).live_span
        self._live = [live.filter(pa.array(needed))] if needed.any() else []

    @property
    def live(self) -> list[pa.Table]:
        """The live summaries."""
        return self._live
