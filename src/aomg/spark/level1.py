"""Level 1 on Spark: events -> tallies of each key's sub-windows, packed into a parcel for each shard.

Stateless, and the only step that sees every event: one conversion to Arrow, one sort by key, sub-window and value for
each million events, everything else on distinct values. A hot key is combined here, before anything is shuffled.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aomg.core.keyed import TALLY
from aomg.core.tally import Tallies, merge_tallies, tally
from aomg.query import Query
from aomg.spark.intake import FUTURE
from aomg.spark.keys import key_ids, shard_numbers
from aomg.spark.parcels import FIRST, NEVER, in_tables, pack, parcel, rows_table, sorted_rows
from aomg.spark.worker import fleet_of

Integers = npt.NDArray[np.int64]

TOGETHER = 1 << 20  # events that are tallied at once
TimeBy = Literal["values", "events"]


@dataclass(frozen=True)
class Level1:
    """What a worker has to know to tally events.

    shards
        Their ids.
    epoch
        Sub-windows that go into one parcel; 0 puts all of them into one.
    texts
        Which by columns are strings: they come as bytes, which Spark hands over at half the cost.
    time_by
        Which events tell a stream the time: those whose values are used, or all whose times are believed.
    """

    query: Query
    shards: tuple[int, ...]
    epoch: int
    texts: tuple[bool, ...]
    time_by: TimeBy = "values"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Tally a partition: record batches of by0..., time, value in, parcels out."""
        notes = _Notes()
        for events in in_tables(batches, TOGETHER):
            yield from self._parcels(events, notes)
        yield from self._notices(notes)

    def _parcels(self, events: pa.Table, notes: "_Notes") -> Iterator[pa.RecordBatch]:
        """Tally some events and pack the tallies of each shard and epoch."""
        columns = [events[name] for name in events.column_names[:-2]]
        numbers, values, used = self._usable(events, notes)
        if not used.any():
            return
        key_of_event, keys = key_ids(columns, events.num_rows)
        keys = [column.view(pa.string()) if text else column for column, text in zip(keys, self.texts, strict=True)]
        key_of_event = key_of_event[used] if not used.all() else key_of_event
        lowest, highest = int(numbers.min()), int(numbers.max())
        notes.latest = max(notes.latest, highest)
        span, known = highest - lowest + 1, None
        if span > 1 << 31:
            known, numbers = np.unique(numbers, return_inverse=True)
            lowest, span = 0, known.size
        tallies = tally(fleet_of(self.query).sliding, key_of_event * span + (numbers - lowest), values)
        key, number = tallies.groups // span, tallies.groups % span + lowest
        if known is not None:
            number = known[number]
        size = int(key_of_event.max()) + 1 if not keys else len(keys[0])
        shard = shard_numbers(keys, size, len(self.shards))[key]
        epoch = number // self.epoch if self.epoch else np.zeros(number.size, np.int64)
        table = rows_table(
            [column.take(pa.array(key)) for column in keys],
            number,
            TALLY,
            np.zeros(number.size, np.int8),
            tallies.events,
            tallies.offsets,
            tallies.data,
        )
        order = np.lexsort((epoch, shard))
        shard, epoch = shard[order], epoch[order]
        changes = (shard[1:] != shard[:-1]) | (epoch[1:] != epoch[:-1])
        starts = np.flatnonzero(np.concatenate([[True], changes]))
        if starts.size > 1:
            table = table.take(pa.array(order))
        for first, last in zip(starts, np.append(starts[1:], shard.size), strict=True):
            content = pack(table.slice(first, last - first))
            yield parcel(self.shards[shard[first]], int(epoch[first]), content=content)

    def _usable(self, events: pa.Table, notes: "_Notes") -> tuple[Integers, npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Sub-window numbers and values of the events that count, and which events they are."""
        time, value = events["time"].combine_chunks(), events["value"].combine_chunks()
        used = np.ones(events.num_rows, bool)
        for column in (time, value):
            if column.null_count:
                used &= np.asarray(column.is_valid())
        micros = _filled(time)
        micros = (
            micros.astype("datetime64[us]").astype(np.int64) if micros.dtype.kind == "M" else micros.astype(np.int64)
        )
        values = _filled(value)
        values = values.astype(np.float64 if values.dtype.kind == "f" else np.int64, copy=False)
        if values.dtype == np.float64:
            used &= np.isfinite(values)
        future = micros == FUTURE
        notes.came += events.num_rows
        ahead = int(np.count_nonzero(used & future))
        notes.future += ahead
        used &= ~future
        notes.refused += events.num_rows - int(np.count_nonzero(used)) - ahead
        if self.time_by == "events":
            notes.clock = max(notes.clock, _latest(micros, np.asarray(time.is_valid()) & ~future))
        if not used.all():
            micros, values = micros[used], values[used]
        if micros.size:
            notes.clock = max(notes.clock, int(micros.max()))
        return micros // self.query.period, np.ascontiguousarray(values), used

    def _notices(self, notes: "_Notes") -> Iterator[pa.RecordBatch]:
        """Tell the shards how far time has come, and the first of them what was counted."""
        if notes.came == 0:
            return
        yield parcel(self.shards[0], FIRST, notes.latest, notes.clock, notes.came, notes.refused, notes.future)
        if self.epoch or not self.query.counted:
            for shard in self.shards[1:]:
                yield parcel(shard, FIRST, notes.latest, notes.clock)


def merged(query: Query, table: pa.Table) -> pa.Table:
    """Tallies of the same key and sub-window added up: one row for each."""
    if table.num_rows == 0:
        return table
    rows, values, seen = sorted_rows(table)
    changes = (rows.keys[1:] != rows.keys[:-1]) | (rows.numbers[1:] != rows.numbers[:-1])
    groups = np.concatenate([[0], np.cumsum(changes)])
    tallies = merge_tallies(fleet_of(query).sliding, Tallies(groups, seen, rows.offsets, rows.data))
    firsts = np.searchsorted(groups, tallies.groups)
    at = pa.array(rows.keys[firsts])
    return rows_table(
        [column.take(at) for column in values],
        rows.numbers[firsts],
        TALLY,
        np.zeros(firsts.size, np.int8),
        tallies.events,
        tallies.offsets,
        tallies.data,
    )


class _Notes:
    """What a partition was seen to hold."""

    def __init__(self) -> None:
        self.latest = self.clock = NEVER
        self.came = self.refused = self.future = 0


def _latest(micros: Integers, believed: npt.NDArray[np.bool_]) -> int:
    return int(np.max(micros, where=believed, initial=NEVER))


def _filled(column: pa.Array) -> npt.NDArray[Any]:
    """The column as NumPy, zero where it is null."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if column.null_count:
        column = column.fill_null(0)
    return np.asarray(column.to_numpy(zero_copy_only=False))
