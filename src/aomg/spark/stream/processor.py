"""Level 2 on a stream: a shard's state in Spark's state store, and when it emits windows.

Each micro-batch has tallies, and every shard gets the latest time of any event. Tallies wait, merged by sub-window,
until the watermark (that time minus the lateness) passes the sub-window's end; then it closes, for every key at once,
in the same micro-batch. An event is late if its sub-window closed in an earlier micro-batch. Spark's own watermark
would emit windows one micro-batch later, and all queries would share it; here each query has its own.

The state of a shard, for all queries of the stream:

* `open`: the tallies of sub-windows that have not closed, a table for each micro-batch,
* the live summaries (`aomg.spark.stream.summaries`),
* `ledgers`: of each query how far the shard has come, and what became of every event (`aomg.spark.stream.ledger`).

The state is a function of the events and of how micro-batches divide them; with Spark's checkpoint every event counts
exactly once. Queries can be added to a state and removed from it: the others do not notice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Row
from pyspark.sql import types as t
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from aomg.errors import StateError
from aomg.query import Query, readable
from aomg.spark.parcels import PARCELS, REFUSED, Parcel, by_epoch, by_shard
from aomg.spark.stream.ledger import BEFORE, SCHEMA, Ledger, ledger_of
from aomg.spark.stream.summaries import LiveSummaries, maps_of
from aomg.spark.stream.tables import SLOTS, SlotTables, StateMap
from aomg.spark.time_policy import TimePolicy
from aomg.spark.worker import prepare_worker
from aomg.spark.worker_errors import message_first
from aomg.stateful_operator import ShardOperator, map_state
from aomg.tables.count_windows import CountWindows, newest_summaries
from aomg.tables.keyed_windows import keyed_windows
from aomg.tables.level1 import merge_tally_rows
from aomg.tables.level2 import Answer, Shard, slide
from aomg.tables.rows import NEVER, pack, unpack

_UNMERGED = 16  # tables of open tallies before they are merged into one

OUTPUT = t.StructType([PARCELS["query"], PARCELS["content"]])
"""The schema of the operator's rows: tables of results, or of summaries, or of refused rows."""


@dataclass(frozen=True)
class StreamedQuery:
    """A query of a stream: its name, what it answers, when its sub-windows close, and what its state depends on."""

    name: str
    answer: Answer
    policy: TimePolicy
    layout: str

    @classmethod
    def of(
        cls, name: str, query: Query, answer: Answer, policy: TimePolicy, by: Sequence[str], shards: int
    ) -> "StreamedQuery":
        """A query with these by columns, whose keys are divided into so many shards.

        The answer's query may have the lateness of another one, which its state does not depend on.
        """
        return cls(name, answer, policy.on_workers(), layout_of(query, answer.windowed, by, shards))

    def new_ledger(self, slot: int, clock: int) -> Ledger:
        """The ledger of a query that is added when the stream's clock is there: time does not go back for it."""
        first = self.policy.first_open(clock)
        return Ledger(self.layout, name=self.name, slot=slot, clock=clock, closed_to=first)


def stream_outputs(parcels: DataFrame, queries: Sequence[StreamedQuery], start: DataFrame | None) -> DataFrame:
    """Store and close the parcels of all queries in one stateful operator."""
    maps = dict.fromkeys(name for one in queries for name in maps_of(one.answer.query))
    processor = ShardProcessor(tuple(queries), tuple(maps))
    operator = ShardOperator(processor, {"ledgers": SCHEMA, "ledger": BEFORE}, ("open", *maps))
    initial = None if start is None else start.groupBy("shard")
    return parcels.groupBy("shard").transformWithState(operator, OUTPUT, "Append", "None", initial)


def warm_state(parcels: DataFrame, answer: Answer) -> DataFrame:
    """The state to start a stream with: what each shard has after these summaries, in one row."""
    return parcels.mapInArrow(_WarmState(answer), PARCELS)


