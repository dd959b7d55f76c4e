"""Level 2 on a stream: a shard's state in Spark's state store, and when it emits windows.

Each micro-batch has tallies, and every shard gets the latest time of any event. Tallies wait, merged by sub-window,
until the watermark (that time minus the lateness) passes the sub-window's end; then it closes, for every key at once,
in the same micro-batch. An event is late if its sub-window closed in an earlier micro-batch. Spark's own watermark
would emit windows one micro-batch later, and all queries would share it; here each query has its own.

The state of a shard:

* `open`: the tallies of sub-windows that have not closed, a table for each micro-batch,
* the live summaries (`aomg.spark.stream.summaries`),
* `ledger`: the query, how far the shard has come, and what became of every event (`aomg.spark.stream.ledger`).

The state is a function of the events and of how micro-batches divide them; with Spark's checkpoint every event counts
exactly once.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Row
from pyspark.sql import types as t
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from aomg.errors import StateError
from aomg.query import readable
from aomg.spark.intake import Source, stream_columns
from aomg.spark.keys import shard_ids
from aomg.spark.level1 import Level1
from aomg.spark.level2 import SparkAnswer
from aomg.spark.parcels import PARCELS, Parcel, batches_of, by_epoch, by_shard
from aomg.spark.stream.ledger import SCHEMA, Ledger
from aomg.spark.stream.summaries import LiveSummaries, maps_of, put_table, read_tables, remove_tables
from aomg.spark.time_policy import TimePolicy
from aomg.spark.worker import freeze_loaded_objects, prepare_worker
from aomg.spark.worker_errors import message_first
from aomg.stateful_operator import ShardOperator, map_state
from aomg.tables.count_windows import CountWindows, newest_summaries
from aomg.tables.keyed_windows import keyed_windows
from aomg.tables.level1 import merge_tally_rows
from aomg.tables.level2 import Answer, Shard, slide
from aomg.tables.rows import NEVER, pack, unpack

_UNMERGED = 16  # tables of open tallies before they are merged into one

OUTPUT = t.StructType([PARCELS["content"]])


def stream_answers(
    source: Source, answer: SparkAnswer, shards: int, policy: TimePolicy, start: DataFrame | None
) -> DataFrame:
    """The streaming plan: tally each micro-batch, store and close in one stateful operator, unpack the output."""
    ids, on_workers = shard_ids(shards), policy.on_workers()
    level1 = Level1(answer.query, ids, 0, source.texts, on_workers)
    parcels = stream_columns(source, policy).mapInArrow(level1, PARCELS)
    processor = ShardProcessor(answer, layout_of(answer, shards), on_workers)
    operator = ShardOperator(processor, SCHEMA, ("open", *maps_of(answer.query)))
    initial = None if start is None else start.groupBy("shard")
    outputs = parcels.groupBy("shard").transformWithState(operator, OUTPUT, "Append", "None", initial)
    return outputs.mapInArrow(unpack_outputs, answer.schema)


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
        for number, parcels in by_shard(batches):
            shard = Shard(self.answer)
            latest, epochs = by_epoch(parcels)
            for _, tables in epochs:
                shard.close(tables, latest + 1)
            if shard.live:
                yield Parcel(number, latest=latest, content=pack(pa.concat_tables(shard.live))).batch()


def layout_of(answer: Answer, shards: int) -> str:
    """One line that identifies the query of a checkpoint."""
    kind = "summaries" if answer.summaries else "windows"
    return f"{answer.query.text()}; shards {shards}; by {','.join(answer.names)}; of {kind}"


def unpack_outputs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Unpack the rows that the shards put out."""
    freeze_loaded_objects()
    for batch in batches:
        for content in batch["content"]:
            yield from batches_of(unpack(content.as_buffer()))


