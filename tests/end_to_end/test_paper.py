"""The paper's algorithm: what must hold of it exactly, and the patterns of its figures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import check_results, counted_windows, exact_quantile, plain

from aomg import FewK, Operator, Query
from aomg.streams import pingmesh, with_bursts

QUANTILES = (0.5, 0.9, 0.99, 0.999)


def values_of(results, quantile) -> list[float]:
    return results.values(quantile).tolist()


def exact_values(query: Query, values: np.ndarray, quantile) -> list:
    return [exact_quantile(w.values, quantile) for w in counted_windows(query, plain(values))]


tempers = st.builds(
    lambda seed, kind: {
        "normal": lambda r: r.normal(0, 100, 900),
        "ties": lambda r: r.integers(0, 5, 900).astype(float),
        "tail": lambda r: r.pareto(0.5, 900),
        "drift": lambda r: np.cumsum(r.random(900)),
        "burst": lambda r: r.random(900) * np.where(np.arange(900) // 100 % 4 == 3, 50, 1),
    }[kind](np.random.default_rng(seed)),
    st.integers(0, 2**32),
    st.sampled_from(["normal", "ties", "tail", "drift", "burst"]),
)


@settings(max_examples=20)
@given(values=tempers)
def test_a_window_of_one_sub_window_is_exact_bit_for_bit(values):
    for query in (
        Query.paper(100, 100, QUANTILES),
        Query.paper(100, 100, QUANTILES, few_k=FewK(fraction=1)),
        Query(100, 100, QUANTILES, digits=None, guarantee=False, few_k=None),
        Query(100, 100, QUANTILES, digits=None),
    ):
        results = Operator(query).push(values)
        for quantile in QUANTILES:
            assert values_of(results, quantile) == exact_values(query, values, quantile)


@pytest.mark.parametrize("value", [0, 7, 1000, -12_345, 0.125, -3.5])
def test_a_constant_stream_answers_its_value(value):
    for query in (Query.paper(100, 10), Query.paper(100, 10, few_k=FewK()), Query(100, 10, digits=None)):
        for result in Operator(query).push(np.full(300, value)):
            for quantile in QUANTILES:
                estimate = result[quantile]
                assert estimate.value == estimate.low == estimate.high == value


@given(values=tempers, few_k=st.sampled_from([None, FewK(), FewK(fraction=0.2)]))
def test_the_paper_mean_is_the_plain_mean_of_the_sub_windows_quantiles(values, few_k):
    query = Query.paper(400, 100, (0.5, 0.9), few_k=few_k)
    results = Operator(query).push(values)
    for quantile in (0.5, 0.9):
        parts = [exact_quantile(p.tolist(), quantile) for p in values.reshape(-1, 100)]
        expected = [np.mean(parts[end - 4 : end]) for end in range(4, 10)]
        assert values_of(results, quantile) == pytest.approx(expected, rel=1e-14)
        assert {r[quantile].method for r in results} == {"mean"}


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32),
    shift=st.integers(-(10**6), 10**6),
    scale=st.sampled_from([2, 0.5, 1024, 2**-30]),
)
def test_shifting_and_scaling_the_values_shifts_and_scales_every_answer(seed, shift, scale):
    values = np.random.default_rng(seed).integers(0, 10**6, 800).astype(float)
    for few_k in (None, FewK(fraction=0.5, offset="paper"), FewK(fraction=1)):
        query = Query.paper(400, 50, QUANTILES, few_k=few_k)
        plain_, shifted, scaled = (Operator(query).push(v) for v in (values, values + shift, values * scale))
        for quantile in QUANTILES:
            answers = plain_.values(quantile)
            assert np.array_equal(shifted.values(quantile), answers + shift)
            assert np.array_equal(scaled.values(quantile), answers * scale)


@given(values=tempers)
def test_top_k_with_all_that_is_needed_is_exact(values):
    """Top-k always (the threshold is high); a burst would hand over to sample-k, which then knows as much."""
    query = Query.paper(300, 50, (0.9, 0.99, 0.999), few_k=FewK(fraction=1, high=0.9, threshold=1e9))
    results = Operator(query).push(values)
    for quantile in query.quantiles:
        assert values_of(results, quantile) == exact_values(query, values, quantile)
        assert {r[quantile].method for r in results} <= {"top-k", "sample-k"}


@given(values=tempers, fraction=st.sampled_from([0.02, 0.1, 0.3, 0.7]))
def test_truncated_top_k_is_never_above_the_exact_value(values, fraction):
    query = Query.paper(600, 50, (0.9, 0.99), few_k=FewK(fraction=fraction, high=0.9, threshold=1e9, burst=0.999))
    results = Operator(query).push(values)
    for quantile in query.quantiles:
        exact = exact_values(query, values, quantile)
        for result, truth in zip(results, exact, strict=True):
            if result[quantile].method == "top-k":
                assert result[quantile].value <= truth


@settings(max_examples=30)
@given(values=tempers, offset=st.sampled_from(["rotate", "paper"]))
def test_sample_k_of_every_value_is_top_k(values, offset):
    """A detector that fires at every rise makes sample-k answer; with fraction 1 it reads what top-k would."""
    few_k = FewK(fraction=1, high=0.9, threshold=1e9, burst=1e-9, offset=offset)
    query = Query.paper(300, 50, (0.9, 0.99), few_k=few_k)
    for quantile in query.quantiles:
        assert values_of(Operator(query).push(values), quantile) == exact_values(query, values, quantile)


def test_errors_grow_with_correlation_and_shrink_with_the_period():
    """AR(1) with the paper's N(10^6, 5*10^4)."""
    size = 32_768

    def error(psi: float, period: int, quantile: float) -> float:
        random = np.random.default_rng(17)
        noise = random.normal(0, 5e4 * np.sqrt(1 - psi * psi), 3 * size)
        values, x = np.empty(noise.size), 0.0
        for i, e in enumerate(noise):
            x = psi * x + e
            values[i] = 1e6 + x
        query = Query.paper(size, period, (quantile,))
        results = Operator(query).push(values)
        errors = []
        for result in results[:: max(1, 4096 // period)]:
            window = np.sort(values[result.start : result.end])
            exact = window[-(-size * round(quantile * 1000) // 1000) - 1]
            errors.append(abs(result[quantile].value - exact) / exact)
        return float(np.mean(errors))

    at_median = [error(psi, 1024, 0.5) for psi in (0, 0.8)]
    at_tail = [error(psi, 1024, 0.99) for psi in (0, 0.2, 0.8)]
    assert at_tail[0] < at_tail[2] and at_tail[1] < at_tail[2]
    assert at_median[0] < 2e-4 and at_median[0] < at_tail[0] < 2e-3
    assert error(0, 8192, 0.99) < at_tail[0]
    assert error(0.8, 8192, 0.99) < at_tail[2]


# -- the figure "windows": ten sub-windows, the ten largest values in one of them, ..., one in each ----

PATTERNS = {"E1": [10], "E2": [5, 5], "E3": [4, 3, 2, 1], "E4": [1] * 10}


def window_of(pattern: list[int]) -> np.ndarray:
    """1000 values in 10 sub-windows; the 10 largest are 1001..1010, laid out as the pattern says."""
    random = np.random.default_rng(sum(pattern[:1]))
    parts = [random.integers(1, 900, 100) for _ in range(10)]
    large = iter(range(1010, 1000, -1))
    for part, number in enumerate(pattern):
        for index in range(number):
            parts[part][index * 7] = next(large)
    return np.concatenate(parts)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_top_k_is_exact_if_no_sub_window_holds_more_than_it_keeps(pattern):
    values = window_of(PATTERNS[pattern])
    exact = exact_quantile(plain(values), 0.991)
    assert exact == 1001
    most = max(PATTERNS[pattern])
    for fraction in (0.1, 0.2, 0.4, 0.5, 1):
        query = Query.paper(1000, 100, (0.991,), few_k=FewK(fraction=fraction, threshold=1e9, burst=0.999))
        (result,) = Operator(query).push(values)
        estimate = result[0.991]
        assert estimate.low <= exact <= estimate.high
        assert estimate.method == "top-k"
        kept = max(-(-10 * int(fraction * 10) // 10), 1)
        if kept >= most:
            assert estimate.value == exact
        else:
            assert estimate.value < exact


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("offset", ["rotate", "paper"])
def test_sample_k_keeps_its_promises_on_every_pattern(pattern, offset):
    values = np.concatenate([np.random.default_rng(3).integers(1, 900, 900), window_of(PATTERNS[pattern])])
    query = Query.paper(1000, 100, (0.991,), few_k=FewK(fraction=0.5, threshold=0, burst=1e-6, offset=offset))
    check_results(query, Operator(query).push(values), counted_windows(query, plain(values)))
    whole = Query.paper(1000, 100, (0.991,), few_k=FewK(fraction=1, threshold=0, burst=1e-6, offset=offset))
    for result in Operator(whole).push(values):
        if result[0.991].method == "sample-k":
            assert result[0.991].value == exact_quantile(plain(values[result.start : result.end]), 0.991)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_default_query_answers_every_pattern_to_the_code(pattern):
    query = Query(1000, 100, (0.5, 0.9, 0.99, 0.991, 0.999))
    values = window_of(PATTERNS[pattern])
    results = Operator(query).push(values)
    check_results(query, results, counted_windows(query, plain(values)))
    for quantile in (0.991, 0.999):
        estimate = results[-1][quantile]
        assert estimate.method == ("exact" if estimate.low == estimate.high else "certified")


# -- which outcome is taken --------------------------------------------------------------------------------------------


def test_the_paper_answers_with_the_mean_where_sub_windows_are_large_and_top_k_where_they_are_small():
    values = pingmesh(seed=5).take(65_536)
    for period, method in ((16_384, "mean"), (4_096, "top-k")):
        (result,) = Operator(Query.paper(65_536, period, few_k=FewK())).push(values)
        assert result[0.999].method == method
        assert result[0.5].method == "mean"


def test_full_windows_only_in_paper_mode():
    query = Query.paper(400, 100)
    operator = Operator(query)
    results = operator.push(np.arange(650))
    assert [r.end for r in results] == [400, 500, 600]
    assert len(operator.finish()) == 0
    assert operator.open == 50


def test_a_certified_top_k_answer_wins_outside_paper_mode():
    values = pingmesh(seed=5).take(8_000)
    query = Query(4_000, 500, digits=None, guarantee=False, few_k=FewK(fraction=1))
    results = Operator(query).push(values)
    for result, window in zip(results, counted_windows(query, plain(values)), strict=True):
        if result.count == 4_000:
            assert result[0.999].method == "exact"
            assert result[0.999].value == exact_quantile(window.values, 0.999)


def test_samples_of_all_that_is_needed_answer_a_burst_exactly():
    size, period = 16_384, 1_024
    values = with_bursts(pingmesh(seed=8), size, period, quantile=0.99).take(2 * size)
    query = Query.paper(size, period, (0.99,), few_k=FewK(fraction=1))
    results = Operator(query).push(values)
    assert {r[0.99].method for r in results} == {"sample-k"}
    assert values_of(results, 0.99) == exact_values(query, values, 0.99)


def test_a_burst_is_answered_by_samples_far_better_than_by_the_mean():
    size, period = 65_536, 8_192
    values = pingmesh(seed=8).take(2 * size)
    tail = np.argsort(values[-period:])[-66:]
    values[values.size - period + tail] *= 10
    exact = exact_quantile(plain(values[-size:]), 0.999)
    errors = {}
    for few_k in (None, FewK(fraction=0.5)):
        result = Operator(Query.paper(size, period, few_k=few_k)).push(values)[-1]
        errors[result[0.999].method] = abs(result[0.999].value / exact - 1)
    assert errors["sample-k"] < 0.1 < errors["mean"]
