"""Level 2: the live summaries -> estimates.

`Sliding` owns the state and the ring of summaries; its three steps are the paper's Accumulate, Deaccumulate and
ComputeResult, written in core.kernels. With a guarantee and up to three digits that is all. Other queries keep a fine
part in every summary, for which there is a second array, `level` (core.kernels.paper.level2 says how it answers).
"""

import numpy as np
import numpy.typing as npt

from aomg.core.codes import Codec, DenseCodec, DigitsCodec, RawCodec
from aomg.core.counts import Counts
from aomg.core.kernels.answering import compute_result
from aomg.core.kernels.closing import record_room
from aomg.core.kernels.counting import note_open
from aomg.core.kernels.paper.parts import head_bytes
from aomg.core.kernels.paper.plans import PLAN_ROOM
from aomg.core.kernels.paper.steps import answer, close_fine, close_sorted, enter_summary, expire_summaries
from aomg.core.kernels.registers import (
    ENTERED,
    EXTREME_ROOM,
    FILLED,
    HEAD_LENGTH,
    HEAD_NUMBER,
    HEAD_WORDS,
    INTEGERS,
    LENGTH_MASK,
    LIVE_SUMMARIES,
    NEWEST_NUMBER,
    OUT_FIXED,
    REALS,
    RING_BEFORE,
    RING_END,
    RING_NEWEST,
    RING_OLDEST,
)
from aomg.core.kernels.ring import find_room, ring_records
from aomg.core.kernels.sortable import EXACT_INTEGERS, key_of_double, round_down, round_up
from aomg.core.kernels.steps import close_open, enter_at, expire_before, merge_open
from aomg.core.layout import DENSE_DIGITS, dense_digits, geometry_guarantee, new_state, table_of
from aomg.core.paper.level import move_lists, new_level, variables_of
from aomg.core.paper.plan import plan_of
from aomg.core.summary import checked_summary
from aomg.errors import StateError
from aomg.query import Query

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

