"""Computes the results of one query over one stream: push values, get results.

The paper's four operations are InitialState (core.layout.new_words), Accumulate (events at Level 1, summaries at Level
2), Deaccumulate (summaries only) and ComputeResult (a summary when a sub-window closes, then a result). All paths use
the same step (core.kernels.steps). Queries that need only dense codes run it in one compiled loop, in windows counted
in events and in event time (core.arrivals), and so do whole sub-windows of raw values without a guarantee. All others
close one sub-window at a time here.
"""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.arrivals import NEVER, NO_ARRIVALS, Arrivals, Clock, arrivals, last_end
from aomg.core.counts import Counts, FineCounts, merge_pairs
from aomg.core.intake import ticks_of, time_of, times_in, times_of, values_of
from aomg.core.kernels.arrivals import RUN_NUMBER, are_finite
from aomg.core.kernels.closing import summary_room
from aomg.core.kernels.counting import note_open
from aomg.core.kernels.registers import BOTH, INTEGERS, NOTHING, REALS
from aomg.core.kernels.sortable import EXACT_INTEGERS, key_of_double, round_down, round_up
from aomg.core.kernels.soundness import count_entries
from aomg.core.kernels.steps import count_open, forget_open, push_counted
from aomg.core.sliding import Sliding, extreme_keys
from aomg.core.snapshot import pack, unpack
from aomg.core.weights import refuse_weights, weights_of
from aomg.errors import FinishedError, InputError, StateError
from aomg.query import Query
from aomg.result import Results

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_INTEGER = np.dtype(np.int64)
_NO_PAIRS = (np.empty(0, np.int64), np.empty(0, np.int64))


def _largest_magnitude(values: Integers) -> int:
    return max(abs(int(values.min())), abs(int(values.max())))


def _weighted(
    values: npt.NDArray[Any], valid: Mask | None, weights: Integers, sound: Mask | None
) -> tuple[npt.NDArray[Any], Mask | None, Integers]:
    """Values and weights of the events that have both, and which they are; `values` has those that are valid."""
    if sound is None:
        return values, valid, weights if valid is None else weights[valid]
    if valid is None:
        return values[sound], sound, weights[sound]
    both = valid & sound
    return values[sound[valid]], both, weights[both]


def _usable(
    values: npt.NDArray[Any], valid: Mask | None, micros: Integers, present: Mask, weights: Integers | None
) -> tuple[npt.NDArray[Any], Integers, Integers | None]:
    """Values, times and weights of the events that have them; `values` and `weights` have those that are valid."""
    usable = present.copy()
    timed = present if valid is None else present[valid]
    if valid is not None:
        usable &= valid
    values, weights = values[timed], None if weights is None else weights[timed]
    if values.dtype == np.float64:
        finite = np.isfinite(values)
        usable[usable] = finite
        values, weights = values[finite], None if weights is None else weights[finite]
    return values, micros[usable], weights


def _late_events(events: Arrivals, weights: Integers) -> int:
    """How many events of a push are late; one of weight 0 never is. `weights` are those of the whole push."""
    if events.late == 0:
        return 0
    runs = (events.run(start, end)[1] for start, end in events.runs[:, :RUN_NUMBER].tolist())
    taken = [int(np.count_nonzero(part)) for part in runs if part is not None]
    return int(np.count_nonzero(weights)) - sum(taken)


