"""One key over time: intervals stay intervals, no peak is lost, and lines break where nothing was measured."""

import json
import math
from itertools import pairwise

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from web.histories import MINUTE, NOON, Row, around, history

from aomg.times import time_of
from aomg.web.parameters import NotFound
from aomg.web.views.key import KeyRequest, key_answer

numbers = st.floats(-1000, 1000, width=32)
intervals = st.builds(
    lambda value, below, above: (value, value - below, value + above), numbers, st.floats(0, 50), st.floats(0, 50)
)
missing = st.just((math.nan, math.nan, math.nan))


@st.composite
def series(draw):
    ends = draw(st.lists(st.integers(3, 80), unique=True, min_size=draw(st.sampled_from([0, 5, 40]))))
    # few draws for each row, or there would be few rows
    response = st.sampled_from(draw(st.lists(intervals | missing, min_size=4, max_size=12)))
    return [
        Row(
            ("6",),
            end,
            {"p50": draw(response), "p99": draw(response)},
            count=end,
            burst=draw(st.sampled_from([False] * 9 + [True])),
        )
        for end in sorted(ends)
    ]


def minutes(answer):
    return [(time_of(end) - NOON) // MINUTE for end in answer["ends"]]


@given(
    rows=series(),
    points=st.none() | st.integers(2, 60),
    since=st.none() | st.integers(1, 80),
    until=st.none() | st.integers(1, 80),
)
def test_points_are_whole_windows_intervals_hold_and_no_peak_is_lost(rows, points, since, until):
    # another key lets the period be known
    built = history(
        [*rows, *(Row(("7",), end, {"p99": around(1), "p50": around(1)}) for end in (1, 2)), Row(("6",), 2)]
    )
    rows = [Row(("6",), 2), *rows]
    times = [None if index is None else NOON + index * MINUTE for index in (since, until)]
    answer = key_answer(built, KeyRequest({"podset": "6"}, *times, points))
    json.dumps(answer, allow_nan=False)
    displayed = {row.end: row for row in rows if (since or 0) <= row.end <= (until or 99)}
    ends, (p50, p99) = minutes(answer), answer["estimates"]
    assert ends == sorted(set(ends)) and (points is None or len(ends) <= points)
    lengths = {len(answer["counts"]), len(answer["bursts"])}
    lengths |= {len(one[part]) for one in (p50, p99) for part in ("values", "low", "high", "methods")}
    assert lengths == {len(ends)}

    for index, end in enumerate(ends):
        row, response = (
            displayed.get(end),
            [(one["values"][index], one["low"][index], one["high"][index]) for one in (p50, p99)],
        )
        if answer["counts"][index] is None:
            assert row is None and response == [(None, None, None)] * 2 and not answer["bursts"][index]
            continue
        assert answer["counts"][index] == row.count
        for name, (value, low, high) in zip(("p50", "p99"), response, strict=True):
            exact = row.estimates.get(name, (math.nan,) * 3)
            if math.isnan(exact[0]):
                assert value is None
                continue
            assert low <= value <= high
            assert low <= exact[1] and exact[2] <= high
            assert (value, low, high) == pytest.approx(exact, rel=1e-6, abs=1e-6)
    known = [value for value in p99["values"] if value is not None]
    peak = max((row.value("p99") for row in displayed.values() if row.value("p99") is not None), default=None)
    assert (max(known, default=None) is None) if peak is None else max(known) == pytest.approx(peak, rel=1e-6)
    assert any(answer["bursts"]) == any(row.burst for row in displayed.values())
    if answer["windows_per_point"] == 1:
        assert [end for end, count in zip(ends, answer["counts"], strict=True) if count is not None] == list(displayed)


@given(
    silent=st.lists(st.tuples(st.integers(2, 60), st.integers(1, 15)), max_size=4),
    points=st.none() | st.integers(2, 40),
)
@example(silent=[(20, 10), (40, 1)], points=12)
def test_lines_break_exactly_where_there_is_nothing(silent, points):
    present = {end for end in range(2, 60) if not any(begin <= end < begin + long for begin, long in silent)}
    assume(present)
    built = history([Row(("6",), end, {"p99": around(end)}) for end in present] + [Row(("7",), end) for end in (0, 1)])
    answer = key_answer(built, KeyRequest({"podset": "6"}, points=points))
    each, stored, broken = answer["windows_per_point"], [], []
    for end, value in zip(minutes(answer), answer["estimates"][0]["values"], strict=True):
        (stored if value is not None else broken).append(end)
    # values rise with time, so that each point is the last window of its group
    step = NOON // MINUTE
    groups = sorted({-(-(end + step) // each) for end in present})
    assert stored == [max(end for end in present if -(-(end + step) // each) == group) for group in groups]
    gaps = [before for before, after in pairwise(groups) if after > before + 1]
    assert len(broken) == len(gaps)
    for end, group in zip(broken, gaps, strict=True):
        assert (
            max(one for one in stored if -(-(one + step) // each) == group)
            < end
            < min(one for one in stored if one > end)
        )


def test_few_windows_are_all_shown_though_they_are_far_apart():
    rows = [Row(("6",), end, {"p99": around(1)}) for end in (*range(100), *range(500_000, 500_100))]
    answer = key_answer(history(rows), KeyRequest({"podset": "6"}, points=201))
    assert answer["windows_per_point"] == 1 and len(answer["ends"]) == 201
    assert answer["estimates"][0]["values"].count(None) == 1
    answer = key_answer(history(rows), KeyRequest({"podset": "6"}, points=110))
    assert 60 <= len(answer["ends"]) <= 110 and answer["windows_per_point"] == 2


def test_what_is_told_of_a_key_has_names_methods_limits_and_alerts():
    rows = [Row(("6",), end, {"p99_9": (5.0, 4.0, 6.0), "below_0_5": (0.0, 0.0, 0.5)}, count=7) for end in (1, 2)]
    limits, alerts = [{"estimate": "p99_9", "value": 4.0, "operator": ">", "rule": "Slow"}], [{"rule": "Slow"}]
    answer = key_answer(history(rows), KeyRequest({"podset": "6"}), "us", limits, alerts, 4)
    assert answer == {
        "version": 4,
        "query": "inbound",
        "key": {"podset": "6"},
        "unit": "us",
        "first_end": "2026-11-16T12:01:00Z",
        "newest_end": "2026-11-16T12:02:00Z",
        "silent": False,
        "ends": ["2026-11-16T12:01:00Z", "2026-11-16T12:02:00Z"],
        "starts_seconds": 300.0,
        "counts": [7, 7],
        "bursts": [False, False],
        "shared_bursts": [False, False],
        "estimates": [
            {
                "name": "p99_9",
                "title": "p99.9",
                "values": [5, 5],
                "low": [4, 4],
                "high": [6, 6],
                "methods": ["band"] * 2,
            },
            {
                "name": "below_0_5",
                "title": "below 0.5",
                "values": [0, 0],
                "low": [0, 0],
                "high": [0.5, 0.5],
                "methods": ["certified"] * 2,
            },
        ],
        "limits": limits,
        "alerts": alerts,
        "windows_per_point": 1,
    }


def test_a_key_that_is_not_there_is_said_so_with_what_to_give():
    built = history([Row(("6", "7"), 1)], names=("src", "dst"))
    with pytest.raises(NotFound, match="no such key"):
        key_answer(built, KeyRequest({"src": "6", "dst": "8"}))
    with pytest.raises(NotFound, match=r"give key\.src=\.\.\. and key\.dst=\.\.\."):
        key_answer(built, KeyRequest({"podset": "6"}))


def test_a_key_without_windows_in_the_time_asked_has_no_points():
    built = history([Row(("6",), 1, {"p99": around(1)}), Row(("6",), 2, {"p99": around(1)})])
    answer = key_answer(built, KeyRequest({"podset": "6"}, since=NOON + 10 * MINUTE))
    assert answer["ends"] == answer["counts"] == answer["estimates"][0]["values"] == []


@settings(max_examples=40)
@given(ends=st.sets(st.integers(1, 9), min_size=1), since=st.none() | st.integers(0, 12))
def test_a_key_tells_its_own_first_and_newest_window_whatever_time_is_asked(ends, since):
    built = history([*(Row(("6",), end) for end in ends), *(Row(("7",), end) for end in (3, 5))])
    answer = key_answer(built, KeyRequest({"podset": "6"}, since=None if since is None else NOON + since * MINUTE))
    own = [(time_of(answer[name]) - NOON) // MINUTE for name in ("first_end", "newest_end")]
    assert own == [min(ends), max(ends)]
    assert answer["silent"] == (max(ends) < 5)
