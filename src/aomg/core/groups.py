"""Brings events of many keys together by key and sub-window, without a tally for each.

Events come in parts, which can be worked on in parallel. Where a group has a fourth of an event or more on average,
groups are counted: O(n), and events that are in the order of their times move within a cache. Where most groups would
be empty, events are ordered by their keys: O(n), or O(n log n) if their times are in no order.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.arrivals import time_range
from aomg.core.kernels.groups import code_range, mark_codes, number_groups, number_keys, scatter_pairs
from aomg.core.kernels.tallies import scatter

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[Any]  # int64 or float64
Mask = npt.NDArray[np.bool_]
MapParts = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Calls a function for each part, like `map`; in several threads, perhaps."""

_SPARSE = 4  # groups an event: with more, groups are not counted
_FEW = 4096  # groups that are counted, however few events there are


@dataclass(frozen=True, slots=True)
class EventPart:
    """Some events: the code of each one's key, its time, and its value, which is finite.

    ids
        The id of the key with code c is ids[c - low].
    weights
        How many events each one counts as, 1 or more; None: once.
    """

    codes: npt.NDArray[Any]
    low: int
    ids: Integers
    times: Integers
    values: Numbers
    weights: Integers | None = None

    def read_only(self) -> "EventPart":
        """The same events, as the kernels take them."""
        codes, ids, times, values = map(_read_only, (self.codes, self.ids, self.times, self.values))
        weights = None if self.weights is None else _read_only(self.weights)
        return EventPart(codes, self.low, ids, times, values, weights)


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view that cannot be written, like arrays of Arrow: kernels are compiled for one of both."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, slots=True)
class Groups:
    """Events by key and sub-window: those of group i are values[bounds[i] : bounds[i + 1]].

    The groups of one key are in the order of their numbers. `by_number` says whether all groups are. `weights` has the
    weight of each value; None if each is one event.
    """

    keys: Integers
    numbers: Integers
    bounds: Integers
    values: Numbers
    by_number: bool
    weights: Integers | None = None

    @property
    def sizes(self) -> Integers:
        """How many events each group has."""
        return np.diff(self.bounds)

    def between(self, first: int, last: int) -> "Groups":
        """The groups from `first` up to `last`."""
        start, end = int(self.bounds[first]), int(self.bounds[last])
        keys, numbers = self.keys[first:last], self.numbers[first:last]
        weights = None if self.weights is None else self.weights[start:end]
        bounds, values = self.bounds[first : last + 1] - start, self.values[start:end]
        return Groups(keys, numbers, bounds, values, self.by_number, weights)

    def select(self, wanted: Mask) -> "Groups":
        """Some of the groups."""
        if wanted.all():
            return self
        chosen = np.flatnonzero(wanted)
        if chosen.size == 0:
            return self.between(0, 0)
        if chosen[-1] - chosen[0] + 1 == chosen.size:  # neighbours
            return self.between(int(chosen[0]), int(chosen[-1]) + 1)
        keys, numbers, sizes = self.keys[chosen], self.numbers[chosen], self.sizes
        bounds = np.concatenate([[0], np.cumsum(sizes[chosen])])
        chosen_events = np.repeat(wanted, sizes)
        weights = None if self.weights is None else self.weights[chosen_events]
        return Groups(keys, numbers, bounds, self.values[chosen_events], self.by_number, weights)


def codes_present(codes: npt.NDArray[Any], most: int) -> tuple[int, Mask] | None:
    """Return the smallest of some integers and which of those from there on occur; None if they span more than `most`.

    O(n), with about a nanosecond for each.
    """
    codes = _read_only(codes)
    low, high = (int(code) for code in code_range(codes))
    if high - low >= most:
        return None
    present = np.zeros(high - low + 1, bool)
    mark_codes(codes, low, present)
    return low, present


def times_between(times: Integers) -> tuple[int, int]:
    """Return the earliest and the latest of some times, at least one. O(n), as fast as memory."""
    earliest, latest = time_range(_read_only(times))
    return int(earliest), int(latest)


def group_events(parts: Sequence[EventPart], keys: int, period: int, map_parts: MapParts = map) -> Groups:
    """Bring the events of all parts together; there must be one at least. Ids are below `keys`.

    The result does not depend on how events are divided into parts.
    """
    parts = [part.read_only() for part in parts]
    ranges = list(map_parts(lambda part: times_between(part.times), parts))
    first = min(earliest for earliest, _ in ranges) // period
    last = max(latest for _, latest in ranges) // period
    size = sum(part.times.size for part in parts)
    if (last - first + 1) * keys <= _SPARSE * size + _FEW:
        return _counted(parts, keys, period, first, last, map_parts)
    return _ordered(parts, keys, period)


