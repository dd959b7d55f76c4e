"""The windows of many keys: sub-windows close and windows answer, one key after another, in one state.

`Fleet.slide` takes rows (live summaries, counts of sub-windows that close, summaries that closed elsewhere), sorted by
key, and returns the results up to an end. It holds nothing between calls: what has to live on is handed back, so that
it can be kept in memory, in a file or in a state store. A result is that of an operator (core.operator) which got the
events of the key alone, bit for bit.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from aomg.core.counts import Counts
from aomg.core.kernels.keys import (
    DONE,
    KEPT_FLAG,
    KEPT_KEY,
    KEPT_NUMBER,
    KEPT_START,
    KEPT_WIDTH,
    P_KEPT,
    P_KEPT_BYTES,
    P_KEY,
    P_NEED,
    P_OPEN,
    P_RESULTS,
    PROGRESS,
    RESULTS_FULL,
    RING_FULL,
    ROW_COUNTS,
    ROW_LIVE,
    ROW_SUMMARY,
    slide_keys,
)
from aomg.core.kernels.registers import NONE
from aomg.core.kernels.soundness import record_is_sound
from aomg.core.kernels.sums import SUM_ROOM, sum_keys
from aomg.core.sliding import Sliding
from aomg.core.tally import counts_of
from aomg.errors import StateError
from aomg.query import Query
from aomg.result import Results

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

LIVE, COUNTS, SUMMARY = ROW_LIVE, ROW_COUNTS, ROW_SUMMARY
_FIRST_KEPT = 1 << 20


@dataclass(slots=True)
class Rows:
    """What is known of each key's sub-windows, ordered by key, kind and number.

    Row i is of key keys[i] and sub-window numbers[i], and its bytes are data[offsets[i] : offsets[i + 1]]. flags are
    what the burst detector had said of live summaries, or that a live row is a sum of them (`Fleet.add_up`).
    """

    keys: Integers
    numbers: Integers
    kinds: Integers
    flags: Integers
    offsets: Integers
    data: Bytes


@dataclass(slots=True)
class Closed:
    """The results, the key of each, and the summaries that closed: rows of keys, numbers, flags and bytes."""

    results: Results
    keys: Integers
    kept_keys: Integers
    kept_numbers: Integers
    kept_flags: Integers
    kept_offsets: Integers
    kept_data: Bytes


class Fleet:
    """Level 2 for any number of keys. Costs one operator's memory, and microseconds for each sub-window that closes."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.sliding = Sliding(query)

    @property
    def keeps(self) -> int:
        """How many of the newest sub-window numbers have to be handed in again as live."""
        return 2 * self.query.sub_windows if self.sliding.has_fine else self.query.sub_windows

    @property
    def adds_up(self) -> bool:
        """Whether live summaries can be added up. Those with a fine part are needed one by one."""
        return not self.sliding.has_fine

    def add_up(self, rows: Rows) -> Rows:
        """The live summaries of each key as two rows: the sum of all but the newest, and the newest. O(rows).

        They stand in for the summaries in any `slide` in which none of these leaves the window.
        """
        size, bytes_ = rows.keys.size, int(rows.offsets[-1] - rows.offsets[0])
        out = np.empty(SUM_ROOM * bytes_, np.uint8)
        index = np.zeros((size + 1, KEPT_WIDTH), np.int64)
        made = sum_keys(self.sliding.state, rows.keys, rows.numbers, rows.flags, rows.offsets, rows.data, out, index)
        offsets = index[: made + 1, KEPT_START].copy()
        index = index[:made]
        return Rows(
            index[:, KEPT_KEY],
            index[:, KEPT_NUMBER],
            np.full(made, LIVE, np.int64),
            index[:, KEPT_FLAG],
            offsets,
            out[: offsets[-1]].copy(),
        )

    def slide(
        self, rows: Rows, live_to: Integers, ends: Integers, answering: bool = True, keeping: bool = True
    ) -> Closed:
        """Close every row's sub-window and answer for each, and for idle ones.

        live_to, ends
            For each key: up to where its live summaries had answered, and up to where it answers now (exclusive).
        answering, keeping
            Whether results are wanted, and the summaries that close.
        """
        if self.sliding.has_fine:
            return self._slide_one_by_one(rows, live_to, ends, answering, keeping)
        return self._slide_compiled(rows, live_to, ends, answering, keeping)

    def _slide_compiled(self, rows: Rows, live_to: Integers, ends: Integers, answering: bool, keeping: bool) -> Closed:
        sliding = self.sliding
        progress = np.zeros(PROGRESS, np.int64)
        progress[P_KEY], progress[P_OPEN] = -1, NONE
        room = 2 * rows.keys.size + 1024 if answering else 0
        out, out_keys = np.zeros((room, sliding.columns), np.int64), np.zeros(room, np.int64)
        kept = np.empty(_FIRST_KEPT if keeping else 0, np.uint8)
        index = np.zeros((rows.keys.size if keeping else 0, KEPT_WIDTH), np.int64)
        while True:
            status = slide_keys(
                sliding.state,
                sliding.ring,
                progress,
                rows.keys,
                rows.numbers,
                rows.kinds,
                rows.flags,
                rows.offsets,
                rows.data,
                live_to,
                ends,
                answering,
                out,
                out_keys,
                kept,
                index,
            )
            if status == DONE:
                break
            if status == RING_FULL:
                sliding.grow(int(progress[P_NEED]))
            elif status == RESULTS_FULL:
                out, out_keys = _doubled(out), _doubled(out_keys)
            else:
                kept = np.concatenate([kept, np.empty(kept.size + int(progress[P_NEED]), np.uint8)])
        found, size = int(progress[P_RESULTS]), int(progress[P_KEPT])
        index, end_of_kept = index[:size], int(progress[P_KEPT_BYTES])
        return Closed(
            Results(self.query, out[:found]),
            out_keys[:found],
            index[:, KEPT_KEY],
            index[:, KEPT_NUMBER],
            index[:, KEPT_FLAG],
            np.append(index[:, KEPT_START], end_of_kept),
            kept[:end_of_kept],
        )

    # -- queries with a fine part -----------------------------------------------------------------------------------

    def _slide_one_by_one(
        self, rows: Rows, live_to: Integers, ends: Integers, answering: bool, keeping: bool
    ) -> Closed:
        averages = self.query.guarantee is None
        answers: list[Integers] = []
        densities: list[npt.NDArray[np.float64]] = []
        answer_keys: list[int] = []
        kept: list[tuple[int, int, bytes]] = []

        def answer(key: int, number: int) -> None:
            row = np.zeros(sliding.columns, np.int64)
            density = np.full((len(self.query.quantiles), 2), np.nan) if averages else None
            if sliding.result(number, row, density):
                answers.append(row)
                answer_keys.append(key)
                if density is not None:
                    densities.append(density)

        def idle(key: int, following: int | None, stop: int) -> None:
            number = following
            while number is not None and number < stop:
                sliding.expire(number)
                if sliding.live == 0:
                    return
                answer(key, number)
                number += 1

        starts = np.flatnonzero(np.diff(rows.keys, prepend=-1)) if rows.keys.size else np.empty(0, np.int64)
        bounds = np.append(starts, rows.keys.size)
        for first, last in pairwise(bounds):
            key = int(rows.keys[first])
            sliding = self.sliding = Sliding(self.query)
            following: int | None = None
            at = int(first)
            while at < last:
                number, kind = int(rows.numbers[at]), int(rows.kinds[at])
                record = rows.data[rows.offsets[at] : rows.offsets[at + 1]]
                if kind == LIVE:
                    sliding.enter(record.tobytes())
                    following, at = int(live_to[key]), at + 1
                    continue
                if answering:
                    idle(key, following, number)
                if kind == SUMMARY:
                    closed, at = record.tobytes(), at + 1
                    sliding.enter(closed)
                else:
                    counts = Counts()
                    while at < last and rows.numbers[at] == number:
                        part = rows.data[rows.offsets[at] : rows.offsets[at + 1]]
                        counts = counts.merge(counts_of(part, sliding.codec is not sliding.dense))
                        at += 1
                    closed = self._close(sliding, number, counts)
                if keeping:
                    kept.append((key, number, closed))
                if answering:
                    answer(key, number)
                following = number + 1
            if answering:
                idle(key, following, int(ends[key]))
        return self._gathered(answers, densities if averages else None, answer_keys, kept)

    def _close(self, sliding: Sliding, number: int, counts: Counts) -> bytes:
        """Close a sub-window from its counts; the summary's bytes."""
        sliding.merge(counts)
        own = sliding.codec is not sliding.dense
        codes, numbers = (counts.fine_codes, counts.fine_numbers) if own else (counts.codes, counts.numbers)
        sliding.close(number, codes, np.cumsum(numbers))
        return sliding.records()[-1]

    def _gathered(
        self,
        answers: list[Integers],
        densities: list[npt.NDArray[np.float64]] | None,
        keys: list[int],
        kept: list[tuple[int, int, bytes]],
    ) -> Closed:
        quantiles = len(self.query.quantiles)
        rows = np.stack(answers) if answers else np.empty((0, self.sliding.columns), np.int64)
        spread = None
        if densities is not None:
            spread = np.stack(densities) if densities else np.empty((0, quantiles, 2))
        lengths = [len(record) for _, _, record in kept]
        return Closed(
            Results(self.query, rows, spread),
            np.array(keys, np.int64),
            np.array([key for key, _, _ in kept], np.int64),
            np.array([number for _, number, _ in kept], np.int64),
            np.zeros(len(kept), np.int64),
            np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64),
            np.frombuffer(b"".join(record for _, _, record in kept), np.uint8),
        )

    def check(self, record: bytes) -> None:
        """Refuse bytes that are no summary of this query."""
        content = np.frombuffer(record, np.uint8).copy()
        if content.size % 8 or not record_is_sound(self.sliding.state, content):
            raise StateError("a summary is damaged or of another query; start again from the events")


def _doubled(array: Integers) -> Integers:
    """The array with as much room again."""
    return np.concatenate([array, np.zeros_like(array)])
