"""A sliding window of things that merge but do not subtract.

Two stacks: of the older sketches each is merged with all newer ones of its stack, so that the top stands for the whole
stack and leaves when the oldest does; the newer ones wait as they are, and in one merged sketch. When the old stack is
empty, the new one is turned over. Every sketch is merged three times at most, and an answer merges two.
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Sketch = TypeVar("Sketch")


class TwoStacks(Generic[Sketch]):
    """The sketches of the live sub-windows, oldest out first, and their merger: O(1) merges a step, amortised.

    `merge(into, other)` changes `into` alone. A sketch that was pushed belongs to the window.
    """

    def __init__(self, make: Callable[[], Sketch], merge: Callable[[Sketch, Sketch], None]) -> None:
        self._make = make
        self._merge = merge
        self._old: list[Sketch] = []  # the last one is merged with all before it, which are newer
        self._new: list[Sketch] = []  # in the order in which they came
        self._new_merged: Sketch | None = None

    def push(self, sketch: Sketch) -> None:
        """Take the newest sketch. One merge, two for the first of a stack."""
        self._new.append(sketch)
        if self._new_merged is None:
            self._new_merged = self._make()
        self._merge(self._new_merged, sketch)

    def pop(self) -> None:
        """Forget the oldest sketch. No merge, but W - 2 of them every W - 1 times."""
        if self._old:
            self._old.pop()
            return
        _oldest, *kept = self._new  # an empty window has nothing to forget: ValueError
        for sketch in reversed(kept):
            if self._old:
                self._merge(sketch, self._old[-1])
            self._old.append(sketch)
        self._new, self._new_merged = [], None

    def merged(self) -> Sketch:
        """A new sketch of all that are live. Two merges."""
        found = self._make()
        if self._old:
            self._merge(found, self._old[-1])
        if self._new_merged is not None:
            self._merge(found, self._new_merged)
        return found

    def __len__(self) -> int:
        """How many sketches are live."""
        return len(self._old) + len(self._new)

    def __iter__(self) -> Iterator[Sketch]:
        """Every sketch that is held, for their space: one for each live one, and the merger of the new stack."""
        yield from self._old
        yield from self._new
        if self._new_merged is not None:
            yield self._new_merged