class ShardProcessor(StatefulProcessor):
    """The work of the stateful operator on workers: one group is one shard."""

    def __init__(self, answer: Answer, layout: str, policy: TimePolicy) -> None:
        self._answer = answer
        self._layout = layout
        self._policy = policy

    @message_first
    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state. Each name costs Spark some milliseconds in every task."""
        prepare_worker(self._answer.query)
        self._ledger = handle.getValueState("ledger", SCHEMA)
        self._open = map_state(handle, "open")
        self._live = LiveSummaries(handle, self._answer.query)

    def close(self) -> None:
        """Nothing to release."""

    # -- input --------------------------------------------------------------------------------------------------------

    @message_first
    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:  # noqa: N802
        """Start with stored summaries."""
        ledger, end = self._read_ledger(), initialState.latest + 1
        rows = unpack(initialState.content)
        if self._answer.query.counted:
            self._live.replace({}, rows, ledger.next_entry())
        else:
            self._live.store(self._live.read(), rows, ledger.closed_to, end, ledger.next_entry())
            ledger.closed_to = end
        self._ledger.update(ledger.row())

    @message_first
    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802
        """Add the tallies of a micro-batch, count late events, then close every sub-window that has ended."""
        ledger = self._read_ledger()
        tables = []
        for parcel in rows:
            ledger.add(parcel)
            if parcel.content is not None:
                tables.append(unpack(parcel.content))
        output = None
        if not self._answer.query.counted:
            if tables:
                self._add(pa.concat_tables(tables), ledger)
            output = self._close_ended(ledger)
        elif tables:
            output = self._close_full(pa.concat_tables(tables), ledger)
        self._ledger.update(ledger.row())
        if output is not None:
            yield Row(content=pack(output))

    def _add(self, table: pa.Table, ledger: Ledger) -> None:
        """Store tallies until their sub-windows close. Now and then, merge the stored tables."""
        late = self._policy.is_late(table["number"], ledger.closed_to)
        ledger.late += pc.sum(pc.filter(table["seen"], late)).as_py() or 0
        table = table.filter(pc.invert(late))
        if table.num_rows == 0:
            return
        ledger.open += pc.sum(table["seen"]).as_py()
        if ledger.waiting >= _UNMERGED:
            waiting = read_tables(self._open)
            remove_tables(self._open, waiting)
            sliding = keyed_windows(self._answer.query).sliding
            table = merge_tally_rows(sliding, pa.concat_tables([*waiting.values(), table]))
            ledger.waiting = 0
        put_table(self._open, ledger.next_entry(), table)
        ledger.waiting += 1

    # -- closing sub-windows ------------------------------------------------------------------------------------------

    def _close_full(self, new: pa.Table, ledger: Ledger) -> pa.Table | None:
        """Windows counted in events: each key has its own time, so its sub-windows close when they are full."""
        query, live, waiting = self._answer.query, self._live.read().recent, read_tables(self._open)
        batch = CountWindows(keyed_windows(query).sliding, list(live.values()), list(waiting.values()), new)
        ledger.late += batch.late
        ledger.open += batch.came - batch.late - batch.used
        ledger.used += batch.used
        needed = [] if self._answer.summaries else list(live.values())
        output, closed = slide(self._answer, [*needed, batch.due], NEVER, NEVER)
        if closed is not None:
            summaries = newest_summaries([*live.values(), closed], keyed_windows(query).live_span)
            self._live.replace(live, summaries, ledger.next_entry())
        remove_tables(self._open, waiting)
        put_table(self._open, ledger.next_entry(), batch.waiting)
        return output

    def _close_ended(self, ledger: Ledger) -> pa.Table | None:
        """Close every sub-window that the watermark has passed, and emit a result for each, idle ones too."""
        start, end = ledger.closed_to, self._policy.first_open(ledger.clock)
        if end <= start:
            return None
        due, stored = self._due_rows(end, ledger), self._live.read()
        output, closed = slide(self._answer, [*self._live.rows(stored, end), *due], start, end)
        if self._answer.summaries:
            closed = None
        self._live.store(stored, closed, start, end, ledger.next_entry())
        ledger.closed_to = end
        return output

    def _due_rows(self, end: int, ledger: Ledger) -> list[pa.Table]:
        """The tallies of sub-windows that close; the others stay in the state."""
        waiting = read_tables(self._open)
        if not waiting:
            return []
        table = pa.concat_tables(waiting.values())
        ended = pc.less(table["number"], end)
        due, remaining = table.filter(ended), table.filter(pc.invert(ended))
        if due.num_rows:
            events = pc.sum(due["seen"]).as_py()
            ledger.used += events
            ledger.open -= events
            remove_tables(self._open, waiting)
            put_table(self._open, ledger.next_entry(), remaining)
            ledger.waiting = min(remaining.num_rows, 1)
        return [due]

    # -- state --------------------------------------------------------------------------------------------------------

    def _read_ledger(self) -> Ledger:
        """The shard's ledger. Refuses one that another query wrote."""
        stored = self._ledger.get()
        if stored is None:
            return Ledger(self._layout)
        layout, *numbers = stored
        if layout != self._layout:
            raise StateError(difference(layout, self._layout))
        return Ledger(layout, *map(int, numbers))


def difference(stored: str, requested: str) -> str:
    """The error text that names how the query of a checkpoint differs from the one that was started with it."""
    parts = zip(stored.split("; "), requested.split("; "), strict=False)
    differing = [f"{readable(there)!r} there, {readable(here)!r} here" for there, here in parts if there != here]
    return (
        "the checkpoint was written by another query: "
        + "; ".join(differing)
        + ". Start the same query again, or use a new checkpoint directory (warm=... starts it from stored summaries)"
    )
