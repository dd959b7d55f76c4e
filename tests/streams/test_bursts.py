import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.streams import pingmesh, with_bursts

SIZE, PERIOD = 16_384, 2_048
CALM = pingmesh(seed=1).take(4 * SIZE)
BURSTY = with_bursts(pingmesh(seed=1), SIZE, PERIOD)


def test_only_the_last_sub_window_of_every_window_is_raised():
    changed = (BURSTY.take(4 * SIZE) != CALM).reshape(-1, PERIOD).sum(axis=1)
    expected = [0, 0, 0, 0, 0, 0, 0, 17] * 4
    assert changed.tolist() == expected


def test_the_largest_values_of_the_sub_window_are_multiplied_by_ten():
    before = CALM.reshape(-1, PERIOD)[7]
    after = BURSTY.take(PERIOD, start=7 * PERIOD)
    raised = after != before
    assert np.array_equal(after[raised], 10 * before[raised])
    assert before[raised].min() >= before[~raised].max()


@pytest.mark.parametrize(
    ("size", "period", "quantile", "raised"),
    [(131_072, 16_384, 0.999, 132), (1_000, 1_000, 0.999, 2), (131_072, 1_024, 0.99, 1_024)],
)
def test_a_burst_is_as_large_as_the_tail_of_the_window(size, period, quantile, raised):
    stream = with_bursts(pingmesh(), size, period, quantile)
    assert (stream.take(size) != pingmesh().take(size)).sum() == raised


def test_a_burst_can_raise_another_number_of_values():
    calm = pingmesh().take(131_072)
    fewer, usual = (with_bursts(pingmesh(), 131_072, 16_384, raised=raised).take(131_072) for raised in (131, 0))
    assert ((fewer != calm).sum(), (usual != calm).sum()) == (131, 132)
    (spared,) = np.flatnonzero(fewer != usual)
    assert usual[spared] == usual[usual != calm].min()
    for raised in (-1, 16_385):
        with pytest.raises(ValueError, match="up to a whole sub-window"):
            with_bursts(pingmesh(), 131_072, 16_384, raised=raised)


def test_every_full_window_holds_exactly_one_burst():
    changed = (BURSTY.take(4 * SIZE) != CALM).reshape(-1, PERIOD).any(axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(changed, SIZE // PERIOD)
    assert (windows.sum(axis=1) == 1).all()


@given(start=st.integers(0, 3 * SIZE), n=st.integers(0, SIZE))
def test_a_slice_is_the_same_wherever_the_cut_is(start, n):
    assert np.array_equal(BURSTY.take(n, start), BURSTY.take(4 * SIZE)[start : start + n])


def test_equal_values_are_raised_from_the_earliest_on():
    class Constant:
        def take(self, n, start=0):
            return np.full(n, 7, dtype=np.int64)

    values = with_bursts(Constant(), size=20, period=10, quantile=0.9).take(20)
    assert values.tolist() == [7] * 10 + [70] * 3 + [7] * 7


@pytest.mark.parametrize(("size", "period"), [(10, 3), (10, 0), (10, 20)])
def test_a_window_that_is_no_whole_number_of_sub_windows_is_refused(size, period):
    with pytest.raises(ValueError, match="multiple of period"):
        with_bursts(pingmesh(), size, period)
