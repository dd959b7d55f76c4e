"""Moment: sums that add up, a density that has them, and honest words where there is none."""

import itertools

import numpy as np
import pytest
from arbitrary import streams
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import counted_windows, exact_quantile, plain

from aomg import Query
from aomg.errors import InputError
from aomg.policies import make, maximum_entropy, moment, scaled_moments
from aomg.policies.kernels.moments import TOO_MANY, add_distinct
from aomg.policies.moment import Moment
from aomg.streams import pingmesh

QUANTILES = ("0.01", "0.1", "0.25", "0.5", "0.75", "0.9", "0.99", "0.999")


def rank_error(window, value, quantile):
    """The distance of a value from a rank, as a share of the window; a value that occurs has all the ranks it takes."""
    ordered, n = np.sort(window), len(window)
    rank = max(int(np.ceil(float(quantile) * n - 1e-9)), 1)
    below, up_to = np.searchsorted(ordered, value, "left"), np.searchsorted(ordered, value, "right")
    return max(0, below + 1 - rank, rank - max(up_to, below)) / n


def rank_errors(operator, values):
    """Of every full window's every quantile."""
    query, results = operator.query, operator.push(values)
    return [
        rank_error(values[r.start : r.end], r[q].value, q)
        for r in results
        if r.count == query.size
        for q in query.quantiles
    ]


def sums_of(values, K=12):
    """A sub-window's row, by plain sums."""
    powers = np.arange(1, K + 1)
    with np.errstate(all="ignore"):
        raw = (values[:, None] ** powers).sum(axis=0)
        logs = (np.log(values)[:, None] ** powers).sum(axis=0)
    return np.concatenate([[values.size, values.min(), values.max()], raw, logs])


@given(
    seed=st.integers(0, 2**32),
    sizes=st.lists(st.integers(1, 700), min_size=1, max_size=6),
    cuts=st.lists(st.integers(0, 4000), max_size=5),
)
def test_the_merged_moments_are_those_of_the_concatenation(seed, sizes, cuts):
    policy = Moment(Query(100_000, 1_000))
    values = np.random.default_rng(seed).lognormal(6, 0.5, sum(sizes)) + 3  # logarithms above 1: no sum cancels
    edges = set(np.cumsum(sizes).tolist())
    for first, last in itertools.pairwise(sorted({0, *edges, *(c for c in cuts if c < values.size)})):
        policy.accumulate(values[first:last])
        if last in edges:
            policy.close()
    np.testing.assert_allclose(policy.merged(), sums_of(values), rtol=1e-12)


def test_what_a_burst_left_behind_is_forgotten_to_the_last_bit():
    policy, calm = Moment(Query(8_000, 1_000)), Moment(Query(8_000, 1_000))
    values = pingmesh(seed=4).take(8_000).astype(float)
    policy.accumulate(values[:1_000] * 1e5)
    policy.close()
    for start in range(0, 8_000, 1_000):
        for each in (policy, calm):
            each.accumulate(values[start : start + 1_000])
            each.close()
    policy.expire()
    np.testing.assert_array_equal(policy.merged(), calm.merged())
    np.testing.assert_array_equal(policy.answer(8_000), calm.answer(8_000))


@given(cuts=st.lists(st.integers(0, 8_192), max_size=6))
@settings(max_examples=15)
def test_how_a_stream_is_cut_into_pushes_changes_no_bit(cuts):
    values = pingmesh(seed=6).take(8_192)
    query = Query(4_096, 1_024)
    whole, parts = make("moment", query).push(values), make("moment", query)
    results = parts.push(values[:0])
    for first, last in itertools.pairwise([0, *sorted(cuts), values.size]):
        results = results + parts.push(values[first:last])
    np.testing.assert_array_equal(results.rows, whole.rows)


KNOWN = {
    "normal": lambda random, n: random.normal(0, 1, n),
    "exponential": lambda random, n: random.exponential(2.5, n),
    "uniform": lambda random, n: random.uniform(3, 9, n),
    "lognormal": lambda random, n: random.lognormal(6, 1, n),
}


@pytest.mark.parametrize("name", KNOWN)
def test_ranks_of_smooth_densities_are_found_within_half_a_percent(name):
    values = KNOWN[name](np.random.default_rng(11), 3 * 16_384)
    operator = make("moment", Query(16_384, 4_096, quantiles=QUANTILES))
    assert max(rank_errors(operator, values)) <= 0.005
    assert operator.policy.degraded == 0
    assert operator.policy.diagnostics["residual"] < 1e-6


