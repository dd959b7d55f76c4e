"""The histogram of a window from its summaries: how many values lie in each bucket of the envelope.

The envelope counts every value of a sub-window in one bucket, and counts add up: so the histogram of any set of
summaries of a query is exact. A bucket is as wide as the guarantee lets it be, 1.4 % for 2 %. Queries without a
guarantee keep no envelope, and have no histogram.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aomg.core.certainty import partition
from aomg.core.kernels.codes import DECADES, LOWEST_DECADE, POWERS
from aomg.core.kernels.registers import (
    DOMAIN_SHIFT,
    HEAD_COUNT,
    HEAD_LENGTH,
    HEAD_ROWS,
    HEAD_WORDS,
    INTEGERS,
    LENGTH_MASK,
)
from aomg.core.kernels.sortable import EXACT_INTEGERS
from aomg.core.layout import dense_digits, geometry_guarantee
from aomg.errors import StateError
from aomg.query import Query

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Histogram:
    """Buckets that hold values, ascending: `counts[i]` values v have lows[i] <= v < highs[i], exactly.

    Longs below -2^53 are the exception: their `lows` are rounded up, by one unit in the last place at most.
    """

    lows: Reals
    highs: Reals
    counts: Integers

    @property
    def total(self) -> int:
        """All values."""
        return int(self.counts.sum())


def histogram(records: Iterable[bytes], query: Query) -> Histogram:
    """Add up summaries that `query` wrote. Costs about a microsecond for each of their envelope rows.

    Raises StateError for bytes that are no summary of such a query, and where it keeps no envelope.
    """
    if query.guarantee is None:
        raise StateError("a query without a guarantee keeps no counts to make a histogram of; give it a guarantee")
    totals: dict[int, Integers] = {}
    only_integers = True
    head = 8 * (HEAD_WORDS + len(query.quantiles) + 2 * len(query.thresholds))
    for record in records:
        if len(record) < head or len(record) % 8:
            raise _damaged()
        words = np.frombuffer(record, np.int64, HEAD_WORDS)
        only_integers &= int(words[HEAD_LENGTH]) >> DOMAIN_SHIFT == INTEGERS
        count = 0
        for super_, counts in _rows(record, head, int(words[HEAD_ROWS] & LENGTH_MASK)):
            count += int(counts.sum())
            totals[super_] = totals[super_] + counts if super_ in totals else counts
        if count != words[HEAD_COUNT]:
            raise _damaged()
    return _named(totals, query, only_integers)


def _rows(record: bytes, at: int, rows: int) -> Iterator[tuple[int, Integers]]:
    """The super and the 16 bucket counts of each envelope row, as `aomg.core.summary` says."""
    super_ = 0
    for _ in range(rows):
        if at + 7 > len(record):
            raise _damaged()
        step = int.from_bytes(record[at : at + 2], "little")
        form, step, at = step & 3, step >> 2, at + 2
        if step == 0x3FFF:
            step, at = int.from_bytes(record[at : at + 4], "little"), at + 4
        super_ += step
        counts = np.zeros(16, np.int64)
        if form == 0:
            pairs = record[at + 1 : at + 1 + record[at]]
            for pair in pairs:
                counts[pair >> 4] += pair & 15
            at += 1 + record[at]
        else:
            size = 16 << (form - 1)
            planes = np.frombuffer(record[at : at + size].ljust(size, b"\0"), np.uint8).reshape(-1, 16)
            for plane, row in enumerate(planes):
                counts += row.astype(np.int64) << (8 * plane)
            at += size
        if at > len(record):
            raise _damaged()
        yield super_, counts


def _named(totals: dict[int, Integers], query: Query, only_integers: bool) -> Histogram:
    """Buckets by their edges."""
    digits = dense_digits(query)
    buckets = partition(digits, geometry_guarantee(query))
    per_decade = -(-len(buckets) // 16)
    zero = DECADES * per_decade
    found: list[tuple[float, float, int]] = []
    for super_ in sorted(totals):
        for bucket in np.flatnonzero(totals[super_]).tolist():
            low, high = _edges(super_ - zero, bucket, buckets, digits)
            found.append((low, high, int(totals[super_][bucket])))
    lows, highs, counts = (np.array(part) for part in zip(*found, strict=True)) if found else (np.empty(0),) * 3
    if only_integers:  # [4000, 4050) rather than [3999.9999999999995, 4049.9999999999995), and [0, 1) for zero
        lows = np.where(np.abs(lows) < EXACT_INTEGERS, np.ceil(lows), lows)
        highs = np.where(np.abs(highs) < EXACT_INTEGERS, np.ceil(highs), highs)
    return Histogram(lows, highs, counts.astype(np.int64))


def _edges(distance: int, bucket: int, buckets: list[tuple[int, int]], digits: int) -> tuple[float, float]:
    """The smallest double of a bucket, and the smallest above it; `distance` is that of its super from zero's."""
    if distance == 0:
        return 0.0, float(np.nextafter(0.0, 1.0))
    per_decade = -(-len(buckets) // 16)
    decade, within = divmod(abs(distance) - 1, per_decade)
    place = 16 * within + (bucket if distance > 0 else 15 - bucket)
    if place >= len(buckets) or decade >= DECADES:
        raise _damaged()
    lead, width = buckets[place]
    power = decade + LOWEST_DECADE - digits + 1
    low = _edge(lead, power)
    last = lead + width == 10**digits
    high = _edge(10 ** (digits - 1), power + 1) if last else _edge(lead + width, power)
    if distance > 0:
        return low, high
    return float(np.nextafter(-high, np.inf)), float(np.nextafter(-low, np.inf))


def _edge(lead: int, power: int) -> float:
    """The double of lead * 10^power, as `kernels.edge` computes it."""
    if power >= 0:
        return lead * float(POWERS[power])
    if power >= -300:
        return lead / float(POWERS[-power])
    return lead / float(POWERS[300]) / float(POWERS[-power - 300])


def _damaged() -> StateError:
    return StateError("a summary is damaged or of another query; make the summaries again from the events")
