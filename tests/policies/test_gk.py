"""GK summaries: bounds that hold after every step, in every order, and in the union of many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from orders import ORDERS, wrong_by

from aomg.policies.gk import Gk
from aomg.policies.kernels.gk import LEAST, MOST
from aomg.policies.rank_bounds import NOTHING, LiveBounds, RankBounds, merged, select

every_order = pytest.mark.parametrize("order", ORDERS)
epsilons = st.sampled_from([0.004, 0.01, 0.05, 0.2])
blocks = st.lists(st.integers(0, 30).map(float) | st.floats(-1e9, 1e9), min_size=1, max_size=300).map(np.array)


def bounds(ranked: RankBounds) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest rank of every entry."""
    least, most = ranked.steps[:, LEAST], ranked.steps[:, MOST]
    return np.cumsum(least), np.cumsum(most) - most + 1


def assert_true(ranked: RankBounds, values: np.ndarray) -> None:
    """Values ascend, are values of the block, and their bounds meet the ranks at which they stand."""
    ordered = np.sort(values)
    assert (np.diff(ranked.values) >= 0).all()
    assert np.isin(ranked.values, ordered).all()
    assert ranked.steps[:, LEAST].sum() == ranked.steps[:, MOST].sum() == values.size
    least, largest = bounds(ranked)
    assert (least <= np.searchsorted(ordered, ranked.values, "right")).all()
    assert (largest >= np.searchsorted(ordered, ranked.values, "left") + 1).all()
    assert (least <= largest).all()
    assert least[0] == largest[0] == 1
    assert least[-1] == largest[-1] == values.size


def assert_invariants(gk: Gk, values: np.ndarray, epsilon: float) -> None:
    keys, gaps, spreads = gk.tuples
    inserted = values[: gk.events - gk._filled]
    assert gk.events == values.size
    assert gaps.sum() == inserted.size
    if gk.counts:
        distinct, counts = np.unique(inserted, return_counts=True)
        assert keys.tolist() == distinct.tolist()
        assert gaps.tolist() == counts.tolist()
    else:
        assert (gaps + spreads).max() <= max(1, int(2 * epsilon * inserted.size))
        assert gaps.min() >= 1
        assert (spreads >= 0).all()
    assert_true(gk.view(), values)


def worst(ranked: RankBounds, values: np.ndarray) -> int:
    """The largest error over all ranks, in events."""
    ordered = np.sort(values)
    ranks = np.arange(1, values.size + 1)
    return max(wrong_by(ordered, value, rank) for value, rank in zip(select(ranks, ranked), ranks, strict=True))


@every_order
@pytest.mark.parametrize("epsilon", [0.00375, 0.02, 0.1])
def test_the_invariants_hold_after_every_step(order, epsilon):
    values = ORDERS[order](1000)
    gk = Gk(epsilon, parts=round(1 / (2 * epsilon)))
    for end in range(1, values.size + 1):
        gk.take(values[end - 1 : end])
        if end % gk.batch == 0 or end % 97 == 0:
            assert_invariants(gk, values[:end], epsilon)


@given(blocks, epsilons, st.integers(1, 60), st.data())
def test_the_invariants_hold_for_any_values_however_they_are_handed_in(values, epsilon, parts, data):
    gk, once = Gk(epsilon, parts), Gk(epsilon, parts)
    done = 0
    while done < values.size:
        end = data.draw(st.integers(done + 1, values.size))
        gk.take(values[done:end])
        assert_invariants(gk, values[:end], epsilon)
        done = end
    once.take(values)
    assert [part.tolist() for part in gk.tuples] == [part.tolist() for part in once.tuples]


@every_order
@pytest.mark.parametrize("epsilon", [0.00375, 0.01, 0.05])
def test_every_rank_is_within_epsilon_open_and_closed(order, epsilon):
    values = ORDERS[order](3000)
    gk = Gk(epsilon, parts=round(1 / (2 * epsilon)))
    gk.take(values)
    assert worst(gk.view(), values) <= epsilon * values.size
    closed = gk.close()
    assert closed.values.size <= gk.parts + 1
    assert_true(closed, values)
    assert worst(closed, values) <= 2 * epsilon * values.size
    assert gk.events == 0


