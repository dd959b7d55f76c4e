"""Level 2: computes results from the live summaries.

`Sliding` owns the state of one stream and the codes of its query. Its operations are the paper's Accumulate,
Deaccumulate and ComputeResult (core.kernels.steps). Queries of raw values, more than three digits, few-k lists or no
guarantee keep a fine part in each summary, and its totals in a second array, `level` (core.kernels.paper.level2).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.arrivals import Arrivals
from aomg.core.codes import Codec, DenseCodec, DigitsCodec, RawCodec
from aomg.core.counts import Counts
from aomg.core.kernels.counting import note_open
from aomg.core.kernels.paper.parts import head_bytes
from aomg.core.kernels.paper.plans import PLAN_ROOM
from aomg.core.kernels.registers import HEAD_NUMBER, INTEGERS, NONE, REALS
from aomg.core.kernels.sortable import EXACT_INTEGERS, key_of_double, round_down, round_up
from aomg.core.kernels.steps import (
    ALL_TAKEN,
    NO_ROOM,
    T_CLOSED_TO,
    T_NEED,
    T_OPEN,
    T_ROWS,
    TIMED,
    answer_empty,
    close_open,
    enter_foreign,
    expire_before,
    merge_open,
    push_runs,
    push_sorted,
    step_open,
)
from aomg.core.layout import DENSE_DIGITS, keeps_fine
from aomg.core.paper.level import move_lists, new_level, totals_of, variables_of
from aomg.core.paper.plan import plan_of
from aomg.core.state import OperatorState
from aomg.core.summary import checked_summary
from aomg.errors import StateError
from aomg.query import Query
from aomg.result import row_width

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Rows = tuple[Integers, Reals | None]

_SORTED_AT_ONCE = 1 << 17  # events: they stay in a core's cache


def extreme_keys(values: npt.NDArray[np.generic]) -> tuple[int, int]:
    """Sortable keys of the smallest and the largest of some values; longs beyond 2^53 are rounded outward."""
    low, high = values.min(), values.max()
    if values.dtype == np.int64:
        return int(key_of_double(round_down(int(low)))), int(key_of_double(round_up(int(high))))
    return int(key_of_double(float(low))), int(key_of_double(float(high)))


_LONG = int(key_of_double(EXACT_INTEGERS))


class Sliding:
    """The live summaries of one stream and their totals.

    level
        The totals of fine parts; None where summaries have none.
    counts_dense
        Whether the open sub-window is counted by dense code. Raw values without a guarantee are only sorted.
    columns
        Words of a row of results.
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self.state = OperatorState(query)
        self.dense = DenseCodec(self.state.words, self.state.table)
        self.codec: Codec = self.dense
        if query.digits is None:
            self.codec = RawCodec()
        elif query.digits > DENSE_DIGITS:
            self.codec = DigitsCodec(query.digits)
        self.level = new_level(query, self.codec) if keeps_fine(query) else None
        self.counts_dense = query.guarantee is not None or query.digits is not None
        self.columns = row_width(query)

    @property
    def has_fine(self) -> bool:
        """Whether summaries have a fine part."""
        return self.level is not None

    @property
    def has_fine_codes(self) -> bool:
        """Whether the query's codes are finer than the dense ones."""
        return self.codec is not self.dense

    def fine_variables(self) -> dict[str, int]:
        """Live scalars of the fine parts, by what they are for."""
        if self.level is None:
            return {}
        state = self.state
        return variables_of(self.query, self.level, state.ring.view(np.int64), state.live_starts().tolist())

    def new_rows(self, size: int) -> Rows:
        """Room for so many results, and with a fine part for what Theorem 1 needs of them."""
        return np.zeros((size, self.columns), np.int64), self.new_densities(size)

    def new_densities(self, size: int) -> Reals | None:
        """Room for what Theorem 1 needs of so many results."""
        return np.full((size, len(self.query.quantiles), 2), np.nan) if self.has_fine else None

    def check(self) -> None:
        """Raise AssertionError if the state contradicts itself, or the totals of fine parts the live summaries."""
        self.state.check()
        if self.level is None:
            return
        anew = Sliding(self.query)
        for summary in self.state.summaries()[-self.state.live :] if self.state.live else []:
            anew.enter(summary)
        assert anew.level is not None
        assert totals_of(self.query, self.level) == totals_of(self.query, anew.level)

    # -- operations --------------------------------------------------------------------------------------------------

    def merge(self, counts: Counts) -> None:
        """Add counts of another place to the open sub-window. The caller keeps its fine codes."""
        state = self.state
        if self.counts_dense:
            state.make_room_for(counts.total)
            pairs, extremes = (counts.codes, counts.numbers), (counts.minimum, counts.maximum)
            merge_open(state.words, state.cells, *pairs, counts.domain, *extremes, counts.surplus)
        else:
            keys = extreme_keys(np.array([counts.minimum, counts.maximum]))
            note_open(state.words, counts.domain, *keys, counts.total, counts.surplus)

    def step(self, number: int, codes: Integers | None = None, ends: Integers | None = None) -> Rows:
        """Close the open sub-window as `number`, enter its summary, and return the rows of results: none or one.

        codes, ends
            Where the query's codes are finer than the dense ones: those of the sub-window, ascending; each as often
            as it occurs, or each once with the number of events up to it.
        """
        rows, densities = self.new_rows(1)
        plan, codes, ends = self._fine_arguments(codes, ends)
        while True:
            state = self.state
            size, need = step_open(
                state.words,
                state.cells,
                state.table,
                state.ring,
                self.level,
                plan,
                codes,
                ends,
                number,
                rows,
                densities,
            )
            if need == 0:
                return rows[:size], densities[:size] if densities is not None else None
            self.grow(int(need))

    def summary_of(self, counts: Counts, number: int) -> npt.NDArray[np.uint8]:
        """Return the bytes of the summary of sub-window `number`, which has these counts. Nothing may be open."""
        state, out = self.state, np.empty(1 << 12, np.uint8)
        self.merge(counts)
        plan, codes, ends = None, None, None
        if self.has_fine_codes:
            plan, codes, ends = self._fine_arguments(counts.fine_codes, np.cumsum(counts.fine_numbers))
        elif self.has_fine:
            plan, codes, ends = self._fine_arguments(counts.codes, np.cumsum(counts.numbers))
        while True:
            size, need = close_open(state.words, state.cells, state.table, out, self.level, plan, codes, ends, number)
            if need == 0:
                return out[:size]
            out = np.empty(-(-int(need) // 8) * 8, np.uint8)

    def _fine_arguments(self, codes: Integers | None, ends: Integers | None) -> tuple[Any, Any, Any]:
        """The plan of the open sub-window and its codes at the query's resolution; None without a fine part."""
        if not self.has_fine:
            return None, None, None
        if codes is None:
            codes, counts = self.state.open_pairs()
            ends = np.cumsum(counts)
        return plan_of(self.query, self.state.open_events), codes, ends

    def close_values(self, values: npt.NDArray[np.generic], first: int) -> Rows:
        """Take the step for sub-windows of `period` raw values each, from number `first` on; returns their results.

        Only where values are sorted and not counted. Costs a sort and a few microseconds a sub-window, with few-k
        besides about as much as it takes to write its lists.
        """
        period = self.query.period
        at_once = max(_SORTED_AT_ONCE // period, 1) * period
        parts = [
            self._close_part(values[start : start + at_once].reshape(-1, period), first + start // period)
            for start in range(0, values.size, at_once)
        ]
        return np.concatenate([rows for rows, _ in parts]), np.concatenate([densities for _, densities in parts])

    def _close_part(self, values: npt.NDArray[np.generic], first: int) -> tuple[Integers, Reals]:
        codes = self.codec.codes(values.ravel()).reshape(values.shape)
        codes.sort(axis=1)
        lows, highs = codes[:, 0].copy(), codes[:, -1].copy()
        integers = values.dtype == np.int64
        if integers and max(-int(lows.min()), int(highs.max())) >= _LONG:
            lows[:], highs[:] = np.array([extreme_keys(row) for row in values], np.int64).T
        domain = INTEGERS if integers else REALS
        sub_windows, period = values.shape
        plan = plan_of(self.query, period)
        rows = np.empty((sub_windows, self.columns), np.int64)
        densities = np.full((sub_windows, len(self.query.quantiles), 2), np.nan)
        closed = results = 0
        while True:
            state = self.state
            closed, more = push_sorted(
                state.words,
                state.cells,
                state.table,
                state.ring,
                self.level,
                plan,
                codes,
                lows,
                highs,
                domain,
                first,
                closed,
                rows[results:],
                densities[results:],
            )
            results += more
            if closed == sub_windows:
                return rows[:results], densities[:results]
            self.grow(int(head_bytes(state.words) + plan[PLAN_ROOM]))

    def close_runs(self, events: Arrivals, runs: Integers, number: int | None, closed_to: int) -> tuple[Integers, int]:
        """Take the step for runs of events, in one compiled loop: only without a fine part.

        number
            The sub-window that has counts in the state already, which is the first; None if there is none.
        closed_to
            Up to where sub-windows have closed: idle ones from here on answer while any summary is live.

        Returns the rows of results, and up to where sub-windows have closed now.
        """
        progress = np.zeros(TIMED, np.int64)
        progress[T_OPEN] = NONE if number is None else number
        progress[T_CLOSED_TO] = closed_to
        rows = np.empty((len(runs) + 1, self.columns), np.int64)
        bits, moved, real = events.values.view(np.int64), events.moved.view(np.int64), events.values.dtype == np.float64
        weights, moved_weights = events.weights, events.moved_weights
        while True:
            state = self.state
            arrays = (state.words, state.cells, state.table, state.ring, bits, moved, weights, moved_weights)
            status = push_runs(*arrays, real, runs, progress, rows)
            if status == ALL_TAKEN:
                return rows[: progress[T_ROWS]], int(progress[T_CLOSED_TO])
            if status == NO_ROOM:
                self.grow(int(progress[T_NEED]))
            else:
                rows = np.concatenate([rows, np.empty_like(rows)])

    def enter(self, summary: bytes) -> None:
        """Enter a summary that was closed elsewhere. Raises StateError if it is not one of this query."""
        content = self.checked(summary)
        number = int(content.view(np.int64)[HEAD_NUMBER])
        state = self.state
        if state.has_newest and number <= state.newest_number:
            raise StateError("summaries are out of order; start again from the events")
        while not enter_foreign(state.words, state.cells, state.ring, self.level, content, number):
            self.grow(content.size)

    def checked(self, summary: bytes) -> npt.NDArray[np.uint8]:
        """Return the bytes of a summary as an array. Raises StateError if it is not one of this query."""
        return checked_summary(self.state.words, self.level, summary)

    def expire(self, number: int) -> None:
        """Expire every summary that a window whose newest sub-window is `number` does not cover."""
        expire_before(self.state.words, self.state.ring, self.level, number)

    def answer_empty(self, number: int, stop: int) -> Rows:
        """Return the results of the empty sub-windows from `number` up to `stop`, while any summary is live."""
        size = max(min(stop - number, self.query.sub_windows), 0) if self.state.live else 0
        rows, densities = self.new_rows(size)
        if size:
            state = self.state
            size = answer_empty(state.words, state.ring, self.level, number, number + size, rows, densities)
        return rows[:size], densities[:size] if densities is not None else None

    def grow(self, need: int) -> None:
        """Give the ring more room."""
        state = self.state
        before = state.live_starts()
        state.grow(need)
        if self.level is not None and state.live:
            distances = (state.live_starts() - before) // 8
            move_lists(self.level, state.live_slots(), distances, self.query.sub_windows + 1)
