"""Named workloads: endless streams of integers, the same on every run.

A stream is a pure function from position to value. Any slice of it can be produced
directly, so two readers that cut the stream differently see the same values.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

BLOCK = 65_536
"""Values per generated block; part of what defines a stream, so it never changes."""


class Stream(Protocol):
    """What every workload offers: values by position."""

    @abstractmethod
    def take(self, n: int, start: int = 0) -> NDArray[np.int64]:
        """Return the ``n`` values at positions ``start`` to ``start + n - 1``.

        The values depend on the stream and the positions alone. The array is the caller's.
        """

    def chunks(self, total: int, size: int = 1_000_000) -> Iterator[NDArray[np.int64]]:
        """Yield the first ``total`` values in arrays of ``size``; the last may be shorter.

        Memory is that of one chunk. A ``size`` that is a multiple of ``BLOCK`` generates no
        value twice.
        """
        if size < 1:
            raise ValueError(f"size is {size}; a chunk holds at least one value")
        for start in range(0, total, size):
            yield self.take(min(size, total - start), start)


def from_blocks(block: Callable[[int], NDArray[np.integer]], n: int, start: int) -> NDArray[np.int64]:
    """Cut positions ``start`` to ``start + n - 1`` out of numbered blocks.

    Parameters
    ----------
    block
        Gives the ``BLOCK`` values of block ``b``, which begin at position ``b * BLOCK``.
    n, start
        The slice; neither may be negative.

    Notes
    -----
    Generates every touched block whole: at most ``n + 2 * BLOCK - 2`` values.
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


# Below the protocol, because the workloads are built on it.
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
