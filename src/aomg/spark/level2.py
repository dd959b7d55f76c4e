"""Level 2 on Spark: turns the tallies of a shard's keys into windows, or into summaries.

`slide` is one step of a shard, for tables in memory (a batch, `Level2`) and for those of a stream's state store
(`aomg.spark.stream.processor`). The algorithm is in aomg.core.keyed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import types as t

from aomg.core.keyed import LIVE, TALLY, ClosedWindows, KeyRows
from aomg.query import Query
from aomg.spark.columns import (
    SUMMARY,
    arrow_time,
    names_of,
    refuse_clash,
    result_schema,
    result_table,
    summary_schema,
    summary_table,
)
from aomg.spark.parcels import NEVER, batches_of, by_epoch, by_shard, content_table, sorted_rows
from aomg.spark.summary_store import recast_summaries
from aomg.spark.worker import keyed_windows

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Answer:
    """What Level 2 puts out: the windows of a query, or (`summaries`) the summary of each sub-window.

    keys are the by columns, time is the type of times.
    """

    query: Query
    keys: tuple[t.StructField, ...]
    time: t.DataType
    summaries: bool = False

    def __post_init__(self) -> None:
        """Refuse by columns that have the name of an output column."""
        refuse_clash(SUMMARY if self.summaries else names_of(self.query), self.names)

    @property
    def names(self) -> list[str]:
        """The names of the by columns."""
        return [key.name for key in self.keys]

    @property
    def schema(self) -> t.StructType:
        """The schema of the output, as described in aomg.spark.columns."""
        if self.summaries:
            return summary_schema(self.keys, self.time)
        return result_schema(self.query, self.keys, self.time)

    def table(self, closed: ClosedWindows, values: Sequence[pa.Array]) -> pa.Table:
        """The output of a step in this schema; `values` are the by columns of each key."""
        ids = pa.array(closed.summaries.keys if self.summaries else closed.result_keys)
        keys = [column.take(ids) for column in values]
        if self.summaries:
            return summary_table(closed, self.query, keys, self.names, arrow_time(self.time))
        return result_table(closed.results, keys, self.names, arrow_time(self.time))


def slide(
    answer: Answer, tables: Sequence[pa.Table], live_to: int, end: int
) -> tuple[pa.Table | None, pa.Table | None]:
    """Close the sub-windows of these rows up to `end`: the output, and the summaries that closed, as live rows.

    Windows counted in events have no common time: a key's live summaries have answered up to its newest one, and it
    answers up to its last row.
    """
    tables = [table for table in tables if table.num_rows]
    if not tables:
        return None, None
    query = answer.query
    rows, values, events = sorted_rows(pa.concat_tables(tables))
    keys = int(rows.keys[-1]) + 1
    if query.counted:
        live_ends, ends = np.full(keys, NEVER, np.int64), np.full(keys, NEVER, np.int64)
        live = rows.kinds == LIVE
        np.maximum.at(live_ends, rows.keys[live], rows.numbers[live] + 1)
        np.maximum.at(ends, rows.keys, rows.numbers + 1)
        if query.as_paper:
            rows = _full_sub_windows(rows, events, query.period, ends)
    else:
        live_ends, ends = np.full(keys, live_to, np.int64), np.full(keys, end, np.int64)
    closed = keyed_windows(query).slide(rows, live_ends, ends, answering=not answer.summaries)
    summaries = content_table(
        values,
        closed.summaries.keys,
        closed.summaries.numbers,
        LIVE,
        closed.summaries.offsets,
        closed.summaries.data,
        flags=closed.summaries.flags,
    )
    size = closed.summaries.keys.size if answer.summaries else len(closed.results)
    return answer.table(closed, values) if size else None, summaries


def _full_sub_windows(rows: KeyRows, events: Integers, period: int, ends: Integers) -> KeyRows:
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
    return KeyRows(rows.keys[keep], rows.numbers[keep], rows.kinds[keep], rows.flags[keep], offsets, data)


class Shard:
    """The keys of one shard, epoch by epoch; live summaries are in memory."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._live: list[pa.Table] = []
        self._live_to = NEVER

    def close(self, tables: Sequence[pa.Table], end: int) -> pa.Table | None:
        """Close every sub-window below `end`; returns the output, if there is any."""
        tables = [recast_summaries(pa.concat_tables(tables), self._answer.query)] if tables else []
        output, summaries = slide(self._answer, [*self._live, *tables], self._live_to, end)
        if summaries is not None and not self._answer.summaries:
            self._live.append(summaries)
        self._evict(end)
        self._live_to = end
        return output

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


@dataclass(frozen=True)
class Level2:
    """Level 2 of a batch: answers for the parcels of a partition, sorted by shard and epoch."""

    answer: Answer
    epoch: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Parcels in, output rows out."""
        for _, parcels in by_shard(batches):
            shard = Shard(self.answer)
            latest, epochs = by_epoch(parcels)
            for epoch, tables in epochs:
                end = min((epoch + 1) * self.epoch, latest + 1)
                yield from batches_of(shard.close(tables, end))
            if not self.answer.query.counted and not self.answer.summaries:
                yield from batches_of(shard.close([], latest + 1))