@given(scale=st.floats(1e-3, 1e3), shift=st.floats(-1, 1))
@settings(max_examples=20)
def test_on_the_raw_scale_answers_move_with_the_values(scale, shift):
    values = np.random.default_rng(3).normal(0, 1, 4_096)  # below and above zero: no logarithms
    query = Query(4_096, 1_024, quantiles=QUANTILES, partial=False)
    (plain_result,), (moved,) = (
        make("moment", query).push(values),
        make("moment", query).push(values * scale + shift * scale),
    )
    for quantile in query.quantiles:
        there = (plain_result[quantile].value + shift) * scale
        assert moved[quantile].value == pytest.approx(there, abs=2e-3 * scale)


def far_from_zero():
    return np.random.default_rng(8).normal(1e6, 5e4, 24 * 4_096)


def test_moments_that_rounding_has_eaten_are_not_used():
    operator = make("moment", Query(16_384, 4_096, quantiles=QUANTILES))
    assert max(rank_errors(operator, far_from_zero())) <= 0.005
    assert operator.policy.diagnostics["valid"] < 12


def test_without_the_cut_the_same_stream_goes_wrong(monkeypatch):
    monkeypatch.setattr(scaled_moments, "_WORST_ERROR", np.inf)
    operator = make("moment", Query(16_384, 4_096, quantiles=QUANTILES))
    assert max(rank_errors(operator, far_from_zero())) > 0.005


@pytest.mark.parametrize("atoms", [[5.0], [1.0, 1000.0], [-3.0, 0.0, 7e9], list(range(60))])
def test_few_distinct_values_are_answered_exactly(atoms):
    values = np.random.default_rng(5).choice(np.array(atoms, float), 10 * 512)
    query = Query(2_048, 512, quantiles=QUANTILES)
    operator = make("moment", query)
    results = operator.push(values)
    assert operator.policy.diagnostics == {"basis": "counts", "converged": True}
    for result, window in zip(results, counted_windows(query, plain(values)), strict=True):
        for quantile in query.quantiles:
            assert result[quantile].value == exact_quantile(window.values, quantile)
            assert result[quantile].method == "exact"


def test_the_guard_gives_way_when_distinct_values_become_many_and_returns_when_they_leave():
    random, query = np.random.default_rng(2), Query(1_024, 256)
    operator = make("moment", query)
    seen = []
    for smooth in [False] * 5 + [True] + [False] * 5:
        operator.push(random.normal(100, 5, 256) if smooth else random.choice([1.0, 2.0, 9.0], 256))
        seen.append(operator.policy.diagnostics["basis"] == "counts")
    assert seen == [True] * 5 + [False] * 4 + [True] * 2


def test_sub_windows_with_few_values_each_may_have_many_together():
    operator = make("moment", Query(1_024, 256))
    for start in range(4):
        operator.push(np.random.default_rng(start).choice(np.arange(40.0) + 40 * start, 256))
    assert operator.policy.diagnostics["basis"] != "counts"


def test_what_was_once_too_many_to_count_in_a_sub_window_stays_so():
    operator = make("moment", Query(256, 256))
    operator.push(np.arange(100.0, 300.0))
    operator.push(np.full(56, 150.0))
    assert operator.policy.diagnostics["basis"] != "counts"


@given(values=streams(most=300), period=st.sampled_from([1, 7, 64]))
def test_no_stream_raises_and_every_answer_lies_between_the_extremes(values, period):
    query = Query(3 * period, period, quantiles=("0.001", "0.5", "0.99", "1"))
    operator = make("moment", query, K=4)  # few distinct values suffice for a fit
    results = operator.push(values) + operator.finish()
    for result in results:
        answers = [result[q].value for q in query.quantiles]
        assert answers == sorted(answers)
        assert result.minimum <= answers[0] and answers[-1] <= result.maximum


def test_where_no_density_is_found_the_answer_comes_from_bounds_and_is_counted(monkeypatch):
    monkeypatch.setattr(maximum_entropy, "fit", lambda moments: None)
    values = np.random.default_rng(1).lognormal(3, 1, 4_000)
    query = Query(4_000, 1_000, quantiles=QUANTILES)
    operator = make("moment", query)
    results = operator.push(values)
    assert operator.policy.degraded == len(results) == 4
    assert operator.policy.diagnostics == {"basis": "bounds", "converged": False}
    answers = [results[-1][q].value for q in query.quantiles]
    assert answers == sorted(answers)
    assert values.min() <= answers[0] and answers[-1] <= values.max()
    assert all(np.isnan(results[-1][q].low) for q in query.quantiles)


