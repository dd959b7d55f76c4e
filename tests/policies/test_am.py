"""AM: blocks that tile the window, and a rank error that is kept in every order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from orders import ORDERS, QUANTILES, answers, windows, worst_rank_error

from aomg import Query
from aomg.errors import InputError
from aomg.policies import make

QUERY = Query(16_000, 2_000, quantiles=QUANTILES)
every_order = pytest.mark.parametrize("order", ORDERS)


@every_order
def test_the_rank_error_is_at_most_epsilon_in_every_window(order):
    values = ORDERS[order](30 * QUERY.period + 700)
    assert worst_rank_error("am", QUERY, values) <= 0.015


@pytest.mark.parametrize("epsilon", [0.003, 0.1, 0.5])
def test_the_rank_error_is_kept_whatever_epsilon_is(epsilon):
    query = QUERY.replace(size=4_000, period=500)
    for order in ("descending", "organ pipe", "twenty-one values"):
        assert worst_rank_error("am", query, ORDERS[order](14_100), epsilon=epsilon) <= epsilon


@given(
    st.lists(st.integers(0, 9).map(float) | st.floats(-1e6, 1e6), min_size=1, max_size=300).map(np.array),
    st.integers(1, 40),
    st.integers(1, 4),
    st.sampled_from([0.015, 0.1, 0.4]),
)
def test_small_windows_of_any_values_keep_the_rank_error(values, period, sub_windows, epsilon):
    query = Query(period * sub_windows, period, quantiles=QUANTILES)
    assert worst_rank_error("am", query, values, epsilon=epsilon) <= epsilon


@pytest.mark.parametrize("size", [1, 10, 130, 2_000])
def test_one_sub_window_alone_keeps_the_rank_error(size):
    query = Query(size, size, quantiles=QUANTILES)
    for order in ("random", "descending", "organ pipe", "few values, then many"):
        assert worst_rank_error("am", query, ORDERS[order](int(20.5 * size)), epsilon=0.015) <= 0.015


@pytest.mark.parametrize("query", [QUERY, QUERY.replace(period=250), QUERY.replace(size=15_000, period=5_000)])
def test_blocks_tile_the_window_without_gap_or_overlap(query):
    operator = make("am", query)
    policy = operator.policy
    values = ORDERS["random"](5 * query.size)
    deepest, missing = 0, []
    for number, window in enumerate(windows(query, values), 1):
        operator.push(values[policy._events : policy._events + query.period])
        end = number * query.period
        tiles = policy.tiling()
        starts = [start for _, start in tiles]
        ends = [start + policy.levels[level].length for level, start in tiles]
        assert end - window.size <= starts[0] < end - window.size + policy.shortest
        assert starts[1:] == ends[:-1]
        assert end - policy.shortest < ends[-1] <= end
        assert policy.levels[0].open.events == end - ends[-1]
        per_level = np.bincount([level for level, _ in tiles])
        assert per_level.max() <= 2
        deepest = max(deepest, len(per_level))
        missing.append(window.size - policy.covered())
        for level in policy.levels:
            assert len(level.closed) <= query.size / level.length + 1
            assert all(start >= end - window.size for start in level.closed)
            assert all(start % level.length == 0 for start in level.closed)
    assert deepest >= len(policy.levels) - 1
    assert 0 < max(missing) < policy.shortest


def test_levels_double_up_to_the_window_and_share_the_error_evenly():
    policy = make("am", Query(131_072, 16_384)).policy
    lengths = [level.length for level in policy.levels]
    assert lengths == [491 * 2**level for level in range(9)]
    shares = [level.open.width * level.length for level in policy.levels]
    assert np.allclose(shares, 0.015 * 131_072 / 36)
    assert policy.parameters() == {"epsilon": 0.015, "shortest_block": 491, "levels": 9}


def test_after_a_shift_no_value_from_before_it_is_answered():
    query = QUERY.replace(size=4_000, period=500)
    shift = 4_730
    values = np.random.default_rng(1).normal(0, 1, 12_000)
    values[shift:] += 1000
    results = np.array(answers(make("am", query), values))
    ends = query.period * np.arange(1, len(results) + 1)
    assert (results[ends >= shift + query.size] > 500).all()
    assert (results[ends <= shift] < 500).all()


@given(st.data())
def test_neither_how_pushes_are_cut_nor_a_replay_changes_answers(data):
    query = Query(1_200, 200, quantiles=QUANTILES)
    values = ORDERS["few values, then many"](3_150)
    cuts = sorted(data.draw(st.lists(st.integers(0, values.size), max_size=12)))
    want, got = make("am", query, epsilon=0.1), make("am", query, epsilon=0.1)
    expected = answers(want, values)
    results = [result for part in np.split(values, cuts) for result in got.push(part)] + list(got.finish())
    assert [[result[q].value for q in query.quantiles] for result in results] == expected
    assert got.variables() == want.variables()


@every_order
def test_there_are_no_more_variables_than_the_analysis_says(order):
    operator = make("am", QUERY)
    answers(operator, ORDERS[order](20 * QUERY.period))
    assert 0 < operator.most_variables() <= operator.policy.analytical()
    assert operator.nbytes >= 24 * sum(level.tuples() for level in operator.policy.levels)


def test_wrong_parameters_are_refused_with_what_to_do():
    for wrong in (0, 1, -0.1, "a", None):
        with pytest.raises(InputError, match="must lie in"):
            make("am", QUERY, epsilon=wrong)
