"""Theorem 1, where its assumptions can hold."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import exact_quantile

from aomg import Operator, Query
from aomg.core.paper.theorem import PAPER_Z, UNION_Z, bandwidth, theorem_1


def test_both_constants_are_told():
    paper, union = theorem_1(Decimal("0.5"), 8_000, 2.0, 0.0, 8)
    assert union / paper == pytest.approx(UNION_Z / PAPER_Z)
    assert paper == pytest.approx(2 * 1.96 * 0.5 * 2.0 / np.sqrt(8_000))


def test_no_bound_is_given_where_sub_windows_are_not_alike_or_the_density_is_unknown():
    assert np.isnan(theorem_1(Decimal("0.5"), 8_000, 2.0, 10.0, 8)).all()
    assert np.isnan(theorem_1(Decimal("0.5"), 8_000, 0.0, 0.0, 8)).all()
    assert np.isnan(theorem_1(Decimal("0.5"), 8_000, float("nan"), 0.0, 8)).all()


@given(phi=st.floats(0.001, 0.999), count=st.integers(10, 10**7))
def test_the_difference_quotient_stays_inside_the_distribution(phi, count):
    h = bandwidth(phi, count)
    assert 0 < phi - h < phi + h < 1


def test_theorem_1_covers_the_error_on_independent_normal_values():
    query = Query.paper(8 * 2_000, 2_000, quantiles=(0.5, 0.9, 0.99))
    values = np.random.default_rng(1).normal(1e6, 5e4, 60 * 2_000)
    results = Operator(query).push(values)
    for quantile in query.quantiles:
        inside, told = 0, 0
        for result in results:
            estimate = result[quantile]
            if estimate.bound is None:
                continue
            told += 1
            error = abs(estimate.value - exact_quantile(values[result.start : result.end].tolist(), quantile))
            inside += error <= estimate.bound < estimate.bound_corrected
        assert told >= 0.8 * len(results)
        assert inside >= 0.95 * told


def test_theorem_1_estimates_the_density():
    query = Query.paper(8 * 4_000, 4_000, quantiles=(0.5,))
    result = Operator(query).push(np.random.default_rng(1).normal(0, 1, 8 * 4_000))[-1]
    density = 1 / np.sqrt(2 * np.pi)
    assert result[0.5].bound == pytest.approx(2 * 1.96 * 0.5 / (np.sqrt(32_000) * density), rel=0.15)


def test_theorem_1_is_silent_on_drift():
    query = Query.paper(8 * 1_000, 1_000, quantiles=(0.5, 0.9))
    random = np.random.default_rng(1)
    values = random.normal(0, 1, 40_000) + np.linspace(0, 40, 40_000)
    for result in Operator(query).push(values):
        assert result[0.5].bound is None and result[0.9].bound is None


def test_theorem_1_is_silent_on_few_or_equal_values_and_with_a_guarantee():
    equal = Operator(Query.paper(400, 100, quantiles=(0.5,))).push(np.full(400, 7.0))[-1]
    few = Operator(Query.paper(40, 10, quantiles=(0.99,))).push(np.random.default_rng(1).normal(0, 1, 40))[-1]
    kept = Operator(Query(8_000, 1_000)).push(np.random.default_rng(1).normal(9, 1, 8_000))[-1]
    assert equal[0.5].bound is few[0.99].bound is kept[0.5].bound is None
