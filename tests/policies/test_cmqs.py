"""CMQS: the rank error is kept in every order, by every rule, and what has left is forgotten."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from orders import ORDERS, QUANTILES, answers, windows, worst_rank_error, wrong_by

from aomg import Query
from aomg.errors import InputError
from aomg.policies import make
from aomg.policies.rank_bounds import RankBounds, merged

QUERY = Query(16_000, 2_000, quantiles=QUANTILES)
VARIANTS = {"scaled": {}, "lift": {"rule": "lift"}, "buffered": {"buffered": True}}
every_order = pytest.mark.parametrize("order", ORDERS)
every_variant = pytest.mark.parametrize("parameters", VARIANTS.values(), ids=VARIANTS)


@every_variant
@every_order
def test_the_rank_error_is_at_most_epsilon_in_every_window(order, parameters):
    values = ORDERS[order](30 * QUERY.period + 700)
    assert worst_rank_error("cmqs", QUERY, values, **parameters) <= 0.015


@every_variant
@pytest.mark.parametrize("epsilon", [0.003, 0.1, 0.5])
def test_the_rank_error_is_kept_whatever_epsilon_is(epsilon, parameters):
    query = QUERY.replace(size=4_000, period=500)
    for order in ("descending", "organ pipe", "twenty-one values"):
        assert worst_rank_error("cmqs", query, ORDERS[order](14_100), epsilon=epsilon, **parameters) <= epsilon


@every_variant
@given(
    st.lists(st.integers(0, 9).map(float) | st.floats(-1e6, 1e6), min_size=1, max_size=400).map(np.array),
    st.integers(1, 40),
    st.integers(1, 4),
    st.sampled_from([0.015, 0.1, 0.4]),
)
def test_small_windows_of_any_values_keep_the_rank_error(parameters, values, period, sub_windows, epsilon):
    query = Query(period * sub_windows, period, quantiles=QUANTILES)
    assert worst_rank_error("cmqs", query, values, epsilon=epsilon, **parameters) <= epsilon


@every_variant
@pytest.mark.parametrize("size", [1, 10, 130, 2_000])
def test_one_sub_window_alone_keeps_the_rank_error(size, parameters):
    query = Query(size, size, quantiles=QUANTILES)
    for order in ("random", "descending", "organ pipe", "few values, then many"):
        assert worst_rank_error("cmqs", query, ORDERS[order](int(20.5 * size)), **parameters) <= 0.015


def test_fewer_elements_than_a_bucket_are_missing():
    operator = make("cmqs", QUERY)
    values = ORDERS["random"](40 * QUERY.period)
    most = 0
    for window in windows(QUERY, values):
        start = operator.policy._events
        operator.push(values[start : start + QUERY.period])
        missing = window.size - operator.policy.covered()
        assert 0 <= missing < operator.policy.capacity
        most = max(most, missing)
    assert most > 0.5 * operator.policy.capacity
    assert operator.policy.capacity == 120


@every_variant
def test_after_a_shift_no_value_from_before_it_is_answered(parameters):
    query = QUERY.replace(size=4_000, period=500)
    operator = make("cmqs", query, **parameters)
    shift = 4_730
    values = np.random.default_rng(1).normal(0, 1, 12_000)
    values[shift:] += 1000
    results = np.array(answers(operator, values))
    ends = query.period * np.arange(1, len(results) + 1)
    clean = ends >= shift + query.size + operator.policy.capacity
    assert clean.sum() >= 6
    assert (results[clean] > 500).all()
    assert (results[ends <= shift] < 500).all()


@every_variant
@given(st.data())
def test_neither_how_pushes_are_cut_nor_a_replay_changes_answers(parameters, data):
    query = Query(1_200, 200, quantiles=QUANTILES)
    values = ORDERS["few values, then many"](3_150)
    cuts = sorted(data.draw(st.lists(st.integers(0, values.size), max_size=12)))
    want = make("cmqs", query, epsilon=0.05, **parameters)
    got = make("cmqs", query, epsilon=0.05, **parameters)
    expected = answers(want, values)
    results = [result for part in np.split(values, cuts) for result in got.push(part)] + list(got.finish())
    assert [[result[q].value for q in query.quantiles] for result in results] == expected
    assert got.variables() == want.variables()


def test_quantiles_may_be_asked_in_any_order():
    values = ORDERS["long tail"](20_000)
    forward = np.array(answers(make("cmqs", QUERY), values))
    backward = np.array(answers(make("cmqs", QUERY.replace(quantiles=QUANTILES[::-1])), values))
    assert (forward == backward[:, ::-1]).all()


@pytest.mark.parametrize("rule", ["scaled", "lift"])
def test_the_answer_is_the_value_whose_bounds_are_closest_to_the_rank_that_the_rule_asks_for(rule):
    operator = make("cmqs", QUERY, rule=rule)
    operator.push(ORDERS["long tail"](15 * QUERY.period))
    policy = operator.policy
    missing = QUERY.size - policy.covered()
    live = policy._live.bounds()
    union = merged([RankBounds(live.values, live.steps[:, :2].copy()), policy._open.view()])
    least = np.cumsum(union.steps[:, 0])
    largest = np.cumsum(union.steps[:, 1]) - union.steps[:, 1] + 1
    assert missing > 0
    for value, share in zip(policy.answer(QUERY.size)[:, 0], policy.quantiles.shares, strict=True):
        if rule == "lift":
            off = np.maximum(largest + missing - np.ceil(share * QUERY.size), np.ceil(share * QUERY.size) - least)
        else:
            rank = np.ceil(share * policy.covered())
            off = np.maximum(largest - rank, rank - least)
        assert off[union.values == value].min() == off.min()


def test_the_scaled_rank_is_nearer_than_the_lifted_one_where_nothing_drifts():
    values = ORDERS["long tail"](40 * QUERY.period)
    mean = {}
    for rule in ("scaled", "lift"):
        operator = make("cmqs", QUERY, rule=rule)
        wrong = []
        for window, results in zip(windows(QUERY, values), answers(operator, values), strict=True):
            ranks = operator.policy.quantiles.ranks(window.size)
            wrong += [wrong_by(np.sort(window), value, rank) for value, rank in zip(results, ranks, strict=True)]
        mean[rule] = np.mean(wrong)
    assert mean["scaled"] < 0.6 * mean["lift"]


@every_variant
@every_order
def test_there_never_are_more_variables_than_the_analysis_says(order, parameters):
    operator = make("cmqs", QUERY, **parameters)
    answers(operator, ORDERS[order](20 * QUERY.period))
    assert 0 < operator.most_variables() <= operator.policy.analytical()
    assert operator.nbytes >= 8 * len(operator.policy._live)


def test_buffered_buckets_take_a_fifth_of_the_variables():
    values = ORDERS["long tail"](20_000)
    used = {}
    for buffered in (False, True):
        operator = make("cmqs", QUERY, buffered=buffered)
        operator.push(values)
        used[buffered] = operator.variables()
    assert used[True] < used[False] / 4


def test_few_distinct_values_take_few_variables():
    used = {}
    for order in ("random", "twenty-one values", "three values"):
        operator = make("cmqs", QUERY)
        operator.push(ORDERS[order](20_000))
        used[order] = operator.variables()
    assert used["twenty-one values"] < 0.4 * used["random"]
    assert used["three values"] < 0.1 * used["random"]


def test_wrong_parameters_are_refused_with_what_to_do():
    for wrong in ({"epsilon": 0}, {"epsilon": 1}, {"epsilon": "a"}, {"epsilon": True}, {"rule": "first"}):
        with pytest.raises(InputError, match="must"):
            make("cmqs", QUERY, **wrong)
    assert make("cmqs", QUERY, epsilon=0.02).policy.parameters() == {
        "epsilon": 0.02,
        "rule": "scaled",
        "buffered": False,
        "bucket": 160,
    }
