"""Level 2 on Spark: the tallies of a shard's keys -> their windows, or their summaries.

`slide` is one step of a shard, wherever its tables live: in memory for a batch (`Level2`), in the state store for a
stream (`aomg.spark.stream.processor`). The algorithm is core.keyed's.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aomg.core.keyed import LIVE, TALLY, ClosedWindows, KeyRows
from aomg.query import Query
from aomg.spark.columns import result_table, summary_table
from aomg.spark.parcels import FIRST, NEVER, rows_table, sorted_rows, unpack
from aomg.spark.stored import answerable
from aomg.spark.worker import fleet_of

Integers = npt.NDArray[np.int64]

_TOGETHER = 1 << 16  # rows of an Arrow batch


@dataclass(frozen=True)
class Answer:
    """What a shard gives: the windows of a query, or (`summaries`) what each sub-window leaves behind.

    names are those of the by columns, time is the Arrow type of times.
    """

    query: Query
    names: tuple[str, ...]
    time: pa.DataType
    summaries: bool = False

    def table(self, closed: ClosedWindows, values: Sequence[pa.Array]) -> pa.Table:
        """The answer as rows of the schema in aomg.spark.columns."""
        at = pa.array(closed.summaries.keys if self.summaries else closed.result_keys)
        keys = [column.take(at) for column in values]
        if self.summaries:
            return summary_table(closed, self.query, keys, self.names, self.time)
        return result_table(closed.results, keys, self.names, self.time)


def slide(
    answer: Answer, tables: Sequence[pa.Table], live_to: int, end: int
) -> tuple[pa.Table | None, pa.Table | None]:
    """Close the sub-windows of these rows up to `end`: the answer, and the rows that have to live on.

    Windows counted in elements have their own time: a key's live summaries have answered up to its newest one, and it
    answers up to its last row.
    """
    tables = [table for table in tables if table.num_rows]
    if not tables:
        return None, None
    query = answer.query
    rows, values, seen = sorted_rows(pa.concat_tables(tables))
    keys = int(rows.keys[-1]) + 1
    if query.counted:
        lived, ends = np.full(keys, NEVER, np.int64), np.full(keys, NEVER, np.int64)
        live = rows.kinds == LIVE
        np.maximum.at(lived, rows.keys[live], rows.numbers[live] + 1)
        np.maximum.at(ends, rows.keys, rows.numbers + 1)
        if query.as_paper:
            rows = _without_rest(rows, seen, query.period, ends)
    else:
        lived, ends = np.full(keys, live_to, np.int64), np.full(keys, end, np.int64)
    closed = fleet_of(query).slide(rows, lived, ends, answering=not answer.summaries)
    at = pa.array(closed.summaries.keys)
    kept = rows_table(
        [column.take(at) for column in values],
        closed.summaries.numbers,
        LIVE,
        closed.summaries.flags,
        np.zeros(closed.summaries.keys.size, np.int64),
        closed.summaries.offsets,
        closed.summaries.data,
    )
    given = closed.summaries.keys.size if answer.summaries else len(closed.results)
    return answer.table(closed, values) if given else None, kept


def _without_rest(rows: KeyRows, seen: Integers, period: int, ends: Integers) -> KeyRows:
    """The paper answers for full sub-windows only: leave out the last one of a key if it is not full."""
    last = (rows.kinds == TALLY) & (rows.numbers + 1 == ends[rows.keys])
    filled = np.zeros(ends.size, np.int64)
    np.add.at(filled, rows.keys[last], seen[last])
    drop = last & (filled[rows.keys] < period)
    ends[rows.keys[drop]] -= 1
    keep = np.flatnonzero(~drop)
    lengths = np.diff(rows.offsets)[keep]
    parts = [rows.data[rows.offsets[i] : rows.offsets[i + 1]] for i in keep]
    data = np.concatenate(parts) if parts else np.empty(0, np.uint8)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return KeyRows(rows.keys[keep], rows.numbers[keep], rows.kinds[keep], rows.flags[keep], offsets, data)


class Shard:
    """The keys of one shard, one epoch after the other; live summaries are kept in memory."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._live: list[pa.Table] = []
        self._live_to = NEVER

    def close(self, tables: Sequence[pa.Table], end: int) -> pa.Table | None:
        """Close everything below `end`; the answer, if there is one."""
        tables = [answerable(pa.concat_tables(tables), self._answer.query)] if tables else []
        answer, kept = slide(self._answer, [*self._live, *tables], self._live_to, end)
        if kept is not None and not self._answer.summaries:
            self._live.append(kept)
        self._forget(end)
        self._live_to = end
        return answer

    def _forget(self, end: int) -> None:
        """Keep the summaries that a later window may need."""
        if not self._live or self._answer.query.counted:
            return  # windows counted in elements come in one epoch
        live = pa.concat_tables(self._live).combine_chunks()
        needed = np.asarray(live["number"]) >= end - fleet_of(self._answer.query).live_span
        self._live = [live.filter(pa.array(needed))] if needed.any() else []

    @property
    def live(self) -> list[pa.Table]:
        """The summaries that live on."""
        return self._live


@dataclass(frozen=True)
class Level2:
    """Answer for the parcels of a partition, sorted by shard and epoch (a batch)."""

    answer: Answer
    epoch: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Parcels in, answers out."""
        for _, epochs in by_shard(batches):
            latest, shard = NEVER, Shard(self.answer)
            for epoch, parcels in epochs:
                if epoch == FIRST:
                    latest = max(told for told, _ in parcels)
                    continue
                end = min((epoch + 1) * self.epoch, latest + 1)
                yield from _batches(shard.close([unpack(content) for _, content in parcels], end))
            if not self.answer.query.counted and not self.answer.summaries:
                yield from _batches(shard.close([], latest + 1))


def _batches(table: pa.Table | None) -> list[pa.RecordBatch]:
    return [] if table is None else table.to_batches(max_chunksize=_TOGETHER)


def by_shard(
    batches: Iterable[pa.RecordBatch],
) -> Iterator[tuple[int, Iterator[tuple[int, list[tuple[int, pa.Buffer]]]]]]:
    """Group sorted parcels by shard, and those of a shard by epoch: (how far time had come, content) each."""

    def parcels() -> Iterator[tuple[int, int, int, pa.Buffer]]:
        for batch in batches:
            shards, epochs, latest = (batch[name].to_pylist() for name in ("shard", "epoch", "latest"))
            for at in range(batch.num_rows):
                yield shards[at], epochs[at], latest[at], batch["content"][at].as_buffer()

    for shard, rows in groupby(parcels(), key=lambda parcel: parcel[0]):
        yield (
            shard,
            (
                (epoch, [(told, content) for _, _, told, content in same])
                for epoch, same in groupby(rows, key=lambda parcel: parcel[1])
            ),
        )
