"""Level 2 at the query's own resolution: which outcome is taken, and why.

Queries with raw values, more than three digits, few-k lists or no guarantee keep a fine part in every summary. Each
result that the dense part has begun (core.kernels) is refined from the live fine parts:

1. an answer that is certified exact wins: the band's certificate at full resolution, then top-k's;
2. with a guarantee, the envelope's answer;
3. without: sample-k while a burst is live, top-k where sub-windows are too small for the quantile, else Level 2's
   mean. As the paper ran it, this order alone decides.

Every value is then put into the interval that is proved for it.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aomg.core.bursts import limit, score
from aomg.core.certainty import SlidingMaximum
from aomg.core.codes import Codec, middles
from aomg.core.kernels.answering import locate, within
from aomg.core.kernels.registers import (
    BOTH,
    DOMAIN_SHIFT,
    GUARANTEE,
    HEAD_COUNT,
    HEAD_LENGTH,
    HEAD_NUMBER,
    INTEGERS,
    LAST_BURST,
    LAST_RELEASE,
    METHOD_BAND,
    METHOD_EXACT,
    METHOD_MEAN,
    METHOD_SAMPLE_K,
    METHOD_TOP_K,
    NONE,
    OUT_BURST,
    OUT_FIXED,
    OUT_MAXIMUM,
    OUT_MINIMUM,
    OUT_SCORE,
    REALS,
)
from aomg.core.kernels.sortable import EXACT_INTEGERS, next_down, next_up
from aomg.core.paper.few_k import OrderedCounts, inefficient, rank_from_top
from aomg.core.summary import FinePart
from aomg.query import FewK, Query

Integers = npt.NDArray[np.int64]

_EXACT, _MEAN, _TOP_K, _SAMPLE_K = METHOD_EXACT, METHOD_MEAN, METHOD_TOP_K, METHOD_SAMPLE_K


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
        self._sums = [_ExactSum() for _ in query.quantiles]
        self._inverse_sums = [_ExactSum() for _ in query.quantiles]
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
            exact = self._certified_band(at)
            top, certified = self._merged_top(column)
            if top is not None:  # never above the exact value, which is at most where a list was cut
                reach = top if certified else max(top, self._cut.value)
                proved = self._span(top, reach)
                low, high = max(low, proved[0]), min(high, proved[1])
            if exact is None and certified and not query.as_paper:
                exact = top
            if exact is not None:
                low_exact, high_exact = self._span(exact, exact)
                low, high = max(low, low_exact), min(high, high_exact)
                value, method = low_exact + (high_exact - low_exact) / 2, _EXACT
            elif query.guarantee is None:
                value, method = self._chosen(column, top, bursting)
            if query.guarantee is not None:
                value = float(within(value, low, high, self._kept))
                if exact is None:
                    method = self._method_within(method, low, high)
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
        """What the dense part's method means at the query's resolution: exact only if one code is left."""
        first, last = self._codec.codes(np.array([low, high]))
        if first == last:
            return _EXACT
        return METHOD_BAND if method == _EXACT else method

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


class _ExactSum:
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
