"""Streams in the orders that break careless summaries, their windows, and the rank error of an answer."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from aomg import Query
from aomg.policies import PolicyOperator, make

Values = npt.NDArray[np.float64]

QUANTILES = ("0.001", "0.01", "0.1", "0.25", "0.5", "0.75", "0.9", "0.99", "0.999", "1")


def _random(n: int, seed: int = 5) -> np.random.Generator:
    return np.random.default_rng((n, seed))


ORDERS: dict[str, Callable[[int], Values]] = {
    "random": lambda n: _random(n).permutation(n).astype(float),
    "long tail": lambda n: _random(n).pareto(1.1, n),
    "ascending": lambda n: np.arange(n, dtype=float),
    "descending": lambda n: np.arange(n, 0, -1, dtype=float),
    "sawtooth": lambda n: (np.arange(n) % 1371).astype(float),
    "organ pipe": lambda n: np.abs(np.arange(n) % 9001 - 4500).astype(float),
    "three values": lambda n: _random(n).integers(0, 3, n).astype(float),
    "twenty-one values": lambda n: _random(n).binomial(20, 0.5, n).astype(float),
    "a hundred values, descending": lambda n: np.sort(_random(n).integers(0, 100, n))[::-1].astype(float),
    "few values, then many": lambda n: np.where(
        np.arange(n) % 977 < 700, _random(n).integers(0, 9, n), _random(n, 6).normal(4, 3, n)
    ),
    "all equal": lambda n: np.full(n, 7.0),
}


def windows(query: Query, values: Values) -> Iterator[Values]:
    """The events of every window that a stream owes, the first and the last ones too. The query is partial."""
    for end in range(query.period, values.size + query.period, query.period):
        yield values[max(0, end - query.size) : end]


def wrong_by(ordered: Values, value: float, rank: int) -> int:
    """Elements between a rank and the nearest rank at which the value stands, or would stand, in a sorted window."""
    below, up_to = int(np.searchsorted(ordered, value, "left")), int(np.searchsorted(ordered, value, "right"))
    return max(0, below + 1 - rank, rank - max(up_to, below))


def answers(operator: PolicyOperator, values: Values) -> list[list[float]]:
    """The values of every result, in the query's order of quantiles."""
    results = [*operator.push(values), *operator.finish()]
    return [[result[q].value for q in operator.query.quantiles] for result in results]


def worst_rank_error(name: str, query: Query, values: Values, **parameters: object) -> float:
    """The largest rank error of all windows and quantiles, as a share of the window's size."""
    operator = make(name, query, **parameters)
    worst = 0
    for window, estimates in zip(windows(query, values), answers(operator, values), strict=True):
        ordered = np.sort(window)
        ranks = operator.policy.quantiles.ranks(window.size)
        worst = max(worst, *(wrong_by(ordered, value, rank) for value, rank in zip(estimates, ranks, strict=True)))
    return worst / query.size
