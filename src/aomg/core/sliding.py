"""Level 2: the live summaries -> results.

`Sliding` owns the state of one stream and the codes of its query. Its verbs are the paper's Accumulate, Deaccumulate
and ComputeResult, written in core.kernels.steps. Queries of raw values, more than three digits, few-k lists or no
guarantee keep a fine part in each summary, and its totals in `level` (core.paper.level).
"""

import numpy as np
import numpy.typing as npt

from aomg.core.codes import Codec, DenseCodec, DigitsCodec, RawCodec
from aomg.core.counts import Counts
from aomg.core.kernels.closing import summary_room
from aomg.core.kernels.registers import HEAD_COUNT, HEAD_FINE, HEAD_NUMBER, OUT_FIXED
from aomg.core.kernels.soundness import summary_is_sound
from aomg.core.kernels.steps import answer_empty, close_open, enter_foreign, expire_before, merge_open, step_open
from aomg.core.layout import DENSE_DIGITS
from aomg.core.paper.raw import new_level
from aomg.core.state import OperatorState
from aomg.core.summary import FinePart, fine_part
from aomg.errors import StateError
from aomg.query import Query

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Pairs = tuple[Integers, Integers]


class Sliding:
    """The live summaries of one stream and their totals."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.state = OperatorState(query)
        self.dense = DenseCodec(self.state.words, self.state.table)
        self.codec: Codec = self.dense
        if query.digits is None:
            self.codec = RawCodec()
        elif query.digits > DENSE_DIGITS:
            self.codec = DigitsCodec(query.digits)
        self.has_fine = query.guarantee is None or query.keeps_lists or self.codec is not self.dense
        self.level = new_level(query) if self.has_fine else None
        self.columns = OUT_FIXED + 4 * len(query.quantiles) + 3 * len(query.thresholds)

    @property
    def has_fine_codes(self) -> bool:
        """Whether the query counts at a finer resolution than the dense codes."""
        return self.codec is not self.dense

    def new_rows(self, size: int) -> tuple[Integers, Reals | None]:
        """Room for so many results, and for the densities of queries with a fine part."""
        return np.zeros((size, self.columns), np.int64), self.new_densities(size)

    def new_densities(self, size: int) -> Reals | None:
        """Room for what Theorem 1 needs of so many results."""
        return np.full((size, len(self.query.quantiles), 2), np.nan) if self.has_fine else None

    # -- the verbs ---------------------------------------------------------------------------------------------------

    def step(self, number: int, fine: Pairs | None) -> tuple[Integers, Reals | None]:
        """Close the open sub-window as `number`, enter its summary, and return the rows of results: none or one.

        `fine` are the sub-window's ordered (code, count) pairs where it is counted at a finer resolution.
        """
        state = self.state
        rows, densities = self.new_rows(1)
        words = self._fine_words(fine, number, state.open_domain)
        size = -1
        while size < 0:
            size = step_open(state.words, state.ring, self.level, words, number, rows, densities)
            if size < 0:
                self.grow(int(summary_room(state.words)) + (words.nbytes if words is not None else 0))
        return rows[:size], densities[:size] if densities is not None else None

    def summary_of(self, counts: Counts, number: int) -> npt.NDArray[np.uint8]:
        """Return the bytes of the summary of sub-window `number`, which has these counts. Nothing may be open."""
        words = self.state.words
        merge_open(words, counts.codes, counts.numbers, counts.domain, counts.minimum, counts.maximum)
        fine = (counts.fine_codes, counts.fine_numbers) if self.has_fine_codes else None
        part = self._fine_words(fine, number, counts.domain)
        out = np.empty(int(summary_room(words)) + (part.nbytes if part is not None else 0), np.uint8)
        return out[: close_open(words, out, part, number)]

    def _fine_words(self, pairs: Pairs | None, number: int, domain: int) -> Integers | None:
        """The words of the fine part of the open sub-window."""
        if not self.has_fine:
            return None
        codes, counts = self.state.open_pairs() if pairs is None else pairs
        return fine_part(self.query, self.codec, self.dense, codes, counts, number, domain).words()

    def enter(self, summary: bytes) -> None:
        """Enter a summary that was closed elsewhere. Raises StateError if it is not one of this query."""
        content = self.sound(summary)
        head = content.view(np.int64)
        number = int(head[HEAD_NUMBER])
        state = self.state
        if state.has_newest and number <= state.newest_number:
            raise StateError("summaries are out of order; start again from the events")
        while not enter_foreign(state.words, state.ring, self.level, content, number):
            self.grow(content.size)

    def sound(self, summary: bytes) -> npt.NDArray[np.uint8]:
        """Return the bytes of a summary as an array. Raises StateError if they are not a summary of this query."""
        content = np.frombuffer(summary, np.uint8).copy()
        if content.size % 8 or not summary_is_sound(self.state.words, content):
            raise StateError("a summary is damaged or of another query; start again from the events")
        head = content.view(np.int64)
        if (head[HEAD_FINE] != 0) != self.has_fine:
            raise StateError("a summary is of another query; start again from the events")
        if self.has_fine:
            FinePart.read(self.query, self.codec, head[int(head[HEAD_FINE]) // 8 :], int(head[HEAD_COUNT]))
        return content

    def expire(self, number: int) -> None:
        """Expire every summary that a window whose newest sub-window is `number` does not cover."""
        expire_before(self.state.words, self.state.ring, self.level, number)

    def answer_empty(self, number: int, stop: int) -> tuple[Integers, Reals | None]:
        """Return the rows of results of the empty sub-windows from `number` up to `stop`, while any summary is live."""
        size = min(stop - number, self.query.sub_windows) if self.state.live else 0
        rows, densities = self.new_rows(max(size, 0))
        if size > 0:
            state = self.state
            size = answer_empty(state.words, state.ring, self.level, number, number + size, rows, densities)
        return rows[:size], densities[:size] if densities is not None else None

    def grow(self, need: int) -> None:
        """Give the ring more room."""
        self.state.grow(need)
