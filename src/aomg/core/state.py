"""The state of an operator: four arrays that the kernels share, read and checked by name.

`words` holds registers and areas (core.layout), `cells` the counts of the open sub-window, `ring` the bytes of the live
summaries in the order of their numbers, and `table` the cells of values. Kernels take the arrays. All other code reads
them through this class, so that no other module depends on the position of a register.
"""

import numpy as np
import numpy.typing as npt

from aomg.core.kernels import registers as r
from aomg.core.kernels.extremes import extreme_of, oldest_slot
from aomg.core.kernels.folds import MOST_NARROW, touched_supers
from aomg.core.kernels.heads import domain_in, is_listed, length_of
from aomg.core.kernels.ring import add_summary, summary_starts
from aomg.core.kernels.sortable import double_of_key, key_of_double
from aomg.core.kernels.steps import list_open
from aomg.core.kernels.totals import open_head
from aomg.core.layout import Cells, dense_digits, geometry_guarantee, new_cells, new_words, table_of
from aomg.query import Query

Integers = npt.NDArray[np.int64]

_FIRST_RING = 1 << 13
_NOTHING_LIVE = (r.RING_BEFORE, r.RING_OLDEST, r.RING_NEWEST)


class OperatorState:
    """The open sub-window, the live summaries and their totals. Takes about 0.2 MB of memory when it is new."""

    __slots__ = ("_query", "cells", "ring", "table", "words")

    def __init__(self, query: Query) -> None:
        self._query = query
        self.words = new_words(query)
        self.cells: Cells = new_cells(self.words)
        self.table = table_of(dense_digits(query), geometry_guarantee(query))
        self.ring = np.zeros(_FIRST_RING, np.uint8)

    # -- the open sub-window -----------------------------------------------------------------------------------------

    @property
    def open_events(self) -> int:
        """Events of the open sub-window; one with a weight is as many."""
        return int(self.words[r.FILLED])

    @property
    def open_surplus(self) -> int:
        """By how much the weight of the open sub-window exceeds its number of events."""
        return int(self.words[r.SURPLUS])

    @property
    def open_number(self) -> int:
        """Number of the open sub-window, where windows are counted in events."""
        return int(self.words[r.OPEN_NUMBER])

    @open_number.setter
    def open_number(self, number: int) -> None:
        self.words[r.OPEN_NUMBER] = number

    @property
    def open_domain(self) -> int:
        """What the open sub-window holds: REALS, INTEGERS, BOTH or NOTHING."""
        return int(self.words[r.OPEN_DOMAIN])

    @property
    def open_extremes(self) -> Integers:
        """Sortable keys of the smallest and the largest value of the open sub-window, to read or to write."""
        return self.words[r.OPEN_MINIMUM : r.OPEN_MAXIMUM + 1]

    @property
    def open_minimum(self) -> float:
        """The smallest value of the open sub-window; infinity if it is empty."""
        return float(double_of_key(int(self.words[r.OPEN_MINIMUM]))) if self.open_events else np.inf

    @property
    def open_maximum(self) -> float:
        """The largest value of the open sub-window; minus infinity if it is empty."""
        return float(double_of_key(int(self.words[r.OPEN_MAXIMUM]))) if self.open_events else -np.inf

    @property
    def refused(self) -> int:
        """Values that a kernel refused because they were not finite."""
        return int(self.words[r.REFUSED])

    def widen_open(self, domain: int, low: int, high: int) -> None:
        """Set what the open sub-window holds, and let its extremes reach the sortable keys `low` and `high`."""
        self.words[r.OPEN_DOMAIN] = domain
        extremes = self.open_extremes
        extremes[:] = min(int(extremes[0]), low), max(int(extremes[1]), high)

    def open_pairs(self) -> tuple[Integers, Integers]:
        """The open sub-window as (dense code, count) pairs in ascending order."""
        room = 256 * int(touched_supers(self.words))
        codes, counts = np.empty(room, np.int64), np.empty(room, np.int64)
        size = list_open(self.words, self.cells, codes, counts)
        return codes[:size].copy(), counts[:size].copy()

    def make_room_for(self, events: int) -> None:
        """Give the counts 64 bits if 32 are too few for so many more events in the open sub-window.

        They stay so: results and bytes are the same, but counting takes longer.
        """
        if self.open_events + events > MOST_NARROW and self.cells.dtype != np.int64:
            self.widen_cells()

    def widen_cells(self) -> None:
        """Give the counts 64 bits."""
        cells = new_cells(self.words, np.int64)
        counted = np.flatnonzero(self.cells)
        cells[counted] = self.cells[counted]
        self.cells = cells

    # -- the live summaries ------------------------------------------------------------------------------------------

    @property
    def live(self) -> int:
        """How many summaries are live; sub-windows without events have none."""
        return int(self.words[r.LIVE_SUMMARIES])

    @property
    def live_events(self) -> int:
        """Events of all live summaries."""
        return int(self.words[r.LIVE_COUNT])

    @property
    def newest_number(self) -> int:
        """Number of the newest summary; NONE if there never was one."""
        return int(self.words[r.NEWEST_NUMBER])

    @property
    def has_newest(self) -> bool:
        """Whether any summary has entered."""
        return bool(self.words[r.RING_NEWEST] >= 0)

    @property
    def guarantee(self) -> float:
        """The relative error that values keep to their whole interval."""
        return float(self.words.view(np.float64)[r.GUARANTEE])

    def summary_starts(self) -> Integers:
        """Where summaries begin in the ring, oldest first: the one that expired last, then the live ones."""
        starts = np.empty(self.live + 2, np.int64)
        return starts[: summary_starts(self.words, self.ring, starts)]

    def head(self, start: int) -> Integers:
        """A copy of the head of the summary at `start`: that of a list of codes as it would be with rows."""
        ring_words = self.ring.view(np.int64)
        size = r.HEAD_WORDS + len(self._query.quantiles) + 2 * len(self._query.thresholds)
        if open_head(self.words, self.ring, ring_words, start, r.YES) >= 0:
            return self._area(self.words, r.AT_HEAD, None)[:size].copy()
        return ring_words[start // 8 : start // 8 + size].copy()

    def is_listed(self, start: int) -> bool:
        """Whether the summary at `start` is a list of codes."""
        return bool(is_listed(self.ring.view(np.int64), start))

    def summaries(self) -> list[bytes]:
        """The bytes of the summaries, in the order of `summary_starts`."""
        return [self.ring[start : start + self._length(start)].tobytes() for start in self.summary_starts().tolist()]

    def live_starts(self) -> Integers:
        """Where the live summaries begin in the ring, oldest first."""
        starts = self.summary_starts()
        return starts[starts.size - self.live :]

    def live_slots(self) -> Integers:
        """The slots of the live summaries, oldest first: those that entered `sub_windows` + 1 apart share one."""
        entered, room = int(self.words[r.ENTERED]), int(self.words[r.EXTREME_ROOM])
        slots: Integers = (entered - self.live + 1 + np.arange(self.live)) % room
        return slots

    def _length(self, start: int) -> int:
        return int(length_of(self.ring.view(np.int64), start))

    def grow(self, need: int) -> None:
        """Give the ring at least twice its room, and `need` bytes more than its summaries take."""
        starts = self.summary_starts().tolist()
        lengths = [self._length(start) for start in starts]
        ring = np.zeros(max(2 * self.ring.size, -(-(sum(lengths) + 2 * need) // 8) * 8), np.uint8)
        moved, end = {-1: -1}, 0
        for start, length in zip(starts, lengths, strict=True):
            ring[end : end + length] = self.ring[start : start + length]
            moved[start] = end
            end += length
        for register in _NOTHING_LIVE:
            self.words[register] = moved.get(int(self.words[register]), -1)
        self.words[r.RING_END] = end
        self.ring = ring

    # -- size --------------------------------------------------------------------------------------------------------

    @property
    def summary_nbytes(self) -> int:
        """Bytes of the live summaries."""
        return sum(self._length(start) for start in self.live_starts().tolist())

    @property
    def nbytes(self) -> int:
        """Bytes in use: live summaries, their totals, and the counts of the open sub-window."""
        totals = int(self.words[r.ACTIVE]) * (16 + 256 + 1) * 8
        return self.summary_nbytes + totals + int(touched_supers(self.words)) * 1024

    # -- invariants --------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise AssertionError if a register, a total or a summary contradicts another. For tests: it takes 10 ms."""
        self._check_open()
        self._check_ring()
        self._check_totals()
        self._check_extremes()

    def _check_open(self) -> None:
        codes, counts = self.open_pairs()
        assert np.all(counts > 0) and np.all(codes[1:] > codes[:-1]), "open pairs are ordered and counted"
        events = int(self.cells[: 512 * int(self.words[r.HALF_PLACES])].sum(dtype=np.int64))
        assert int(counts.sum()) == events, "every count is in a super that is known as touched"
        assert events in (0, self.open_events), "counts are those of the open events; raw values may be only sorted"
        assert 0 <= self.open_surplus < max(self.open_events, 1), "an event has a weight of one or more"
        if self.open_events:
            assert self.open_domain in (r.REALS, r.INTEGERS, r.BOTH)
            assert self.open_minimum <= self.open_maximum
        else:
            assert self.open_domain == r.NOTHING

    def _check_ring(self) -> None:
        words, starts = self.words, self.live_starts().tolist()
        heads = [self.head(start) for start in starts]
        numbers = [int(head[r.HEAD_NUMBER]) for head in heads]
        domains = [int(domain_in(head[r.HEAD_LENGTH])) for head in heads]
        assert len(starts) == self.live, "the ring has as many live summaries as the register says"
        assert numbers == sorted(set(numbers)), "summaries are in the order of their numbers"
        assert sum(int(head[r.HEAD_COUNT]) for head in heads) == self.live_events
        assert sum(domain != r.INTEGERS for domain in domains) == words[r.LIVE_WITH_REALS]
        assert sum(domain != r.REALS for domain in domains) == words[r.LIVE_WITH_INTEGERS]
        if starts:
            assert starts[0] == words[r.RING_OLDEST] and starts[-1] == words[r.RING_NEWEST]
            assert numbers[-1] == self.newest_number and numbers[-1] - numbers[0] < self._query.sub_windows
        else:
            assert words[r.RING_OLDEST] == -1

    def _check_totals(self) -> None:
        """The sliding totals are those of the live summaries added up anew, and nothing else."""
        anew = new_words(self._query)
        for start in self.live_starts().tolist():
            add_summary(anew, self.ring, self.ring.view(np.int64), start)
        for areas in ((r.AT_TOTAL, r.AT_SUPER_TOTAL), (r.AT_SUPER_TOTAL, r.AT_FINE), (r.AT_FINE, None)):
            same = np.array_equal(self._area(self.words, *areas), self._area(anew, *areas))
            assert same, "sliding totals are the sums of the live summaries"
        ours, theirs = self._active_supers(self.words), self._active_supers(anew)
        assert np.array_equal(ours, theirs) and np.all(ours[1:] > ours[:-1]), "active supers are those with counts"
        limits = 4 * len(self._query.thresholds)
        ours, theirs = (self._area(words, r.AT_THRESHOLD, None)[:limits] for words in (self.words, anew))
        assert np.array_equal(ours, theirs)

    @staticmethod
    def _area(words: Integers, first: int, after: int | None) -> Integers:
        return words[int(words[first]) : None if after is None else int(words[after])]

    @staticmethod
    def _active_supers(words: Integers) -> Integers:
        return words[int(words[r.AT_ACTIVE]) :][: int(words[r.ACTIVE])]

    def _check_extremes(self) -> None:
        words, quantiles = self.words, len(self._query.quantiles)
        if self.live == 0 or words[r.ENTERED] - self.live + 1 >= words[r.TURNED]:
            return  # the stacks will be rebuilt before they are read
        heads = [self.head(start) for start in self.live_starts().tolist()]
        lows = [int(key_of_double(float(head.view(np.float64)[r.HEAD_MINIMUM]))) for head in heads]
        highs = [int(key_of_double(float(head.view(np.float64)[r.HEAD_MAXIMUM]))) for head in heads]
        slot = oldest_slot(words)
        assert extreme_of(words, 2 * quantiles, slot) == max(highs)
        assert -extreme_of(words, 2 * quantiles + 1, slot) == min(lows)
        for q in range(quantiles):
            codes = [int(head[r.HEAD_WORDS + q]) for head in heads]
            assert extreme_of(words, 2 * q, slot) == max(code >> r.CODE_SHIFT for code in codes)
            assert -extreme_of(words, 2 * q + 1, slot) == min(code & int(r.CODE_MASK) for code in codes)
