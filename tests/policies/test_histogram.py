"""Full counts of codes: the exact value lies in the code that is told, whatever the stream does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg import Query
from aomg.policies import make

numbers = st.one_of(
    st.lists(st.integers(-2_000, 100_000), min_size=1, max_size=400),
    st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=400),
)


@given(
    content=numbers,
    period=st.integers(1, 60),
    windows=st.integers(1, 5),
    digits=st.sampled_from([1, 2, 3, 5, None]),
    cuts=st.lists(st.integers(0, 400), max_size=3),
)
def test_the_exact_value_is_between_low_and_high(content, period, windows, digits, cuts):
    query = Query(period * windows, period, digits=digits, guarantee=False)
    content = np.array(content, float)
    histogram, exact = make("histogram", query), make("exact", query)
    results = [result for part in np.split(content, sorted(cuts)) for result in histogram.push(part)] + list(
        histogram.finish()
    )
    truth = list(exact.push(content)) + list(exact.finish())
    assert len(results) == len(truth)
    width = 0 if digits is None else 10 ** (1 - digits)
    for one, other in zip(results, truth, strict=True):
        for q in query.quantiles:
            value, low, high = one[q].value, one[q].low, one[q].high
            assert low <= other[q].value <= high
            assert low <= value <= high
            assert high - low <= width * max(abs(low), abs(high)) * (1 + 1e-9)


def test_counts_that_left_are_gone():
    policy = make("histogram", Query(1_000, 100))
    policy.push(np.arange(1_000_000, 1_050_000))
    policy.push(np.full(1_000, 7))
    assert policy.variables() == 2 * (10 + 1) + (10 + 1)  # pairs, and a flag for each sub-window
    assert policy.nbytes == 16 * 11 + 11


@pytest.mark.parametrize("pieces", [1, 7])
def test_a_sub_window_in_pieces_has_one_pair_for_each_code(pieces):
    policy = make("histogram", Query(1_000, 1_000))
    for part in np.array_split(np.arange(1_000) % 10, pieces):
        policy.push(part)
    assert policy.variables() == 2 * (10 + 10) + (1 + 1)


def test_whole_numbers_are_answered_as_such_and_others_by_the_middle_of_their_code():
    whole, real = (make("histogram", Query(200, 100, quantiles=(0.5,), partial=False)) for _ in range(2))
    assert [result[0.5].value for result in whole.push(np.full(200, 109))] == [109.0]
    assert [result[0.5].value for result in real.push(np.full(200, 109.25))] == [109.5]
    # a window is of whole numbers again when the last sub-window with others has left
    assert [result[0.5].value for result in real.push(np.full(200, 109))] == [109.5, 109.0]
