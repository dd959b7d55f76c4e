"""A slow Level 2 of fine parts, in plain Python: what the compiled one (core.kernels.paper) must say, bit for bit.

`SlowSliding` closes sub-windows from their values, and builds and reads fine parts with NumPy: merged lists are merged
again, means are those of Python's integers, extremes wait in a deque. The dense part is the product's own.
"""

import math
from collections import deque
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from aomg.core.certainty import EXTRA, Z
from aomg.core.codes import Codec, middles
from aomg.core.counts import count_codes
from aomg.core.kernels.answering import compute_result, locate, within
from aomg.core.kernels.bursts import burst_threshold
from aomg.core.kernels.closing import summary_room
from aomg.core.kernels.pairs import score_pairs
from aomg.core.kernels.registers import (
    BOTH,
    DOMAIN_SHIFT,
    GUARANTEE,
    HEAD_COUNT,
    HEAD_FINE,
    HEAD_LENGTH,
    HEAD_NUMBER,
    HEAD_WORDS,
    INTEGERS,
    LAST_BURST,
    LAST_RELEASE,
    METHOD_BAND,
    METHOD_CERTIFIED,
    METHOD_EXACT,
    METHOD_MEAN,
    METHOD_SAMPLE_K,
    METHOD_TOP_K,
    NONE,
    NOTHING,
    OUT_BURST,
    OUT_FIXED,
    OUT_MAXIMUM,
    OUT_MINIMUM,
    OUT_SCORE,
    REALS,
)
from aomg.core.kernels.sortable import EXACT_INTEGERS, key_of_double, next_down, next_up, round_down, round_up
from aomg.core.kernels.steps import close_open, count_open, enter_foreign
from aomg.core.paper.few_k import inefficient, rank_from_top, ranks_from_top, sample_positions, tail_sizes
from aomg.core.paper.theorem import difference_ranks
from aomg.core.sliding import Sliding
from aomg.errors import StateError
from aomg.policies.kernels.pairs import merge_in, merge_out
from aomg.query import FewK, Query

Integers = npt.NDArray[np.int64]
Pairs = tuple[Integers, Integers]
_NO_PAIRS = (np.empty(0, np.int64), np.empty(0, np.int64))
_EXACT, _MEAN, _TOP_K, _SAMPLE_K = METHOD_EXACT, METHOD_MEAN, METHOD_TOP_K, METHOD_SAMPLE_K


# -- fine parts -------------------------------------------------------------------------------------------------------


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
        reader = _Reader(words)
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


class _Reader:
    def __init__(self, words: Integers) -> None:
        self._words = words
        self._at = 0

    def take(self, size: int) -> Integers:
        taken = self._words[self._at : self._at + size]
        if size < 0 or taken.size != size:
            raise StateError("a summary is shorter than it says; start again from the events")
        self._at += size
        return taken.copy()

    def pairs(self, most: int) -> Pairs:
        size = int(self.take(1)[0])
        if not 0 <= size <= most:
            raise StateError("a summary keeps more values than it has; start again from the events")
        codes, counts = self.take(size), self.take(size)
        if np.any(counts < 1) or np.any(counts > most) or np.any(codes[1:] <= codes[:-1]) or int(counts.sum()) > most:
            raise StateError("the kept values of a summary are damaged; start again from the events")
        return codes, counts

    @property
    def done(self) -> bool:
        return self._at == self._words.size


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
        at = codec.codes(np.array(query.thresholds))
        before = np.concatenate([[0], cumulative])
        limits[0::2] = before[np.searchsorted(codes, at, side="left")]
        limits[1::2] = before[np.searchsorted(codes, at, side="right")] - limits[0::2]
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


def largest(codes: Integers, counts: Integers, entries: int) -> tuple[Integers, Integers]:
    """Keep the `entries` largest values of ordered pairs, as ordered pairs."""
    from_top = np.cumsum(counts[::-1])
    kept = int(np.searchsorted(from_top, entries)) + 1
    numbers = counts[codes.size - kept :].copy()
    numbers[0] -= max(int(from_top[min(kept, from_top.size) - 1]) - entries, 0)
    return codes[codes.size - kept :], numbers


