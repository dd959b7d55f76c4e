"""Level 2 for many keys: closes sub-windows and computes results, one key after another, in one state.

`KeyedWindows.slide` takes rows (live summaries, tallies of sub-windows that close, summaries that closed elsewhere),
ordered by key, and returns the results up to an end. It keeps nothing between calls: it returns the live summaries, and
the caller stores them in memory, in a file or in a state store. Results equal those of an operator (core.operator) that
gets the events of the key alone, bit for bit. Rows may also be of events (core.groups), which need no tally then.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.counts import Counts
from aomg.core.kernels.keys import (
    CELLS_NARROW,
    DONE,
    INDEX_FLAG,
    INDEX_KEY,
    INDEX_NUMBER,
    INDEX_START,
    INDEX_WIDTH,
    P_KEY,
    P_NEED,
    P_OPEN,
    P_RESULTS,
    P_SUMMARIES,
    P_SUMMARY_BYTES,
    PROGRESS,
    RESULTS_FULL,
    RING_FULL,
    ROW_EVENTS,
    ROW_LIVE,
    ROW_SUMMARY,
    ROW_TALLY,
    OutputArrays,
    RowArrays,
    slide_keys,
)
from aomg.core.kernels.registers import NONE
from aomg.core.kernels.sums import S_NEED, S_START, S_WRITTEN, SUMMING, sum_keys
from aomg.core.sliding import Sliding
from aomg.core.summary import heads_of
from aomg.core.tally import counts_of
from aomg.query import Query
from aomg.result import Results

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[Any]  # int64 or float64

LIVE, TALLY, SUMMARY, EVENTS = ROW_LIVE, ROW_TALLY, ROW_SUMMARY, ROW_EVENTS
_FIRST_BYTES = 1 << 20
_NO_VALUES = np.empty(0, np.int64)


@dataclass(slots=True)
class KeyRows:
    """What is known of each key's sub-windows, ordered by key, live rows before the others, and number.

    Row i is of key keys[i] and sub-window numbers[i], and its bytes are data[offsets[i] : offsets[i + 1]]. flags are
    what the burst detector decided about live summaries, or that a live row is a sum of them (`KeyedWindows.add_up`).
    The bytes of a row of events are two words: its events are values[first:last], with weights or without.
    """

    keys: Integers
    numbers: Integers
    kinds: Integers
    flags: Integers
    offsets: Integers
    data: Bytes
    values: Numbers = field(default_factory=lambda: _NO_VALUES)
    weights: Integers | None = None

    def heads(self) -> tuple[Integers, Reals, Reals]:
        """Events, minimum and maximum of each row, which must all be summaries."""
        _, counts, minima, maxima = heads_of(self.offsets, self.data)
        return counts, minima, maxima

    def arrays(self) -> RowArrays:
        """The rows as the kernels take them."""
        bits, real = self.values.view(np.int64), self.values.dtype == np.float64
        rows = (self.keys, self.numbers, self.kinds, self.flags, self.offsets, self.data)
        return RowArrays(*rows, bits, real, self.weights)


@dataclass(slots=True)
class ClosedWindows:
    """The results, the key of each, and the summaries that closed."""

    results: Results
    result_keys: Integers
    summaries: KeyRows


class KeyedWindows:
    """Level 2 for any number of keys. Costs one operator's memory, and microseconds for each sub-window that closes."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.sliding = Sliding(query)

    @property
    def live_span(self) -> int:
        """How many of the newest sub-window numbers the caller has to hand in again as live."""
        return 2 * self.query.sub_windows if self.sliding.has_fine else self.query.sub_windows

    @property
    def adds_up(self) -> bool:
        """Whether live summaries can be added up. Those with a fine part are needed one by one."""
        return not self.sliding.has_fine

    def add_up(self, rows: KeyRows) -> KeyRows:
        """Return the live summaries of each key as two rows: the sum of all but the newest, and the newest. O(rows).

        They stand in for the summaries in any `slide` in which none of these expires.
        """
        size, bytes_ = rows.keys.size, int(rows.offsets[-1] - rows.offsets[0])
        data = np.empty(-(-bytes_ // 8) * 8 + _FIRST_BYTES, np.uint8)
        index = np.zeros((size + 1, INDEX_WIDTH), np.int64)
        progress = np.zeros(SUMMING, np.int64)
        while not sum_keys(self.sliding.state.words, rows.arrays(), data, index, progress):
            more = max(data.size, -(-int(progress[S_NEED]) // 8) * 8)
            data = np.concatenate([data, np.empty(more, np.uint8)])
        sums = int(progress[S_WRITTEN])
        return _indexed(index[:sums], int(progress[S_START]), data, copy=True)

    def slide(
        self, rows: KeyRows, live_to: Integers, ends: Integers, answering: bool = True, listing: bool = True
    ) -> ClosedWindows:
        """Close every row's sub-window and answer for each, and for idle ones.

        live_to, ends
            For each key: up to where its live summaries had answered, and up to where it answers now (exclusive).
        answering, listing
            Whether to return results, and the summaries that close.
        """
        return next(self.parts(rows, live_to, ends, answering, listing))

    def parts(
        self,
        rows: KeyRows,
        live_to: Integers,
        ends: Integers,
        answering: bool = True,
        listing: bool = True,
        room: int | None = None,
    ) -> Iterator[ClosedWindows]:
        """Do what `slide` does, in parts of at most `room` results; None gives one part.

        A part is overwritten when the next one is taken: arrays that stay in a core's cache take half the time.
        """
        sliding = self.sliding
        if sliding.has_fine:
            rows = self._summarized(rows)
        progress = np.zeros(PROGRESS, np.int64)
        progress[P_KEY], progress[P_OPEN] = -1, NONE
        output = self._output(rows.keys.size, answering, listing, room)
        arrays = rows.arrays()
        while True:
            state = sliding.state
            words, cells, ring = state.words, state.cells, state.ring
            status = slide_keys(
                words, state.table, cells, ring, sliding.level, progress, arrays, live_to, ends, answering, output
            )
            if status == DONE:
                break
            if status == RING_FULL:
                sliding.grow(int(progress[P_NEED]))
            elif status == CELLS_NARROW:
                state.widen_cells()
            elif room is not None and (progress[P_RESULTS] or progress[P_SUMMARIES]):
                yield self._closed(output, progress)
                progress[[P_RESULTS, P_SUMMARIES, P_SUMMARY_BYTES]] = 0
                if output.densities is not None:
                    output.densities[:] = np.nan
            elif status == RESULTS_FULL:
                output = output._replace(
                    results=_doubled(output.results),
                    result_keys=_doubled(output.result_keys),
                    densities=None if output.densities is None else _doubled(output.densities, np.nan),
                )
            else:
                summaries = output.summaries
                more = np.empty(summaries.size + int(progress[P_NEED]), np.uint8)
                output = output._replace(summaries=np.concatenate([summaries, more]))
        yield self._closed(output, progress)

    def _closed(self, output: OutputArrays, progress: Integers) -> ClosedWindows:
        """What has been written so far."""
        size = int(progress[P_RESULTS])
        densities = output.densities[:size] if self.query.guarantee is None else None
        return ClosedWindows(
            Results(self.query, output.results[:size], densities),
            output.result_keys[:size],
            _indexed(output.index[: int(progress[P_SUMMARIES])], int(progress[P_SUMMARY_BYTES]), output.summaries),
        )

    def _output(self, rows: int, answering: bool, listing: bool, room: int | None) -> OutputArrays:
        """Arrays for `room` results and summaries, or for all of so many rows; those for results may have to grow."""
        most = rows if room is None else min(rows, room)
        room = (2 * rows + 1024 if room is None else room) if answering else 0
        return OutputArrays(
            np.zeros((room, self.sliding.columns), np.int64),
            np.zeros(room, np.int64),
            self.sliding.new_densities(room),
            np.empty(_FIRST_BYTES if listing else 0, np.uint8),
            np.zeros((most if listing else 0, INDEX_WIDTH), np.int64),
        )

    def _summarized(self, rows: KeyRows) -> KeyRows:
        """Close the sub-windows of all tallies: rows with the summary of each. For queries with a fine part."""
        sliding = self.sliding
        kinds = rows.kinds == TALLY
        same = (rows.keys[1:] == rows.keys[:-1]) & (rows.numbers[1:] == rows.numbers[:-1]) & kinds[1:] & kinds[:-1]
        firsts = np.flatnonzero(np.concatenate([[True], ~same])) if rows.keys.size else np.empty(0, np.int64)
        lasts = np.append(firsts, rows.keys.size)[1:]
        parts: list[Bytes] = []
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
            if not kinds[first]:
                parts.append(rows.data[rows.offsets[first] : rows.offsets[last]])
                continue
            counts = Counts()
            for row in range(first, last):
                tally = rows.data[rows.offsets[row] : rows.offsets[row + 1]]
                counts = counts.merge(counts_of(tally, sliding.codec is not sliding.dense))
            parts.append(sliding.summary_of(counts, int(rows.numbers[first])))
        offsets = np.concatenate([[0], np.cumsum([part.size for part in parts], dtype=np.int64)]).astype(np.int64)
        return KeyRows(
            rows.keys[firsts],
            rows.numbers[firsts],
            np.where(kinds[firsts], SUMMARY, rows.kinds[firsts]),
            rows.flags[firsts],
            offsets,
            np.concatenate(parts) if parts else np.empty(0, np.uint8),
        )

    def check(self, summary: bytes) -> None:
        """Raise StateError if these bytes are not a summary of this query."""
        self.sliding.checked(summary)


def _indexed(index: Integers, end: int, data: Bytes, copy: bool = False) -> KeyRows:
    """Live rows from an index of summaries and their bytes, which end at `end`."""
    data = data[:end]
    return KeyRows(
        index[:, INDEX_KEY],
        index[:, INDEX_NUMBER],
        np.full(len(index), LIVE, np.int64),
        index[:, INDEX_FLAG],
        np.append(index[:, INDEX_START], end),
        data.copy() if copy else data,
    )


def _doubled(array: npt.NDArray[Any], fill: float = 0) -> npt.NDArray[Any]:
    """The array with as much room again."""
    return np.concatenate([array, np.full_like(array, fill)])
