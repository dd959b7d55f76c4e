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

from aomg.query import Query
from aomg.spark.parcels import NOTICE, Parcel, pack_by_shard
from aomg.spark.time_policy import TimePolicy
from aomg.spark.worker import prepare_worker
from aomg.spark.worker_errors import message_first
from aomg.tables.keys import key_ids
from aomg.tables.level1 import filled, tally_events
from aomg.tables.rows import NEVER
from aomg.tables.source import tables_of

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

    @message_first
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Tally a partition: record batches of by0..., time, value and maybe weight in, parcels out."""
        prepare_worker(self.query)
        totals = _PartitionTotals()
        for events in tables_of(batches, _EVENTS):
            yield from self._parcels(events, totals)
        yield from self._notices(totals)

    def _parcels(self, events: pa.Table, totals: "_PartitionTotals") -> Iterator[pa.RecordBatch]:
        """Tally some events and pack the tallies of each shard and epoch."""
        columns = [events[name] for name in events.column_names[: len(self.texts)]]
        numbers, values, weights, usable = self._usable(events, totals)
        if not usable.any():
            return
        event_keys, keys = key_ids(columns, events.num_rows)
        keys = [column.view(pa.string()) if text else column for column, text in zip(keys, self.texts, strict=True)]
        event_keys = event_keys[usable] if not usable.all() else event_keys
        tallies = tally_events(self.query, event_keys, numbers, values, weights)
        ids, numbers = tallies.ids, tallies.numbers
        epochs = numbers // self.epoch if self.epoch else np.zeros(numbers.size, np.int64)
        yield from pack_by_shard(tallies.table(keys), keys, ids, self.shards, epochs)

    def _usable(
        self, events: pa.Table, totals: "_PartitionTotals"
    ) -> tuple[Integers, npt.NDArray[Any], Integers | None, Mask]:
        """Sub-window numbers, values and weights of the events to tally, and which events these are."""
        times, value = events["time"].combine_chunks(), events["value"].combine_chunks()
        usable = np.ones(events.num_rows, bool)
        weight = events["weight"].combine_chunks() if "weight" in events.column_names else None
        for column in (times, value, weight):
            if column is not None and column.null_count:
                usable &= np.asarray(column.is_valid())
        micros = filled(times)
        micros = (
            micros.astype("datetime64[us]").astype(np.int64) if micros.dtype.kind == "M" else micros.astype(np.int64)
        )
        values = filled(value)
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
        weights = None if weight is None else filled(weight).astype(np.int64)
        if not usable.all():
            micros, values, weights = micros[usable], values[usable], None if weights is None else weights[usable]
        if micros.size:  # usable events tell the time under every policy
            totals.clock = max(totals.clock, int(micros.max()))
            totals.latest = max(totals.latest, int(micros.max()) // self.query.period)
        if weights is not None and not weights.all():
            heavy = weights > 0
            totals.weightless += heavy.size - int(np.count_nonzero(heavy))
            micros, values, weights = micros[heavy], values[heavy], weights[heavy]
            usable[usable] = heavy
        return micros // self.query.period, np.ascontiguousarray(values), weights, usable

    def _notices(self, totals: "_PartitionTotals") -> Iterator[pa.RecordBatch]:
        """Tell every shard how far time has come, and the first one the counts of events."""
        if totals.came == 0:
            return
        first, *others = self.shards
        notice = Parcel(first, NOTICE, totals.latest, totals.clock)
        counts = {name: getattr(totals, name) for name in ("came", "refused", "future", "weightless")}
        yield notice._replace(**counts).batch()
        if self.epoch or not self.query.counted:
            for shard in others:
                yield notice._replace(shard=shard).batch()


class _PartitionTotals:
    """The latest sub-window and time of a partition, and its counts of events."""

    def __init__(self) -> None:
        self.latest = self.clock = NEVER
        self.came = self.refused = self.future = self.weightless = 0
