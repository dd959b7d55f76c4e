"""Generates probes between the podsets of a datacenter, with event times and incidents: input for a monitor.

The paper describes such a stream (servers probe each other; a podset with a faulty switch is slow in both directions)
but prints no figure of it. The round-trip times are those of ``pingmesh``; everything else is our choice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aomg.streams import BLOCK, from_blocks
from aomg.streams.distribution import BITS, checked_seed, table, words
from aomg.streams.incidents import Incident, bursty_tail, switch_fault
from aomg.streams.pingmesh import PINGMESH

MOST = 4_096
_SECOND = 1_000_000
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("src_podset", pa.int32()),
        ("dst_podset", pa.int32()),
        ("rtt_us", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Podsets:
    """The stream that :func:`podsets` returns: rows of a table by position."""

    n: int
    seed: int
    rate: int
    disorder: int
    start: np.datetime64
    incidents: tuple[Incident, ...]

    @property
    def calm(self) -> "Podsets":
        """The same events without any incident."""
        return replace(self, incidents=())

    def take(self, n: int, start: int = 0) -> pa.Table:
        """Return the ``n`` events at positions ``start`` to ``start + n - 1``, in the order of arrival.

        Columns: ``ts`` (event time, UTC, microseconds), ``src_podset``, ``dst_podset`` (from 0 on), ``rtt_us``.
        """
        word = from_blocks(self._block, n, start).view(np.uint64)
        # One word per event: 20 bits for the value, 12 for the delay, 16 for each podset.
        rank = (word & np.uint64((1 << BITS) - 1)).astype(np.intp)
        rtt = table(PINGMESH).take(rank).astype(np.int64)
        ts = self._times(n, start, (word >> np.uint64(BITS)) & np.uint64(0xFFF))
        source = self._podset(word >> np.uint64(32))
        target = self._podset(word >> np.uint64(48))
        for incident in self.incidents:
            touched = incident.touches(ts, source, target)
            if touched.any():
                # by rank, not by value: another incident must not change which values are the largest
                touched &= rank >= round((1 - incident.share) * (1 << BITS))
                rtt[touched] *= incident.factor
        times = pa.array(ts.view(np.int64)).view(SCHEMA.field("ts").type)
        return pa.Table.from_arrays([times, source, target, rtt], schema=SCHEMA)

    def chunks(self, total: int, size: int = 16 * BLOCK) -> Iterator[pa.Table]:
        """Yield the first ``total`` events in tables of ``size``; the last may be shorter."""
        if size < 1:
            raise ValueError(f"size is {size}; a chunk holds at least one event")
        for start in range(0, total, size):
            yield self.take(min(size, total - start), start)

    def _block(self, index: int) -> NDArray[np.int64]:
        return words(self.seed, "podsets", index, BLOCK).view(np.int64)

    def _times(self, n: int, start: int, late: NDArray[np.uint64]) -> NDArray[np.datetime64]:
        """Return event times: events arrive at a constant rate, each after a delay, most of them short."""
        arrival = np.arange(start, start + n) * _SECOND // self.rate
        delay = (self.disorder * (late / 4_096.0) ** 4).astype(np.int64)
        times: NDArray[np.datetime64] = self.start + (arrival + self.disorder - delay).view("timedelta64[us]")
        return times

    def _podset(self, bits: NDArray[np.uint64]) -> NDArray[np.int32]:
        return (((bits & np.uint64(0xFFFF)) * np.uint64(self.n)) >> np.uint64(16)).astype(np.int32)


def podsets(
    n: int = 20,
    seed: int = 1,
    rate: int = 10_000,
    disorder: float = 1.0,
    start: str = "2024-05-01T00:00:00",
    incidents: Sequence[Incident] | None = None,
) -> Podsets:
    """Return an endless stream of probes between ``n`` podsets.

    Parameters
    ----------
    n
        The number of podsets, up to 4,096. With fewer than eight, a faulty podset raises the 0.99-quantile of healthy
        ones above 4 ms, too, by the probes between them.
    seed
        Zero or more; streams of different seeds are independent.
    rate
        Events a second.
    disorder
        The longest delay of an event in seconds; half of the events arrive within a sixteenth of it.
    start
        The earliest event time, UTC. The first event arrives ``disorder`` seconds later.
    incidents
        By default, one podset's switch is faulty from minute 4 to 7, and another podset's tail is bursty from minute
        10 to 13: both are in the first 10 million events.

    Notes
    -----
    Whether and how an incident affects an event depends on that event alone. So ``calm`` and ``Incident.touches``
    are exact for any slice. An event costs 64 random bits and about ten passes.

    Examples
    --------
    >>> events = podsets(n=20).take(100_000)
    >>> events.column_names
    ['ts', 'src_podset', 'dst_podset', 'rtt_us']
    >>> [incident.kind for incident in podsets().incidents]
    ['switch fault', 'bursty tail']
    """
    if not 1 <= n <= MOST:
        raise ValueError(f"n is {n}; give 1 to {MOST:,} podsets")
    if not 1 <= rate <= _SECOND:
        raise ValueError(f"rate is {rate}; give 1 to {_SECOND:,} events a second")
    if not 0 <= disorder <= 86_400:
        raise ValueError(f"disorder is {disorder}; give 0 to 86,400 seconds")
    begin: np.datetime64
    try:
        begin = np.datetime64(start, "us")
    except ValueError:
        begin = np.datetime64("NaT", "us")
    if np.isnat(begin):
        raise ValueError(f"start is {start!r}; give a time such as 2024-05-01T00:00:00 (UTC)")
    planned = _usual(n, begin) if incidents is None else tuple(incidents)
    for incident in planned:
        if not all(0 <= podset < n for podset in incident.podsets):
            raise ValueError(f"an incident is in podset {max(incident.podsets)}; there are 0 to {n - 1}")
    return Podsets(n, checked_seed(seed), rate, round(disorder * _SECOND), begin, planned)


def _usual(n: int, begin: np.datetime64) -> tuple[Incident, ...]:
    minute = np.timedelta64(60 * _SECOND, "us")
    return (
        switch_fault(n // 3, begin + 4 * minute, begin + 7 * minute),
        bursty_tail(2 * n // 3, begin + 10 * minute, begin + 13 * minute),
    )
