from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.monitor.durations import LONGEST, UNITS, microseconds, quantity, said
from aomg.monitor.errors import ConfigError

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("90s", 90 * SECOND),
        ("5m", 300 * SECOND),
        ("1h30m", 5_400 * SECOND),
        ("10 seconds", 10 * SECOND),
        ("1 Minute", 60 * SECOND),
        ("2 hours 30 mins", 9_000 * SECOND),
        (" 1.5 h ", 5_400 * SECOND),
        ("4ms", 4_000),
        ("250us", 250),
        ("250µs", 250),
        ("1 week", 604_800 * SECOND),
        ("0s", 0),
    ],
)
def test_durations_are_written_as_people_write_them(text, duration):
    assert microseconds(text) == duration


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("90", "write 90s, 90m or 90h"),
        ("", "such as 90s"),
        ("soon", "such as 90s"),
        ("-5s", "such as 90s"),
        ("5 fortnights", "such as 90s"),
        ("30m1h", "such as 90s"),  # the smaller first
        ("1h1h", "such as 90s"),
        ("5M", "such as 90s"),  # a million?
        ("1e3s", "such as 90s"),
        ("1h 30", "such as 90s"),
        ("0.5us", "round it"),
        ("900000 weeks", "hundred years"),
        ("٣s", "such as 90s"),
    ],
)
def test_what_is_no_duration_is_refused_with_a_remedy(text, remedy):
    with pytest.raises(ConfigError, match=remedy):
        microseconds(text)


@given(st.integers(0, LONGEST))
def test_a_duration_that_is_said_can_be_read_back(duration):
    assert microseconds(said(duration)) == duration


@given(st.text(max_size=30))
def test_any_text_is_a_duration_or_is_refused(text):
    try:
        assert 0 <= microseconds(text) <= LONGEST
    except ConfigError as error:
        assert error.message


@given(
    number=st.decimals(0, 10**9, places=6, allow_nan=False),
    written=st.sampled_from([*UNITS]),
    kept=st.sampled_from([*UNITS]),
)
def test_a_quantity_is_the_nearest_double_of_the_exact_number_in_its_unit(number, written, kept):
    exact = Fraction(number) * UNITS[written] / UNITS[kept]
    assert quantity(f"{number:f}{written}", kept) == float(exact)


def test_a_quantity_without_a_unit_to_be_compared_in_is_refused():
    with pytest.raises(ConfigError, match="give the query unit: us, ms or s"):
        quantity("4ms", "none")
