"""The truth, slow and plain: exact quantiles, which window holds what, and all that a result promises of it.

Values are Python ints and floats, which Python compares without rounding; ranks are Fractions.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from aomg import Operator, Query, Result, Results
from aomg.core.sliding import Sliding

Number = int | float
SECOND = 1_000_000


def exact_quantile(values: Iterable[Number], quantile: Any) -> Number:
    """The ceil(phi n)-th smallest value."""
    ordered = sorted(values)
    rank = math.ceil(Fraction(Decimal(str(quantile))) * len(ordered))
    return ordered[max(rank, 1) - 1]


def plain(values: Any) -> list[Number]:
    """The elements of a NumPy array or a list, as Python numbers."""
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def finite(value: Number | None) -> bool:
    return value is not None and math.isfinite(value)


@dataclass
class Window:
    """What a result should speak of: where it ends, its elements, and how many sub-windows are not empty."""

    end: int
    values: list[Number]
    sub_windows: int


def counted_windows(query: Query, values: Iterable[Number], finish: bool = False) -> list[Window]:
    """Every window that a stream of elements owes; what is not finite takes no place."""
    used = [v for v in values if finite(v)]
    size, period = query.size, query.period
    ends = list(range(period, len(used) + 1, period))
    if finish and not query.as_paper and len(used) % period:
        ends.append((len(used) // period + 1) * period)
    windows = []
    for end in ends:
        inside = used[max(end - size, 0) : end]
        live = -(-len(inside) // period)
        if query.partial or live == query.sub_windows:
            windows.append(Window(end, inside, live))
    return windows


@dataclass
class TimedModel:
    """A plain model of windows in event time, one event after the other. Times are microseconds since 1970."""

    query: Query
    sub_windows: dict[int, list[Number]] = field(default_factory=dict)
    latest: int | None = None
    watermark: int | None = None
    closed_to: int | None = None
    late: int = 0
    refused: int = 0

    def push(self, values: Iterable[Number | None], times: Iterable[int | None]) -> list[Window]:
        windows = []
        for value, time in zip(values, times, strict=True):
            if not finite(value) or time is None:
                self.refused += 1
                continue
            number = time // self.query.period
            if self.watermark is not None and (number + 1) * self.query.period <= self.watermark:
                self.late += 1
                continue
            self.sub_windows.setdefault(number, []).append(value)
            self.latest = time if self.latest is None else max(self.latest, time)
            windows += self._reach(self.latest - self.query.lateness)
        return windows

    def advance(self, time: int) -> list[Window]:
        return self._reach(time)

    def finish(self) -> list[Window]:
        if self.watermark is None:
            return []
        period = self.query.period
        end = -(-self.watermark // period)  # what begins before the watermark is part of the stream
        return self._close_before(end if self.latest is None else max(end, self.latest // period + 1))

    @property
    def open(self) -> int:
        return sum(len(v) for n, v in self.sub_windows.items() if self.closed_to is None or n >= self.closed_to)

    def _reach(self, watermark: int) -> list[Window]:
        self.watermark = watermark if self.watermark is None else max(self.watermark, watermark)
        return self._close_before(self.watermark // self.query.period)

    def _close_before(self, end: int) -> list[Window]:
        """Close every sub-window whose number is below `end`; each close answers while any of its window is filled."""
        count = self.query.sub_windows
        begin = self.closed_to
        due: set[int] = set()
        for filled in self.sub_windows:  # a filled sub-window is in the windows that end with it and the next ones
            first = filled if begin is None else max(filled, begin)
            due.update(range(first, min(filled + count, end)))
        windows = []
        for number in sorted(due):
            live = [n for n in range(number - count + 1, number + 1) if n in self.sub_windows]
            if self.query.partial or len(live) == count:
                inside = [v for n in live for v in self.sub_windows[n]]
                windows.append(Window((number + 1) * self.query.period, inside, len(live)))
        self.closed_to = end if begin is None else max(begin, end)
        self.sub_windows = {n: v for n, v in self.sub_windows.items() if n + count > self.closed_to}
        return windows


def end_of(result: Result) -> int:
    return result.end if isinstance(result.end, int) else int(result.end.astype("datetime64[us]").astype(np.int64))


def below_or_equal(low: float, exact: Number, high: float) -> bool:
    return low <= exact <= high


def check_results(query: Query, results: Sequence[Result] | Results, windows: list[Window]) -> None:
    """Results are those of exactly these windows, and each keeps its promises."""
    assert [end_of(r) for r in results] == [w.end for w in windows]
    codec = Sliding(query).codec
    for result, window in zip(results, windows, strict=True):
        check_result(query, codec, result, window)


def check_result(query: Query, codec: Any, result: Result, window: Window) -> None:
    """All that one result promises of its window."""
    values = window.values
    assert result.count == len(values)
    assert result.sub_windows == window.sub_windows
    check_extremes(result, values)
    assert -1.0 <= result.burst_score <= 1.0
    for quantile in query.quantiles:
        check_estimate(query, codec, result[quantile], exact_quantile(values, quantile), values, quantile)
    for threshold in query.thresholds:
        share = result.below(threshold)
        exact = sum(v <= threshold for v in values) / len(values)
        assert share.low <= exact <= share.high, (threshold, share, exact)
        assert 0.0 <= share.low <= share.value <= share.high <= 1.0, (threshold, share)


def check_extremes(result: Result, values: list[Number]) -> None:
    """The window's minimum and maximum, rounded outward to the nearest double where longs need more bits."""
    least, most = min(values), max(values)
    assert result.minimum <= least < math.nextafter(result.minimum, math.inf)
    assert result.maximum >= most > math.nextafter(result.maximum, -math.inf)


def check_estimate(query: Query, codec: Any, estimate: Any, exact: Number, values: list[Number], quantile: Any) -> None:
    said = (quantile, estimate, exact)
    assert estimate.low <= exact <= estimate.high, said
    assert estimate.low <= estimate.value <= estimate.high, said
    if query.guarantee is not None:
        error = abs(Fraction(estimate.value) - Fraction(exact))
        assert error <= Fraction(query.guarantee) * abs(Fraction(exact)), said
    if estimate.method == "exact" or query.guarantee is not None:
        assert (estimate.method == "exact") == (estimate.low == estimate.high), said
    if estimate.method == "certified":
        assert estimate.low < estimate.high, said
        first, last = codec.codes(np.array([estimate.low, estimate.high]))
        # with integers in the window, bounds beyond 2^53 are rounded outward
        outward = any(isinstance(v, int) for v in values) and max(map(abs, values)) >= 2**53
        assert first == last or outward, said


def push_in_parts(operator: Operator, values: Any, cuts: Iterable[int]) -> Results:
    """Push values cut at the given places; returns all results."""
    places = [0, *sorted(min(c, len(values)) for c in cuts), len(values)]
    results = operator.push(values[:0])
    for first, last in itertools.pairwise(places):
        results = results + operator.push(values[first:last])
    return results
