"""What is held of one query, as it grows and shrinks: rows join windows, old windows go, and keys with them."""

from bisect import bisect_left, insort
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aomg.web.memory.columns import Rows, estimate_names, in_order, rows_of
from aomg.web.memory.keys import KeyNumbers
from aomg.web.memory.windows import QueryHistory, Window

_SPARE = 3  # keys that have gone are kept until they take half of what the others take, so every key is paid 3/2 times


@dataclass(eq=False)
class HeldQuery:
    """What is held of one query: used by the thread that adds, and by no other."""

    name: str
    numbers: KeyNumbers = field(default_factory=KeyNumbers)
    last: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """The newest end at which each key was seen."""
    names: tuple[str, ...] = ()
    named: tuple[int, int] = (-(1 << 63), -1)
    """End and batch of the row that told the names of the labels."""
    estimates: tuple[str, ...] = ()
    methods: dict[str, int] = field(default_factory=lambda: {"": 0})
    windows: dict[int, Window] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)
    overrode: bool = False
    """Whether a row of one batch ever took the place of that of another one."""

    def snapshot(self) -> QueryHistory:
        """The query as it is now."""
        methods = sorted(self.methods, key=self.methods.__getitem__)[:256]
        windows = tuple(self.windows[end] for end in self.ends)
        return QueryHistory(self.name, self.numbers.keys(self.names), self.estimates, tuple(methods), windows)

    def keys_bytes(self, floor: int | None) -> int:
        """What keys take that are in a window after `floor`; and room for half as much of others."""
        sizes = self.numbers.sizes if floor is None else self.numbers.sizes[self.last > floor]
        return int(sizes.sum()) * _SPARE // 2

    def add(self, table: pa.Table, grown: dict[int, int]) -> None:
        """Take rows. Puts into `grown` by how many bytes each window that changed has grown, also where it fails."""
        keys = self.numbers.of(table["labels"].combine_chunks())
        self.last = np.concatenate([self.last, np.full(len(self.numbers) - len(self.last), -(1 << 63), np.int64)])
        estimates, methods = in_order([*self.estimates, *estimate_names(table)]), dict(self.methods)
        rows, starts, ends = rows_of(table, keys, estimates, methods)
        # rows that cannot be taken fail up to here, and change nothing that is held
        self._widen(estimates, grown)
        self.methods = methods
        np.maximum.at(self.last, keys, ends)
        self._name(table, ends, rows.batches)
        order = np.lexsort((rows.batches, keys, ends))
        keys, sorted_ends = keys[order], ends[order]
        is_last = np.ones(len(order), np.bool_)
        is_last[:-1] = (np.diff(keys) != 0) | (np.diff(sorted_ends) != 0)
        self._note(rows.batches[order], is_last)
        order = order[is_last]
        parts = np.split(order, np.flatnonzero(np.diff(ends[order])) + 1)
        for part in parts:
            end = int(ends[part[0]])
            before = self.windows.get(end)
            after = self._joined(before, rows.take(part), int(starts[part].min()), end)
            if after is not before:
                self.put(end, after)
                grown[end] = grown.get(end, 0) + after.bytes() - (before.bytes() if before is not None else 0)

    def put(self, end: int, window: Window) -> None:
        """Let a window take the place of that with the same end."""
        if end not in self.windows:
            insort(self.ends, end)
        self.windows[end] = window

    def _joined(self, before: Window | None, rows: Rows, start: int, end: int) -> Window:
        """The window with the rows; the same object if they bring nothing new."""
        if before is None:
            return self._window(start, end, rows)
        both = rows.after(before)
        if rows.keys[0] > before.keys[-1]:
            joined = both.narrow()
        else:
            order = np.lexsort((both.batches, both.keys))  # it is stable: of the same batch the new row comes last
            is_last = np.append(np.diff(both.keys[order]) != 0, True)
            self._note(both.batches[order], is_last)
            joined = both.take(order[is_last])
        start = min(start, before.start)
        return before if start == before.start and joined.equals(before) else self._window(start, end, joined)

    def _note(self, batches: NDArray[np.int64], is_last: NDArray[np.bool_]) -> None:
        self.overrode |= bool((np.diff(batches)[~is_last[:-1]] != 0).any())

    def _window(self, start: int, end: int, rows: Rows) -> Window:
        """Windows with the same keys share them."""
        at = bisect_left(self.ends, end)
        for near in self.ends[max(at - 1, 0) : at + 2]:
            keys = self.windows[near].keys
            if len(keys) == len(rows.keys) and np.array_equal(keys, rows.keys):
                return Window(*replace(rows, keys=keys).parts(), start=start, end=end)
        return Window(*rows.parts(), start=start, end=end)

    def _widen(self, estimates: tuple[str, ...], grown: dict[int, int]) -> None:
        """Make room for estimates that were not there before: another configuration wrote these rows."""
        if estimates == self.estimates:
            return
        places = [estimates.index(name) for name in self.estimates]
        wider = {
            end: Window(*window.placed(places, len(estimates)).parts(), start=window.start, end=end)
            for end, window in self.windows.items()
        }
        grown.update({end: window.bytes() - self.windows[end].bytes() for end, window in wider.items()})
        self.windows, self.estimates = wider, estimates

    def _name(self, table: pa.Table, ends: NDArray[np.int64], batches: NDArray[np.int64]) -> None:
        at = int(np.lexsort((batches, ends))[-1])
        told = (int(ends[at]), int(batches[at]))
        names = table["label_names"][at].as_py()
        if names is not None and told >= self.named:
            self.named, self.names = told, tuple(name or "" for name in names)

    def _between(self, first: int, last: int) -> list[int]:
        return self.ends[bisect_left(self.ends, first) : bisect_left(self.ends, last)]

    def count(self, batches: tuple[int, int], ends: tuple[int, int]) -> int:
        """How many rows some batches wrote for windows that end in `ends` (the last not)."""
        windows = (self.windows[end].batches for end in self._between(*ends))
        return sum(int(((part >= batches[0]) & (part <= batches[1])).sum()) for part in windows)

    def forget(self, batches: tuple[int, int], ends: tuple[int, int]) -> dict[int, int]:
        """Let go of rows of some batches. Returns by how many bytes, below zero, each window that changed has grown."""
        grown = {}
        for end in self._between(*ends):
            window = self.windows[end]
            kept = (window.batches < batches[0]) | (window.batches > batches[1])
            if kept.any() and not kept.all():
                self.windows[end] = Window(*window.take(kept).parts(), start=window.start, end=end)
                grown[end] = self.windows[end].bytes() - window.bytes()
            elif not kept.all():
                del self.windows[end]
                self.ends.remove(end)
                grown[end] = -window.bytes()
        return grown

    def drop(self, floor: int) -> None:
        """Let go of windows that end at `floor` or before, and of keys that are in none."""
        gone = bisect_left(self.ends, floor + 1)
        for end in self.ends[:gone]:
            del self.windows[end]
        del self.ends[:gone]
        live = self.last > floor
        sizes = self.numbers.sizes
        if sizes[~live].sum() * (_SPARE - 1) > sizes[live].sum():
            self._renumber(live)

    def _renumber(self, live: NDArray[np.bool_]) -> None:
        """Number the keys anew, without those that have gone; snapshots that were taken keep theirs."""
        places = (np.cumsum(live) - 1).astype(np.int32)
        done: dict[int, NDArray[np.int32]] = {}
        for end, window in self.windows.items():
            keys = done.get(id(window.keys))
            if keys is None:
                keys = done[id(window.keys)] = places[window.keys]
                keys.flags.writeable = False
            self.windows[end] = replace(window, keys=keys)
        self.numbers, self.last = self.numbers.only(live), self.last[live]
