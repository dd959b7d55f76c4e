"""Exact answers, by a tree from which events are removed and by sorted arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg import Operator, Query
from aomg.policies import make
from aomg.policies.kernels.trees import _priority

NAMES = ("exact", "exact-sorted")
every_exact = pytest.mark.parametrize("name", NAMES)

# few distinct values, many, negative ones, and both zeros
values = st.one_of(
    st.lists(st.integers(-3, 3), min_size=1, max_size=300),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=300),
)
queries = st.builds(
    lambda period, windows, partial: Query(
        period * windows, period, quantiles=("0.001", "0.25", "0.5", "0.9", "1"), partial=partial
    ),
    st.integers(1, 40),
    st.integers(1, 6),
    st.booleans(),
)


def truth(query: Query, content: np.ndarray) -> list[list[float]]:
    """The ceil(phi n)-th smallest values of every window, by sorting it."""
    selected = []
    for end in range(query.period, content.size + query.period, query.period):
        if end > content.size and content.size % query.period == 0:
            continue
        number = -(-end // query.period)
        window = np.sort(content[max(number - query.sub_windows, 0) * query.period : end])
        if query.partial or number >= query.sub_windows:
            ranks = [max(-(-int(q * 1000) * window.size // 1000), 1) for q in query.quantiles]
            selected.append([float(window[rank - 1]) for rank in ranks])
    return selected


@every_exact
@given(query=queries, content=values, cuts=st.lists(st.integers(0, 300), max_size=4))
def test_every_window_has_its_exact_quantiles_however_pushes_are_cut(name, query, content, cuts):
    content = np.array(content, float)
    policy = make(name, query)
    results = [result for part in np.split(content, sorted(cuts)) for result in policy.push(part)]
    results += policy.finish()
    selected = [[result[q].value for q in query.quantiles] for result in results]
    assert selected == truth(query, content)
    for result in results:
        assert all(result[q].low == result[q].value == result[q].high for q in query.quantiles)
        assert all(result[q].method == "exact" for q in query.quantiles)


@every_exact
@pytest.mark.parametrize("order", ["ascending", "descending", "sawtooth", "equal"])
def test_no_order_is_too_much(name, order):
    """A tree that does not balance itself would be as deep as the window is long."""
    positions = np.arange(60_000)
    content = {
        "ascending": positions,
        "descending": -positions,
        "sawtooth": positions % 977,
        "equal": np.zeros(60_000, np.int64),
    }[order]
    query = Query(20_000, 5_000)
    results = make(name, query).push(content)
    for result in results:
        window = np.sort(content[max(result.start, 0) : result.end])
        assert [result[q].value for q in (0.5, 0.999)] == [
            window[-(-window.size // 2) - 1],
            window[-(-999 * window.size // 1000) - 1],
        ]


def test_a_tree_as_deep_as_it_can_be_is_still_right():
    """Whoever knows the nodes' priorities can choose keys of which each stands below the one before."""
    priorities = np.array([_priority(node) for node in range(1, 3_001)], np.uint64)
    content = np.argsort(np.argsort(priorities))
    results = make("exact", Query(3_000, 1_000)).push(np.concatenate([content, np.zeros(3_000)]))
    assert [result[0.999].value for result in results][2] == 2_996
    assert results[-1].count == 3_000 and results[-1][0.999].value == 0


def test_the_tree_forgets_what_has_left():
    policy = make("exact", Query(1_000, 100))
    policy.push(np.arange(50_000))
    assert policy.variables() == 2 * 1_000 + 1_000
    policy.push(np.zeros(1_000))
    assert policy.variables() == 2 * 1 + 1_000
    assert policy.most_variables() == 3 * 1_100 == policy.policy.analytical()
    assert policy.nbytes == 40 + 8_000


def test_sorted_arrays_hold_the_window_and_no_more():
    policy = make("exact-sorted", Query(1_000, 100))
    policy.push(np.arange(50_050))
    assert policy.variables() == 1_050
    assert policy.nbytes == 8 * 1_050
    assert policy.most_variables() == 1_100 == policy.policy.analytical()


@every_exact
def test_raw_aomg_of_a_single_sub_window_says_the_same(name):
    query = Query(500, 500, digits=None, guarantee=False)
    content = np.random.default_rng(1).lognormal(5, 1, 5_000)
    ours, theirs = Operator(query).push(content), make(name, query).push(content)
    for q in query.quantiles:
        assert ours.values(q).tolist() == theirs.values(q).tolist()


def test_a_tumbling_window_discards_its_tree_and_keeps_no_elements():
    policy = make("exact", Query(1_000, 1_000, quantiles=(0.5, 1)))
    for start in (0, 1_000_000, 500):
        results = policy.push(np.arange(start, start + 1_000))
        assert [result[1].value for result in results] == [start + 999]
        assert policy.variables() == 2 * 1_000
