"""Hypothesis strategies: streams of every temper, and queries of every kind."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from aomg import FewK, Query

INT64 = np.iinfo(np.int64)
Generator = np.random.Generator


def small_integers(random: Generator, n: int) -> np.ndarray:
    return random.integers(-50, 2000, n)


def any_integers(random: Generator, n: int) -> np.ndarray:
    values = random.integers(INT64.min, INT64.max, n, endpoint=True)
    values[random.random(n) < 0.1] = INT64.min
    values[random.random(n) < 0.1] = INT64.max
    return values


def longs(random: Generator, n: int) -> np.ndarray:
    near = random.choice([2**53, 10**17, 10**18, 9 * 10**18, -(2**53), -(10**18)], n)
    return near + random.integers(-5, 5, n)


def integers_of_every_size(random: Generator, n: int) -> np.ndarray:
    magnitude = np.exp(random.uniform(0, np.log(9e18), n)).astype(np.int64)
    return magnitude * random.choice([-1, 1], n)


def ties(random: Generator, n: int) -> np.ndarray:
    return random.choice(random.integers(1, 10**6, 3), n)


def constant(random: Generator, n: int) -> np.ndarray:
    return np.full(n, random.choice([0, 7, 1000, -129, 131_072, 123_456_789]))


def ascending(random: Generator, n: int) -> np.ndarray:
    return np.cumsum(random.integers(0, 40, n))


def descending(random: Generator, n: int) -> np.ndarray:
    return ascending(random, n)[::-1].copy() - int(random.integers(0, 10**5))


def bursts(random: Generator, n: int) -> np.ndarray:
    values = np.rint(random.lognormal(6.7, 0.3, n)).astype(np.int64)
    first = int(random.integers(0, n + 1))
    values[first : first + n // 5] *= 10
    return values


def heavy_tail(random: Generator, n: int) -> np.ndarray:
    return random.pareto(0.6, n) + 0.01


def normal(random: Generator, n: int) -> np.ndarray:
    return random.normal(0, 10.0 ** random.integers(-3, 6), n)


def drift(random: Generator, n: int) -> np.ndarray:
    return np.exp(np.linspace(-8, 8, n)) * random.uniform(0.9, 1.1, n)


def every_magnitude(random: Generator, n: int) -> np.ndarray:
    return 10.0 ** random.uniform(-300, 300, n) * random.choice([-1.0, 1.0], n)


def subnormal(random: Generator, n: int) -> np.ndarray:
    return random.integers(-60, 60, n) * 5e-324 * random.choice([1.0, 1e3, 1e12], n)


def near_zero(random: Generator, n: int) -> np.ndarray:
    return random.choice([0.0, -0.0, 1e-9, -1e-9, 0.001, -3.5], n)


def extremes(random: Generator, n: int) -> np.ndarray:
    largest = np.finfo(np.float64).max
    return random.choice([largest, -largest, 1e308, 9.99e307, 5e-324, -5e-324, 2.2250738585072014e-308, 0.0], n)


def decimals(random: Generator, n: int) -> np.ndarray:
    return random.integers(1, 10**4, n) / 10.0 ** random.integers(0, 9, n)


FAMILIES = (
    small_integers,
    any_integers,
    longs,
    integers_of_every_size,
    ties,
    constant,
    ascending,
    descending,
    bursts,
    heavy_tail,
    normal,
    drift,
    every_magnitude,
    subnormal,
    near_zero,
    extremes,
    decimals,
)


@st.composite
def streams(draw: Any, most: int = 400) -> np.ndarray:
    """An array of int64 or float64 of one temper, or of two one after the other."""
    family = draw(st.sampled_from(FAMILIES))
    n = draw(st.integers(0, most))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = family(random, n)
    if draw(st.booleans()) and n:
        other = draw(st.sampled_from(FAMILIES))(random, n)
        if other.dtype == values.dtype:
            cut = draw(st.integers(0, n))
            values = np.concatenate([values[:cut], other[cut:]])
    return values


QUANTILES = ("0.5", "0.9", "0.99", "0.999", "1", "0.25", "0.001", "0.000000001", "0.75", "0.95", "0.55")
THRESHOLDS = (
    0.0,
    1.0,
    -1.0,
    0.001,
    100.0,
    999.5,
    1000.0,
    1234.0,
    1e18,
    -1e18,
    1e-300,
    -0.5,
    9007199254740992.0,
)


@st.composite
def few_ks(draw: Any) -> FewK:
    return FewK(
        fraction=draw(st.sampled_from([0.1, 0.37, 0.5, 1])),
        budget=draw(st.sampled_from([None, None, 1, 7, 64])),
        high=draw(st.sampled_from([0.99, 0.9, 0.5])),
        threshold=draw(st.sampled_from([10, 0, 1e6])),
        burst=draw(st.sampled_from([0.5, 0.2])),
        offset=draw(st.sampled_from(["rotate", "paper"])),
        always=draw(st.booleans()),
    )


def finest(digits: int | None) -> float:
    return 0.005 if digits is None else max(0.005, 0.5 * 10.0 ** (1 - digits))


@st.composite
def settings_of_queries(draw: Any) -> dict[str, Any]:
    """All of a query but its window."""
    digits = draw(st.sampled_from([3, 3, None, 1, 2, 4, 5, 6]))
    guarantee = draw(st.sampled_from([None, None, False, "finest", "between", "wide"]))
    guarantee = {"finest": finest(digits), "between": 1.7 * finest(digits), "wide": 0.9}.get(guarantee, guarantee)
    return {
        "quantiles": draw(st.lists(st.sampled_from(QUANTILES), min_size=1, max_size=5, unique=True)),
        "thresholds": draw(st.lists(st.sampled_from(THRESHOLDS), max_size=3, unique=True)),
        "digits": digits,
        "guarantee": guarantee,
        "few_k": draw(st.one_of(st.none(), st.just(FewK()), few_ks())),
        "partial": draw(st.sampled_from([True, True, False])),
    }


@st.composite
def counted_queries(draw: Any, periods: tuple[int, ...] = (1, 2, 3, 7, 20, 64)) -> Query:
    period = draw(st.sampled_from(periods))
    sub_windows = draw(st.sampled_from([1, 2, 3, 8, 20]))
    if draw(st.integers(0, 5)) == 0:
        quantiles = draw(st.lists(st.sampled_from(QUANTILES), min_size=1, max_size=5, unique=True))
        return Query.paper(sub_windows * period, period, quantiles, draw(st.one_of(st.none(), few_ks())))
    return Query(sub_windows * period, period, **draw(settings_of_queries()))


@st.composite
def timed_queries(draw: Any) -> Query:
    period = draw(st.sampled_from([1, 5, 60]))
    return Query(
        f"{period * draw(st.sampled_from([1, 2, 5, 12]))} s",
        f"{period} s",
        lateness=draw(st.sampled_from(["0 s", "1 s", "10 s", "90 s"])),
        **draw(settings_of_queries()),
    )


def cuts_of(most: int = 400) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, most), max_size=8)