@given(values=streams(most=200))
def test_the_bounds_behind_a_degraded_answer_hold_for_every_rank(values):
    ordered = np.sort(np.asarray(values, float))
    ordered = ordered[np.abs(ordered) < 1e100]
    if not ordered.size:
        return
    n, sums, ranks = ordered.size, np.array([ordered.sum(), (ordered**2).sum()]), np.arange(1, ordered.size + 1)
    lows, highs = moment.bounds(sums, n, ordered[0], ordered[-1], ranks)
    rounding = 1e-11 * np.abs(ordered).max() + 8 * np.finfo(float).smallest_subnormal
    assert (lows - rounding <= ordered).all() and (ordered <= highs + rounding).all()
    assert (np.diff(lows) >= 0).all() and (np.diff(highs) >= 0).all()


def test_moments_of_no_density_find_none():
    assert maximum_entropy.fit(np.array([1.0, 0.9, -0.9])) is None  # a mean near 1 with a variance below zero


@pytest.mark.parametrize("multipliers", [[0.3], [-2.0, 1.0], [0.5, -3.0, 0.2, 0.4], [0.0, 0.0, 0.0, 0.0, 5.0]])
def test_the_fit_returns_the_density_that_made_the_moments(multipliers):
    weights = np.full(40_000, 2 / 40_000)
    nodes = np.cumsum(weights) - weights / 2 - 1
    density = np.exp(np.polynomial.chebyshev.chebval(nodes, [0.0, *multipliers]))
    density /= weights @ density
    moments = np.array(
        [weights @ (density * np.cos(order * np.arccos(nodes))) for order in range(len(multipliers) + 1)]
    )
    results = maximum_entropy.fit(moments)
    assert results.residual < 1e-6
    walked = np.cumsum(weights * density) - weights * density / 2
    shares = np.array([0.05, 0.3, 0.5, 0.9, 0.99])
    np.testing.assert_allclose(
        np.interp(maximum_entropy.quantiles(results.masses, shares), nodes, walked), shares, atol=1e-4
    )


def test_both_bases_are_compared_over_the_same_orders():
    short = scaled_moments.Basis("raw", 0, 1, np.array([1, 0.3, 0.4]), np.zeros(3))
    long = scaled_moments.Basis("log", 0, 1, np.array([1, 0.1, 1 / 3, 0.2, 0.2, 0.2, 0.2]), np.zeros(7))
    assert scaled_moments.nearest_to_uniform([short, long])[0] is long


def test_the_log_basis_serves_a_long_tail_and_the_raw_one_values_below_zero():
    query = Query(4_096, 1_024)
    operator = make("moment", query)
    operator.push(pingmesh(seed=2).take(4_096))
    assert operator.policy.diagnostics["basis"] == "log"
    operator = make("moment", query)
    operator.push(pingmesh(seed=2).take(4_096) - 300)
    assert operator.policy.diagnostics["basis"] == "raw"


def test_space_is_a_few_hundred_variables_and_below_the_analysis():
    query = Query(131_072, 16_384)
    operator = make("moment", query)
    operator.push(pingmesh(seed=1).take(2 * 131_072))
    assert operator.variables() == 9 * 28 + 24
    assert operator.nbytes == 8 * operator.variables()
    ties = make("moment", query)
    ties.push(np.arange(2 * 131_072) % 60)
    assert ties.most_variables() == ties.policy.analytical() == 9 * (28 + 120) + 24


def test_values_are_counted_until_there_are_too_many():
    distinct, tallies = np.empty(3), np.empty(3, np.int64)
    known = add_distinct(np.array([5.0, 1.0, 5.0, 3.0]), 0, distinct, tallies)
    assert (known, distinct.tolist(), tallies.tolist()) == (3, [1.0, 3.0, 5.0], [1, 1, 2])
    assert add_distinct(np.array([1.0, 4.0]), known, distinct, tallies) == TOO_MANY


@pytest.mark.parametrize("K", [1, 0, -3, 17, 2.5, "12"])
def test_a_number_of_moments_that_cannot_be_fitted_is_refused(K):
    with pytest.raises(InputError, match="K="):
        make("moment", Query(100, 10), K=K)
