import numpy as np
import pytest

from aomg import streams
from aomg.streams import named, names


def test_every_stream_has_a_name_and_a_line():
    assert set(names()) == {
        *("pingmesh", "search", "normal", "uniform", "ar1", "taxi", "host_resources"),
        *("bursts", "drift", "podsets"),
    }
    assert all(line and "\n" not in line and len(line) < 90 for line in names().values())


@pytest.mark.parametrize("name", ["pingmesh", "search", "normal", "uniform", "taxi", "host_resources"])
def test_a_named_stream_is_the_one_of_its_function(name):
    assert np.array_equal(named(name, seed=7).take(100), getattr(streams, name)(seed=7).take(100))


def test_parameters_reach_the_stream():
    assert np.array_equal(named("ar1", psi=0.3).take(50), streams.ar1(psi=0.3).take(50))
    assert named("podsets", n=5, rate=100).n == 5


def test_bursts_and_drift_go_on_any_stream():
    assert np.array_equal(
        named("bursts", seed=2, of="search", size=4_096, period=1_024).take(9_000),
        streams.with_bursts(streams.search(2), 4_096, 1_024).take(9_000),
    )
    assert np.array_equal(
        named("drift", seed=2, of="taxi", day=500).take(900), streams.drift(streams.taxi(2), 500).take(900)
    )


def test_an_unknown_name_is_answered_with_the_nearest_and_with_all():
    with pytest.raises(ValueError, match=r"no stream 'pingmsh'; did you mean pingmesh\? There are pingmesh, search"):
        named("pingmsh")
    with pytest.raises(ValueError, match=r"no stream 'xyz'\. There are"):
        named("xyz")


def test_an_unknown_parameter_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match=r"ar1 has no parameter 'phi'.* It has psi, mean, sd"):
        named("ar1", phi=0.2)
    with pytest.raises(ValueError, match=r"search has no parameter 'sd'\. It has only a seed"):
        named("search", sd=2)


def test_events_cannot_burst():
    with pytest.raises(ValueError, match="podsets generates events"):
        named("bursts", of="podsets")
