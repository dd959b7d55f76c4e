"""What remains of a sub-window when it closes, and its bytes.

A summary is a record of 8-byte words and rows of small counts, little-endian, padded to 8 bytes:

==================  ===========================================================================================
number, count       the sub-window's number (start / period) and its events
minimum, maximum    doubles, rounded outward where longs exceed 2^53
length, domain      bytes of the record (32 bits) and what it holds (above: reals, integers or both)
rows                envelope rows (32 bits) and band rows (32 bits)
fine                where the fine part begins, from the record's start; 0 if there is none
a code a quantile   the sub-window's own quantiles, exact to the dense code
2 words a threshold events in codes below the threshold's, and in it
envelope rows       a super's 16 bucket counts each
band rows           a bucket's 16 code counts each
fine part           `FinePart`: what queries with raw values, more than three digits or few-k lists keep besides
==================  ===========================================================================================

A row begins with two bytes: the distance from the row before (14 bits; 16383 means that 4 bytes with the distance
follow) and the form of its counts: 0 for up to five bytes of (position, count) nibbles behind their number, 1, 2 and 3
for one, two and four planes of 16 bytes.

A summary is a function of its sub-window's counts, its number and the query. Equal inputs give equal bytes.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aomg.core.certainty import fine_band
from aomg.core.codes import Codec
from aomg.core.paper.few_k import largest, ranks_from_top, sample, sample_positions, tail_sizes
from aomg.core.paper.theorem import inverse_densities
from aomg.errors import StateError
from aomg.query import Query

Integers = npt.NDArray[np.int64]
Pairs = tuple[Integers, Integers]
_NO_PAIRS = (np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(slots=True)
class Tail:
    """The sampled tail of one high quantile: how deep it reaches, and the samples."""

    depth: int
    samples: Pairs


@dataclass(slots=True)
class FinePart:
    """The part of a summary at the query's own resolution. Absent where the dense part says everything."""

    codes: Integers  # the sub-window's quantiles
    thresholds: Integers  # events in codes below, and in the code, of each threshold
    densities: npt.NDArray[np.float64]  # 1/f at each quantile, for Theorem 1
    top: Pairs  # the largest values
    tails: list[Tail]
    band: Pairs

    def words(self) -> Integers:
        """The part as words of a record."""
        parts = [self.codes, self.thresholds, self.densities.view(np.int64)]
        for pairs in (self.top, self.band, *(tail.samples for tail in self.tails)):
            parts += [np.array([pairs[0].size], np.int64), *pairs]
        parts.append(np.array([tail.depth for tail in self.tails], np.int64))
        return np.concatenate(parts)

    @classmethod
    def read(cls, query: Query, codec: Codec, words: Integers, count: int) -> "FinePart":
        """Read the part back; refuses words that cannot be one."""
        reader = _WordReader(words)
        lowest, highest = codec.span
        quantiles, thresholds, high = len(query.quantiles), len(query.thresholds), len(query.high)
        mean = quantiles if query.guarantee is None else 0
        codes, limits = reader.take(quantiles), reader.take(2 * thresholds)
        densities = reader.take(mean).view(np.float64)
        tails = high if query.guarantee is None or query.keeps_lists else 0
        top, band = reader.pairs(count), reader.pairs(count)
        samples = [reader.pairs(count) for _ in range(tails)]
        depths = reader.take(tails)
        every = np.concatenate([codes, top[0], band[0], *(pairs[0] for pairs in samples)])
        outside = bool(np.any(every < lowest) or np.any(every > highest))
        wrong = np.any(limits < 0) or np.any(limits > count) or np.any(depths < 1) or np.any(depths > count)
        if not reader.done or outside or wrong:
            raise StateError("the fine part of a summary is damaged; start again from the events")
        return cls(
            codes,
            limits,
            densities,
            top,
            [Tail(int(d), s) for d, s in zip(depths, samples, strict=True)],
            band,
        )


class _WordReader:
    def __init__(self, words: Integers) -> None:
        self._words = words
        self._position = 0

    def take(self, size: int) -> Integers:
        taken = self._words[self._position : self._position + size]
        if size < 0 or taken.size != size:
            raise StateError("a summary is shorter than it says; start again from the events")
        self._position += size
        return taken.copy()

    def pairs(self, most: int) -> Pairs:
        size = int(self.take(1)[0])
        if not 0 <= size <= most:
            raise StateError("a summary keeps more values than it has; start again from the events")
        codes, counts = self.take(size), self.take(size)
        if np.any(counts < 1) or np.any(codes[1:] <= codes[:-1]) or int(counts.sum()) > most:
            raise StateError("the kept values of a summary are damaged; start again from the events")
        return codes, counts

    @property
    def done(self) -> bool:
        return self._position == self._words.size


def fine_part(
    query: Query, codec: Codec, dense: Codec, codes: Integers, counts: Integers, number: int, domain: int
) -> FinePart:
    """Build the fine part from a sub-window's ordered pairs at the query's resolution. O(pairs)."""
    cumulative = np.cumsum(counts)
    total = int(cumulative[-1])
    ranks = total + 1 - ranks_from_top(query.quantiles, total)
    quantile_codes = codes[np.searchsorted(cumulative, ranks)]
    limits = np.zeros(2 * len(query.thresholds), np.int64)
    if query.thresholds:
        limit_codes = codec.codes(np.array(query.thresholds))
        before = np.concatenate([[0], cumulative])
        limits[0::2] = before[np.searchsorted(codes, limit_codes, side="left")]
        limits[1::2] = before[np.searchsorted(codes, limit_codes, side="right")] - limits[0::2]
    densities = np.empty(0)
    if query.guarantee is None:
        densities = inverse_densities(query.quantiles, codec, codes, cumulative, domain)
    entries, tails = 0, []
    if query.guarantee is None or query.keeps_lists:
        offset = query.few_k.offset if query.few_k is not None else "rotate"
        for quantile in query.high:
            sizes = tail_sizes(query, quantile, total)
            entries = max(entries, sizes.top)
            picked = _NO_PAIRS
            if sizes.samples:
                picked = sample(codes, counts, sample_positions(sizes.depth, sizes.samples, number, offset))
            tails.append(Tail(sizes.depth, picked))
    band = _NO_PAIRS
    if query.guarantee is not None and codec is not dense:
        lows, highs = codec.intervals(codes, False)
        band = fine_band(query.quantiles, ranks, dense.codes(np.where(lows < 0, highs, lows)), codes, counts)
    top = largest(codes, counts, entries) if entries else _NO_PAIRS
    return FinePart(quantile_codes, limits, densities, top, tails, band)
