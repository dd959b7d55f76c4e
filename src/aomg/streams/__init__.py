"""Generated workloads: endless streams of integers, identical on every run.

A stream is a pure function from position to value. Any slice can be generated directly, so readers that split the
stream differently read the same values.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

BLOCK = 65_536
"""Values per generated block. Streams depend on it, so it never changes."""


class Stream(Protocol):
    """Protocol of every workload: values by position."""

    @abstractmethod
    def take(self, n: int, start: int = 0) -> NDArray[np.int64]:
        """Return the ``n`` values at positions ``start`` to ``start + n - 1``.

        The values depend on the stream and the positions alone. The caller may change the array.
        """

    def chunks(self, total: int, size: int = 1_000_000) -> Iterator[NDArray[np.int64]]:
        """Yield the first ``total`` values in arrays of ``size``; the last may be shorter.

        Takes the memory of one chunk. If ``size`` is a multiple of ``BLOCK``, no value is generated twice.
        """
        if size < 1:
            raise ValueError(f"size is {size}; a chunk holds at least one value")
        for start in range(0, total, size):
            yield self.take(min(size, total - start), start)


def from_blocks(block: Callable[[int], NDArray[np.integer]], n: int, start: int) -> NDArray[np.int64]:
    """Return the values at positions ``start`` to ``start + n - 1``, cut out of numbered blocks.

    Parameters
    ----------
    block
        Returns the ``BLOCK`` values of block ``b``, which starts at position ``b * BLOCK``.
    n, start
        The slice. Neither may be negative.

    Notes
    -----
    Generates whole blocks: at most ``n + 2 * BLOCK - 2`` values.
    """
    if n < 0 or start < 0:
        raise ValueError(f"n is {n} and start is {start}; a stream has no negative positions")
    out = np.empty(n, dtype=np.int64)
    filled = 0
    while filled < n:
        index, offset = divmod(start + filled, BLOCK)
        part = block(index)[offset : offset + n - filled]
        out[filled : filled + part.size] = part
        filled += part.size
    return out


# Imported here because the workloads need the protocol above.
from aomg.streams.ar1 import ar1  # noqa: E402
from aomg.streams.bursts import with_bursts  # noqa: E402
from aomg.streams.catalog import named, names  # noqa: E402
from aomg.streams.drift import drift  # noqa: E402
from aomg.streams.host_resources import host_resources  # noqa: E402
from aomg.streams.incidents import Incident, bursty_tail, switch_fault  # noqa: E402
from aomg.streams.normal import normal  # noqa: E402
from aomg.streams.pingmesh import pingmesh  # noqa: E402
from aomg.streams.podsets import Podsets, podsets  # noqa: E402
from aomg.streams.search import search  # noqa: E402
from aomg.streams.taxi import taxi  # noqa: E402
from aomg.streams.uniform import uniform  # noqa: E402

__all__ = [
    "BLOCK",
    "Incident",
    "Podsets",
    "Stream",
    "ar1",
    "bursty_tail",
    "drift",
    "from_blocks",
    "host_resources",
    "named",
    "names",
    "normal",
    "pingmesh",
    "podsets",
    "search",
    "switch_fault",
    "taxi",
    "uniform",
    "with_bursts",
]
