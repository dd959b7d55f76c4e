"""Numbers are told short, and what was guaranteed of them stays true."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aomg.web.views.decimals import down, intervals, nearest, up

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


def single(values):
    return np.array(values, np.float32)


@given(st.lists(finite, min_size=1))
def test_rounding_down_is_never_above_and_rounding_up_never_below_and_both_are_near(values):
    exact = single(values).astype(np.float64)
    low, mid, high = down(single(values)), nearest(single(values)), up(single(values))
    assert (low <= exact).all() and (exact <= high).all()
    for rounded in (low, mid, high):
        assert (np.abs(rounded - exact) <= 1.01e-6 * np.abs(exact)).all()


@given(st.lists(finite, min_size=2))
def test_the_order_of_numbers_stays(values):
    assert (np.diff(nearest(np.sort(single(values)))) >= 0).all()


@given(st.integers(-999_999, 999_999), st.integers(0, 12))
def test_six_digits_come_back_as_people_wrote_them(digits, places):
    written = float(f"{digits}e-{places}")
    assert nearest(single([written]))[0] == written


@given(st.lists(finite, min_size=3, max_size=3).map(sorted))
def test_value_stays_between_low_and_high(parts):
    low, value, high = single(parts)
    rounded = intervals(single([[value, low, high]]))[0]
    assert rounded[1] <= rounded[0] <= rounded[2]
    assert rounded[1] <= low and high <= rounded[2]


def test_a_value_stays_between_the_ends_that_were_given_where_seven_digits_can_say_so():
    value = np.nextafter(np.float32(123456.8), np.float32(0))  # 123456.79, which is 123456.8 in seven digits
    assert nearest(single([value]))[0] > value
    rounded = intervals(single([[value, 123456.6, value], [value, value, value]]))
    assert rounded.tolist() == [[123456.7, 123456.6, 123456.8], [123456.8, 123456.7, 123456.8]]


@given(st.lists(finite, min_size=3, max_size=3).map(sorted))
def test_values_leave_the_given_interval_only_where_no_number_of_seven_digits_is_in_it(parts):
    low, value, high = single(parts)
    rounded = intervals(single([[value, low, high]]))[0, 0]
    assert low <= rounded <= high or up(single([low]))[0] > down(single([high]))[0]


def test_what_is_not_known_stays_so_and_bounds_without_a_value_hold():
    rounded = intervals(single([[np.nan, 1.5, 2.5], [1.5, -np.inf, np.inf], [1.5, np.nan, np.nan]]))
    assert np.isnan(rounded[0, 0]) and rounded[0, 1:].tolist() == [1.5, 2.5]
    assert rounded[1].tolist() == [1.5, -np.inf, np.inf]
    assert rounded[2, 0] == 1.5 and np.isnan(rounded[2, 1:]).all()
