"""Computes the results of one query for many keys, push by push: tables of events in, tables of results out.

All keys have one watermark: the latest time of any event, minus the query's lateness. A push counts all its events,
then closes what the watermark has passed, for every key at once; an event is late if an earlier push closed its
sub-window. Results equal those of an `aomg.Operator` for each key that is told the same times with `advance`, bit for
bit, whatever the order of the events in a push.

Windows counted in events have no common time: the numbers of a key's events are its time (aomg.tables.count_windows).
"""

import time as system
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aomg.core.arrivals import NEVER, last_end
from aomg.core.groups import Groups, MapParts
from aomg.core.intake import time_of
from aomg.core.weights import refuse_weights
from aomg.errors import FinishedError, InputError, StateError
from aomg.query import Query, duration_argument
from aomg.tables.accounts import Accounts
from aomg.tables.count_windows import CountWindows, newest_summaries
from aomg.tables.events import EventColumns, column_names, span_type
from aomg.tables.keyed_state import Arrived, KeyedState, no_rows
from aomg.tables.level1 import merge_tally_rows
from aomg.tables.level2 import Answer
from aomg.tables.quantiles import names_of_columns, output_table, refuse_no_query
from aomg.tables.rows import by_columns
from aomg.tables.saved import SavedHeader, pack_keys, rows_with_ids, unpack_keys, with_keys
from aomg.tables.source import open_source
from aomg.tables.threads import mapping, thread_count

_UNMERGED = 16  # tables of open tallies before they are merged into one
_FEW_KEYS = 1024  # whose ids are not worth to be given again
_PROCESSING = "processing"


