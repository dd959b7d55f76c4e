"""Level 1 on Spark: counts events into tallies, one for each key and sub-window, and packs them into parcels.

Stateless, and the only stage that reads every event: one conversion to Arrow for all queries, and for each query one
sort by key, sub-window and value for each million events; everything else works on distinct values. A hot key is
reduced here, before the shuffle.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aomg.query import Query
from aomg.spark.parcels import NOTICE, Parcel, pack_by_shard
from aomg.spark.refused import RefusedSamples
from aomg.spark.time_policy import TimePolicy, all_of
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
class ScannedQuery:
    """A query of a scan, and the columns of the events that it reads.

    keys, value, weight
        The places of its columns: key 1 is the column `key1`.
    epoch
        Sub-windows in one parcel; 0 puts all of them into one.
    """

    query: Query
    keys: tuple[int, ...]
    value: int
    weight: int | None
    time: TimePolicy
    epoch: int = 0


@dataclass(frozen=True)
class Level1:
    """What a worker needs to tally events.

    shards
        Ids of the shards.
    texts
        Which key columns are strings: they arrive as bytes, which Spark hands over at half the cost.
    reasons
        The reasons of refused rows (aomg.spark.refused), if those are wanted.
    """

    queries: tuple[ScannedQuery, ...]
    shards: tuple[int, ...]
    texts: tuple[bool, ...]
    reasons: tuple[str, ...] = ()

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Tally a partition: record batches of `aomg.spark.intake.ScanColumns` in, parcels out."""
        return self.tally(tables_of(batches, _EVENTS))

    @message_first
    def tally(self, tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
        """Tally the tables of a partition; parcels out."""
        prepare_worker(*(scanned.query for scanned in self.queries))
        totals = [_PartitionTotals() for _ in self.queries]
        refused = RefusedSamples(self.reasons)
        for table in tables:
            events = _ScannedEvents(table, self.texts)
            if self.reasons:
                yield from refused.parcels(table["refused"], self.shards[0])
            for place in range(len(self.queries)):
                yield from self._parcels(place, events, totals[place])
        for place, total in enumerate(totals):
            yield from self._notices(place, total)
        yield from refused.rest(self.shards[0])

    def _parcels(self, place: int, events: "_ScannedEvents", totals: "_PartitionTotals") -> Iterator[pa.RecordBatch]:
        """Tally some events for a query, and pack the tallies of each shard and epoch."""
        scanned = self.queries[place]
        usable, times, values, weights = _usable(place, scanned, events, totals)
        if times.size == 0:
            return
        event_keys, keys = events.keys(scanned.keys)
        if usable is not None:
            event_keys = event_keys[usable]
        tallies = tally_events(scanned.query, event_keys, times // scanned.query.period, values, weights)
        ids, numbers = tallies.ids, tallies.numbers
        epochs = numbers // scanned.epoch if scanned.epoch else np.zeros(numbers.size, np.int64)
        yield from pack_by_shard(tallies.table(keys), keys, ids, self.shards, epochs, place)

    def _notices(self, place: int, totals: "_PartitionTotals") -> Iterator[pa.RecordBatch]:
        """Tell every shard how far time has come, and the first one the counts of events."""
        if totals.came == 0:
            return
        scanned = self.queries[place]
        first, *others = self.shards
        notice = Parcel(first, place, NOTICE, totals.latest, totals.clock)
        counts = {name: getattr(totals, name) for name in ("came", "refused", "future", "weightless")}
        yield notice._replace(**counts).batch()
        if scanned.epoch or not scanned.query.counted:
            for shard in others:
                yield notice._replace(shard=shard).batch()


@dataclass
class _PartitionTotals:
    """The latest sub-window and time of a partition, and its counts of events."""

    latest: int = NEVER
    clock: int = NEVER
    came: int = 0
    refused: int = 0
    future: int = 0
    weightless: int = 0


@dataclass
class _Values:
    """A column of values: 64-bit numbers, and which of them can be used; None: all."""

    numbers: npt.NDArray[Any]
    usable: Mask | None


class _ScannedEvents:
    """Some events, whose columns are converted once for all queries that read them."""

    def __init__(self, table: pa.Table, texts: tuple[bool, ...]) -> None:
        self._table, self._texts = table, texts
        self._values: dict[str, _Values] = {}
        self._keys: dict[tuple[int, ...], tuple[Integers, list[pa.Array]]] = {}
        self.size = table.num_rows
        times = self._column("time")
        micros = filled(times)
        self.micros: Integers = (
            micros.astype("datetime64[us]").astype(np.int64) if micros.dtype.kind == "M" else micros.astype(np.int64)
        )
        self.has_time: Mask | None = np.asarray(times.is_valid()) if times.null_count else None
        excluded = np.asarray(self._column("excluded")) if "excluded" in table.column_names else None
        self._excluded: Integers | None = excluded

    def _column(self, name: str) -> pa.Array:
        return self._table[name].combine_chunks()

    def numbers(self, kind: str, place: int) -> _Values:
        """The column of values or of weights at a place."""
        name = f"{kind}{place}"
        if name not in self._values:
            column = self._column(name)
            usable = np.asarray(column.is_valid()) if column.null_count else None
            numbers = filled(column)
            numbers = numbers.astype(np.float64 if numbers.dtype.kind == "f" else np.int64, copy=False)
            if numbers.dtype == np.float64:
                finite = np.isfinite(numbers)
                if not finite.all():
                    usable = finite if usable is None else usable & finite
            self._values[name] = _Values(np.ascontiguousarray(numbers), usable)
        return self._values[name]

    def keys(self, places: tuple[int, ...]) -> tuple[Integers, list[pa.Array]]:
        """The key of each event by these columns, and the columns of each key."""
        if places not in self._keys:
            event_keys, keys = key_ids([self._table[f"key{place}"] for place in places], self.size)
            texts = (self._texts[place] for place in places)
            keys = [column.view(pa.string()) if text else column for column, text in zip(keys, texts, strict=True)]
            self._keys[places] = event_keys, keys
        return self._keys[places]

    def included(self, place: int) -> Mask | None:
        """Which events the query at a place may use; None: all."""
        if self._excluded is None:
            return None
        mask: Mask = (self._excluded >> place) & 1 == 0
        return mask


def _usable(
    place: int, scanned: ScannedQuery, events: _ScannedEvents, totals: _PartitionTotals
) -> tuple[Mask | None, Integers, npt.NDArray[Any], Integers | None]:
    """Which events a query tallies (None: all), and their times, values and weights."""
    micros, has_time, policy = events.micros, events.has_time, scanned.time
    values = events.numbers("value", scanned.value)
    weights = None if scanned.weight is None else events.numbers("weight", scanned.weight)
    usable = all_of(has_time, values.usable, None if weights is None else weights.usable, events.included(place))
    future = policy.is_future(micros)
    ahead = 0
    if future is not None:
        ahead = int(np.count_nonzero(future if usable is None else usable & future))
        usable = ~future if usable is None else usable & ~future
    used = events.size if usable is None else int(np.count_nonzero(usable))
    totals.came += events.size
    totals.future += ahead
    totals.refused += events.size - used - ahead
    tells_time = policy.tells_time(usable, has_time, future)
    latest = micros.max() if tells_time is None else np.max(micros, where=tells_time, initial=NEVER)
    totals.clock = max(totals.clock, int(latest))
    chosen = None if used == events.size else usable
    times, numbers = (micros, values.numbers) if chosen is None else (micros[chosen], values.numbers[chosen])
    counts = None if weights is None else weights.numbers if chosen is None else weights.numbers[chosen]
    if times.size:
        totals.latest = max(totals.latest, int(times.max()) // scanned.query.period)
    if counts is not None and not counts.all():
        heavy = counts > 0
        totals.weightless += heavy.size - int(np.count_nonzero(heavy))
        times, numbers, counts = times[heavy], numbers[heavy], counts[heavy]
        chosen = np.ones(events.size, bool) if chosen is None else chosen.copy()
        chosen[chosen] = heavy
    return chosen, times, np.ascontiguousarray(numbers), counts