@given(blocks, epsilons, st.integers(2, 60))
def test_a_closed_summary_is_small_and_within_both_errors(values, epsilon, parts):
    gk = Gk(epsilon, parts)
    gk.take(values)
    closed = gk.close()
    assert closed.values.size <= parts + 1
    assert_true(closed, values)
    assert worst(closed, values) <= epsilon * values.size + -(-values.size // parts) / 2


def test_a_summary_is_much_smaller_than_its_block():
    for order in ("random", "ascending", "descending", "long tail"):
        gk = Gk(0.01, parts=50)
        gk.take(ORDERS[order](20_000))
        assert gk.tuples[0].size <= 150


@pytest.mark.parametrize("distinct", [1, 2, 25])
def test_few_distinct_values_take_two_tuples_each_and_are_exact(distinct):
    values = np.random.default_rng(1).integers(0, distinct, 5000).astype(float)
    gk = Gk(0.01, parts=50)
    gk.take(values)
    assert gk.counts
    assert gk.variables() <= 2 * distinct + gk.batch + 2
    closed = gk.close()
    assert closed.values.size == 2 * distinct
    assert worst(closed, values) == 0


def test_a_block_that_turns_out_to_have_many_distinct_values_goes_on_with_tuples():
    values = np.concatenate([np.zeros(2000), np.ones(1), np.full(999, 5.0), np.random.default_rng(1).random(3000)])
    gk = Gk(0.01, parts=50)
    gk.take(values[:3000])
    assert gk.counts
    gk.take(values[3000:])
    assert not gk.counts
    assert_invariants(gk, values, 0.01)
    assert worst(gk.view(), values) <= 0.01 * values.size


def test_the_next_block_knows_nothing_of_the_one_before():
    values = ORDERS["random"](2500)
    fresh, used = Gk(0.01, parts=50), Gk(0.01, parts=50)
    used.take(ORDERS["long tail"](1777))
    used.close()
    for gk in (fresh, used):
        gk.take(values)
    assert [part.tolist() for part in used.tuples] == [part.tolist() for part in fresh.tuples]


@given(st.lists(blocks, min_size=1, max_size=6), epsilons)
def test_bounds_in_a_union_are_what_all_summaries_know_together(parts, epsilon):
    summaries = []
    for values in parts:
        gk = Gk(epsilon, parts=10)
        gk.take(values)
        summaries.append(gk.close())
    union = merged(summaries)
    everything = np.concatenate(parts)
    assert_true(union, everything)
    assert worst(union, everything) <= sum(epsilon * values.size + -(-values.size // 10) / 2 for values in parts)
    # by definition: the last value of each summary up to here, and its first from here on
    least, largest = bounds(union)
    for index, value in enumerate(union.values):
        surely, possibly = 0, 0
        for summary in summaries:
            low, high = bounds(summary)
            before = np.searchsorted(summary.values, value, "right")
            after = np.searchsorted(summary.values, value, "left")
            surely += low[before - 1] if before else 0
            possibly += high[after] - 1 if after < high.size else summary.steps[:, LEAST].sum()
        if value not in union.values[index + 1 :]:
            assert least[index] == surely
        if value not in union.values[:index]:
            assert largest[index] == possibly + 1


@given(st.lists(blocks, min_size=1, max_size=8), st.data())
def test_summaries_that_come_and_go_stay_in_one_order(parts, data):
    live, inside = LiveBounds(), []
    for start, values in enumerate(parts):
        gk = Gk(0.05, parts=10)
        gk.take(values)
        closed = gk.close()
        live.add(closed, start)
        inside.append(closed)
        gone = data.draw(st.integers(0, start + 1))
        live.drop(gone)
        want = merged(inside[gone:])
        stored = live.bounds()
        assert stored.values.tolist() == want.values.tolist()
        assert sorted(map(tuple, stored.steps[:, :2])) == sorted(map(tuple, want.steps))
        assert (stored.steps[:, 2] >= gone).all()
        inside[:gone] = [NOTHING] * gone


def test_a_wide_tuple_does_not_answer_because_its_centre_is_near():
    # ranks 1..1, 10..10, 12..90, 100..100: asked for 50, the third is wrong by up to 40, though its centre is 51
    values = np.array([1.0, 2.0, 3.0, 4.0])
    ranked = RankBounds(values, np.array([[1, 9], [9, 80], [2, 10], [88, 1]]))
    assert bounds(ranked)[0].tolist() == [1, 10, 12, 100]
    assert bounds(ranked)[1].tolist() == [1, 10, 90, 100]
    assert select(np.array([50]), ranked).tolist() == [3.0]
    assert select(np.array([20]), ranked).tolist() == [2.0]  # wrong by 10, not by up to 70
    assert select(np.array([100, 1, 10]), ranked).tolist() == [4.0, 1.0, 2.0]


def test_elements_that_are_missing_may_all_come_before():
    ranked = RankBounds(np.array([1.0, 2.0, 3.0]), np.ones((3, 2), np.int64))
    assert select(np.array([3]), ranked, lift=0).tolist() == [3.0]
    assert select(np.array([3]), ranked, lift=2).tolist() == [2.0]
