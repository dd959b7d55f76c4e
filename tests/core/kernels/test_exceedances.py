"""Exceedances: the chance is an upper bound for every distribution; all false alarms are below 1 in 10,000."""

from math import comb

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aomg.core.kernels.bursts import burst_threshold
from aomg.core.kernels.exceedances import CHANCES, FEWEST, LARGEST, LEAST_LOG, exceedance_chance, is_larger

counts = st.one_of(st.integers(1, 60), st.integers(1, 20_000))
ranks = st.integers(1, LARGEST)


@given(above=st.integers(0, 300), rank=ranks, share=st.floats(0.001, 0.999))
def test_the_chance_is_the_sum_of_the_definition(above, rank, share):
    defined = share**above * sum(
        comb(max(above + i - 1, i), i) * (1 - share) ** i for i in range(rank) if above or i == 0
    )
    assert exceedance_chance(above, rank, share) == pytest.approx(defined, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("rank", "least"), [(1, 16), (2, 17), (3, 25), (4, 27)])
def test_with_as_many_events_in_both_the_documented_numbers_are_enough_and_one_fewer_is_not(rank, least):
    assert is_larger(least, rank, 1_000, 1_000)
    assert not is_larger(least - 1, rank, 1_000, 1_000)


def exact_chance(above: int, rank: int, count: int, other: int) -> float:
    """That at least `above` of the largest above + rank - 1 events are of the first sub-window, all orders alike."""
    top = min(above + rank - 1, count + other)
    orders = sum(comb(count, x) * comb(other, top - x) for x in range(above, min(count, top) + 1))
    return orders / comb(count + other, top)


@given(data=st.data(), count=st.integers(1, 150), other=st.integers(1, 150), rank=ranks)
def test_the_chance_is_never_below_that_of_all_orders_where_it_decides(data, count, other, rank):
    above = data.draw(st.integers(0, count))
    bound = exceedance_chance(above, rank, count / (count + other))
    if bound <= max(CHANCES) and rank <= other:
        assert exact_chance(above, rank, count, other) <= bound * (1 + 1e-12)


def false_alarms(count: int, other: int) -> float:
    """The chance that a sub-window of `count` events counts as larger than one of `other`, all orders alike.

    Follows the events from the largest down: `likely[k]` is the chance of k events of the first sub-window, and
    so far `rank` - 1 of the other, without an alarm.
    """
    alarms, likely = 0.0, {0: 1.0}
    for rank in range(1, min(LARGEST, other) + 1):
        after: dict[int, float] = {}
        waiting = 0.0
        for above in range(min(likely), count + 1):
            waiting += likely.get(above, 0.0)
            left = count + other - above - rank + 1
            ends = waiting * (other - rank + 1) / left
            if is_larger(above, rank, count, other):
                alarms += ends
            else:
                after[above] = ends
            waiting -= ends
            if waiting < 1e-30 and above >= max(likely):
                break
        likely = after
    return alarms


@given(count=counts, other=counts)
@example(count=1_024, other=1_024)
@example(count=1, other=20_000)
def test_all_false_alarms_together_are_below_one_in_ten_thousand(count, other):
    assert false_alarms(count, other) <= sum(CHANCES) < 1e-4


def test_the_chances_are_used_not_given_away():
    assert false_alarms(1_024, 1_024) > 0.6 * sum(CHANCES)


@given(above=st.integers(0, 400), rank=ranks, count=counts, other=counts)
@example(above=16, rank=1, count=1_000, other=1_000)
@example(above=17, rank=2, count=1_000, other=1_000)
def test_what_is_rejected_early_would_not_have_been_an_alarm(above, rank, count, other):
    chance = exceedance_chance(above, rank, count / (count + other))
    assert is_larger(above, rank, count, other) == (above >= FEWEST and chance <= CHANCES[rank - 1])


@given(data=st.data(), count=st.integers(1, int(LEAST_LOG)), other=st.integers(1, int(LEAST_LOG)), rank=ranks)
def test_sub_windows_that_are_not_compared_could_not_have_differed(data, count, other, rank):
    assert not any(is_larger(above, rank, count, other) for above in range(count + 1))
    top, other_top = data.draw(st.integers(1, count)), data.draw(st.integers(1, other))
    assert burst_threshold(0.0, top, other_top, top / count) >= 1.0