class Operator:
    """The quantiles of one stream over a sliding window.

    Needs the memory of the live summaries and the open sub-window; a push takes about a nanosecond per event. Do not
    push from two threads at once. Different operators can run in parallel: the compiled loops release the GIL.

    >>> from aomg import Operator, Query
    >>> operator = Operator(Query(size=2000, period=1000, quantiles=(0.5,)))
    >>> [round(result[0.5].value) for result in operator.push(range(3000))]
    [499, 999, 1999]
    """

    def __init__(self, query: Query) -> None:
        if not isinstance(query, Query):
            raise InputError(f"an operator needs an aomg.Query, not {type(query).__name__}")
        self.query = query
        self._sliding = Sliding(query)
        self._state = self._sliding.state
        self._fine = FineCounts() if self._sliding.has_fine_codes else None
        self._fused = query.counted and not self._sliding.has_fine
        self._open_events = 0  # of the fused loop, as a Python number
        self._nulls = 0
        self._late = 0
        self._finished = False
        # event time: the sub-window whose counts are in the state, the other open ones, and how far time has come
        self._active_number: int | None = None
        self._waiting: dict[int, Counts] = {}
        self._latest = NEVER
        self._watermark = NEVER
        self._closed_to = NEVER  # numbers below this are closed

    # -- what is reported besides results --------------------------------------------------------------------------

    @property
    def refused(self) -> int:
        """Events that were not used: their value or time was null or not finite, or their weight cannot be used."""
        return self._state.refused + self._nulls

    @property
    def late(self) -> int:
        """Events that arrived after their sub-window had closed."""
        return self._late

    @property
    def open(self) -> int:
        """Events in open sub-windows, whatever their weights."""
        in_state = self._state.open_events - self._state.open_surplus
        return in_state + sum(counts.events for counts in self._waiting.values())

    def variables(self) -> int:
        """Live scalars, the paper's measure of space: a (code, count) pair is two."""
        return sum(self.variables_by_part().values())

    def variables_by_part(self) -> dict[str, int]:
        """Live scalars by what they are for."""
        query, live = self.query, self._state.live
        entries = np.zeros(2, np.int64)  # of envelope rows and band rows
        lists = 0
        for start in self._state.live_starts().tolist():
            count_entries(self._state.words, self._state.ring, start, entries)
            lists += self._state.is_listed(start)
        # dense counts beside fine ones, without an envelope, hold the same events again, only to find extremes
        dense = 0 if self._fine is not None and query.guarantee is None else 2
        waiting = [(self._state.open_pairs()[0].size, self._fine.variables if self._fine is not None else 0)]
        waiting += [(counts.codes.size, 2 * counts.fine_codes.size) for counts in self._waiting.values()]
        parts = {
            "open sub-windows": sum(dense * codes + fine for codes, fine in waiting),
            "summaries": 2 * live + (live - lists) * (len(query.quantiles) + 2 * len(query.thresholds)),
            "envelope": 2 * int(entries[0]),
            "band": 2 * int(entries[1]),
        }
        for part, size in self._sliding.fine_variables().items():
            parts[part] = parts.get(part, 0) + size
        return parts

    @property
    def nbytes(self) -> int:
        """Bytes of live state: summaries, sliding totals, counts of open sub-windows."""
        waiting = sum(16 * (counts.codes.size + counts.fine_codes.size) for counts in self._waiting.values())
        return self._state.nbytes + waiting + (self._fine.nbytes if self._fine is not None else 0)

    @property
    def summary_nbytes(self) -> int:
        """Bytes of the live summaries."""
        return self._state.summary_nbytes

    # -- pushing --------------------------------------------------------------------------------------------------

    def push(self, values: Any, times: Any = None, weights: Any = None) -> Results:
        """Take events and return the results of every window that closed.

        values
            Numbers: an array of NumPy or Arrow, a Series of pandas or Polars, or a sequence. Values that are null or
            not finite are refused and counted. Raises InputError if a value can be neither an int64 nor a double.
        times
            For windows in event time: as many datetime64s, Arrow timestamps, datetimes or dates, in any order.
        weights
            For windows in event time: how many events each one counts as, whole numbers from 0 to 2^31 - 1. Events with
            any other weight are refused and counted. An event of weight 0 moves time and nothing else.
        """
        if self._finished:
            raise FinishedError("this operator has finished its stream; create a new one for the next stream")
        if (
            self._fused
            and times is None
            and weights is None
            and type(values) is np.ndarray
            and values.dtype is _INTEGER
            and values.ndim == 1
            and values.flags.c_contiguous
        ):
            return self._push_fused(values)
        if self.query.counted != (times is None):
            if self.query.counted:
                raise InputError("this query's windows are counted in events; push(values) without times")
            raise InputError("this query's windows are in event time; push(values, times)")
        if weights is not None:
            refuse_weights(self.query)
        array, valid = values_of(values)
        if times is not None:
            return self._push_timed(array, valid, times, weights)
        if valid is not None:
            self._nulls += int(valid.size - valid.sum())
        return self._push_fused(array) if self._fused else self._push_counted(array)

    def _push_fused(self, values: npt.NDArray[Any]) -> Results:
        """All four verbs in one compiled loop."""
        state, period = self._state, self.query.period
        size = values.size
        real = values.dtype is not _INTEGER
        bits = values.view(_INTEGER) if real else values
        rows = np.empty(((self._open_events + size) // period, self._sliding.columns), _INTEGER)
        done, written, filled = push_counted(state.words, state.cells, state.table, state.ring, bits, 0, real, rows)
        while done < size or filled == period:
            state.grow(int(summary_room(state.words)))
            arrays = (state.words, state.cells, state.table, state.ring, bits)
            done, more, filled = push_counted(*arrays, done, real, rows[written:])
            written += more
        self._open_events = filled
        return Results(self.query, rows if written == len(rows) else rows[:written])

    def _push_counted(self, values: npt.NDArray[Any]) -> Results:
        """Fill and close sub-windows of `period` events; whole ones of raw values in a compiled loop."""
        values, rows, period = self._finite(values), _ResultRows(self._sliding), self.query.period
        state = self._state
        done = 0
        while done < values.size:
            whole = (values.size - done) // period
            if whole and not self._sliding.counts_dense and state.open_events == 0:
                part = values[done : done + whole * period]
                rows.add(*self._sliding.close_values(part, state.open_number))
                state.open_number += whole
                done += part.size
                continue
            part = values[done : done + period - state.open_events]
            self._count(part)
            done += part.size
            if state.open_events == period:
                self._close(state.open_number, rows)
                state.open_number += 1
        return rows.results()

    def _finite(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The finite values; the others are counted as refused."""
        if values.dtype == np.float64:
            finite = np.isfinite(values)
            if not finite.all():
                self._nulls += int(finite.size - finite.sum())
                values = values[finite]
        return values

    def _push_timed(self, values: npt.NDArray[Any], valid: Mask | None, times: Any, weights: Any) -> Results:
        """Assign events to their sub-windows, then close what time has passed."""
        size = values.size if valid is None else valid.size
        heaviest = 1
        if weights is not None:
            weights, sound, heaviest = weights_of(weights, size)
            values, valid, weights = _weighted(values, valid, weights, sound)
        clock = Clock(self.query.period, self.query.lateness, self._watermark, self._latest)
        usable = valid is None and (values.dtype is _INTEGER or are_finite(values.view(_INTEGER)))
        entries = times_in(times)
        ticks = ticks_of(entries, size) if usable else None
        events = arrivals(values, ticks[0], clock, ticks[1], weights) if ticks is not None else None
        if events is None:  # something is null, not finite, or not a time in microseconds or nanoseconds
            values, micros, weights = _usable(values, valid, *times_of(entries, size), weights)
            events = arrivals(values, micros, clock, weights=weights)
            assert events is not None
        self._make_room_for(events.most_in_sub_window(heaviest))
        self._nulls += size - values.size
        rows = _ResultRows(self._sliding)
        if values.size:
            self._late += events.late if weights is None else _late_events(events, weights)
            self._latest = events.latest
            self._watermark = max(self._watermark, self._latest - self.query.lateness)
            self._take(events, self._watermark // self.query.period, rows)
        return rows.results()

    def _make_room_for(self, events: int) -> None:
        """Give the counts 64 bits if so many more events in a sub-window may be more than 32 can count."""
        opened = max((counts.total for counts in self._waiting.values()), default=0)
        self._state.make_room_for(opened + events)

    def advance(self, time: Any) -> Results:
        """Advance the watermark: no event before `time` will arrive. Closes every sub-window that ends by then.

        Only sub-windows that begin before `time` are part of the stream: `finish` emits no window for a later one,
        unless it has events.
        """
        if self._finished:
            raise FinishedError("this operator has finished its stream; create a new one for the next stream")
        if self.query.counted:
            raise InputError("this query's windows are counted in events; advance() is for windows in event time")
        moment = time_of(time)
        rows = _ResultRows(self._sliding)
        self._watermark = max(self._watermark, moment)
        self._take(NO_ARRIVALS, self._watermark // self.query.period, rows)
        return rows.results()

    def finish(self) -> Results:
        """End the stream: close the open sub-windows and return their results.

        In event time the last result is that of the latest event's sub-window, or of the last one that begins before
        the time of `advance`, if that is later.
        """
        if self._finished:
            raise FinishedError("this operator has already finished its stream; create a new one for the next stream")
        rows = _ResultRows(self._sliding)
        if self.query.counted:
            if self._state.open_events and not self.query.as_paper:
                self._close(self._state.open_number, rows)
        elif self._watermark != NEVER:
            self._take(NO_ARRIVALS, last_end(self.query.period, self._latest, self._watermark), rows)
        self._finished = True
        return rows.results()

    # -- sub-windows ------------------------------------------------------------------------------------------------

    def _count(self, values: npt.NDArray[Any], weights: Integers | None = None) -> None:
        """Accumulate of Level 1: count finite values of the sub-window that is in the state."""
        state = self._state
        integers = values.dtype == np.int64
        if self._fine is None:
            count_open(state.words, state.cells, state.table, values.view(np.int64), weights, not integers)
            return
        if weights is not None:
            values, weights = values[weights > 0], weights[weights > 0]
        if values.size == 0:
            return
        self._fine.add(self._sliding.codec.codes(values), weights)
        if not self._sliding.counts_dense:
            note_open(state.words, INTEGERS if integers else REALS, *extreme_keys(values), values.size, 0)
        elif self.query.digits is None and integers and _largest_magnitude(values) > EXACT_INTEGERS:
            self._count_long(values, weights)
        else:
            count_open(state.words, state.cells, state.table, values.view(np.int64), weights, not integers)

    def _count_long(self, values: Integers, weights: Integers | None) -> None:
        """Raw longs beyond 2^53 are taken as the nearest doubles, dense codes too; extremes are rounded outward."""
        state = self._state
        domain, (low, high) = state.open_domain, state.open_extremes.tolist()
        bits = values.astype(np.float64).view(np.int64)
        count_open(state.words, state.cells, state.table, bits, weights, True)
        state.open_extremes[:] = low, high
        low, high = (int(key_of_double(end)) for end in (round_down(int(values.min())), round_up(int(values.max()))))
        state.widen_open(INTEGERS if domain in (NOTHING, INTEGERS) else BOTH, low, high)

    def _take(self, events: Arrivals, stop: int, rows: "_ResultRows") -> None:
        """Count events; close every sub-window whose number is below `stop`, in order.

        Idle sub-windows answer while any summary is live.
        """
        runs = events.runs
        first_open = int(np.searchsorted(runs[:, RUN_NUMBER], stop))
        if stop > self._closed_to:
            self._close_runs(events, runs[:first_open], self._open_below(stop), rows)
            if self._closed_to != NEVER:
                rows.add(*self._sliding.answer_empty(self._closed_to, stop))
            self._closed_to = stop
        open_runs = runs[first_open:]
        starts = np.flatnonzero(np.diff(open_runs[:, RUN_NUMBER], prepend=NEVER))
        for first, last in itertools.pairwise([*starts.tolist(), len(open_runs)]):
            self._activate_sub_window(int(open_runs[first, RUN_NUMBER]))
            self._count_runs(events, open_runs[first:last])

    def _open_below(self, stop: int) -> list[int]:
        """Numbers below `stop` of the sub-windows that have open counts, in order."""
        numbers = [number for number in self._waiting if number < stop]
        if self._active_number is not None and self._active_number < stop:
            numbers.append(self._active_number)
        return sorted(numbers)

    def _close_runs(self, events: Arrivals, runs: Integers, opened: list[int], rows: "_ResultRows") -> None:
        """Count runs and close their sub-windows, and those in `opened`, which have counts already, in order."""
        if not (opened or len(runs)):
            return
        bounds = np.searchsorted(runs[:, RUN_NUMBER], opened).tolist()
        first = opened[0] if opened else None
        if self._active_number != first or (bounds and bounds[0] > 0):
            self._set_aside()
        previous = 0
        for number, bound in zip([None, *opened], [*bounds, len(runs)], strict=True):
            if number is not None:
                self._activate_sub_window(number)
            elif bound == 0:
                continue
            self._step_through(events, runs[previous:bound], rows)
            self._active_number = None
            previous = bound

    def _step_through(self, events: Arrivals, runs: Integers, rows: "_ResultRows") -> None:
        """Count and close sub-windows, the one in the state first; no other has counts."""
        if self._sliding.has_fine:
            numbers = runs[:, RUN_NUMBER]
            opened = [] if self._active_number is None else [self._active_number]
            for number in np.unique(np.concatenate([numbers, np.array(opened, np.int64)])).tolist():
                first, last = np.searchsorted(numbers, (number, number + 1)).tolist()
                self._active_number = number
                self._count_runs(events, runs[first:last])
                if self._state.open_events == 0:  # all have weight 0
                    continue
                if self._closed_to != NEVER:
                    rows.add(*self._sliding.answer_empty(self._closed_to, number))
                self._close(number, rows)
                self._closed_to = number + 1
            return
        result_rows, self._closed_to = self._sliding.close_runs(events, runs, self._active_number, self._closed_to)
        rows.add(result_rows, None)

    def _count_runs(self, events: Arrivals, runs: Integers) -> None:
        """Accumulate of Level 1: count runs of the sub-window that is in the state."""
        for start, end, _ in runs.tolist():
            self._count(*events.run(start, end))

    def _set_aside(self) -> None:
        """Store the counts of the sub-window that is in the state elsewhere."""
        if self._active_number is not None:
            if self._state.open_events:
                self._waiting[self._active_number] = self._open_counts()
            self._forget_open()
            self._active_number = None

    def _activate_sub_window(self, number: int) -> None:
        """Move an open sub-window's counts into the state, and store those that are there elsewhere."""
        if self._active_number == number:
            return
        self._set_aside()
        self._active_number = number
        counts = self._waiting.pop(number, None)
        if counts is not None:
            self._merge_open(counts)

    def _open_counts(self) -> Counts:
        """The counts of the sub-window that is in the state."""
        state = self._state
        fine = self._fine.pairs() if self._fine is not None else _NO_PAIRS
        codes, numbers = state.open_pairs()
        if not self._sliding.counts_dense:
            values, _ = self._sliding.codec.intervals(fine[0], REALS)
            codes, numbers = merge_pairs(self._sliding.dense.codes(values), fine[1])
        return Counts(
            codes,
            numbers,
            *fine,
            domain=state.open_domain,
            minimum=state.open_minimum,
            maximum=state.open_maximum,
            surplus=state.open_surplus,
        )

    def _merge_open(self, counts: Counts) -> None:
        """Add counts of the same sub-window to those in the state."""
        self._sliding.merge(counts)
        if self._fine is not None:
            self._fine.merge(counts.fine_codes, counts.fine_numbers)

    def _forget_open(self) -> None:
        forget_open(self._state.words, self._state.cells)
        if self._fine is not None:
            self._fine.clear()

    def _close(self, number: int, rows: "_ResultRows") -> None:
        """Close the sub-window that is in the state, and answer."""
        if self._fine is None:
            rows.add(*self._sliding.step(number))
        else:
            rows.add(*self._sliding.step(number, *self._fine.ordered()))
            self._fine.clear()

    # -- saving -----------------------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """Return the whole state as bytes: versioned, checked on loading, the same in every process."""
        registers = [self._state.open_number, self.refused, self._late, int(self._finished)]
        registers += [self._latest, self._watermark, self._closed_to]
        waiting = dict(self._waiting)
        if self._state.open_events:
            waiting[NEVER if self._active_number is None else self._active_number] = self._open_counts()
        return pack(self.query, registers, self._state.summaries(), waiting)

    @classmethod
    def load(cls, query: Query, data: bytes) -> "Operator":
        """Return an operator that continues where the saved one was. Raises StateError for damaged or foreign bytes."""
        operator = cls(query)
        sliding, state = operator._sliding, operator._state
        registers, summaries, waiting = unpack(query, data, sliding, operator._fine is not None)
        for summary in summaries:
            sliding.enter(summary)
        number, refused, late, finished, latest, watermark, closed_to = registers
        newest, end = state.newest_number, number if query.counted else closed_to
        counted_on = newest in (end, end - 1) if finished else newest == end - 1
        if summaries and not (counted_on if query.counted else newest < end):
            raise StateError("the saved summaries and times do not match; save again, or replay the stream")
        state.open_number = number
        operator._nulls, operator._late, operator._finished = refused, late, bool(finished)
        operator._latest, operator._watermark, operator._closed_to = latest, watermark, closed_to
        if query.counted:
            sliding.expire(number - 1)
            for counts in waiting.values():
                operator._merge_open(counts)
            operator._open_events = state.open_events
        else:
            if closed_to != NEVER:
                sliding.expire(closed_to - 1)
            operator._waiting = waiting
        return operator

    def check(self) -> None:
        """Raise AssertionError if the state contradicts itself. For tests."""
        self._sliding.check()


class _ResultRows:
    """Rows of results that are collected one after the other."""

    def __init__(self, sliding: Sliding) -> None:
        self._sliding = sliding
        self._rows: list[Integers] = []
        self._densities: list[Reals] = []

    def add(self, rows: Integers, densities: Reals | None) -> None:
        """Add some rows, and what Theorem 1 needs of them."""
        self._rows.append(rows)
        if densities is not None:
            self._densities.append(densities)

    def results(self) -> Results:
        """All of them, in columns."""
        query = self._sliding.query
        rows, densities = self._sliding.new_rows(0)
        if self._rows:
            rows = np.concatenate(self._rows)
        if query.guarantee is not None or densities is None:
            return Results(query, rows)
        return Results(query, rows, np.concatenate(self._densities) if self._densities else densities)
