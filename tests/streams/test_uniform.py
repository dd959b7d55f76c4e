import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.streams import uniform


def test_the_integers_from_90_to_110_are_equally_likely():
    distinct, counts = np.unique(uniform().take(2_100_000), return_counts=True)
    assert distinct.tolist() == list(range(90, 111))
    assert np.abs(counts / 100_000 - 1).max() < 0.02


@given(low=st.integers(-(2**40), 2**40), width=st.integers(0, 2**32 - 1))
def test_values_stay_in_any_range(low, width):
    values = uniform(low=low, high=low + width).take(1_000)
    assert values.min() >= low and values.max() <= low + width
    assert width == 0 or values.max() - values.min() > width // 2


def test_a_range_that_ends_before_it_starts_is_refused():
    with pytest.raises(ValueError, match="low is 5 and high is 4"):
        uniform(low=5, high=4)
