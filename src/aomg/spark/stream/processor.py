"""Level 2 on a stream: what a shard keeps in Spark's state store, and when it answers.

Each micro-batch brings tallies, and tells every shard the latest time that any event had. Tallies wait, added up by
sub-window, until the watermark, that time less the lateness, passes the sub-window's end; then it closes, for every
key at once, in the micro-batch that brought the time. An event is late whose sub-window closed in a micro-batch before.
So a window is answered a micro-batch sooner than by Spark's own watermark, which moves between micro-batches, and each
query has its own. Kept are

* `open`: the tallies of sub-windows that have not closed, an entry for each micro-batch,
* the summaries that a window still needs (`aomg.spark.stream.summaries`),
* `ledger`: whose state it is, how far the shard has come, and what became of every event (`aomg.spark.stream.ledger`).

Everything is a function of the events and of the micro-batches that they came in; Spark's checkpoint makes it exactly
once.
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
from aomg.spark.level1 import Level1, TimeBy, merged
from aomg.spark.level2 import Answer, Shard, by_shard, slide
from aomg.spark.parcels import FIRST, NEVER, PARCELS, pack, parcel, unpack
from aomg.spark.stream.counted import Counted, newest
from aomg.spark.stream.ledger import SCHEMA, Ledger
from aomg.spark.stream.summaries import Living, entries, map_state, put, remove
from aomg.spark.worker import fleet_of, settle

_ADD_UP = 16  # micro-batches whose tallies wait as they came

OUTPUT = t.StructType([t.StructField("content", t.BinaryType())])


def stream_answers(
    source: Source,
    answer: Answer,
    schema: t.StructType,
    shards: int,
    clock: Any,
    max_clock_skew: Any,
    start: DataFrame | None,
    time_by: TimeBy,
) -> DataFrame:
    """The streaming plan: tally each micro-batch, keep and close in one stateful operator, unpack the answers."""
    query = answer.query
    columns = stream_columns(source, query, clock, max_clock_skew)
    parcels = columns.mapInArrow(Level1(query, shard_ids(shards), 0, source.texts, time_by), PARCELS)
    processor = ShardProcessor(answer, layout_of(answer, shards))
    initial = None if start is None else start.groupBy("shard")
    answers = parcels.groupBy("shard").transformWithState(processor, OUTPUT, "Append", "None", initial)
    return answers.mapInArrow(unpacked, schema)


def warm_state(parcels: DataFrame, answer: Answer) -> DataFrame:
    """What each shard would hold after these summaries: one row for each, to start a stream with."""
    return parcels.mapInArrow(_Warm(answer), PARCELS)


@dataclass(frozen=True)
class _Warm:
    answer: Answer

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Parcels of summaries in, one parcel of live rows for each shard out."""
        for number, epochs in by_shard(batches):
            latest, shard = NEVER, Shard(self.answer)
            for epoch, parcels in epochs:
                if epoch == FIRST:
                    latest = max(told for told, _ in parcels)
                else:
                    shard.close([unpack(content) for _, content in parcels], latest + 1)
            if shard.live:
                yield parcel(number, 0, latest=latest, content=pack(pa.concat_tables(shard.live)))


def layout_of(answer: Answer, shards: int) -> str:
    """One line that says what a checkpoint's state belongs to."""
    kind = "summaries" if answer.summaries else "windows"
    return f"{answer.query.text()}; shards {shards}; by {','.join(answer.names)}; of {kind}"


def unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Parcels of results -> their rows."""
    settle()
    for batch in batches:
        for content in batch["content"]:
            yield from unpack(content.as_buffer()).to_batches(max_chunksize=1 << 16)


class ShardProcessor(StatefulProcessor):
    """The stateful operator: one group is one shard."""

    def __init__(self, answer: Answer, layout: str) -> None:
        self._answer = answer
        self._layout = layout

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name what is kept: each name costs Spark some milliseconds in every task."""
        fleet_of(self._answer.query)
        self._ledger = handle.getValueState("ledger", SCHEMA)
        self._open = map_state(handle, "open")
        self._living = Living(handle, self._answer.query)

    def close(self) -> None:
        """Nothing to let go."""

    # -- what comes -------------------------------------------------------------------------------------------------

    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:  # noqa: N802
        """Begin with the summaries of another run."""
        ledger, end = self._read_ledger(), initialState.latest + 1
        rows = unpack(initialState.content)
        if self._answer.query.counted:
            self._living.replace({}, rows, ledger.next_entry())
        else:
            self._living.keep(self._living.known(), rows, ledger.closed_to, end, ledger.next_entry())
            ledger.closed_to = end
        self._ledger.update(ledger.row())

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802
        """Count the tallies of a micro-batch, those of closed sub-windows as late; then close what is over."""
        ledger = self._read_ledger()
        tables = []
        for row in rows:
            ledger.latest = max(ledger.latest, row.latest)
            ledger.clock = max(ledger.clock, row.clock)
            ledger.came += row.came
            ledger.refused += row.refused
            ledger.future += row.future
            if row.content is not None:
                tables.append(unpack(row.content))
        answers = None
        if not self._answer.query.counted:
            if tables:
                self._take(pa.concat_tables(tables), ledger)
            answers = self._close_passed(ledger)
        elif tables:
            answers = self._take_counted(pa.concat_tables(tables), ledger)
        self._ledger.update(ledger.row())
        if answers is not None:
            yield Row(content=pack(answers))

    def _take(self, table: pa.Table, ledger: Ledger) -> None:
        """Put tallies to those that wait for their sub-windows to close; add them up now and then."""
        late = pc.less(table["number"], ledger.closed_to)
        ledger.late += pc.sum(pc.filter(table["seen"], late)).as_py() or 0
        table = table.filter(pc.invert(late))
        if table.num_rows == 0:
            return
        ledger.open += pc.sum(table["seen"]).as_py()
        if ledger.waiting >= _ADD_UP:
            waiting = entries(self._open)
            remove(self._open, waiting)
            table = merged(self._answer.query, pa.concat_tables([*waiting.values(), table]))
            ledger.waiting = 0
        put(self._open, ledger.next_entry(), table)
        ledger.waiting += 1

    def _take_counted(self, table: pa.Table, ledger: Ledger) -> pa.Table | None:
        """Windows counted in elements: each key has its own time, so its sub-windows close when they are full."""
        live, waiting = self._living.known().recent, entries(self._open)
        taken = Counted(self._answer.query, list(live.values()), list(waiting.values()), table)
        ledger.late += taken.late
        ledger.open += taken.came - taken.late - taken.used
        ledger.used += taken.used
        lives_on = [] if self._answer.summaries else list(live.values())
        answers, kept = slide(self._answer, [*lives_on, taken.due], NEVER, NEVER)
        if kept is not None:
            keeps = fleet_of(self._answer.query).live_span
            self._living.replace(live, newest([*live.values(), kept], keeps), ledger.next_entry())
        remove(self._open, waiting)
        put(self._open, ledger.next_entry(), taken.waiting)
        return answers

    # -- when time has passed ---------------------------------------------------------------------------------------

    def _close_passed(self, ledger: Ledger) -> pa.Table | None:
        """Close every sub-window that the watermark has passed, and answer for each and for idle ones."""
        query, start = self._answer.query, ledger.closed_to
        end = NEVER if ledger.clock == NEVER else (ledger.clock - query.lateness) // int(query.period)
        if end <= start:
            return None
        due, known = self._due_rows(end, ledger), self._living.known()
        answers, closed = slide(self._answer, [*self._living.rows(known, end), *due], start, end)
        if self._answer.summaries:
            closed = None
        self._living.keep(known, closed, start, end, ledger.next_entry())
        ledger.closed_to = end
        return answers

    def _due_rows(self, end: int, ledger: Ledger) -> list[pa.Table]:
        """The tallies of sub-windows that close; the others go on waiting."""
        waiting = entries(self._open)
        if not waiting:
            return []
        table = pa.concat_tables(waiting.values())
        passed = pc.less(table["number"], end)
        due, rest = table.filter(passed), table.filter(pc.invert(passed))
        if due.num_rows:
            events = pc.sum(due["seen"]).as_py()
            ledger.used += events
            ledger.open -= events
            remove(self._open, waiting)
            put(self._open, ledger.next_entry(), rest)
            ledger.waiting = min(rest.num_rows, 1)
        return [due]

    # -- the state --------------------------------------------------------------------------------------------------

    def _read_ledger(self) -> Ledger:
        """The shard's ledger; refuses one that another query wrote."""
        known = self._ledger.get()
        if known is None:
            return Ledger(self._layout)
        layout, *numbers = known
        if layout != self._layout:
            raise StateError(difference(layout, self._layout))
        return Ledger(layout, *map(int, numbers))


def difference(known: str, asked: str) -> str:
    """What differs between the query of a checkpoint and the one that asks for it."""
    parts = zip(known.split("; "), asked.split("; "), strict=False)
    differing = [f"{readable(there)!r} there, {readable(here)!r} here" for there, here in parts if there != here]
    return (
        "the checkpoint was written by another query: "
        + "; ".join(differing)
        + ". Ask the same query again, or start with a new checkpoint directory (from stored summaries, it starts warm)"
    )
