from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.streams import normal
from aomg.streams.normal import deviation

EDGES = [0, 1, 2**14, 2**21 - 1, 2**21, 2**31, 2**32 - 2**21 - 1, 2**32 - 2**21, 2**32 - 1]


@given(bits=st.lists(st.integers(0, 2**32 - 1) | st.sampled_from(EDGES), min_size=1))
def test_a_rank_of_32_bits_has_its_normal_quantile(bits):
    expected = [NormalDist().inv_cdf((rank + 0.5) / 2**32) for rank in bits]
    assert deviation(np.array(bits, dtype=np.uint32)) == pytest.approx(expected, abs=1e-5)


def test_quantiles_are_those_of_the_papers_distribution():
    values = normal().take(2_000_000)
    for phi in (0.0001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.9999):
        expected = NormalDist(1_000_000, 50_000).inv_cdf(phi)
        assert np.quantile(values, phi) == pytest.approx(expected, abs=3_000 if phi in (0.0001, 0.9999) else 300)


def test_values_are_not_correlated():
    values = normal().take(1_000_000)
    assert all(abs(np.corrcoef(values[lag:], values[:-lag])[0, 1]) < 0.005 for lag in (1, 2, 7))


def test_mean_and_deviation_can_be_chosen():
    values = normal(mean=-5_000, sd=10).take(100_000)
    assert values.mean() == pytest.approx(-5_000, abs=0.5)
    assert values.std() == pytest.approx(10, abs=0.2)


def test_a_deviation_of_zero_is_refused():
    with pytest.raises(ValueError, match="sd is 0"):
        normal(sd=0)
