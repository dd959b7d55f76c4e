"""Level 1 on Spark: counts events into tallies, one for each key and sub-window, and packs them into parcels.

Stateless, and the only stage that reads every event: one conversion to Arrow and one sort by key, sub-window and value
for each million events; everything else works on distinct values. A hot key is reduced here, before the shuffle.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aomg.core.keyed import TALLY
from aomg.core.tally import Tallies, merge_tallies, tally
from aomg.query import Query
from aomg.spark.keys import key_ids
from aomg.spark.parcels import NEVER, NOTICE, Parcel, content_table, pack_by_shard, sorted_rows, tables_of
from aomg.spark.time_policy import TimePolicy
from aomg.spark.worker import keyed_windows

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_EVENTS = 1 << 20  # tallied together


@dataclass(frozen=True)
class Level1:
    """What a worker needs to tally events.

    shards
        Ids of the shards.
    epoch
        Sub-windows in one parcel; 0 puts all of them into one.
    texts
        Which by columns are strings: they arrive as bytes, which Spark hands over at half the cost.
    """

    query: Query
    shards: tuple[int, ...]
    epoch: int
    texts: tuple[bool, ...]
    time: TimePolicy

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Tally a partition: record batches of by0..., time, value in, parcels out."""
        totals = _PartitionTotals()
        for events in tables_of(batches, _EVENTS):
            yield from self._parcels(events, totals)
        yield from self._notices(totals)

    def _parcels(self, events: pa.Table, totals: "_PartitionTotals") -> Iterator[pa.RecordBatch]:
        """Tally some events and pack the tallies of each shard and epoch."""
        columns = [events[name] for name in events.column_names[:-2]]
        numbers, values, usable = self._usable(events, totals)
        if not usable.any():
            return
        event_keys, keys = key_ids(columns, events.num_rows)
        keys = [column.view(pa.string()) if text else column for column, text in zip(keys, self.texts, strict=True)]
        event_keys = event_keys[usable] if not usable.all() else event_keys
        lowest, highest = int(numbers.min()), int(numbers.max())
        totals.latest = max(totals.latest, highest)
        span, distinct = highest - lowest + 1, None
        if span > 1 << 31:
            distinct, numbers = np.unique(numbers, return_inverse=True)
            lowest, span = 0, distinct.size
        tallies = tally(keyed_windows(self.query).sliding, event_keys * span + (numbers - lowest), values)
        ids, numbers = tallies.groups // span, tallies.groups % span + lowest
        if distinct is not None:
            numbers = distinct[numbers]
        epochs = numbers // self.epoch if self.epoch else np.zeros(numbers.size, np.int64)
        yield from pack_by_shard(_tally_table(keys, ids, numbers, tallies), keys, ids, self.shards, epochs)

    def _usable(self, events: pa.Table, totals: "_PartitionTotals") -> tuple[Integers, npt.NDArray[Any], Mask]:
        """Sub-window numbers and values of the usable events, and which events are usable."""
        times, value = events["time"].combine_chunks(), events["value"].combine_chunks()
        usable = np.ones(events.num_rows, bool)
        for column in (times, value):
            if column.null_count:
                usable &= np.asarray(column.is_valid())
        micros = _filled(times)
        micros = (
            micros.astype("datetime64[us]").astype(np.int64) if micros.dtype.kind == "M" else micros.astype(np.int64)
        )
        values = _filled(value)
        values = values.astype(np.float64 if values.dtype.kind == "f" else np.int64, copy=False)
        if values.dtype == np.float64:
            usable &= np.isfinite(values)
        future = self.time.is_future(micros)
        totals.came += events.num_rows
        ahead = int(np.count_nonzero(usable & future))
        totals.future += ahead
        usable &= ~future
        totals.refused += events.num_rows - int(np.count_nonzero(usable)) - ahead
        tells_time = self.time.tells_time(usable, future, times)
        if tells_time is not usable:
            totals.clock = max(totals.clock, int(np.max(micros, where=tells_time, initial=NEVER)))
        if not usable.all():
            micros, values = micros[usable], values[usable]
        if micros.size:  # usable events tell the time under every policy
            totals.clock = max(totals.clock, int(micros.max()))
        return micros // self.query.period, np.ascontiguousarray(values), usable

    def _notices(self, totals: "_PartitionTotals") -> Iterator[pa.RecordBatch]:
        """Tell every shard how far time has come, and the first one the counts of events."""
        if totals.came == 0:
            return
        first, *others = self.shards
        notice = Parcel(first, NOTICE, totals.latest, totals.clock)
        yield notice._replace(came=totals.came, refused=totals.refused, future=totals.future).batch()
        if self.epoch or not self.query.counted:
            for shard in others:
                yield notice._replace(shard=shard).batch()


def merge_tally_rows(query: Query, table: pa.Table) -> pa.Table:
    """Merge tallies of the same key and sub-window: one row for each."""
    if table.num_rows == 0:
        return table
    rows, values, events = sorted_rows(table)
    changes = (rows.keys[1:] != rows.keys[:-1]) | (rows.numbers[1:] != rows.numbers[:-1])
    groups = np.concatenate([[0], np.cumsum(changes)])
    tallies = merge_tallies(keyed_windows(query).sliding, Tallies(groups, events, rows.offsets, rows.data))
    firsts = np.searchsorted(groups, tallies.groups)
    return _tally_table(values, rows.keys[firsts], rows.numbers[firsts], tallies)


def _tally_table(values: list[pa.Array], ids: Integers, numbers: Integers, tallies: Tallies) -> pa.Table:
    return content_table(values, ids, numbers, TALLY, tallies.offsets, tallies.data, events=tallies.events)


class _PartitionTotals:
    """The latest sub-window and time of a partition, and its counts of events."""

    def __init__(self) -> None:
        self.latest = self.clock = NEVER
        self.came = self.refused = self.future = 0


def _filled(column: pa.Array) -> npt.NDArray[Any]:
    """The column as NumPy, zero where it is null."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if column.null_count:
        column = column.fill_null(0)
    return np.asarray(column.to_numpy(zero_copy_only=False))