class KeyedOperator:
    """The quantiles of many keys over a sliding window, push by push.

    Memory holds the live summaries and the tallies of open sub-windows of all keys. Do not push from two threads at
    once.

    value, time, by, weight
        The names of the columns, as in `aomg.quantiles`.
    threads
        How many threads to use; None: as many as there are CPUs. It does not change results.
    clock, max_clock_skew
        An event further than this after the clock does not move the watermark and is counted as future. The clock is
        "processing" (the time of the push), a fixed time, or None, which trusts all times.

    >>> import aomg, pyarrow as pa
    >>> operator = aomg.KeyedOperator(aomg.Query(200, 100, quantiles=(0.5,)), value="ms", time="n", by="host")
    >>> events = pa.table({"host": ["a"] * 100 + ["b"] * 50, "n": [*range(100), *range(50)], "ms": range(150)})
    >>> [(row["host"], row["count"], row["p50"]["value"]) for row in operator.push(events).to_pylist()]
    [('a', 100, 49.0)]
    >>> operator.accounts.open
    50
    """

    def __init__(
        self,
        query: Query,
        *,
        value: str,
        time: str,
        by: Sequence[str] | str | None = None,
        weight: str | None = None,
        threads: int | None = None,
        clock: Any = None,
        max_clock_skew: Any = "1 hour",
    ) -> None:
        refuse_no_query(query, "an operator needs")
        self.query = query
        self._by = tuple(names_of_columns(value, time, by, weight))
        self._value, self._time, self._weight = value, time, weight
        if weight is not None:
            refuse_weights(query)
        self._threads = thread_count(threads)
        self._clock = clock if clock is None or clock == _PROCESSING else time_of(clock)
        self._skew = duration_argument(max_clock_skew, "max_clock_skew")
        self._columns: EventColumns | None = None  # known from the first push on, and so are the two below
        self._state: KeyedState | None = None
        self._answer = Answer(query, self._by, span_type(query))
        self._live: list[pa.Table] = []
        self._open: list[pa.Table] = []
        self._latest, self._watermark, self._closed_to = NEVER, NEVER, NEVER
        self._counts = dict.fromkeys((field.name for field in fields(Accounts)), 0)
        self._finished = False

    # -- what is reported besides results -----------------------------------------------------------------------------

    @property
    def accounts(self) -> Accounts:
        """What became of every event so far."""
        return Accounts(**self._counts)

    @property
    def keys(self) -> int:
        """How many keys have live summaries or open sub-windows."""
        ids = [np.asarray(table["by0"]) for table in (*self._live, *self._open)]
        return int(np.unique(np.concatenate(ids)).size) if ids else 0

    @property
    def nbytes(self) -> int:
        """Bytes of live summaries and tallies of open sub-windows."""
        return sum(table.nbytes for table in (*self._live, *self._open))

    # -- pushing ------------------------------------------------------------------------------------------------------

    def push(self, events: Any) -> pa.Table:
        """Take a table of events and return the results of every window that closed, ordered by key and window.

        events
            A table of any kind that `aomg.quantiles` takes. It is one push, even if it is read as a stream. If it is
            refused, nothing has changed.
        """
        self._refuse_finished()
        source = open_source(events, column_names(self._value, self._time, self._by, self._weight))
        columns = EventColumns.of(source, self.query, self._value, self._time, self._by, self._weight)
        columns = columns if self._columns is None else columns.like(self._columns)
        state = self._state or KeyedState(self.query, columns.key_types, self._threads)
        state = state.with_key_types(columns.key_types)
        with mapping(self._threads) as map_parts:
            arrived = state.read(columns, source.tables, map_parts, self._limit())
            self._columns, self._state = columns, state
            self._answer = Answer(self.query, self._by, columns.span_type)
            self._count(came=arrived.came, refused=arrived.refused, future=arrived.future, used=arrived.weightless)
            tables = (self._take_counted if self.query.counted else self._take_timed)(state, arrived, map_parts)
        return self._output(tables)

    def advance(self, time: Any) -> pa.Table:
        """Advance the watermark of all keys: no event before `time` will arrive. Closes what ends by then.

        Only sub-windows that begin before `time` are part of the stream: `finish` emits no window for a later one,
        unless it has events.
        """
        self._refuse_finished()
        if self.query.counted:
            raise InputError("this query's windows are counted in events; advance() is for windows in event time")
        self._watermark = max(self._watermark, time_of(time))
        return self._close_to(self._watermark // self.query.period)

    def finish(self) -> pa.Table:
        """End the stream: close the open sub-windows of all keys and return their results.

        In event time the last window of each key is that of the latest event of any key, or of the last sub-window that
        begins before the time of `advance`, if that is later.
        """
        self._refuse_finished("already ")
        self._finished = True
        if self.query.counted or self._watermark == NEVER:
            return self._close_to(NEVER)
        return self._close_to(last_end(self.query.period, self._latest, self._watermark))

    def _refuse_finished(self, already: str = "") -> None:
        if self._finished:
            raise FinishedError(f"this operator has {already}finished its stream; create a new one for the next stream")

    def _limit(self) -> int | None:
        """The latest time that is not future, in microseconds."""
        if self._clock is None or self.query.counted:
            return None
        now = system.time_ns() // 1_000 if self._clock == _PROCESSING else int(self._clock)
        return now + self._skew

    def _count(self, **events: int) -> None:
        for name, number in events.items():
            self._counts[name] += number

    def _output(self, tables: Sequence[pa.Table]) -> pa.Table:
        types = [pa.null() for _ in self._by] if self._columns is None else self._columns.key_types
        return output_table(self._answer, tables, types)

    # -- sub-windows --------------------------------------------------------------------------------------------------

    def _take_timed(self, state: KeyedState, arrived: Arrived, map_parts: MapParts) -> list[pa.Table]:
        """Leave out late events, close what the watermark has passed, and keep the rest open."""
        if arrived.latest is not None:
            self._latest = max(self._latest, arrived.latest)
            self._watermark = max(self._watermark, self._latest - self.query.lateness)
        for table in arrived.tallies:
            on_time = pc.greater_equal(table["number"], self._closed_to)
            self._count(late=_events_of(table.filter(pc.invert(on_time))))
            self._put_open(state, table.filter(on_time))
        if self._watermark == NEVER:  # there has been no usable event
            return []
        stop = max(self._watermark // self.query.period, self._closed_to)
        due = arrived.groups
        if due is not None:
            on_time, ended = due.numbers >= self._closed_to, due.numbers < stop
            self._count(late=int(due.sizes[~on_time].sum()))
            if not ended.all():
                self._put_open(state, state.tally(due.select(~ended), map_parts))
            due = due.select(on_time & ended)
            due = due if due.values.size else None
        return self._close(state, stop, due, map_parts)

    def _take_counted(self, state: KeyedState, arrived: Arrived, map_parts: MapParts) -> list[pa.Table]:
        """Close the sub-windows that are full; each key has its own time."""
        new = [*arrived.tallies, *([] if arrived.groups is None else [state.tally(arrived.groups, map_parts)])]
        if not new:
            return []
        step = CountWindows(state.sliding, self._live, self._open, pa.concat_tables(new))
        self._count(late=step.late, used=step.used, open=step.came - step.late - step.used)
        closed = state.slide(self._answer, [*self._live, step.due], None, NEVER, NEVER, map_parts)
        if closed.live is not None:
            self._live = [newest_summaries([*self._live, closed.live], state.live_span)]
        self._open = [step.waiting] if step.waiting.num_rows else []
        return closed.tables

    def _put_open(self, state: KeyedState, table: pa.Table) -> None:
        """Keep tallies until their sub-windows close. Now and then, merge them."""
        if table.num_rows == 0:
            return
        self._count(open=_events_of(table))
        self._open.append(table)
        if len(self._open) >= _UNMERGED:
            self._open = [merge_tally_rows(state.sliding, pa.concat_tables(self._open))]

    def _close_to(self, stop: int) -> pa.Table:
        """Close every sub-window whose number is below `stop`, or all if windows are counted in events."""
        if self._state is None:  # there has been no event
            self._closed_to = max(self._closed_to, stop)
            return self._output([])
        with mapping(self._threads) as map_parts:
            return self._output(self._close(self._state, stop, None, map_parts))

    def _close(self, state: KeyedState, stop: int, groups: Groups | None, map_parts: MapParts) -> list[pa.Table]:
        """Close open sub-windows below `stop` and the groups, whose sub-windows are below it too."""
        start, due, remaining = self._closed_to, self._open, []
        if not self.query.counted:
            if stop <= start:
                return []
            ended = [pc.less(table["number"], stop) for table in self._open]
            due = [table.filter(mask) for table, mask in zip(self._open, ended, strict=True)]
            rest = [table.filter(pc.invert(mask)) for table, mask in zip(self._open, ended, strict=True)]
            remaining = [table for table in rest if table.num_rows]
        closed = state.slide(self._answer, [*self._live, *due], groups, start, stop, map_parts)
        self._count(used=closed.events, open=(0 if groups is None else groups.values.size) - closed.events)
        self._open, self._closed_to = remaining, max(start, stop)
        live = [table for table in (*self._live, closed.live) if table is not None]
        if live and not self.query.counted:
            kept = pa.concat_tables(live)
            self._live = [kept.filter(pc.greater_equal(kept["number"], stop - state.live_span))]
            self._drop_idle_keys(state)
        return closed.tables

    def _drop_idle_keys(self, state: KeyedState) -> None:
        """Forget the keys that have neither live summaries nor open sub-windows, if they are many."""
        used = np.zeros(state.keys.size, bool)
        for table in (*self._live, *self._open):
            used[np.asarray(table["by0"])] = True
        if self._by and used.size > _FEW_KEYS and 2 * np.count_nonzero(used) < used.size:
            ids = state.keys.keep(used)
            for part in (self._live, self._open):
                for i, table in enumerate(part):
                    part[i] = table.set_column(0, "by0", pa.array(ids[np.asarray(table["by0"])]))

    # -- saving -------------------------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """Return the whole state as bytes: versioned, checked on loading, with the names of the columns; no pickle."""
        columns, state = self._columns, self._state
        names = (self._value, self._time, self._by, self._weight)
        times = (self._latest, self._watermark, self._closed_to)
        time_type = pa.null() if columns is None else columns.time_type
        header = SavedHeader(*names, *times, self._finished, self.accounts, time_type)
        if state is None:
            return pack_keys(self.query, header, [])
        tables = [pa.concat_tables([no_rows(), *part]) for part in (self._live, self._open)]
        return pack_keys(self.query, header, [with_keys(table, state.keys) for table in tables])

    @classmethod
    def load(
        cls,
        query: Query,
        data: bytes,
        *,
        threads: int | None = None,
        clock: Any = None,
        max_clock_skew: Any = "1 hour",
    ) -> "KeyedOperator":
        """Return an operator that continues where the saved one was. Raises StateError for damaged or foreign bytes."""
        refuse_no_query(query, "load needs")
        header, tables = unpack_keys(query, data)
        try:
            cls(query, value=header.value, time=header.time, by=header.by, weight=header.weight, threads=1)
        except InputError as error:
            raise StateError(f"the saved state cannot be used: {error}") from None
        names: dict[str, Any] = {"value": header.value, "time": header.time, "by": header.by, "weight": header.weight}
        operator = cls(query, **names, threads=threads, clock=clock, max_clock_skew=max_clock_skew)
        operator._latest, operator._watermark = header.latest, header.watermark
        operator._closed_to, operator._finished = header.closed_to, header.finished
        operator._counts = asdict(header.accounts)
        if tables:
            types = tuple(column.type for column in by_columns(tables[0]))
            columns = EventColumns(query, header.value, header.time, header.by, types, header.time_type, header.weight)
            operator._columns, operator._answer = columns, Answer(query, header.by, columns.span_type)
            state = operator._state = KeyedState(query, types, operator._threads)
            live, opened = rows_with_ids(header, tables, state.keys, state.sliding, state.live_span)
            operator._live = [live] if live.num_rows else []
            operator._open = [opened] if opened.num_rows else []
        return operator


def _events_of(table: pa.Table) -> int:
    """How many events the tallies of a table have."""
    return int(pc.sum(table["seen"]).as_py() or 0)
