"""Push values, get results: one stream of one query.

Incremental evaluation with the paper's four verbs: InitialState (core.layout.new_state), Accumulate (of elements in
Level 1, of summaries in Level 2), Deaccumulate (of summaries only) and ComputeResult (a summary when a sub-window
closes, then a result). A query of up to three digits, with a guarantee and counted in elements, runs all four in one
compiled loop (core.kernels.steps), one of raw values without a guarantee in another (core.kernels.paper.steps); any
other closes its sub-windows one by one here.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.counts import Counts, FineCounts, merge_pairs, open_pairs
from aomg.core.intake import time_of, times_of, values_of
from aomg.core.kernels.closing import record_room
from aomg.core.kernels.counting import note_open
from aomg.core.kernels.folds import touched_supers
from aomg.core.kernels.registers import (
    ACTIVE,
    BOTH,
    FILLED,
    INTEGERS,
    NEWEST_NUMBER,
    NOTHING,
    OPEN_DOMAIN,
    OPEN_MAXIMUM,
    OPEN_MINIMUM,
    OPEN_NUMBER,
    REALS,
    REFUSED,
)
from aomg.core.kernels.sortable import EXACT_INTEGERS, double_of_key, key_of_double, round_down, round_up
from aomg.core.kernels.soundness import count_entries
from aomg.core.kernels.steps import count_open, forget_open, push_counted
from aomg.core.saved import NEVER, pack, unpack
from aomg.core.sliding import Sliding, extreme_keys
from aomg.errors import FinishedError, InputError, StateError
from aomg.query import Query
from aomg.result import Results

Integers = npt.NDArray[np.int64]

_INTEGER = np.dtype(np.int64)


def _furthest(values: Integers) -> int:
    """The largest magnitude."""
    return max(abs(int(values.min())), abs(int(values.max())))


class Operator:
    """The quantiles of one stream over a sliding window.

    Memory is that of the live summaries and the open sub-window; a push costs about a nanosecond an element.
    Not to be pushed from two threads at once; different operators run side by side (the loops hold no lock).

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
        self._fine = FineCounts() if self._sliding.codec is not self._sliding.dense else None
        self._fused = query.counted and not self._sliding.has_fine
        self._filled = 0  # of the fused loop, as a Python number
        self._nulls = 0
        self._late = 0
        self._finished = False
        # event time: the sub-window whose counts are in the state, the other open ones, and how far time has come
        self._hot: int | None = None
        self._others: dict[int, Counts] = {}
        self._latest = NEVER
        self._watermark = NEVER
        self._closed_to = NEVER  # numbers below this are closed

    # -- what is told besides results -----------------------------------------------------------------------------

    @property
    def refused(self) -> int:
        """Elements that were not used because they, or their times, were null or not finite."""
        return int(self._state[REFUSED]) + self._nulls

    @property
    def late(self) -> int:
        """Elements that came after their sub-window had closed."""
        return self._late

    @property
    def open(self) -> int:
        """Elements that wait in open sub-windows."""
        return int(self._state[FILLED]) + sum(counts.total for counts in self._others.values())

    def variables(self) -> int:
        """Live scalars, the paper's measure of space: a (code, count) pair is two."""
        return sum(self.variables_by_part().values())

    def variables_by_part(self) -> dict[str, int]:
        """Live scalars by what they are for."""
        query = self.query
        envelope, band = self._row_entries()
        # dense counts beside fine ones, without an envelope, hold the same elements again, only to find extremes
        dense = 0 if self._fine is not None and query.guarantee is None else 2
        waiting = [(open_pairs(self._state)[0].size, self._fine.variables if self._fine is not None else 0)]
        waiting += [(counts.codes.size, 2 * counts.fine_codes.size) for counts in self._others.values()]
        parts = {
            "open sub-windows": sum(dense * codes + fine for codes, fine in waiting),
            "summaries": self._sliding.live * (2 + len(query.quantiles) + 2 * len(query.thresholds)),
            "envelope": 2 * envelope,
            "band": 2 * band,
        }
        for part, number in self._sliding.variables.items():
            parts[part] = parts.get(part, 0) + number
        return parts

    def _row_entries(self) -> tuple[int, int]:
        """Entries that are not zero in the live envelope rows and band rows."""
        entries = np.zeros(2, np.int64)
        for start in self._sliding.live_starts():
            count_entries(self._state, self._sliding.ring, start, entries)
        return int(entries[0]), int(entries[1])

    @property
    def nbytes(self) -> int:
        """Bytes of live state: summaries, sliding totals, counts of open sub-windows."""
        active = int(self._state[ACTIVE])
        totals = active * (16 + 256 + 1) * 8
        counting = int(touched_supers(self._state)) * 1024
        others = sum(16 * (c.codes.size + c.fine_codes.size) for c in self._others.values())
        fine = self._fine.nbytes if self._fine is not None else 0
        return self.summary_nbytes + totals + counting + others + fine

    @property
    def summary_nbytes(self) -> int:
        """Bytes of the closed summaries that are live."""
        records = self._sliding.records()
        return sum(map(len, records[len(records) - self._sliding.live :]))

    # -- pushing --------------------------------------------------------------------------------------------------

    def push(self, values: Any, times: Any = None) -> Results:
        """Take elements and return the results of every window that closed.

        values
            Any NumPy or Arrow array, or a sequence, of numbers. What is null or not finite is refused and counted.
        times
            For windows in event time: as many datetime64s, Arrow timestamps or datetimes, in any order.
        """
        if self._finished:
            raise FinishedError("this operator has finished its stream; make a new one for the next")
        if (
            self._fused
            and times is None
            and type(values) is np.ndarray
            and values.dtype is _INTEGER
            and values.ndim == 1
            and values.flags.c_contiguous
        ):
            return self._push_fused(values)
        if self.query.counted != (times is None):
            if self.query.counted:
                raise InputError("this query's windows are counted in elements; push(values) without times")
            raise InputError("this query's windows are in event time; push(values, times)")
        array, valid = values_of(values)
        if times is not None:
            return self._push_timed(array, valid, times)
        if valid is not None:
            self._nulls += int(valid.size - valid.sum())
        if self._fused:
            return self._push_fused(array)
        return self._push_counted(array)

    def _push_fused(self, values: npt.NDArray[Any]) -> Results:
        """All four verbs in one compiled loop."""
        sliding, period = self._sliding, self.query.period
        size = values.size
        real = values.dtype is not _INTEGER
        bits = values.view(_INTEGER) if real else values
        rows = np.empty(((self._filled + size) // period, sliding.columns), _INTEGER)
        done, written, filled = push_counted(self._state, sliding.table, sliding.ring, bits, 0, real, rows)
        while done < size or filled == period:
            sliding.grow(int(record_room(self._state)))
            done, more, filled = push_counted(
                self._state, sliding.table, sliding.ring, bits, done, real, rows[written:]
            )
            written += more
        self._filled = filled
        return Results(self.query, rows if written == len(rows) else rows[:written])

    def _finite(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The finite ones; the others are counted."""
        if values.dtype == np.float64:
            finite = np.isfinite(values)
            if not finite.all():
                self._nulls += int(finite.size - finite.sum())
                values = values[finite]
        return values

    def _push_counted(self, values: npt.NDArray[Any]) -> Results:
        """Close sub-windows of `period` events: whole ones together if they are only sorted, others one by one."""
        state, sliding, period = self._state, self._sliding, self.query.period
        values, rows = self._finite(values), _Rows(self)
        done = 0
        while done < values.size:
            whole = (values.size - done) // period
            if whole and not sliding.counts_dense and not state[FILLED]:
                rows.take(*sliding.close_values(values[done : done + whole * period], int(state[OPEN_NUMBER])))
                state[OPEN_NUMBER] += whole
                done += whole * period
                continue
            chunk = values[done : done + period - int(state[FILLED])]
            done += chunk.size
            self._count(chunk)
            if state[FILLED] == period:
                self._close(int(state[OPEN_NUMBER]), rows)
                state[OPEN_NUMBER] += 1
        return rows.results()

    def _push_timed(self, values: npt.NDArray[Any], valid: npt.NDArray[np.bool_] | None, times: Any) -> Results:
        """Sort elements into their sub-windows, then close what time has passed."""
        size = values.size if valid is None else valid.size
        micros, present = times_of(times, size)
        usable = present.copy()
        if valid is not None:
            usable &= valid
            values = values[present[valid]]
        else:
            values = values[present]
        if values.dtype == np.float64:
            finite = np.isfinite(values)
            usable[usable] = finite
            values = values[finite]
        self._nulls += size - values.size
        micros = micros[usable]
        rows = _Rows(self)
        if values.size == 0:
            return rows.results()
        numbers = micros // self.query.period
        # an element is late if the time told before it had closed its sub-window, however pushes are cut
        reached = np.maximum.accumulate(np.concatenate([[self._latest], micros]))
        told = np.where(reached[:-1] == NEVER, NEVER, reached[:-1] - self.query.lateness)
        late = (numbers + 1) * self.query.period <= np.maximum(told, self._watermark)
        if late.any():
            self._late += int(late.sum())
            values, numbers = values[~late], numbers[~late]
        self._latest = int(reached[-1])
        self._watermark = max(self._watermark, self._latest - self.query.lateness)
        if np.any(numbers[1:] < numbers[:-1]):
            order = np.argsort(numbers, kind="stable")
            values, numbers = values[order], numbers[order]
        starts = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))
        for number, part in zip(numbers[starts], np.split(values, starts[1:]), strict=numbers.size > 0):
            self._heat(int(number))
            self._count(part)
        self._close_passed(self._watermark // self.query.period, rows)
        return rows.results()

    def advance(self, time: Any) -> Results:
        """Take a watermark: nothing before `time` will come. Closes every sub-window that ends at or before it."""
        if self._finished:
            raise FinishedError("this operator has finished its stream; make a new one for the next")
        if self.query.counted:
            raise InputError("this query's windows are counted in elements; only windows in event time have time")
        moment = time_of(time)
        rows = _Rows(self)
        self._latest = max(self._latest, moment)
        self._watermark = max(self._watermark, moment)
        self._close_passed(self._watermark // self.query.period, rows)
        return rows.results()

    def finish(self) -> Results:
        """End the stream: close what is open, up to the sub-window of the latest time, and answer for it."""
        if self._finished:
            raise FinishedError("this operator has finished its stream already; make a new one for the next")
        rows = _Rows(self)
        if self.query.counted:
            if self._state[FILLED] and not self.query.as_paper:
                self._close(int(self._state[OPEN_NUMBER]), rows)
        elif self._latest != NEVER:
            self._close_passed(self._latest // self.query.period + 1, rows)
        self._finished = True
        return rows.results()

    # -- sub-windows ------------------------------------------------------------------------------------------------

    def _count(self, values: npt.NDArray[Any]) -> None:
        """Accumulate of Level 1: finite elements of the sub-window that is in the state."""
        state, sliding = self._state, self._sliding
        if self._fine is None:
            count_open(state, sliding.table, values.view(np.int64), values.dtype == np.float64)
            return
        if values.size == 0:
            return
        self._fine.add(sliding.codec.codes(values))
        integers = values.dtype == np.int64
        if not sliding.counts_dense:
            note_open(state, INTEGERS if integers else REALS, *extreme_keys(values), values.size)
            return
        if self.query.digits is None and integers and _furthest(values) > EXACT_INTEGERS:
            self._count_long(values)
        else:
            count_open(state, sliding.table, values.view(np.int64), not integers)

    def _count_long(self, values: Integers) -> None:
        """Raw longs beyond 2^53 are taken as the nearest doubles, dense codes too; extremes are rounded outward."""
        state = self._state
        domain, low, high = (int(state[r]) for r in (OPEN_DOMAIN, OPEN_MINIMUM, OPEN_MAXIMUM))
        count_open(state, self._sliding.table, values.astype(np.float64).view(np.int64), True)
        state[OPEN_DOMAIN] = INTEGERS if domain in (NOTHING, INTEGERS) else BOTH
        state[OPEN_MINIMUM] = min(low, int(key_of_double(round_down(int(values.min())))))
        state[OPEN_MAXIMUM] = max(high, int(key_of_double(round_up(int(values.max())))))

    def _heat(self, number: int) -> None:
        """Bring an open sub-window's counts into the state, and set aside those that are there."""
        if self._hot == number:
            return
        if self._hot is not None:
            self._others[self._hot] = self._open_counts()
            self._forget_open()
        self._hot = number
        counts = self._others.pop(number, None)
        if counts is not None:
            self._merge_open(counts)

    def _open_counts(self) -> Counts:
        """The counts of the sub-window that is in the state."""
        state = self._state
        codes, numbers = open_pairs(state)
        fine = self._fine.pairs() if self._fine is not None else (np.empty(0, np.int64), np.empty(0, np.int64))
        if not self._sliding.counts_dense:
            values, _ = self._sliding.codec.intervals(fine[0], REALS)
            codes, numbers = merge_pairs(self._sliding.dense.codes(values), fine[1])
        return Counts(
            codes,
            numbers,
            *fine,
            domain=int(state[OPEN_DOMAIN]),
            minimum=float(double_of_key(int(state[OPEN_MINIMUM]))) if codes.size else np.inf,
            maximum=float(double_of_key(int(state[OPEN_MAXIMUM]))) if codes.size else -np.inf,
        )

    def _merge_open(self, counts: Counts) -> None:
        self._sliding.merge(counts)
        if self._fine is not None:
            self._fine.merge(counts.fine_codes, counts.fine_numbers)

    def _forget_open(self) -> None:
        forget_open(self._state)
        if self._fine is not None:
            self._fine.clear()

    def _close(self, number: int, rows: "_Rows") -> None:
        """Close the sub-window that is in the state, and answer."""
        codes: Integers | None = None
        ends: Integers | None = None
        if self._fine is not None:
            codes, ends = self._fine.ordered()
        elif self._sliding.has_fine:
            codes, numbers = open_pairs(self._state)
            ends = np.cumsum(numbers)
        self._sliding.close(number, codes, ends)
        if self._fine is not None:
            self._fine.clear()
        rows.answer(number)

    def _close_passed(self, end: int, rows: "_Rows") -> None:
        """Close, in order, every sub-window whose number is below `end`; idle ones answer while any is live."""
        sliding = self._sliding
        while True:
            waiting = set(self._others) if self._hot is None else {*self._others, self._hot}
            following = min((n for n in waiting if n < end), default=None)
            number = self._closed_to
            stop = end if following is None else following
            while number != NEVER and number < stop:
                sliding.expire(number)
                if sliding.live == 0:
                    break
                rows.answer(number)
                number += 1
            if following is None:
                self._closed_to = max(self._closed_to, end)
                return
            self._heat(following)
            self._close(following, rows)
            self._hot = None
            self._closed_to = following + 1

    # -- saving -----------------------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """Return the whole state as bytes: versioned, checked on loading, the same in every process."""
        registers = [int(self._state[OPEN_NUMBER]), self.refused, self._late, int(self._finished)]
        registers += [self._latest, self._watermark, self._closed_to]
        waiting = dict(self._others)
        if self._state[FILLED]:
            waiting[NEVER if self._hot is None else self._hot] = self._open_counts()
        return pack(self.query, registers, self._sliding.records(), waiting)

    @classmethod
    def load(cls, query: Query, data: bytes) -> "Operator":
        """Return an operator that goes on where the saved one was. Refuses damaged bytes and another query's."""
        operator = cls(query)
        registers, records, waiting = unpack(query, data, operator._sliding, operator._fine is not None)
        for record in records:
            operator._sliding.enter(record)
        number, refused, late, finished, latest, watermark, closed_to = registers
        newest, end = int(operator._state[NEWEST_NUMBER]), number if query.counted else closed_to
        counted_on = newest in (end, end - 1) if finished else newest == end - 1
        if records and not (counted_on if query.counted else newest < end):
            raise StateError("saved summaries and times do not fit together; save again, or start from the stream")
        operator._state[OPEN_NUMBER] = number
        operator._nulls, operator._late, operator._finished = refused, late, bool(finished)
        operator._latest, operator._watermark, operator._closed_to = latest, watermark, closed_to
        if query.counted:
            operator._sliding.expire(number - 1)
            for counts in waiting.values():
                operator._merge_open(counts)
            operator._filled = int(operator._state[FILLED])
        else:
            if closed_to != NEVER:
                operator._sliding.expire(closed_to - 1)
            operator._others = waiting
        return operator


class _Rows:
    """Results that are being gathered one by one."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._rows: list[Integers] = []  # each of one or several results
        self._densities: list[npt.NDArray[np.float64]] = []
        self._averages = operator.query.guarantee is None

    def answer(self, number: int) -> None:
        """Add the result of the window that ends with sub-window `number`, if it owes one."""
        sliding = self._operator._sliding
        row = np.zeros((1, sliding.columns), np.int64)
        densities = np.full((1, len(sliding.query.quantiles), 2), np.nan) if self._averages else None
        if sliding.result(number, row[0], densities[0] if densities is not None else None):
            self._rows.append(row)
            if densities is not None:
                self._densities.append(densities)

    def take(self, rows: Integers, densities: npt.NDArray[np.float64]) -> None:
        """Add several results that came together."""
        self._rows.append(rows)
        self._densities.append(densities)

    def results(self) -> Results:
        """All of them, in columns."""
        query, columns = self._operator.query, self._operator._sliding.columns
        rows = np.concatenate(self._rows) if self._rows else np.empty((0, columns), np.int64)
        if not self._averages:
            return Results(query, rows)
        densities = np.concatenate(self._densities) if self._densities else np.empty((0, len(query.quantiles), 2))
        return Results(query, rows, densities)
