"""A sliding window of sketches that can be merged but not subtracted.

Two stacks. In the old stack, each sketch is merged with all newer ones of that stack, so its top represents the whole
stack and is popped when the oldest sketch expires. The new stack has the newer sketches, and one merged sketch of them.
When the old stack is empty, the new one is turned over. Every sketch is merged at most three times; an answer merges
two.
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Sketch = TypeVar("Sketch")


class TwoStacks(Generic[Sketch]):
    """Queue of the live sub-windows' sketches that can merge all of them: O(1) merges per step, amortised.

    `merge(into, other)` changes only `into`. The window owns a sketch after its push.
    """

    def __init__(self, make: Callable[[], Sketch], merge: Callable[[Sketch, Sketch], None]) -> None:
        self._make = make
        self._merge = merge
        self._old: list[Sketch] = []  # the last one is merged with all before it, which are newer
        self._new: list[Sketch] = []  # in order of arrival
        self._new_merged: Sketch | None = None

    def push(self, sketch: Sketch) -> None:
        """Add the newest sketch. One merge, two for the first of a stack."""
        self._new.append(sketch)
        if self._new_merged is None:
            self._new_merged = self._make()
        self._merge(self._new_merged, sketch)

    def pop(self) -> None:
        """Remove the oldest sketch. No merge, except W - 2 in one of W - 1 calls."""
        if self._old:
            self._old.pop()
            return
        _oldest, *remaining = self._new  # ValueError if the window is empty
        for sketch in reversed(remaining):
            if self._old:
                self._merge(sketch, self._old[-1])
            self._old.append(sketch)
        self._new, self._new_merged = [], None

    def merged(self) -> Sketch:
        """Return a new sketch of all live ones. Two merges."""
        merger = self._make()
        if self._old:
            self._merge(merger, self._old[-1])
        if self._new_merged is not None:
            self._merge(merger, self._new_merged)
        return merger

    def __len__(self) -> int:
        """Return the number of live sketches."""
        return len(self._old) + len(self._new)

    def __iter__(self) -> Iterator[Sketch]:
        """Yield every stored sketch, to count space: one per live sub-window, and the merged new stack."""
        yield from self._old
        yield from self._new
        if self._new_merged is not None:
            yield self._new_merged
