"""The mutable windows of one query: adds rows, drops old windows and their keys, takes snapshots."""

from bisect import bisect_left, insort
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aomg.web.memory.columns import ResultColumns, estimate_names, in_order, rows_of
from aomg.web.memory.keys import KeyNumbers
from aomg.web.memory.windows import QueryHistory, Window

_SPARE = 3  # dropped keys stay until they take half of what live keys take, so every live key counts 3/2 times


@dataclass(eq=False)
class QueryStore:
    """The mutable windows of one query: used by the thread that adds rows, and by no other."""

    name: str
    numbers: KeyNumbers = field(default_factory=KeyNumbers)
    last: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """The newest window end of each key."""
    names: tuple[str, ...] = ()
    named: tuple[int, int] = (-(1 << 63), -1)
    """End and batch of the row that the label names are from."""
    estimates: tuple[str, ...] = ()
    methods: dict[str, int] = field(default_factory=lambda: {"": 0})
    windows: dict[int, Window] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)
    overrode: bool = False
    """Whether a row of one batch ever replaced a row of another."""

    def snapshot(self) -> QueryHistory:
        """Return the query as of now."""
        methods = sorted(self.methods, key=self.methods.__getitem__)[:256]
        windows = tuple(self.windows[end] for end in self.ends)
        return QueryHistory(self.name, self.numbers.keys(self.names), self.estimates, tuple(methods), windows)

    def keys_bytes(self, floor: int | None) -> int:
        """Return the memory of the keys in windows after `floor`, plus half as much for dropped ones."""
        sizes = self.numbers.sizes if floor is None else self.numbers.sizes[self.last > floor]
        return int(sizes.sum()) * _SPARE // 2

    def add(self, table: pa.Table, grown: dict[int, int]) -> None:
        """Add rows. Adds to `grown` by how many bytes each changed window has grown, even if it raises."""
        keys = self.numbers.of(table["labels"].combine_chunks())
        self.last = np.concatenate([self.last, np.full(len(self.numbers) - len(self.last), -(1 << 63), np.int64)])
        estimates, methods = in_order([*self.estimates, *estimate_names(table)]), dict(self.methods)
        rows, starts, ends = rows_of(table, keys, estimates, methods)
        # invalid rows raise before this line, and change nothing
        self._widen(estimates, grown)
        self.methods = methods
        np.maximum.at(self.last, keys, ends)
        self._take_label_names(table, ends, rows.batches)
        order = np.lexsort((rows.batches, keys, ends))
        keys, sorted_ends = keys[order], ends[order]
        is_last = np.ones(len(order), np.bool_)
        is_last[:-1] = (np.diff(keys) != 0) | (np.diff(sorted_ends) != 0)
        self._note_override(rows.batches[order], is_last)
        order = order[is_last]
        parts = np.split(order, np.flatnonzero(np.diff(ends[order])) + 1)
        for part in parts:
            end = int(ends[part[0]])
            before = self.windows.get(end)
            after = self._merge(before, rows.take(part), int(starts[part].min()), end)
            if after is not before:
                self._replace(end, after)
                grown[end] = grown.get(end, 0) + after.bytes() - (before.bytes() if before is not None else 0)

    def _replace(self, end: int, window: Window) -> None:
        """Store a window in place of the one with the same end."""
        if end not in self.windows:
            insort(self.ends, end)
        self.windows[end] = window

    def _merge(self, before: Window | None, rows: ResultColumns, start: int, end: int) -> Window:
        """Return the window with the rows added; the same object if they change nothing."""
        if before is None:
            return self._window(start, end, rows)
        both = rows.after(before)
        if rows.keys[0] > before.keys[-1]:
            joined = both.narrow()
        else:
            order = np.lexsort((both.batches, both.keys))  # stable: within a batch the new row comes last
            is_last = np.append(np.diff(both.keys[order]) != 0, True)
            self._note_override(both.batches[order], is_last)
            joined = both.take(order[is_last])
        start = min(start, before.start)
        return before if start == before.start and joined.equals(before) else self._window(start, end, joined)

    def _note_override(self, batches: NDArray[np.int64], is_last: NDArray[np.bool_]) -> None:
        self.overrode |= bool((np.diff(batches)[~is_last[:-1]] != 0).any())

    def _window(self, start: int, end: int, rows: ResultColumns) -> Window:
        """Return a window; shares its keys with a neighbour that has the same."""
        index = bisect_left(self.ends, end)
        for end_nearby in self.ends[max(index - 1, 0) : index + 2]:
            keys = self.windows[end_nearby].keys
            if len(keys) == len(rows.keys) and np.array_equal(keys, rows.keys):
                return Window(*replace(rows, keys=keys).parts(), start=start, end=end)
        return Window(*rows.parts(), start=start, end=end)

    def _widen(self, estimates: tuple[str, ...], grown: dict[int, int]) -> None:
        """Add columns for new estimates: another configuration wrote these rows."""
        if estimates == self.estimates:
            return
        places = [estimates.index(name) for name in self.estimates]
        wider = {
            end: Window(*window.placed(places, len(estimates)).parts(), start=window.start, end=end)
            for end, window in self.windows.items()
        }
        grown.update({end: window.bytes() - self.windows[end].bytes() for end, window in wider.items()})
        self.windows, self.estimates = wider, estimates

    def _take_label_names(self, table: pa.Table, ends: NDArray[np.int64], batches: NDArray[np.int64]) -> None:
        row = int(np.lexsort((batches, ends))[-1])
        version = (int(ends[row]), int(batches[row]))
        names = table["label_names"][row].as_py()
        if names is not None and version >= self.named:
            self.named, self.names = version, tuple(name or "" for name in names)

    def _between(self, first: int, last: int) -> list[int]:
        return self.ends[bisect_left(self.ends, first) : bisect_left(self.ends, last)]

    def count(self, batches: tuple[int, int], ends: tuple[int, int]) -> int:
        """Return how many rows some batches wrote for windows that end in `ends` (the second exclusive)."""
        windows = (self.windows[end].batches for end in self._between(*ends))
        return sum(int(((part >= batches[0]) & (part <= batches[1])).sum()) for part in windows)

    def forget(self, batches: tuple[int, int], ends: tuple[int, int]) -> dict[int, int]:
        """Drop the rows of some batches. Returns by how many bytes (negative) each changed window has grown."""
        grown = {}
        for end in self._between(*ends):
            window = self.windows[end]
            is_kept = (window.batches < batches[0]) | (window.batches > batches[1])
            if is_kept.any() and not is_kept.all():
                self.windows[end] = Window(*window.take(is_kept).parts(), start=window.start, end=end)
                grown[end] = self.windows[end].bytes() - window.bytes()
            elif not is_kept.all():
                del self.windows[end]
                self.ends.remove(end)
                grown[end] = -window.bytes()
        return grown

    def drop(self, floor: int) -> None:
        """Drop windows that end at `floor` or before, and keys that are in no window."""
        gone = bisect_left(self.ends, floor + 1)
        for end in self.ends[:gone]:
            del self.windows[end]
        del self.ends[:gone]
        live = self.last > floor
        sizes = self.numbers.sizes
        if sizes[~live].sum() * (_SPARE - 1) > sizes[live].sum():
            self._renumber(live)

    def _renumber(self, live: NDArray[np.bool_]) -> None:
        """Renumber the live keys; existing snapshots keep their numbers."""
        places = (np.cumsum(live) - 1).astype(np.int32)
        done: dict[int, NDArray[np.int32]] = {}
        for end, window in self.windows.items():
            keys = done.get(id(window.keys))
            if keys is None:
                keys = done[id(window.keys)] = places[window.keys]
                keys.flags.writeable = False
            self.windows[end] = replace(window, keys=keys)
        self.numbers, self.last = self.numbers.only(live), self.last[live]
