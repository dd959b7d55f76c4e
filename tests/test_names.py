"""Names of the columns of estimates."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.names import estimate_title, quantile_name, quantile_of, threshold_name, threshold_of


@given(st.decimals("0.000000001", 1, places=9))
def test_the_name_of_a_quantile_can_be_read_back(quantile):
    assert quantile_of(quantile_name(quantile)) == quantile


@given(st.floats(-1e9, 1e9))
def test_the_name_of_a_threshold_can_be_read_back(threshold):
    assert threshold_of(threshold_name(threshold)) == Decimal(repr(threshold))
    assert quantile_of(threshold_name(threshold)) is None


@pytest.mark.parametrize("name", ["", "p", "px", "p1000", "P99", "below", "below_", "below_x", "max", "count", "burst"])
def test_other_names_are_not_estimates(name):
    assert (quantile_of(name), threshold_of(name), estimate_title(name)) == (None, None, name)
