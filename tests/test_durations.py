"""Durations as people write them: the same in Python, in YAML and on the command line, and printed so that they fit."""

from datetime import timedelta
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from aomg import Query, QueryError
from aomg.durations import CENTURY, LONGEST, MICROSECONDS, duration_text, microseconds
from aomg.errors import DurationError
from aomg.monitor import command
from aomg.monitor.config.node import Node
from aomg.monitor.config.schema import Field, Problems
from aomg.monitor.config.values import duration
from aomg.monitor.config.yaml_lines import parse
from aomg.monitor.errors import ConfigError

SECOND = 1_000_000
LENGTHS = st.integers(0, CENTURY) | st.integers(0, LONGEST) | st.integers(0, 10**6).map(lambda n: n * 60 * SECOND)


def in_yaml(text: str) -> int:
    return duration(Field(Node(text, 7, text), "every", Problems(), {}))


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("500ms", 500_000),
        ("90s", 90 * SECOND),
        ("5m", 300 * SECOND),
        ("1h30m", 5_400 * SECOND),
        ("1h 30m", 5_400 * SECOND),
        ("10 seconds", 10 * SECOND),
        ("1 Minute", 60 * SECOND),
        ("1 day", 86_400 * SECOND),
        ("2 hours 30 mins", 9_000 * SECOND),
        (" 1.5 h ", 5_400 * SECOND),
        ("4ms", 4_000),
        ("250us", 250),
        ("250µs", 250),
        ("1 week", 604_800 * SECOND),
        ("0s", 0),
        # what only Python took
        ("12 HOURS", 43_200 * SECOND),
        ("1 D", 86_400 * SECOND),
        ("3 H", 10_800 * SECOND),
        ("2hs", 7_200 * SECOND),
        ("3110400000000000 us", 3_110_400_000 * SECOND),
        ("1.50000000000000000 s", 1_500_000),
        # what only YAML took
        ("30 sec", 30 * SECOND),
        ("2w", 1_209_600 * SECOND),
        ("1d12h", 129_600 * SECOND),
    ],
)
def test_durations_are_written_as_people_write_them(text, length):
    assert microseconds(text) == in_yaml(text) == length
    assert Query(2, 1, lateness=text).lateness == length
    if length:
        query = Query(size=text, period=text)
        assert (query.size, query.period, query.counted) == (length, length, False)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("90", "write 90s, 90m or 90h"),
        ("1.5", "write 1.5s, 1.5m or 1.5h"),
        ("", "such as 90s"),
        ("  ", "such as 90s"),
        ("soon", "such as 90s"),
        ("-5s", "such as 90s"),
        ("5 fortnights", "such as 90s"),
        ("30m1h", "such as 90s"),  # the smaller first
        ("1h1h", "such as 90s"),
        ("5M", "such as 90s"),  # a million?
        ("1e3s", "such as 90s"),
        ("1h 30", "such as 90s"),
        ("٣s", "such as 90s"),
        ("1s" + " " * 200, "such as 90s"),
        ("9" * 5_000 + "s", "such as 90s"),
        ("0.5us", "round it"),
        ("900000 weeks", "hundred years"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_duration_is_refused_with_one_wording_and_the_error_of_each_layer(text, remedy):
    with pytest.raises(DurationError, match=remedy) as plain:
        microseconds(text, limited=True)
    with pytest.raises(ConfigError) as refused:
        in_yaml(text)
    assert (str(refused.value), refused.value.line) == (f"line 7: every: {plain.value}", 7)
    with pytest.raises(ConfigError) as refused:
        command.query(Console(quiet=True), "results", last=text)
    assert str(refused.value) == f"--last: {plain.value}"
    if remedy != "hundred years":  # a query may be that long
        with pytest.raises(QueryError) as refused:
            Query(2, 1, lateness=text)
        assert str(refused.value) == f"lateness: {plain.value}"


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (10, "10 has no unit, so it is not a duration; write 10s, 10m or 10h"),
        (2.5, "2.5 has no unit, so it is not a duration; write 2.5s, 2.5m or 2.5h"),
        (np.int64(3), "3 has no unit, so it is not a duration; write 3s, 3m or 3h"),
        (float("nan"), "nan is not a duration"),
        (True, "True is not a duration"),
        (None, "None is not a duration; write .*, or give a timedelta"),
        (np.timedelta64("NaT"), "NaT.* is not a duration"),
    ],
)
def test_what_is_no_duration_in_python_is_refused(given, remedy):
    with pytest.raises(QueryError, match=f"lateness: .*{remedy}"):
        Query(2, 1, lateness=given)