def sample(codes: Integers, counts: Integers, positions: Integers) -> tuple[Integers, Integers]:
    """Read the values at these ranks from the top, as ordered pairs."""
    from_top = np.cumsum(counts[::-1])
    return count_codes(codes[::-1][np.searchsorted(from_top, positions)])


def fine_band(
    quantiles: tuple[Decimal, ...], ranks: Integers, dense: Integers, codes: Integers, counts: Integers
) -> tuple[Integers, Integers]:
    """Keep the (code, count) pairs of every dense code that the bands around `ranks` touch. Costs O(pairs)."""
    cumulative = np.cumsum(counts)
    total = int(cumulative[-1])
    keep = np.zeros(codes.size, dtype=bool)
    for quantile, rank in zip(quantiles, ranks, strict=True):
        phi = float(quantile)
        reach = int(Z * math.sqrt(total * phi * (1 - phi))) + EXTRA
        first = int(np.searchsorted(cumulative, max(rank - reach, 1)))
        last = int(np.searchsorted(cumulative, min(rank + reach, total)))
        first = int(np.searchsorted(dense, dense[first], side="left"))
        last = int(np.searchsorted(dense, dense[last], side="right"))
        keep[first:last] = True
    return codes[keep], counts[keep]


def inverse_densities(
    quantiles: tuple[Decimal, ...], codec: Codec, codes: Integers, cumulative: Integers, domain: int
) -> npt.NDArray[np.float64]:
    """1/f at a sub-window's quantiles, from its ordered counts; NaN where it is too small or too discrete to tell."""
    ranks, between = difference_ranks(quantiles, int(cumulative[-1]))
    values = middles(codec, codes[np.searchsorted(cumulative, ranks)], domain)
    with np.errstate(over="ignore", invalid="ignore"):
        rise = values[1::2] - values[0::2]
        densities = np.where(rise > 0, rise, np.nan) / between
    return np.where(np.isfinite(densities), densities, np.nan)


# -- lists, extremes and sums that come and go ------------------------------------------------------------------------


class OrderedCounts:
    """The merged lists of the live sub-windows: ordered (code, count) pairs that lists enter and leave.

    Entering and leaving cost one compiled pass over the distinct codes.
    """

    def __init__(self) -> None:
        self._codes = np.empty(64, np.int64)
        self._counts = np.empty(64, np.int64)
        self._size = 0
        self.total = 0

    @property
    def codes(self) -> Integers:
        """The distinct codes, ascending."""
        return self._codes[: self._size]

    @property
    def counts(self) -> Integers:
        """How often each occurs."""
        return self._counts[: self._size]

    def add(self, codes: Integers, counts: Integers) -> None:
        """Let a list enter."""
        if codes.size == 0:
            return
        if self._size + codes.size > self._codes.size:
            room = np.empty(self._size + codes.size, np.int64)
            self._codes = np.concatenate([self.codes, room])
            self._counts = np.concatenate([self.counts, room])
        self._size = merge_in(self._codes, self._counts, self._size, codes, counts)
        self.total += int(counts.sum())

    def remove(self, codes: Integers, counts: Integers) -> None:
        """Let a list leave that had entered."""
        if codes.size == 0:
            return
        self._size = merge_out(self._codes, self._counts, self._size, codes, counts)
        self.total -= int(counts.sum())

    def largest(self, rank: int) -> int:
        """The code of the rank-th largest value; rank <= total. Looks at the top only."""
        from_top = np.cumsum(self.counts[::-1])
        return int(self.codes[self._size - 1 - int(np.searchsorted(from_top, rank))])

    def between(self, low: int, high: int) -> tuple[Integers, Integers]:
        """The pairs with low <= code <= high."""
        first, end = np.searchsorted(self.codes, low), np.searchsorted(self.codes, high, side="right")
        return self.codes[first:end], self.counts[first:end]


class SlidingMaximum:
    """The largest of the live values. Amortised O(1) a step, whatever the window's length."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, int]] = deque()

    def push(self, number: int, value: int) -> None:
        """A value enters with its sub-window's number."""
        while self._kept and self._kept[-1][1] <= value:
            self._kept.pop()
        self._kept.append((number, value))

    def expire(self, before: int) -> None:
        """Values of sub-windows below this number leave."""
        while self._kept and self._kept[0][0] < before:
            self._kept.popleft()

    @property
    def value(self) -> int:
        """The largest live value."""
        return self._kept[0][1]

    def __len__(self) -> int:
        """How many values are remembered."""
        return len(self._kept)