@dataclass(frozen=True)
class _WarmState:
    answer: Answer

    @message_first
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Parcels of summaries in, one parcel of live rows for each shard out."""
        prepare_worker(self.answer.query)
        for number, _, parcels in by_shard(batches):
            shard = Shard(self.answer)
            latest, epochs = by_epoch(parcels)
            for _, tables in epochs:
                shard.close(tables, latest + 1)
            if shard.live:
                yield Parcel(number, latest=latest, content=pack(pa.concat_tables(shard.live))).batch()


def layout_of(query: Query, windowed: bool, by: Sequence[str], shards: int) -> str:
    """One line that identifies what the state of a query depends on."""
    return f"{query.text()}; shards {shards}; by {','.join(by)}; of {'windows' if windowed else 'summaries'}"


class ShardProcessor(StatefulProcessor):
    """The work of the stateful operator on workers: one group is one shard.

    maps
        The maps of live summaries.
    """

    def __init__(self, queries: tuple[StreamedQuery, ...], maps: tuple[str, ...]) -> None:
        self._queries, self._names = queries, maps

    @message_first
    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state. Each name costs Spark some milliseconds in every task."""
        prepare_worker(*(query.answer.query for query in self._queries))
        self._ledgers = handle.getValueState("ledgers", SCHEMA)
        self._before = handle.getValueState("ledger", BEFORE)
        self._maps = {name: StateMap(map_state(handle, name)) for name in ("open", *self._names)}

    def close(self) -> None:
        """Nothing to release."""

    @message_first
    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:  # noqa: N802
        """Start with stored summaries; the stream has one query."""
        ledgers = self._read_ledgers()
        self._step(0, ledgers).start(unpack(initialState.content), initialState.latest + 1)
        self._write_ledgers(ledgers)

    @message_first
    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802
        """Add the tallies of a micro-batch, count late events, then close every sub-window that has ended."""
        ledgers = self._read_ledgers()
        tables: list[list[pa.Table]] = [[] for _ in self._queries]
        for parcel in rows:
            if parcel.query == REFUSED:
                yield Row(query=REFUSED, content=bytes(parcel.content))
                continue
            ledgers[parcel.query].add(parcel)
            if parcel.content is not None:
                tables[parcel.query].append(unpack(parcel.content))
        for place, new in enumerate(tables):
            for output in self._step(place, ledgers).take(new):
                yield Row(query=place, content=pack(output))
        self._write_ledgers(ledgers)

    def _step(self, place: int, ledgers: Sequence[Ledger]) -> "_QueryStep":
        return _QueryStep(self._queries[place], ledgers[place], self._maps)

    # -- ledgers ------------------------------------------------------------------------------------------------------

    def _read_ledgers(self) -> list[Ledger]:
        """The shard's ledger of each query: of the state, or new. Removes the state of other queries.

        Raises StateError if the state is of other queries, or of a query that has changed.
        """
        for state in self._maps.values():
            state.begin()
        stored = self._stored_ledgers()
        current = {query.name: query for query in self._queries}
        if stored and not any(name in current for name in stored):
            raise StateError(
                f"the checkpoint was written by other queries: {', '.join(stored)} there, {', '.join(current)} here. "
                "Name one of them at least, or use a new checkpoint directory"
            )
        for name, ledger in stored.items():
            if name not in current:
                for state in self._maps.values():
                    state.clear(ledger.slot)
            elif ledger.layout != current[name].layout:
                raise StateError(difference(ledger.layout, current[name].layout, name))
        stored = {name: ledger for name, ledger in stored.items() if name in current}
        used = {ledger.slot for ledger in stored.values()}
        free = iter(slot for slot in range(SLOTS) if slot not in used)
        clock = max((ledger.clock for ledger in stored.values()), default=NEVER)
        return [
            stored[query.name] if query.name in stored else query.new_ledger(next(free), clock)
            for query in self._queries
        ]

    def _stored_ledgers(self) -> dict[str, Ledger]:
        """The ledgers of the state by name. One of the version before becomes that of the only query."""
        stored = self._ledgers.get()
        if stored is not None:
            return {ledger.name: ledger for ledger in map(ledger_of, stored[0])}
        before = self._before.get()
        if before is None:
            return {}
        self._before.clear()
        ledger = ledger_of(before)
        ledger.name = self._queries[0].name
        return {ledger.name: ledger}

    def _write_ledgers(self, ledgers: Sequence[Ledger]) -> None:
        self._ledgers.update(([ledger.row() for ledger in ledgers],))