def _counted(parts: Sequence[EventPart], keys: int, period: int, first: int, last: int, map_parts: MapParts) -> Groups:
    """Count the groups, then move each event to its place."""
    sizes = np.zeros((len(parts), (last - first + 1) * keys), np.int32)

    def number(part: EventPart, counts: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        groups = np.empty(part.times.size, np.int32)
        number_groups(part.codes, part.low, part.ids, part.times, first * period, period, keys, groups, counts)
        return groups

    groups = list(map_parts(lambda work: number(*work), zip(parts, sizes, strict=True)))
    totals = sizes[0] if len(parts) == 1 else sizes.sum(axis=0, dtype=np.int64)
    starts = np.empty(sizes.shape, np.int64)  # when the events of a part have moved, these are where the next begin
    np.cumsum(totals, out=starts[0])
    starts[0] -= totals
    for i in range(1, len(parts)):
        np.add(starts[i - 1], sizes[i - 1], out=starts[i])
    moved = np.empty(sum(part.times.size for part in parts), np.int64)
    moved_weights = None if parts[0].weights is None else np.empty(moved.size, np.int64)

    def move(part: EventPart, part_groups: npt.NDArray[np.int32], begins: Integers) -> None:
        if part.weights is not None:
            scatter(part_groups, part.weights, begins.copy(), moved_weights)
        scatter(part_groups, part.values.view(np.int64), begins, moved)

    list(map_parts(lambda work: move(*work), zip(parts, groups, starts, strict=True)))
    present = np.flatnonzero(totals)
    numbers, group_keys = np.divmod(present, keys)
    numbers += first
    return Groups(
        group_keys,
        numbers,
        _bounds(starts[-1], present),
        moved.view(parts[0].values.dtype),
        by_number=True,
        weights=moved_weights,
    )


def _bounds(ends: Integers, present: Integers) -> Integers:
    """Where the groups that are present begin, and the end; `ends` has that of each group, present or not."""
    bounds = np.zeros(present.size + 1, np.int64)
    np.take(ends, present, out=bounds[1:])
    return bounds


def _ordered(parts: Sequence[EventPart], keys: int, period: int) -> Groups:
    """Order the events by key, and those of a key by sub-window."""
    size = sum(part.times.size for part in parts)
    ids, sizes = np.empty(size, np.int64), np.zeros(keys, np.int64)
    numbers, values = np.empty(size, np.int64), np.empty(size, np.int64)
    weights = None if parts[0].weights is None else np.concatenate([part.weights for part in parts])
    start = 0
    for part in parts:
        end = start + part.times.size
        number_keys(part.codes, part.low, part.ids, ids[start:end], sizes)
        numbers[start:end], values[start:end] = part.times // period, part.values.view(np.int64)
        start = end
    if np.any(numbers[1:] < numbers[:-1]):
        order = np.argsort(numbers, kind="stable")
        ids, numbers, values = ids[order], numbers[order], values[order]
        weights = None if weights is None else weights[order]
    ends = np.cumsum(sizes)
    if weights is not None:
        unordered, weights = weights, np.empty(size, np.int64)
        scatter(ids, unordered, ends - sizes, weights)
    moved_numbers, moved = np.empty(size, np.int64), np.empty(size, np.int64)
    scatter_pairs(ids, numbers, values, ends - sizes, moved_numbers, moved)
    changes = np.concatenate([[True], moved_numbers[1:] != moved_numbers[:-1]])
    changes[(ends - sizes)[sizes > 0]] = True
    bounds = np.append(np.flatnonzero(changes), size)
    group_keys = np.repeat(np.arange(keys), sizes)[bounds[:-1]]
    values = moved.view(parts[0].values.dtype)
    return Groups(group_keys, moved_numbers[bounds[:-1]], bounds, values, by_number=False, weights=weights)


def key_order(keys: Integers, ranks: Integers) -> Integers:
    """Return the order that puts groups of one key side by side, keys by their rank; groups of a key keep their order.

    O(groups).
    """
    group_ranks = ranks[keys]
    sizes = np.bincount(group_ranks, minlength=ranks.size)
    order = np.empty(keys.size, np.int64)
    scatter(group_ranks, np.arange(keys.size), np.cumsum(sizes) - sizes, order)
    return order
