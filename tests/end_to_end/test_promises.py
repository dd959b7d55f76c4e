"""What every result promises, on any stream, for any query, however the stream is cut."""

import numpy as np
import pytest
from arbitrary import FAMILIES, counted_queries, cuts_of, streams
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import check_results, counted_windows, plain, push_in_parts

from aomg import FewK, InputError, Operator, Query


def check_stream(query: Query, values: np.ndarray, cuts: list[int]) -> None:
    operator = Operator(query)
    results = push_in_parts(operator, values, cuts)
    check_results(query, results, counted_windows(query, plain(values)))
    closed = len(values) // query.period * query.period
    assert (operator.open, operator.late, operator.refused) == (len(values) - closed, 0, 0)
    results = results + operator.finish()
    check_results(query, results, counted_windows(query, plain(values), finish=True))


@settings(max_examples=150)
@given(query=counted_queries(), values=streams(), cuts=cuts_of())
def test_every_interval_holds_and_every_guarantee_is_kept(query, values, cuts):
    check_stream(query, values, cuts)


@pytest.mark.soak
@given(query=counted_queries((1, 2, 5, 30, 200, 1000)), values=streams(5000), cuts=cuts_of(5000))
def test_every_promise_on_longer_streams(query, values, cuts):
    check_stream(query, values, cuts)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("digits", [1, 3, 5, None])
def test_every_temper_of_stream_is_answered_within_the_default_guarantee(family, digits):
    values = family(np.random.default_rng(7), 1500)
    query = Query(400, 100, thresholds=(0, 1000.0), digits=digits)
    check_stream(query, values, [1, 333, 800])


@pytest.mark.parametrize("digits", [1, 2, 3, 4, 5, 6, None])
@pytest.mark.parametrize("few_k", [None, FewK(), FewK(always=True), FewK(budget=40, always=True)])
@pytest.mark.parametrize("guarantee", [None, False])
def test_every_promise_holds_at_every_resolution(digits, few_k, guarantee):
    random = np.random.default_rng(3)
    values = np.concatenate([np.rint(random.lognormal(6.7, 0.4, 3000)), 8000 + 1000 * random.random(500)])
    values[1500:1600] *= 10
    query = Query(1200, 150, digits=digits, few_k=few_k, guarantee=guarantee, thresholds=(800.0, 4321.5))
    check_stream(query, values, [77])
    check_stream(query, values.astype(np.int64), [77])


@given(
    first=streams(120),
    second=streams(120),
    query=counted_queries((1, 3, 20)),
    order=st.permutations([0, 1]),
)
def test_a_stream_may_change_from_integers_to_floats_and_back(first, second, query, order):
    parts = [np.clip(first, -(2**53), 2**53).astype(np.int64), second.astype(np.float64)]
    parts = [parts[order[0]], parts[order[1]], parts[order[0]]]
    operator = Operator(query)
    results = operator.push([])
    for part in parts:
        results = results + operator.push(part)
    truth = [v for part in parts for v in plain(part)]
    check_results(query, results, counted_windows(query, truth))


@pytest.mark.parametrize("digits", [1, 3, 6, None])
def test_longs_beyond_2_to_the_53_beside_floats_lie_in_their_interval(digits):
    near = [2**53 + 1, 10**18 - 1, -(10**18) + 1, 2**63 - 1, -(2**63)]
    for long in near:
        query = Query(4, 2, digits=digits, quantiles=(0.25, 0.5, 0.75, 1), thresholds=(float(2**53), 1e18))
        operator = Operator(query)
        results = operator.push([long, long]) + operator.push([1.5, 2.5])
        check_results(query, results, counted_windows(query, [long, long, 1.5, 2.5]))


@pytest.mark.parametrize("sub_windows", [1, 2, 1000])
@pytest.mark.parametrize("digits", [3, None])
def test_a_window_may_have_one_or_two_or_a_thousand_sub_windows(sub_windows, digits):
    random = np.random.default_rng(sub_windows)
    values = np.rint(random.lognormal(6.7, 0.5, 2 * sub_windows + 600)).astype(np.int64)
    query = Query(2 * sub_windows, 2, digits=digits, thresholds=(700,))
    operator = Operator(query)
    results = operator.push(values)
    windows = counted_windows(query, plain(values))
    check_results(query, results[-40:], windows[-40:])
    assert len(results) == len(windows)


@given(values=st.lists(st.one_of(st.floats(), st.integers(-(2**63), 2**63 - 1), st.none()), max_size=60))
def test_elements_reconcile_whatever_is_pushed(values):
    query = Query(10, 5, quantiles=(0.5,))
    operator = Operator(query)
    counted = not_taken = 0
    for cut in range(0, len(values), 7):
        part = values[cut : cut + 7]
        try:
            counted += 5 * len(operator.push(np.array(part, dtype=object)))
        except InputError:  # an integer beyond 2^53 beside a float
            not_taken += len(part)
        assert operator.refused + operator.open + counted + operator.late == cut + len(part) - not_taken


def test_what_is_not_finite_is_refused_and_takes_no_place():
    query = Query(4, 2, quantiles=(0.5, 1))
    for values in ([1.0, np.nan, 2.0, np.inf, -np.inf, 3.0, 4.0], [1, None, 2, None, 3, None, 4]):
        operator = Operator(query)
        results = operator.push(values)
        check_results(query, results, counted_windows(query, [v for v in values if v is not None]))
        assert operator.refused == 3


def test_estimates_come_out_in_any_order_of_quantiles():
    values = np.random.default_rng(1).lognormal(6, 1, 5000)
    for settings_ in ({}, {"digits": None}, {"guarantee": False}, {"few_k": FewK(always=True)}):
        up = Operator(Query(1000, 250, quantiles=(0.1, 0.5, 0.99), **settings_)).push(values)
        down = Operator(Query(1000, 250, quantiles=(0.99, 0.5, 0.1), **settings_)).push(values)
        for a, b in zip(up, down, strict=True):
            assert [a[q] for q in (0.1, 0.5, 0.99)] == [b[q] for q in (0.1, 0.5, 0.99)]


@pytest.mark.parametrize(
    "value",
    [
        0,
        1,
        99,
        100,
        999,
        131071,
        131072,
        131073,
        131071999,
        131072000,
        -131072,
        2**53,
        2**63 - 1,
        -(2**63),
        -0.0,
        0.1,
        1e-10,
        99.99999999999999,
        100.0,
        131071.99999999999,
        131072.0,
        -131072.0,
        2.0**63,
        5e-324,
    ],
)
@pytest.mark.parametrize("digits", [3, 5, None])
def test_runs_of_one_value_are_answered_wherever_a_faster_loop_might_begin_or_end(value, digits):
    query = Query(16, 8, quantiles=(0.001, 0.5, 1), digits=digits, thresholds=(1.0, 131_072.0))
    check_stream(query, np.array([value] * 40), [13])
    check_stream(query, np.array([value] * 9 + [5 * value // 7] * 7 + [value] * 24), [])