_FIRST_RING = 1 << 13
_SORTED_AT_ONCE = 1 << 17  # events: they stay in a core's cache
_NO_DENSITIES = np.empty((0, 2))


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
        What Level 2 keeps of fine parts; None where summaries have none.
    counts_dense
        Whether the open sub-window is counted by dense code. Raw values without a guarantee are only sorted.
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self.state = new_state(query)
        self.table = table_of(dense_digits(query), geometry_guarantee(query))
        self.ring = np.zeros(_FIRST_RING, np.uint8)
        self.dense = DenseCodec(self.state, self.table)
        self.codec: Codec = self.dense
        if query.digits is None:
            self.codec = RawCodec()
        elif query.digits > DENSE_DIGITS:
            self.codec = DigitsCodec(query.digits)
        fine = query.guarantee is None or query.keeps_lists or self.codec is not self.dense
        self.level = new_level(query, self.codec) if fine else None
        self.counts_dense = query.guarantee is not None or query.digits is not None
        self.columns = OUT_FIXED + 4 * len(query.quantiles) + 3 * len(query.thresholds)

    @property
    def has_fine(self) -> bool:
        """Whether summaries have a fine part."""
        return self.level is not None

    # -- the ring ------------------------------------------------------------------------------------------------

    def grow(self, need: int = 0) -> None:
        """Give the ring more room, keeping its summaries in order."""
        starts = self.record_starts()
        lengths = [self._length(start) for start in starts]
        ring = np.zeros(max(2 * self.ring.size, -(-(sum(lengths) + 2 * need) // 8) * 8), np.uint8)
        moved, end = {-1: -1}, 0
        for start, length in zip(starts, lengths, strict=True):
            ring[end : end + length] = self.ring[start : start + length]
            moved[start] = end
            end += length
        for register in (RING_BEFORE, RING_OLDEST, RING_NEWEST):
            self.state[register] = moved.get(int(self.state[register]), -1)
        self.state[RING_END] = end
        self.ring = ring
        if self.level is not None and self.live:
            live, room = self.live, int(self.state[EXTREME_ROOM])
            distances = np.array([moved[start] - start for start in starts[-live:]], np.int64) // 8
            slots = (int(self.state[ENTERED]) - live + 1 + np.arange(live)) % room
            move_lists(self.level, slots, distances, room)

    def _length(self, start: int) -> int:
        """Bytes of the summary at `start`."""
        head = self.ring[start : start + 8 * HEAD_WORDS].view(np.int64)
        return int(head[HEAD_LENGTH] & LENGTH_MASK)

    def record_starts(self) -> list[int]:
        """Where the kept summaries begin, oldest first, with the one before the oldest."""
        starts = np.empty(int(self.state[LIVE_SUMMARIES]) + 2, np.int64)
        return [int(start) for start in starts[: ring_records(self.state, self.ring, starts)]]

    def live_starts(self) -> list[int]:
        """Where the live summaries begin, oldest first."""
        starts = self.record_starts()
        return starts[len(starts) - self.live :]

    def records(self) -> list[bytes]:
        """The kept summaries, oldest first, with the one before the oldest."""
        return [self.ring[start : start + self._length(start)].tobytes() for start in self.record_starts()]

    # -- the verbs -----------------------------------------------------------------------------------------------

    def merge(self, counts: Counts) -> None:
        """Count into the open sub-window what was counted elsewhere. Its fine codes are the caller's."""
        if self.counts_dense:
            merge_open(self.state, counts.codes, counts.numbers, counts.domain, counts.minimum, counts.maximum)
        else:
            extremes = extreme_keys(np.array([counts.minimum, counts.maximum]))
            note_open(self.state, counts.domain, *extremes, counts.total)

    def close(self, number: int, codes: Integers | None = None, ends: Integers | None = None) -> None:
        """Close the open sub-window as `number`: summarise it, then let it enter.

        codes, ends
            With a fine part: the sub-window's codes at the query's resolution, ascending; each as often as it occurs,
            or each once with the number of events up to it.
        """
        if self.level is None or codes is None:
            self.expire(number)
            start, _ = close_open(self.state, self.ring, number, 0, True)
            while start < 0:
                self.grow(int(record_room(self.state)))
                start, _ = close_open(self.state, self.ring, number, 0, True)
            enter_at(self.state, self.ring, start, True)
            return
        plan = plan_of(self.query, int(self.state[FILLED]))
        while need := close_fine(self.state, self.table, self.ring, self.level, plan, codes, ends, number):
            self.grow(int(need))

    def close_values(self, values: npt.NDArray[np.generic], first: int) -> tuple[Integers, Reals]:
        """Close sub-windows of `period` raw values each, from number `first` on; their results and densities.

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
        out = np.empty((sub_windows, self.columns), np.int64)
        densities = np.full((sub_windows, len(self.query.quantiles), 2), np.nan)
        closed = results = 0
        while True:
            closed, more = close_sorted(
                self.state,
                self.table,
                self.ring,
                self.level,
                plan,
                codes,
                lows,
                highs,
                domain,
                first,
                closed,
                out[results:],
                densities[results:],
            )
            results += more
            if closed == sub_windows:
                return out[:results], densities[:results]
            self.grow(int(head_bytes(self.state) + plan[PLAN_ROOM]))

    def enter(self, record: bytes) -> None:
        """Let a summary enter that was closed elsewhere. Refuses bytes that are none of this query's."""
        content = checked_summary(self.state, self.level, record)
        number = int(content.view(np.int64)[HEAD_NUMBER])
        if self.state[RING_NEWEST] >= 0 and number <= self.state[NEWEST_NUMBER]:
            raise StateError("summaries are out of order; start again from the events")
        self.expire(number)
        start = find_room(self.state, self.ring.view(np.int64), content.size)
        while start < 0:
            self.grow(content.size)
            start = find_room(self.state, self.ring.view(np.int64), content.size)
        self.ring[start : start + content.size] = content
        if self.level is None:
            enter_at(self.state, self.ring, start, False)
        else:
            enter_summary(self.state, self.ring, self.level, start)

    def expire(self, number: int) -> None:
        """Let every summary leave that a window whose newest sub-window is `number` does not cover."""
        before = number - self.query.sub_windows + 1
        if self.level is None:
            expire_before(self.state, self.ring, before)
        else:
            expire_summaries(self.state, self.ring, self.level, before)

    def result(self, number: int, row: Integers, densities: Reals | None) -> bool:
        """Write the result of the window that ends with sub-window `number`; False if it owes none.

        densities
            Gets what Theorem 1 needs. Without a guarantee it must be there.
        """
        if self.live == 0 or (not self.query.partial and self.live < self.query.sub_windows):
            return False
        if self.level is None:
            compute_result(self.state, number, row)
        else:
            densities = _NO_DENSITIES if densities is None else densities
            answer(self.state, self.ring, self.level, number, row, densities)
        return True

    @property
    def variables(self) -> dict[str, int]:
        """Live scalars of the fine parts, by what they are for."""
        if self.level is None:
            return {}
        return variables_of(self.query, self.level, self.ring.view(np.int64), self.live_starts())

    @property
    def live(self) -> int:
        """How many non-empty sub-windows are live."""
        return int(self.state[LIVE_SUMMARIES])