def score(new: tuple[Integers, Integers], old: tuple[Integers, Integers]) -> float:
    """Mean of sign(x - y) over all pairs of two lists of ordered (code, count) pairs."""
    return float(score_pairs(*new, *old))


def limit(effect: float, depth_new: int, depth_old: int, count_new: int) -> float | None:
    """The score above which a tail is larger; None if there are too few values to tell."""
    threshold = float(burst_threshold(effect, depth_new, depth_old, depth_new / count_new))
    return threshold if threshold < 1 else None


class ExactSum:
    """A sum of doubles without rounding, so that it does not depend on what has come and gone, or in which order.

    Every double is a whole multiple of 2^-1074; Python's integers hold the sum. One rounding, at the mean.
    """

    def __init__(self) -> None:
        self._sum = 0

    def add(self, value: float, times: int) -> None:
        """Add a value some times, or take it away."""
        numerator, denominator = value.as_integer_ratio()
        self._sum += (numerator * times) << (1075 - denominator.bit_length())

    def mean(self, weight: int) -> float:
        """The sum divided by the weight, correctly rounded."""
        return self._sum / (weight << 1074)

    @property
    def variables(self) -> int:
        """64-bit words that hold the sum."""
        return -(-(self._sum.bit_length() - (self._sum & -self._sum).bit_length() + 1) // 64) if self._sum else 0


# -- Level 2 ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Live:
    """A live summary's fine part, with what its record's head says."""

    number: int
    count: int
    domain: int
    fine: FinePart
    values: npt.NDArray[np.float64]


class Refinement:
    """Level 2 at the query's own resolution: mean, few-k merging, the fine band."""

    def __init__(self, query: Query, state: Integers, codec: Codec, dense: Codec) -> None:
        self._query, self._state, self._codec, self._dense = query, state, codec, dense
        self._order = sorted(range(len(query.quantiles)), key=lambda column: query.quantiles[column])
        self._live: deque[Live] = deque()
        self._before: Live | None = None
        self._highest = [SlidingMaximum() for _ in query.quantiles]
        self._lowest = [SlidingMaximum() for _ in query.quantiles]
        self._cut = SlidingMaximum()  # smallest kept codes of the top lists that were cut short
        self._without_top = 0
        self._sums = [ExactSum() for _ in query.quantiles]
        self._inverse_sums = [ExactSum() for _ in query.quantiles]
        self._unknown_density = np.zeros(len(query.quantiles), np.int64)
        self._top = OrderedCounts()
        self._samples = [OrderedCounts() for _ in query.high]
        self._depths = [0 for _ in query.high]
        self._band = OrderedCounts()
        self._thresholds = np.zeros(2 * len(query.thresholds), np.int64)
        self._count = 0
        self._domains = [0, 0, 0]  # live summaries of reals, of integers, of both
        self._last_burst = self._last_release = int(NONE)
        self._score, self._flag, self._newest = 0.0, 0, int(NONE)
        self._kept = float(state.view(np.float64)[GUARANTEE])

    # -- Accumulate ----------------------------------------------------------------------------------------------

    def accumulate(self, head: Integers, fine: FinePart) -> None:
        """Let a summary's fine part enter; `head` is its record's."""
        domain = int(head[HEAD_LENGTH] >> DOMAIN_SHIFT)
        values = middles(self._codec, fine.codes, domain)
        live = Live(int(head[HEAD_NUMBER]), int(head[HEAD_COUNT]), domain, fine, values)
        self._watch_for_bursts(live)
        self._live.append(live)
        for q, code in enumerate(fine.codes):
            self._highest[q].push(live.number, int(code))
            self._lowest[q].push(live.number, -int(code))
        if fine.top[0].size and int(fine.top[1].sum()) < live.count:
            self._cut.push(live.number, int(fine.top[0][0]))
        self._shift(live, 1)

    def deaccumulate(self, before: int) -> None:
        """Let the fine parts leave whose sub-windows are below `before`."""
        if not self._live or self._live[0].number >= before:
            return
        while self._live and self._live[0].number < before:
            self._before = self._live.popleft()
            self._shift(self._before, -1)
        for extreme in (*self._highest, *self._lowest, self._cut):
            extreme.expire(before)

    def _shift(self, live: Live, sign: int) -> None:
        fine = live.fine
        move = OrderedCounts.add if sign > 0 else OrderedCounts.remove
        move(self._top, *fine.top)
        move(self._band, *fine.band)
        if self._query.keeps_lists:
            for h, tail in enumerate(fine.tails):
                move(self._samples[h], *tail.samples)
                self._depths[h] += sign * tail.depth
        self._count += sign * live.count
        self._domains[live.domain] += sign
        self._without_top += sign * (fine.top[0].size == 0)
        self._thresholds += sign * fine.thresholds
        if self._query.guarantee is None:
            weight = 1 if self._query.as_paper else live.count
            for q, value in enumerate(live.values):
                self._sums[q].add(float(value), sign * weight)
                if np.isfinite(fine.densities[q]):
                    self._inverse_sums[q].add(float(fine.densities[q]), sign)
                else:
                    self._unknown_density[q] += sign

    def _watch_for_bursts(self, live: Live) -> None:
        """Compare the tail with the one before; with an envelope the kernel has done it."""
        if self._query.guarantee is not None:
            self._last_burst = int(self._state[LAST_BURST])
            self._last_release = int(self._state[LAST_RELEASE])
            return
        self._score, self._flag, self._newest = 0.0, 0, live.number
        before = self._live[-1] if self._live else self._before
        if before is None or before.number < live.number - self._query.sub_windows:
            return
        effect = (self._query.few_k or FewK()).burst
        scores = []
        for new, old in zip(live.fine.tails, before.fine.tails, strict=True):
            chance = limit(effect, new.depth, old.depth, live.count)
            if chance is None or not (new.samples[0].size and old.samples[0].size):
                continue
            scores.append(score(new.samples, old.samples))
            if scores[-1] > chance:
                self._flag = 1
            elif scores[-1] < -chance and self._flag == 0:
                self._flag = -1
        self._score = max(scores, default=0.0)
        if self._flag > 0:
            self._last_burst = live.number
        elif self._flag < 0:
            self._last_release = live.number

    # -- ComputeResult -------------------------------------------------------------------------------------------

    def compute_result(self, number: int, row: Integers, densities: npt.NDArray[np.float64] | None) -> None:
        """Work the fine parts into a result that the dense part has begun."""
        query, reals = self._query, row.view(np.float64)
        oldest = number - query.sub_windows + 1
        bursting = self._last_burst >= oldest
        if query.guarantee is None:
            ongoing = bursting and self._last_burst > self._last_release
            newest = self._newest == number
            row[OUT_BURST] = newest and (self._flag > 0 or ongoing)
            reals[OUT_SCORE] = self._score if newest else 0.0
        minimum, maximum = reals[OUT_MINIMUM], reals[OUT_MAXIMUM]
        extremes = [-extreme.value for extreme in self._lowest] + [extreme.value for extreme in self._highest]
        lows, highs = self._codec.intervals(np.array(extremes, np.int64), self._domain)
        size = len(query.quantiles)
        with np.errstate(over="ignore"):
            spreads = (lows[size:] - lows[:size]) / 2 + (highs[size:] - highs[:size]) / 2
        lows, highs = lows[:size], highs[size:]
        for at, column in enumerate(self._order):
            c = OUT_FIXED + 4 * column
            low, high = float(lows[column]), float(highs[column])
            dense_low, dense_high = self._dense_span(float(reals[c + 1]), float(reals[c + 2]))
            low, high = max(low, dense_low, minimum), min(high, dense_high, maximum)
            value, method = float(reals[c]), int(row[c + 3])
            code = self._certified_band(at)
            top, is_top_certified = self._merged_top(column)
            if top is not None:  # never above the exact value, which is at most where a list was cut
                reach = top if is_top_certified else max(top, self._cut.value)
                proved = self._span(top, reach)
                low, high = max(low, proved[0]), min(high, proved[1])
            if code is None and is_top_certified and not query.as_paper:
                code = top
            if code is not None:
                code_low, code_high = self._span(code, code)
                low, high = max(low, code_low), min(high, code_high)
                value, method = code_low + (code_high - code_low) / 2, METHOD_CERTIFIED
            elif query.guarantee is None:
                value, method = self._chosen(column, top, bursting)
            if query.guarantee is not None:
                value = float(within(value, low, high, self._kept))
                if code is None:
                    method = self._method_within(method, low, high)
            if low == high and (code is not None or query.guarantee is not None):
                method = _EXACT
            reals[c], reals[c + 1], reals[c + 2] = min(max(value, low), high), low, high
            row[c + 3] = method
            if densities is not None and method == _MEAN and not bursting and not self._unknown_density[column]:
                densities[column] = self._inverse_sums[column].mean(len(self._live)), spreads[column]
        self._refine_thresholds(row, minimum, maximum)

    @property
    def _domain(self) -> int:
        """What the window holds."""
        reals, integers, both = self._domains
        if both or (reals and integers):
            return BOTH
        return INTEGERS if integers else REALS

    def _span(self, low_code: int, high_code: int) -> tuple[float, float]:
        lows, highs = self._codec.intervals(np.array([low_code, high_code], np.int64), self._domain)
        return float(lows[0]), float(highs[1])

    def _dense_span(self, low: float, high: float) -> tuple[float, float]:
        """A dense interval for the query's values: raw longs beyond 2^53 may have been rounded across its ends."""
        if self._query.digits is None and self._domain != REALS:
            low = float(next_down(low)) if abs(low) >= EXACT_INTEGERS else low
            high = float(next_up(high)) if abs(high) >= EXACT_INTEGERS else high
        return low, high

    def _method_within(self, method: int, low: float, high: float) -> int:
        """What the dense part's method means at the query's resolution: certified only if one code is left."""
        first, last = self._codec.codes(np.array([low, high]))
        if first == last:
            return METHOD_CERTIFIED
        return METHOD_BAND if method in (_EXACT, METHOD_CERTIFIED) else method

    def _certified_band(self, at: int) -> int | None:
        """The exact code, if all values of the quantile's dense code are known at full resolution."""
        if self._query.guarantee is None or self._codec is self._dense:
            return None
        certified, dense, rank, number = locate(self._state, at)
        if not certified:
            return None
        # the widest span of fine codes that the dense code can hold
        low, high = self._dense.intervals(np.array([dense], np.int64), REALS)
        first, last = self._codec.codes(np.concatenate([low, high]))
        codes, counts = self._band.between(int(first), int(last))
        if int(counts.sum()) != number:
            return None
        from_top = np.cumsum(counts[::-1])
        return int(codes[codes.size - 1 - int(np.searchsorted(from_top, rank))])

    def _merged_top(self, column: int) -> tuple[int | None, bool]:
        """Top-k merging: its answer, if the lists are long enough, and whether it is certified."""
        if self._without_top or not self._query.keeps_lists:
            return None, False
        rank = rank_from_top(self._query.quantiles[column], self._count)
        if rank > self._top.total:
            return None, False
        answer = self._top.largest(rank)
        return answer, len(self._cut) == 0 or self._cut.value <= answer

    def _chosen(self, column: int, top: int | None, bursting: bool) -> tuple[float, int]:
        """The paper's selection: sample-k in a burst, top-k where sub-windows are small, else the mean."""
        query = self._query
        quantile = query.quantiles[column]
        if query.keeps_lists and quantile in query.high and query.few_k is not None:
            h = query.high.index(quantile)
            merged = self._samples[h]
            if bursting and merged.total:
                rank = rank_from_top(quantile, self._count)
                rank = max(-(-rank * merged.total // self._depths[h]), 1)
                if rank <= merged.total:
                    return self._value(merged.largest(rank)), _SAMPLE_K
            small = query.period if query.counted else self._count / len(self._live)
            if top is not None and inefficient(query.few_k, quantile, small):
                return self._value(top), _TOP_K
        weight = len(self._live) if query.as_paper else self._count
        return self._sums[column].mean(weight), _MEAN

    def _value(self, code: int) -> float:
        return float(middles(self._codec, np.array([code], np.int64), self._domain)[0])

    def _refine_thresholds(self, row: Integers, minimum: float, maximum: float) -> None:
        """Shares at the query's own resolution."""
        query, reals = self._query, row.view(np.float64)
        if not query.thresholds:
            return
        codes = self._codec.codes(np.array(query.thresholds))
        lows, highs = self._codec.intervals(codes, self._domain)
        for t, threshold in enumerate(query.thresholds):
            under, inside = (int(n) for n in self._thresholds[2 * t : 2 * t + 2])
            low, high = max(float(lows[t]), minimum), min(float(highs[t]), maximum)
            c = OUT_FIXED + 4 * len(query.quantiles) + 3 * t
            least = under + (inside if threshold >= high else 0)
            most = under + (inside if threshold >= low else 0)
            middle = (least + most) / 2
            reals[c], reals[c + 1], reals[c + 2] = (
                middle / self._count,
                least / self._count,
                most / self._count,
            )

    @property
    def variables(self) -> dict[str, int]:
        """Live scalars by part."""
        lists = (self._top, self._band, *self._samples)
        return {
            "quantiles": sum(live.fine.codes.size for live in self._live),
            "thresholds": sum(live.fine.thresholds.size for live in self._live),
            "densities": sum(live.fine.densities.size for live in self._live),
            "tails": 2 * sum(live.fine.top[0].size for live in self._live)
            + 2 * sum(tail.samples[0].size for live in self._live for tail in live.fine.tails),
            "band": 2 * sum(live.fine.band[0].size for live in self._live),
            "merged lists": 2 * sum(merged.codes.size for merged in lists),
            "sums": sum(s.variables for s in (*self._sums, *self._inverse_sums)),
        }


class SlowSliding(Sliding):
    """The live summaries of one stream, closed one by one from their values."""

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self.level = None
        self.refinement = Refinement(query, self.state.words, self.codec, self.dense)

    def close_as(self, number: int, parts: list[npt.NDArray[np.generic]]) -> None:
        """Close a sub-window of these values: integers, doubles, or some of each."""
        for values in parts:
            self._count(values)
        state, domain, pairs = self.state, self.state.open_domain, self.state.open_pairs()
        if self.codec is not self.dense:
            pairs = count_codes(np.concatenate([self.codec.codes(values) for values in parts]))
        fine = fine_part(self.query, self.codec, self.dense, *pairs, number, domain)
        words = fine.words()
        dense = np.zeros(int(summary_room(state.words)) // 8 * 8 + 8, np.uint8)
        length, _ = close_open(state.words, state.cells, state.table, dense, None, None, None, None, number)
        content = np.concatenate([dense[:length], words.view(np.uint8)])
        head = content[: 8 * HEAD_WORDS].view(np.int64)
        head[HEAD_FINE] = length
        head[HEAD_LENGTH] += words.nbytes
        self.expire(number)
        while not enter_foreign(state.words, state.cells, state.ring, None, content, number):
            state.grow(content.size)
        self.refinement.accumulate(head, fine)

    def _count(self, values: npt.NDArray[np.generic]) -> None:
        """Count values. Raw longs beyond 2^53 are taken as the nearest doubles; extremes are rounded outward."""
        state, integers = self.state, values.dtype == np.int64
        if not (self.query.digits is None and integers and values.size):
            count_open(state.words, state.cells, state.table, values.view(np.int64), None, not integers)
            return
        domain, before = state.open_domain, state.open_extremes.copy()
        count_open(state.words, state.cells, state.table, values.astype(np.float64).view(np.int64), None, True)
        state.open_extremes[:] = before
        low, high = int(key_of_double(round_down(int(values.min())))), int(key_of_double(round_up(int(values.max()))))
        state.widen_open(INTEGERS if domain in (NOTHING, INTEGERS) else BOTH, low, high)

    def expire(self, number: int) -> None:
        super().expire(number)
        self.refinement.deaccumulate(number - self.query.sub_windows + 1)

    def result(self, number: int, row: Integers, densities: npt.NDArray[np.float64] | None) -> bool:
        live = self.state.live
        if live == 0 or (not self.query.partial and live < self.query.sub_windows):
            return False
        compute_result(self.state.words, number, row)
        self.refinement.compute_result(number, row, densities)
        return True

    def fine_variables(self) -> dict[str, int]:
        return self.refinement.variables
