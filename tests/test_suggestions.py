"""A misspelt name is met with the one that was meant."""

from hypothesis import given
from hypothesis import strategies as st

from aomg.suggestions import did_you_mean, nearest, there_are

KNOWN = ["p50", "p99", "p99_9", "below_250", "Count"]


def test_case_is_ignored_and_the_name_keeps_its_own():
    assert nearest("COUNT", KNOWN) == "Count"
    assert did_you_mean("cuont", KNOWN) == "; did you mean Count?"


def test_nothing_is_suggested_for_a_name_unlike_any_other():
    assert nearest("zzz", KNOWN) is None
    assert did_you_mean("zzz", KNOWN) == did_you_mean("p50", []) == ""
    assert there_are("zzz", KNOWN) == f"there are {', '.join(KNOWN)}"
    assert there_are("zzz", []) == "there are none"


@given(st.text(max_size=20), st.lists(st.text(max_size=8), max_size=6))
def test_only_known_names_are_suggested(name, known):
    assert nearest(name, known) in (None, *known)


def test_a_very_long_name_takes_no_time():
    """Of quadratic time: a million characters would take hours."""
    assert nearest("p99" * 400_000, KNOWN) is None