def test_a_number_without_a_unit_in_yaml_is_refused_at_its_line():
    node = parse("a: 1\nevery: 5\n").value["every"]
    with pytest.raises(ConfigError) as refused:
        duration(Field(node, "every", Problems(), {}))
    assert str(refused.value) == "line 2: every: '5' has no unit, so it is not a duration; write 5s, 5m or 5h"


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, "0s"),
        (1, "1us"),
        (1_500, "1500us"),
        (250_000, "250ms"),
        (90 * SECOND, "1m30s"),
        (300 * SECOND, "5m"),
        (3_600 * SECOND, "1h"),
        (5_400 * SECOND, "1h30m"),
        (30 * 86_400 * SECOND, "30d"),
        (14 * 86_400 * SECOND, "2w"),
        (-5 * SECOND, "-5s"),
    ],
)
def test_durations_are_printed_as_people_write_them(length, text):
    assert duration_text(length) == text


@given(LENGTHS)
def test_a_duration_that_is_printed_can_be_read_back(length):
    assert microseconds(duration_text(length)) == length


@given(
    number=st.integers(0, 10**6),
    unit=st.sampled_from(sorted(MICROSECONDS)),
    between=st.sampled_from(["", " ", "\t"]),
    plural=st.booleans(),
    change=st.sampled_from([str, str.upper, str.capitalize]),
)
def test_all_spellings_of_a_duration_agree(number, unit, between, plural, change):
    length = number * MICROSECONDS[unit]
    written = "m" if unit == "m" else change(unit + "s" * plural)  # ms are milliseconds, M is refused
    assert microseconds(f"{number}{between}{written}") == length
    assert microseconds(timedelta(microseconds=length)) == length
    assert microseconds(np.timedelta64(length, "us")) == length


@given(st.text(max_size=30) | st.text("0123456789. smhdwuμµ", max_size=12))
def test_any_text_is_a_duration_in_python_and_yaml_or_is_refused_in_both(text):
    try:
        length = microseconds(text, limited=True)
    except DurationError as error:
        assert str(error)
        with pytest.raises(ConfigError):
            in_yaml(text)
    else:
        assert 0 <= length <= CENTURY
        assert in_yaml(text) == length == Query(2, 1, lateness=text).lateness


@pytest.mark.parametrize("given", [np.timedelta64(1, "M"), np.timedelta64(2, "Y"), np.timedelta64(5)])
def test_a_timedelta64_without_a_fixed_length_is_refused(given):
    with pytest.raises(DurationError, match="no fixed length; give its days"):
        microseconds(given)


@given(number=st.integers(-(10**12), 10**12), unit=st.sampled_from(["W", "D", "h", "m", "s", "ms", "us", "ns", "ps"]))
def test_a_timedelta64_is_taken_exactly_or_refused(number, unit):
    lengths = {"W": 604_800_000_000, "D": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000}
    exact = (
        Fraction(number) * {**lengths, "ms": 1_000, "us": 1, "ns": Fraction(1, 10**3), "ps": Fraction(1, 10**6)}[unit]
    )
    length = np.timedelta64(number, unit)
    if exact.denominator == 1 and abs(exact) <= LONGEST:
        assert microseconds(length) == exact
    else:
        with pytest.raises(DurationError, match=r"whole number of microseconds|longer than 70,000 years"):
            microseconds(length)


@pytest.mark.parametrize("given", ["9999999999999d", "1000000000w", np.timedelta64(2**60, "ms")])
def test_what_does_not_fit_a_64_bit_time_is_refused(given):
    with pytest.raises(DurationError, match=r"longer than 70,000 years; write a shorter duration"):
        microseconds(given)
    with pytest.raises(QueryError, match=r"^size: .* is longer than 70,000 years"):
        Query(size=given, period=given)
