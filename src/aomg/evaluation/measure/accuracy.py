"""Measures the errors of answers, by value and by rank, and the space of the operator.

The exact quantile is the ceil(phi N)-th smallest raw value of a window. The value error is |answer - exact| / |exact|;
windows whose exact quantile is zero have none and are counted. The rank error is the distance from the requested rank
to the ranks that the answer occupies, or would occupy, divided by the window's size. So ties do not make a correct
answer look wrong.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.evaluation.measure.contenders import Contender, Runner
from aomg.evaluation.measure.source import Values, ValueSource
from aomg.policies import PolicyOperator

QUANTILES = ("0.5", "0.9", "0.99", "0.999")
MOST_LOOKS = 128
"""An operator's space is counted at this many sub-windows, spread over a run: counting can take milliseconds."""
_CHUNK = 1 << 18


@dataclass(frozen=True)
class Windows:
    """The evaluated windows of a source: all full ones, or every n-th if there are very many."""

    size: int
    period: int
    events: int
    every: int = 1

    @property
    def ends(self) -> npt.NDArray[np.int64]:
        """The end of each evaluated window."""
        return np.arange(self.size, self.events + 1, self.period)[:: self.every]


def ranks(quantiles: tuple[str, ...], size: int) -> list[int]:
    """Return the rank ceil(phi n) of each quantile, by exact fractions."""
    return [max(math.ceil(Fraction(quantile) * size), 1) for quantile in quantiles]


def exact(window: Values, quantiles: tuple[str, ...]) -> npt.NDArray[np.float64]:
    """Return the exact quantiles of unordered raw values. O(n)."""
    places = [rank - 1 for rank in ranks(quantiles, window.size)]
    return np.partition(window, places)[places].astype(np.float64)


@lru_cache(maxsize=8)
def exact_answers(source: ValueSource, windows: Windows, quantiles: tuple[str, ...]) -> npt.NDArray[np.float64]:
    """Return the exact quantiles of every evaluated window, one row each. Cached: all rivals need the same."""
    values = source.values(windows.events)
    answers = [exact(values[end - windows.size : end], quantiles) for end in windows.ends]
    return np.stack(answers) if answers else np.empty((0, len(quantiles)))


def rank_error(window: Values, answer: float, rank: int) -> float:
    """Return the distance from `rank` to the ranks that the answer occupies, as a share of the window."""
    below, up_to = int(np.count_nonzero(window < answer)), int(np.count_nonzero(window <= answer))
    return max(0, below + 1 - rank, rank - max(up_to, below)) / window.size


class Space:
    """The largest number of variables just before a sub-window closed; for an operator also by part."""

    def __init__(self) -> None:
        self.variables = 0
        self.by_part: dict[str, int] | None = None

    def update(self, runner: Runner) -> None:
        """Count the variables now. A policy tracks its own maximum, so one call at the end is enough."""
        if isinstance(runner, PolicyOperator):
            self.variables = max(self.variables, runner.variables(), runner.most_variables())
            return
        parts = runner.variables_by_part()
        if sum(parts.values()) > self.variables:
            self.variables, self.by_part = sum(parts.values()), parts


def answers_of(runner: Runner, values: Values, windows: Windows, space: Space) -> Iterator[Any]:
    """Push all values and yield the results of the evaluated windows; count the space before sub-windows close."""
    number, start = 0, 0
    for end in _stops(runner, windows):
        results = runner.push(values[start:end])
        start = end
        if (end + 1) % windows.period == 0:
            space.update(runner)
        for result in results:
            if number % windows.every == 0:
                yield result
            number += 1