class _QueryStep:
    """One step of one query in a shard."""

    def __init__(self, query: StreamedQuery, ledger: Ledger, maps: dict[str, StateMap]) -> None:
        self._answer, self._policy, self._ledger = query.answer, query.policy, ledger
        self._open = SlotTables(maps["open"], ledger.slot)
        self._live = LiveSummaries(maps, query.answer.query, ledger.slot)

    def start(self, rows: pa.Table, end: int) -> None:
        """Start with these live rows, of sub-windows up to `end` (exclusive)."""
        ledger = self._ledger
        if self._answer.query.counted:
            self._live.replace({}, rows, ledger.next_entry())
        else:
            self._live.store(self._live.read(), rows, ledger.closed_to, end, ledger.next_entry())
            ledger.closed_to = end

    def take(self, tables: Sequence[pa.Table]) -> list[pa.Table]:
        """Add tallies, then close what has ended; returns the output."""
        if not self._answer.query.counted:
            if tables:
                self._add(pa.concat_tables(tables))
            return self._close_ended()
        return self._close_full(pa.concat_tables(tables)) if tables else []

    def _add(self, table: pa.Table) -> None:
        """Store tallies until their sub-windows close. Now and then, merge the stored tables."""
        ledger = self._ledger
        late = self._policy.is_late(table["number"], ledger.closed_to)
        ledger.late += pc.sum(pc.filter(table["seen"], late)).as_py() or 0
        table = table.filter(pc.invert(late))
        if table.num_rows == 0:
            return
        ledger.open += pc.sum(table["seen"]).as_py()
        if ledger.waiting >= _UNMERGED:
            waiting = self._open.read()
            self._open.remove(waiting)
            sliding = keyed_windows(self._answer.query).sliding
            table = merge_tally_rows(sliding, pa.concat_tables([*waiting.values(), table]))
            ledger.waiting = 0
        self._open.put(ledger.next_entry(), table)
        ledger.waiting += 1

    def _close_full(self, new: pa.Table) -> list[pa.Table]:
        """Windows counted in events: each key has its own time, so its sub-windows close when they are full."""
        query, ledger = self._answer.query, self._ledger
        live, waiting = self._live.read().recent, self._open.read()
        batch = CountWindows(keyed_windows(query).sliding, list(live.values()), list(waiting.values()), new)
        ledger.late += batch.late
        ledger.open += batch.came - batch.late - batch.used
        ledger.used += batch.used
        needed = list(live.values()) if self._answer.windowed else []
        outputs, closed = slide(self._answer, [*needed, batch.due], NEVER, NEVER)
        if closed is not None:
            summaries = newest_summaries([*live.values(), closed], keyed_windows(query).live_span)
            self._live.replace(live, summaries, ledger.next_entry())
        self._open.remove(waiting)
        self._open.put(ledger.next_entry(), batch.waiting)
        return outputs

    def _close_ended(self) -> list[pa.Table]:
        """Close every sub-window that the watermark has passed, and emit a result for each, idle ones too."""
        ledger = self._ledger
        start, end = ledger.closed_to, self._policy.first_open(ledger.clock)
        if end <= start:
            return []
        due, stored = self._due_rows(end), self._live.read()
        outputs, closed = slide(self._answer, [*self._live.rows(stored, end), *due], start, end)
        self._live.store(stored, closed if self._answer.windowed else None, start, end, ledger.next_entry())
        ledger.closed_to = end
        return outputs

    def _due_rows(self, end: int) -> list[pa.Table]:
        """The tallies of sub-windows that close; the others stay in the state."""
        waiting, ledger = self._open.read(), self._ledger
        if not waiting:
            return []
        table = pa.concat_tables(waiting.values())
        ended = pc.less(table["number"], end)
        due, remaining = table.filter(ended), table.filter(pc.invert(ended))
        if due.num_rows:
            events = pc.sum(due["seen"]).as_py()
            ledger.used += events
            ledger.open -= events
            self._open.remove(waiting)
            self._open.put(ledger.next_entry(), remaining)
            ledger.waiting = min(remaining.num_rows, 1)
        return [due]


def difference(stored: str, requested: str, name: str = "") -> str:
    """The error text that names how the query of a checkpoint differs from the one that was started with it."""
    parts = zip(stored.split("; "), requested.split("; "), strict=False)
    differing = [f"{readable(there)!r} there, {readable(here)!r} here" for there, here in parts if there != here]
    which, rename = (f"query {name!r} of ", " under another name") if name else ("", "")
    return (
        f"{which}the checkpoint was written by another query: "
        + "; ".join(differing)
        + f". Start the same query again, or use a new checkpoint directory{rename and ', or start the new query'}"
        f"{rename} (warm=... starts it from stored summaries)"
    )
