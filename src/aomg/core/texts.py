"""Numbers texts, and writes texts by their numbers.

Equal texts get equal numbers, in the order of their first appearance: about 3 ns for each text of some 12 bytes while
the different ones fit a core's cache. To write a text of up to 16 bytes takes about 2 ns.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.texts import SLOT_WIDTH, enter_numbers, number_texts, write_texts

_SLOTS = 1 << 10
_BYTES = 1 << 14
_SHORT = 16  # bytes of a text that is written as two words


def short_texts(texts: Sequence[str], numbers: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """The texts with these numbers, one after the other: where each begins, with the end, and their bytes.

    No text has more than 16 bytes, and there are fewer than 2^27 numbers.
    """
    encoded = [text.encode() for text in texts]
    if max(map(len, encoded), default=0) > _SHORT:
        raise ValueError(f"a text has more than {_SHORT} bytes")
    words = np.frombuffer(b"".join(text.ljust(_SHORT, b"\0") for text in encoded), np.int64).copy()
    lengths = np.array([len(text) for text in encoded], np.int64)
    numbers = np.ascontiguousarray(numbers, np.int64).view()
    numbers.flags.writeable = False  # kernels are compiled for one of both
    offsets, data = np.empty(numbers.size + 1, np.int32), np.empty(_SHORT * numbers.size + _SHORT, np.uint8)
    end = int(write_texts(numbers, words, lengths, offsets, data))
    return offsets, data[:end]


class TextNumbers:
    """The numbers of all texts so far. `add` may be called for several arrays of texts."""

    def __init__(self) -> None:
        self.size = 0
        self._slots = _table(_SLOTS)
        self._pool = np.empty(_BYTES, np.uint8)
        self._bounds = np.zeros(_SLOTS // 2 + 1, np.int64)

    def add(self, offsets: npt.NDArray[Any], data: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
        """Return the number of each text; text i is data[offsets[i] : offsets[i + 1]]."""
        offsets, data = offsets.view(), data.view()
        offsets.flags.writeable = data.flags.writeable = False  # kernels are compiled for one of both
        codes = np.empty(offsets.size - 1, np.int32)
        done = 0
        while True:
            done, self.size = number_texts(offsets, data, done, self._slots, self._pool, self._bounds, self.size, codes)
            if done == codes.size:
                return codes
            self._grow(int(offsets[done + 1]) - int(offsets[done]))

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each different text begins in `data`, and the end."""
        return self._bounds[: self.size + 1]

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """The bytes of all different texts, in the order of their numbers."""
        return self._pool[: int(self._bounds[self.size])]

    def _grow(self, length: int) -> None:
        """Make room for at least one more text of this length."""
        if int(self._bounds[self.size]) + length > self._pool.size:
            pool = np.empty(2 * (self._pool.size + length), np.uint8)
            pool[: self.data.size] = self.data
            self._pool = pool
        if 2 * self.size >= len(self._slots):
            slots = _table(4 * len(self._slots))
            enter_numbers(self._slots, slots)
            self._slots = slots
            bounds = np.zeros(len(slots) // 2 + 1, np.int64)
            bounds[: self.size + 1] = self.offsets
            self._bounds = bounds


def _table(slots: int) -> npt.NDArray[np.uint64]:
    return np.zeros((slots, SLOT_WIDTH), np.uint64)
