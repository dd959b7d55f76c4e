"""A value with an interval is written so that rounding never leaves the interval."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding import SCALES, assert_inside, assert_short, exact, number, some_intervals

from aomg.numbers import NumberTexts, number_texts, unit_of

finite = st.floats(allow_nan=False, allow_infinity=False)
written = st.builds(lambda digits, power: float(f"{digits}e{power}"), st.integers(-(10**7), 10**7), st.integers(-15, 9))
offsets = st.sampled_from([0.0, 1e-16, 1e-9, 1e-6, 0.0004, 0.001, 0.005, 0.01, 0.3, 2.0])
around = st.builds(
    lambda value, below, above: (value - abs(value) * below, value, value + abs(value) * above),
    finite | written,
    offsets,
    offsets,
).filter(lambda parts: all(map(math.isfinite, parts)))
intervals = (around | st.lists(finite | written, min_size=3, max_size=3).map(sorted)).map(
    lambda parts: (parts[1], parts[0], parts[2])
)
digits = st.sampled_from([3, 4, 6])
scales = st.sampled_from(SCALES)


def texts(*arguments, **options) -> tuple[str, str, str]:
    formatted = number_texts(*arguments, **options)
    return formatted.value, formatted.low, formatted.high


@settings(max_examples=300)
@given(intervals, digits, scales, st.booleans(), st.booleans())
def test_rounding_never_leaves_the_interval(interval, digits, scale, padded, grouped):
    rounded = texts(*interval, digits=digits, scale=scale, padded=padded, grouped=grouped)
    assert_inside(*interval, rounded, scale)


@settings(max_examples=300)
@given(intervals, digits, scales)
def test_texts_are_no_longer_than_the_interval_needs(interval, digits, scale):
    assert_short(*interval, texts(*interval, digits=digits, scale=scale, padded=True), digits, scale)


def test_both_are_true_for_thousands_of_intervals_like_those_of_results():
    for place, interval in enumerate(some_intervals(1, 3000)):
        scale, count = SCALES[place % len(SCALES)], 3 + place % 4
        rounded = texts(*interval, digits=count, scale=scale, padded=True)
        assert_inside(*interval, rounded, scale)
        assert_short(*interval, rounded, count, scale)


@given(intervals, digits)
def test_zeros_and_commas_change_no_number(interval, digits):
    plain = texts(*interval, digits=digits, grouped=False)
    full = texts(*interval, digits=digits, padded=True)
    assert [number(text) for text in plain] == [number(text) for text in full]
    assert "," not in "".join(plain)


@given(intervals)
def test_the_sign_changes_nothing_else(interval):
    value, low, high = interval
    mirrored = texts(-value, -high, -low)
    assert [-number(text) for text in texts(*interval)] == [number(mirrored[place]) for place in (0, 2, 1)]


@pytest.mark.parametrize(
    "interval, digits, expected",
    [
        ((1.936, 1.930, 1.939), 3, ("1.936", "1.930", "1.939")),  # once 1.94 over 1.930..1.939
        ((1.94, 1.9, 2.0), 3, ("1.94", "1.90", "2.00")),
        ((1.936, 1.92, 1.939), 3, ("1.936", "1.920", "1.939")),
        ((1.936, 1.91, 1.939), 3, ("1.93", "1.91", "1.94")),  # 1.94 is above it
        ((560.5, 560.0, 560.9999999999999), 3, ("560.5", "560.0", "561.0")),
        ((560.9999999999999, 560.0, 560.9999999999999), 4, ("560.9", "560.0", "561.0")),
        ((5000.0, 4999.9, 5000.1), 3, ("5,000.0", "4,999.9", "5,000.1")),
        ((1234.5, 1200.0, 1300.0), 4, ("1,235", "1,200", "1,300")),
        ((150.0, 150.0, 151.0), 3, ("150", "150", "151")),  # in full already
        ((999.96, 990.0, 1010.0), 4, ("1,000", "990", "1,010")),
        ((0.0, 0.0, 0.0), 3, ("0", "0", "0")),
        ((0.0, -0.25, 0.5), 3, ("0.000", "-0.250", "0.500")),
        ((2e12, 1.984e12, 2.026e12), 3, ("2.00e+12", "1.98e+12", "2.03e+12")),
        ((2e-9, 0.0, 3.14159e-9), 3, ("2.00e-9", "0", "3.15e-9")),
    ],
)
def test_texts_are_in_the_usual_notation(interval, digits, expected):
    assert texts(*interval, digits=digits, padded=True) == expected


@pytest.mark.parametrize(
    "value, text",
    [(79.0, "79"), (1.5, "1.5"), (4213.377, "4,213.377"), (0.1 + 0.2, "0.3"), (2 / 3, "0.6666667"), (1e300, "1e+300")],
)
def test_one_number_has_one_text_of_at_most_seven_digits(value, text):
    assert texts(value, value, value) == (text, text, text)


@given(st.integers(-(10**7) + 1, 10**7 - 1), st.integers(-12, 12), scales.filter(lambda scale: scale[1] % 60))
def test_one_number_of_seven_digits_is_written_in_full(count, power, scale):
    value = float(f"{count}e{power}")
    assert number(number_texts(value, value, value, scale=scale).value) == exact(value, scale)


def test_missing_numbers_have_a_text_and_limit_nothing():
    nothing = float("nan")
    assert number_texts(None, nothing, math.inf) == NumberTexts("-", "-", "-")
    assert number_texts(1.9396, 1.93, None, digits=3, missing="?") == NumberTexts("1.94", "1.93", "?")
    assert number_texts(1.9396, None, 1.9399, digits=3) == NumberTexts("1.93", "-", "1.94")
    assert number_texts(nothing, 1.234, 5.678, digits=3) == NumberTexts("-", "1.23", "5.68")
    assert number_texts(7.0, 1.0, 2.0).value == "7"  # never so, and nothing to invent a number for


@pytest.mark.parametrize(
    "interval, unit, expected",
    [
        ((999.0, 998.0, 1000.0), "us", ("us", (1, 1))),
        ((1000.0, 998.0, 2000.0), "us", ("ms", (1, 1000))),
        ((0.25, 0.2, 0.3), "s", ("ms", (1000, 1))),
        ((0.0, 0.0, 4000.0), "us", ("ms", (1, 1000))),
        ((math.nan, -math.inf, 4e6), "us", ("s", (1, 1_000_000))),
        ((-3e6, -4e6, 0.0), "us", ("s", (1, 1_000_000))),
        ((0.0, 0.0, 0.0), "ms", ("us", (1000, 1))),
        ((0.5, 0.5, 0.5), "%", ("%", (100, 1))),
        ((0.5, 0.5, 0.5), "bytes", ("bytes", (1, 1))),
    ],
)
def test_a_quantity_has_its_usual_unit(interval, unit, expected):
    assert unit_of(*interval, unit) == expected
