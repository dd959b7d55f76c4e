import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.streams import BLOCK, pingmesh

TABLE_1 = {0.48: 781, 0.5: 798, 0.52: 814, 0.97: 1_516, 0.99: 1_874}


@pytest.fixture(scope="module")
def million() -> np.ndarray:
    return pingmesh(seed=1).take(1_000_000)


@pytest.mark.parametrize(("quantile", "value"), TABLE_1.items())
def test_quantiles_are_within_two_percent_of_the_papers(million, quantile, value):
    assert np.quantile(million, quantile, method="inverted_cdf") == pytest.approx(value, rel=0.02)


def test_nine_in_ten_round_trips_take_less_than_a_millisecond_and_a_quarter(million):
    assert (million < 1_250).mean() > 0.9


def test_the_tail_is_heavy_and_ends_at_75_ms(million):
    assert 5_000 < np.quantile(million, 0.999) < 6_000
    assert 70_000 < million.max() <= 75_000
    assert million.min() >= 250


@pytest.mark.parametrize("seed", range(3))
def test_another_seed_is_another_stream_of_the_same_distribution(seed):
    values = pingmesh(seed=seed + 2).take(1_000_000)
    assert not np.array_equal(values[:100], pingmesh(seed=1).take(100))
    for quantile, value in TABLE_1.items():
        assert np.quantile(values, quantile) == pytest.approx(value, rel=0.02)


@given(start=st.integers(0, 3 * BLOCK), n=st.integers(0, 3 * BLOCK))
def test_a_slice_is_the_same_wherever_the_cut_is(million, start, n):
    assert np.array_equal(pingmesh(seed=1).take(n, start), million[start : start + n])


@pytest.mark.parametrize("size", [1, 999, BLOCK, 100_001])
def test_chunks_join_to_the_stream_whatever_their_size(million, size):
    total = 300_000 if size > 1 else 50
    joined = np.concatenate(list(pingmesh(seed=1).chunks(total, size)))
    assert np.array_equal(joined, million[:total])


def test_the_caller_may_overwrite_what_it_took(million):
    stream = pingmesh(seed=1)
    stream.take(BLOCK)[:] = 0
    assert np.array_equal(stream.take(BLOCK), million[:BLOCK])


def test_positions_and_seeds_below_zero_are_refused():
    with pytest.raises(ValueError, match="seed is -1"):
        pingmesh(seed=-1)
    with pytest.raises(ValueError, match="start is -1"):
        pingmesh().take(1, start=-1)
    with pytest.raises(ValueError, match="size is 0"):
        list(pingmesh().chunks(10, size=0))
