import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.streams import ar1, normal


def correlation(values: np.ndarray, lag: int) -> float:
    return float(np.corrcoef(values[lag:], values[:-lag])[0, 1])


@pytest.mark.parametrize("psi", [0.1, 0.5, 0.8, 0.9, -0.5])
def test_a_value_is_correlated_with_the_next_by_psi_and_with_later_ones_by_its_powers(psi):
    values = ar1(psi).take(1_000_000)
    for lag in (1, 2, 3, 10):
        assert correlation(values, lag) == pytest.approx(psi**lag, abs=0.01)


@pytest.mark.parametrize("psi", [0.1, 0.5, 0.8, 0.9, -0.9])
def test_each_value_has_the_papers_distribution_whatever_psi(psi):
    values = ar1(psi).take(1_000_000)
    assert values.mean() == pytest.approx(1_000_000, abs=1_000)
    assert values.std() == pytest.approx(50_000, rel=0.01)
    assert np.quantile(values, 0.99) == pytest.approx(1_000_000 + 2.3263 * 50_000, rel=0.002)


def test_the_step_from_one_value_to_the_next_is_fresh_noise():
    values = ar1(0.8).take(500_000) - 1_000_000
    steps = values[1:] - 0.8 * values[:-1]
    assert steps.std() == pytest.approx(0.6 * 50_000, rel=0.01)
    assert abs(correlation(steps, 1)) < 0.01


def test_without_correlation_it_is_the_normal_stream():
    assert np.array_equal(ar1(0.0, seed=5).take(1_000, 99_000), normal(seed=5).take(1_000, 99_000))


@given(psi=st.floats(-0.999, 0.999))
def test_what_is_forgotten_is_less_than_a_billionth(psi):
    assert abs(psi) ** ar1(psi).memory <= 1e-9


@given(psi=st.sampled_from([0.3, 0.99, -0.7]), start=st.integers(0, 10**9), n=st.integers(0, 3_000))
def test_a_slice_is_the_same_alone_as_in_a_longer_one(psi, start, n):
    stream = ar1(psi)
    assert np.array_equal(stream.take(n, start), stream.take(n + 700, max(start - 400, 0))[min(start, 400) :][:n])


@pytest.mark.parametrize("psi", [1.0, -1.5, float("nan")])
def test_a_correlation_of_one_or_more_is_refused(psi):
    with pytest.raises(ValueError, match="psi is"):
        ar1(psi)
