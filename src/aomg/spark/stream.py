"""Level 2 on a stream: what a shard keeps in Spark's state store, and when it answers.

Each micro-batch brings tallies. They wait, added up by sub-window, until the watermark passes the sub-window's end;
then a timer closes it, for every key of the shard at once, in the same micro-batch as every other shard does. Kept are

* `open`: the tallies of sub-windows that have not closed, an entry for each micro-batch,
* the summaries that a window still needs (`aomg.spark.living`),
* `clock`: up to where the shard has answered, and how many entries there were and are,
* `accounts`: what became of every event,
* `layout`: the query that this state belongs to.

Everything is a function of the events and the watermark; Spark's checkpoint makes it exactly once.
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
from aomg.spark.counted import Counted, newest
from aomg.spark.intake import Source, stream_columns
from aomg.spark.level1 import FIRST, NEVER, PARCELS, Level1, merged, parcel
from aomg.spark.level2 import Answer, Shard, by_shard, slide
from aomg.spark.living import Living, entries, map_state, put, remove
from aomg.spark.parcels import pack, shard_ids, unpack
from aomg.spark.worker import fleet_of, settle

_ADD_UP = 16  # micro-batches whose tallies wait as they came

OUTPUT = t.StructType([t.StructField("content", t.BinaryType())])
CLOCK = ("closed_to", "entry", "waiting")
ACCOUNTS = ("used", "late", "open", "came", "refused", "future", "latest")


def stream_answers(
    source: Source,
    answer: Answer,
    schema: t.StructType,
    shards: int,
    clock: Any,
    max_clock_skew: Any,
    start: DataFrame | None,
) -> DataFrame:
    """The streaming plan: tally each micro-batch, keep and close in one stateful operator, unpack the answers."""
    query = answer.query
    columns = stream_columns(source, query, clock, max_clock_skew)
    parcels = columns.mapInArrow(Level1(query, shard_ids(shards), 0, source.texts), PARCELS)
    processor = ShardProcessor(answer, layout_of(answer, shards))
    mode = "None" if query.counted else "EventTime"
    initial = None if start is None else start.groupBy("shard")
    answers = parcels.groupBy("shard").transformWithState(processor, OUTPUT, "Append", mode, initial)
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
        self._layout_text = layout

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name what is kept."""
        self._handle = handle
        self._layout = handle.getValueState("layout", "text string")
        self._clock = handle.getValueState("clock", ", ".join(f"{name} long" for name in CLOCK))
        self._accounts = handle.getValueState("accounts", ", ".join(f"{name} long" for name in ACCOUNTS))
        self._open = map_state(handle, "open")
        self._living = Living(handle, self._answer.query)

    def close(self) -> None:
        """Nothing to let go."""

    # -- what comes -------------------------------------------------------------------------------------------------

    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:  # noqa: N802
        """Begin with the summaries of another run."""
        self._check_layout()
        clock, end = self._read_clock(), initialState.latest + 1
        rows = unpack(initialState.content)
        if self._answer.query.counted:
            self._living.replace({}, rows, _next_entry(clock))
        else:
            self._living.keep(self._living.known(), rows, clock["closed_to"], end, _next_entry(clock))
            clock["closed_to"] = end
            self._handle.registerTimer(self._due(end))
        self._write_clock(clock)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802
        """Count the tallies of a micro-batch; those of closed sub-windows are late."""
        self._check_layout()
        accounts, clock = self._read_accounts(), self._read_clock()
        tables = []
        for row in rows:
            accounts["latest"] = max(accounts["latest"], row.latest)
            for name in ("came", "refused", "future"):
                accounts[name] += row[name]
            if row.content is not None:
                tables.append(unpack(row.content))
        answers = None
        if tables and self._answer.query.counted:
            answers = self._take_counted(pa.concat_tables(tables), accounts, clock)
        elif tables:
            clock["passed"] = max(clock["closed_to"], self._passed(timerValues))
            self._take(pa.concat_tables(tables), accounts, clock)
        self._write_accounts(accounts)
        self._write_clock(clock)
        if answers is not None:
            yield Row(content=pack(answers))

    def _take(self, table: pa.Table, accounts: dict[str, int], clock: dict[str, int]) -> None:
        """Put tallies to those that wait for their sub-windows to close; add them up now and then."""
        late = pc.less(table["number"], clock.pop("passed"))
        accounts["late"] += pc.sum(pc.filter(table["seen"], late)).as_py() or 0
        table = table.filter(pc.invert(late))
        if table.num_rows == 0:
            return
        accounts["open"] += pc.sum(table["seen"]).as_py()
        self._handle.registerTimer(self._due(pc.min(table["number"]).as_py()))
        if clock["waiting"] >= _ADD_UP:
            waiting = entries(self._open)
            remove(self._open, waiting)
            table = merged(self._answer.query, pa.concat_tables([*waiting.values(), table]))
            clock["waiting"] = 0
        put(self._open, _next_entry(clock), table)
        clock["waiting"] += 1

    def _take_counted(self, table: pa.Table, accounts: dict[str, int], clock: dict[str, int]) -> pa.Table | None:
        """Windows counted in elements: each key has its own time, so its sub-windows close when they are full."""
        live, waiting = self._living.known().recent, entries(self._open)
        taken = Counted(self._answer.query, list(live.values()), list(waiting.values()), table)
        accounts["late"] += taken.late
        accounts["open"] += taken.came - taken.late - taken.used
        accounts["used"] += taken.used
        lives_on = [] if self._answer.summaries else list(live.values())
        answers, kept = slide(self._answer, [*lives_on, taken.due], NEVER, NEVER)
        if kept is not None:
            keeps = fleet_of(self._answer.query).keeps
            self._living.replace(live, newest([*live.values(), kept], keeps), _next_entry(clock))
        remove(self._open, waiting)
        put(self._open, _next_entry(clock), taken.waiting)
        return answers

    # -- when time has passed ---------------------------------------------------------------------------------------

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802
        """Close every sub-window that the watermark has passed, and answer for each and for idle ones."""
        self._check_layout()
        end, clock = self._passed(timerValues), self._read_clock()
        if end <= clock["closed_to"]:
            return
        due, known = self._due_rows(end, clock), self._living.known()
        answers, closed = slide(self._answer, [*self._living.rows(known, end), *due], clock["closed_to"], end)
        if self._answer.summaries:
            closed = None
        if self._living.keep(known, closed, clock["closed_to"], end, _next_entry(clock)):
            self._handle.registerTimer(self._due(end))
        clock["closed_to"] = end
        self._write_clock(clock)
        if answers is not None:
            yield Row(content=pack(answers))

    def _due_rows(self, end: int, clock: dict[str, int]) -> list[pa.Table]:
        """The tallies of sub-windows that close; the others go on waiting."""
        waiting = entries(self._open)
        if not waiting:
            return []
        table = pa.concat_tables(waiting.values())
        passed = pc.less(table["number"], end)
        due, rest = table.filter(passed), table.filter(pc.invert(passed))
        if due.num_rows:
            accounts = self._read_accounts()
            events = pc.sum(due["seen"]).as_py()
            accounts["used"] += events
            accounts["open"] -= events
            self._write_accounts(accounts)
            remove(self._open, waiting)
            put(self._open, _next_entry(clock), rest)
            clock["waiting"] = min(rest.num_rows, 1)
        if rest.num_rows:
            self._handle.registerTimer(self._due(pc.min(rest["number"]).as_py()))
        return [due]

    # -- time -------------------------------------------------------------------------------------------------------

    def _passed(self, timer_values: Any) -> int:
        """The first sub-window that the watermark has not passed."""
        watermark = timer_values.getCurrentWatermarkInMs()
        return int(watermark) * 1000 // int(self._answer.query.period) if watermark > 0 else NEVER

    def _due(self, number: int) -> int:
        """The watermark, in milliseconds, at which a sub-window closes."""
        return int(-(-(number + 1) * self._answer.query.period // 1000))

    # -- the state --------------------------------------------------------------------------------------------------

    def _check_layout(self) -> None:
        known = self._layout.get()
        if known is None:
            self._layout.update((self._layout_text,))
        elif known[0] != self._layout_text:
            raise StateError(difference(known[0], self._layout_text))

    def _read_clock(self) -> dict[str, int]:
        known = self._clock.get()
        if known is None:
            return {name: NEVER if name == "closed_to" else 0 for name in CLOCK}
        return dict(zip(CLOCK, map(int, known), strict=True))

    def _write_clock(self, clock: dict[str, int]) -> None:
        self._clock.update(tuple(clock[name] for name in CLOCK))

    def _read_accounts(self) -> dict[str, int]:
        known = self._accounts.get()
        if known is None:
            return {name: NEVER if name == "latest" else 0 for name in ACCOUNTS}
        return dict(zip(ACCOUNTS, map(int, known), strict=True))

    def _write_accounts(self, accounts: dict[str, int]) -> None:
        self._accounts.update(tuple(accounts[name] for name in ACCOUNTS))


def _next_entry(clock: dict[str, int]) -> int:
    """A number for an entry that no other has had."""
    clock["entry"] += 1
    return clock["entry"]


def difference(known: str, asked: str) -> str:
    """What differs between the query of a checkpoint and the one that asks for it."""
    parts = zip(known.split("; "), asked.split("; "), strict=False)
    differing = [f"{there!r} there, {here!r} here" for there, here in parts if there != here]
    return (
        "the checkpoint was written by another query: "
        + "; ".join(differing)
        + ". Ask the same query again, or start with a new checkpoint directory (from stored summaries, it starts warm)"
    )
