import numpy as np
import pytest

from aomg.streams import drift, pingmesh, uniform

FLAT = uniform(low=10_000, high=10_000)


def test_the_level_swings_once_a_day_around_the_middle():
    values = drift(FLAT, day=1_000, swing=0.2).take(3_000)
    assert values[250] == 12_000 and values[750] == 8_000
    assert values[0] == values[500] == 10_000
    assert np.array_equal(values[:1_000], values[2_000:])


def test_a_trend_adds_up_from_day_to_day():
    values = drift(FLAT, day=100, swing=0.0, trend=0.1).take(301)
    assert values[[0, 100, 200, 300]].tolist() == [10_000, 11_000, 12_100, 13_310]
    assert (np.diff(values) >= 0).all()


def test_quantiles_move_with_the_level_and_nothing_else_does():
    stream = drift(pingmesh(), day=400_000, swing=0.3)
    high, low = stream.take(20_000, 90_000), stream.take(20_000, 290_000)
    assert np.median(high) == pytest.approx(1.3 * 798, rel=0.02)
    assert np.median(low) == pytest.approx(0.7 * 798, rel=0.02)
    assert np.array_equal(high, np.rint(pingmesh().take(20_000, 90_000) * stream.level(20_000, 90_000)))


def test_without_swing_and_trend_the_stream_is_as_it_was():
    assert np.array_equal(drift(pingmesh(), swing=0.0).take(1_000), pingmesh().take(1_000))


@pytest.mark.parametrize("trend", [9.0, -0.9])
def test_an_endless_trend_ends_at_a_bound_instead_of_overflowing(trend):
    far = drift(uniform(low=0, high=1), day=10, trend=trend).take(1_000, 10**9)
    assert set(far.tolist()) <= {0, 1 << 53}


@pytest.mark.parametrize("wrong", [{"day": 0}, {"swing": 1.0}, {"swing": -0.1}, {"trend": -1.0}])
def test_a_level_that_would_reach_zero_is_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is"):
        drift(FLAT, **wrong)
