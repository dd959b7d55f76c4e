"""Moments as text and back."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.times import DAY, day_text, microseconds_of, time_of, time_text

MOMENTS = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)  # the years 1 to 9999


@given(MOMENTS)
def test_a_moment_that_is_printed_can_be_read_back(moment):
    assert time_of(time_text(moment)) == moment
    assert microseconds_of(datetime.fromisoformat(time_text(moment))) == moment
    assert microseconds_of(np.datetime64(moment, "us")) == moment


@given(MOMENTS)
def test_a_day_is_the_one_in_utc(moment):
    assert day_text(moment) == time_text(moment)[:10]
    assert time_of(day_text(moment)) == moment // DAY * DAY


def test_the_zone_of_a_datetime_counts_and_must_be_there():
    noon = datetime(2024, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert microseconds_of(noon) == microseconds_of(datetime(2024, 5, 1, 10, tzinfo=UTC))
    with pytest.raises(ValueError, match="has no time zone; add one, such as Z"):
        microseconds_of(noon.replace(tzinfo=None))