def _stops(runner: Runner, windows: Windows) -> Iterator[int]:
    """Yield the ends of pushes. For an operator, one event before a sub-window closes, to count its space there."""
    if isinstance(runner, PolicyOperator):
        yield from range(_CHUNK, windows.events, _CHUNK)
    else:
        every = -(-windows.events // windows.period // MOST_LOOKS)
        yield from range(windows.period - 1, windows.events, windows.period * max(every, 1))
    yield windows.events


def measure(
    contender: Contender,
    source: ValueSource,
    windows: Windows,
    quantiles: tuple[str, ...] = QUANTILES,
    by_rank: bool = False,
) -> dict[str, Any]:
    """Run a contender on a source and compare every evaluated window with the exact answers.

    Lists have one number per quantile; value errors are in percent, rank errors are shares of the window.
    """
    values = source.values(windows.events)
    truth = exact_answers(source, windows, quantiles)
    runner = contender.start(windows.size, windows.period, quantiles)
    wanted = ranks(quantiles, windows.size)
    shape = (len(truth), len(quantiles))
    estimates, by_ranks, lows, highs = (np.full(shape, np.nan) for _ in range(4))
    bounds = np.full((*shape, 2), np.nan)
    methods: list[dict[str, int]] = [{} for _ in quantiles]
    bursts, space = 0, Space()
    for row, result in enumerate(answers_of(runner, values, windows, space)):
        end = int(windows.ends[row])
        window = values[end - windows.size : end]
        bursts += result.burst
        for column, quantile in enumerate(quantiles):
            estimate = result[quantile]
            estimates[row, column], lows[row, column], highs[row, column] = estimate.value, estimate.low, estimate.high
            methods[column][estimate.method] = methods[column].get(estimate.method, 0) + 1
            if estimate.bound is not None:
                bounds[row, column] = estimate.bound, estimate.bound_corrected
            if by_rank:
                by_ranks[row, column] = rank_error(window, estimate.value, wanted[column])
    # space is largest just before a close: fill the open sub-window with earlier values
    runner.push(values[windows.events - windows.period + 1 : windows.events - runner.open])
    space.update(runner)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(estimates - truth)
        relative = np.where(truth != 0, 100 * off / np.abs(truth), np.nan)
        bias = np.where(truth != 0, 100 * (estimates - truth) / np.abs(truth), np.nan)
        width = np.where(truth != 0, 100 * (highs - lows) / np.abs(truth), np.nan)
        bound = np.where(truth != 0, 100 * bounds[:, :, 0] / np.abs(truth), np.nan)
    bounded = np.isfinite(bounds[:, :, 0])
    covered = [(off <= bounds[:, :, kind]) & bounded for kind in (0, 1)]
    promised = np.isfinite(lows) & np.isfinite(highs)
    contained = (lows <= truth) & (truth <= highs) & promised
    return {
        "windows": len(truth),
        "value_error": _means(relative),
        "worst_value_error": _most(relative),
        "bias": _means(bias),
        "without_value_error": np.sum(truth == 0, axis=0).tolist(),
        "rank_error": _means(by_ranks) if by_rank else None,
        "worst_rank_error": _most(by_ranks) if by_rank else None,
        "variables": int(space.variables),
        "variables_by_part": space.by_part,
        "analytical": runner.policy.analytical() if isinstance(runner, PolicyOperator) else None,
        "nbytes": int(runner.nbytes),
        "methods": methods,
        "bursts": int(bursts),
        "intervals": promised.sum(axis=0).tolist(),
        "intervals_kept": contained.sum(axis=0).tolist(),
        "interval_width": _means(width),
        "worst_interval_width": _most(width),
        "bounded": bounded.sum(axis=0).tolist(),
        "bound": _means(bound),
        "covered": covered[0].sum(axis=0).tolist(),
        "covered_corrected": covered[1].sum(axis=0).tolist(),
    }


def _means(cells: npt.NDArray[np.float64]) -> list[float | None]:
    """Return the mean of each column, without NaN."""
    return [float(column[~np.isnan(column)].mean()) if (~np.isnan(column)).any() else None for column in cells.T]


def _most(cells: npt.NDArray[np.float64]) -> list[float | None]:
    return [float(column[~np.isnan(column)].max()) if (~np.isnan(column)).any() else None for column in cells.T]
