"""Level 2: the live summaries -> estimates.

`Sliding` owns the state and the ring of summaries; its three steps are the paper's Accumulate, Deaccumulate and
ComputeResult, written in core.kernels. With a guarantee and up to three digits that is all. Other queries keep a fine
part beside, which core.refinement works into each result, or core.paper.raw in a loop of its own.
"""

import numpy as np
import numpy.typing as npt

from aomg.core.codes import Codec, DenseCodec, DigitsCodec, RawCodec
from aomg.core.kernels.answering import compute_result
from aomg.core.kernels.closing import record_room
from aomg.core.kernels.registers import (
    HEAD_COUNT,
    HEAD_FINE,
    HEAD_LENGTH,
    HEAD_NUMBER,
    HEAD_WORDS,
    LENGTH_MASK,
    LIVE_SUMMARIES,
    NEWEST_NUMBER,
    OUT_FIXED,
    RING_BEFORE,
    RING_END,
    RING_NEWEST,
    RING_OLDEST,
)
from aomg.core.kernels.ring import find_room, ring_records
from aomg.core.kernels.soundness import record_is_sound
from aomg.core.kernels.steps import close_open, enter_at, expire_before
from aomg.core.layout import DENSE_DIGITS, dense_digits, geometry_guarantee, new_state, table_of
from aomg.core.refinement import Refinement
from aomg.core.summary import FinePart
from aomg.errors import StateError
from aomg.query import Query

Integers = npt.NDArray[np.int64]

_FIRST_RING = 1 << 13


class Sliding:
    """The live summaries of one stream and their totals."""

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
        self.has_fine = query.guarantee is None or query.keeps_lists or self.codec is not self.dense
        self.refinement = Refinement(query, self.state, self.codec, self.dense) if self.has_fine else None
        self.columns = OUT_FIXED + 4 * len(query.quantiles) + 3 * len(query.thresholds)

    # -- the ring ------------------------------------------------------------------------------------------------

    def grow(self, need: int = 0) -> None:
        """Give the ring more room, keeping its summaries in order."""
        starts = self.record_starts()
        lengths = [self._length(at) for at in starts]
        ring = np.zeros(max(2 * self.ring.size, -(-(sum(lengths) + 2 * need) // 8) * 8), np.uint8)
        places, end = {-1: -1}, 0
        for at, length in zip(starts, lengths, strict=True):
            ring[end : end + length] = self.ring[at : at + length]
            places[at] = end
            end += length
        for register in (RING_BEFORE, RING_OLDEST, RING_NEWEST):
            self.state[register] = places.get(int(self.state[register]), -1)
        self.state[RING_END] = end
        self.ring = ring

    def _head(self, at: int) -> Integers:
        """The fixed words of the summary at `at`, to read or to write."""
        return self.ring[at : at + 8 * HEAD_WORDS].view(np.int64)

    def _length(self, at: int) -> int:
        return int(self._head(at)[HEAD_LENGTH] & LENGTH_MASK)

    def record_starts(self) -> list[int]:
        """Where the kept summaries begin, oldest first, with the one before the oldest."""
        starts = np.empty(int(self.state[LIVE_SUMMARIES]) + 2, np.int64)
        return [int(at) for at in starts[: ring_records(self.state, self.ring, starts)]]

    def records(self) -> list[bytes]:
        """The kept summaries, oldest first, with the one before the oldest."""
        return [self.ring[at : at + self._length(at)].tobytes() for at in self.record_starts()]

    # -- the verbs -----------------------------------------------------------------------------------------------

    def close(self, number: int, fine: FinePart | None) -> None:
        """Close the open sub-window as `number`: summarise it, then let it enter."""
        self.expire(number)
        words = fine.words() if fine is not None else np.empty(0, np.int64)
        at, length = close_open(self.state, self.ring, number, words.nbytes, True)
        while at < 0:
            self.grow(int(record_room(self.state)) + words.nbytes)
            at, length = close_open(self.state, self.ring, number, words.nbytes, True)
        if fine is not None:
            head = self._head(at)
            head[HEAD_FINE] = length
            head[HEAD_LENGTH] += words.nbytes
            self.ring[at + length : at + length + words.nbytes] = words.view(np.uint8)
        self._let_in(at, fine, True)

    def _let_in(self, at: int, fine: FinePart | None, closed_here: bool) -> None:
        """Accumulate: the summary at `at` becomes the newest."""
        enter_at(self.state, self.ring, at, closed_here)
        if self.refinement is not None and fine is not None:
            self.refinement.accumulate(self._head(at), fine)

    def enter(self, record: bytes) -> None:
        """Let a summary enter that was closed elsewhere. Refuses bytes that are none of this query's."""
        content = np.frombuffer(record, np.uint8).copy()
        if content.size % 8 or not record_is_sound(self.state, content):
            raise StateError("a summary is damaged or of another query; start again from the events")
        head = content.view(np.int64)
        fine = None
        if (head[HEAD_FINE] != 0) != self.has_fine:
            raise StateError("a summary is of another query; start again from the events")
        if self.has_fine:
            words = head[int(head[HEAD_FINE]) // 8 :]
            fine = FinePart.read(self.query, self.codec, words, int(head[HEAD_COUNT]))
        number = int(head[HEAD_NUMBER])
        if self.state[RING_NEWEST] >= 0 and number <= self.state[NEWEST_NUMBER]:
            raise StateError("summaries are out of order; start again from the events")
        self.expire(number)
        at = find_room(self.state, self.ring.view(np.int64), content.size)
        while at < 0:
            self.grow(content.size)
            at = find_room(self.state, self.ring.view(np.int64), content.size)
        self.ring[at : at + content.size] = content
        self._let_in(at, fine, False)

    def expire(self, number: int) -> None:
        """Let every summary leave that a window whose newest sub-window is `number` does not cover."""
        before = number - self.query.sub_windows + 1
        expire_before(self.state, self.ring, before)
        if self.refinement is not None:
            self.refinement.deaccumulate(before)

    def result(self, number: int, row: Integers, densities: npt.NDArray[np.float64] | None) -> bool:
        """Write the result of the window that ends with sub-window `number`; False if it owes none."""
        live = int(self.state[LIVE_SUMMARIES])
        if live == 0 or (not self.query.partial and live < self.query.sub_windows):
            return False
        self._answer(number, row, densities)
        return True

    def _answer(self, number: int, row: Integers, densities: npt.NDArray[np.float64] | None) -> None:
        """ComputeResult: write the row, and what Theorem 1 needs."""
        compute_result(self.state, number, row)
        if self.refinement is not None:
            self.refinement.compute_result(number, row, densities)

    @property
    def variables(self) -> dict[str, int]:
        """Live scalars of the fine parts, by what they are for."""
        return self.refinement.variables if self.refinement is not None else {}

    @property
    def live(self) -> int:
        """How many non-empty sub-windows are live."""
        return int(self.state[LIVE_SUMMARIES])
