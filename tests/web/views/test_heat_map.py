"""The heat map: nothing that was high is hidden, and an outage looks like one."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from web.histories import MINUTE, NOON, Row, around, history, many_rows

from aomg.times import time_of, time_text
from aomg.web.parameters import BadRequest
from aomg.web.views.heat_map import HeatMapRequest, heat_map_answer
from aomg.web.views.key import KeyRequest, key_answer
from aomg.web.views.overview import Filter, KeysRequest, keys_answer


def minutes(ends):
    return [(time_of(end) - NOON) / MINUTE for end in ends]


@given(
    rows=many_rows(ends=40, keys=3),
    columns=st.integers(1, 45),
    most=st.integers(1, 5),
    since=st.none() | st.integers(1, 40),
    until=st.none() | st.integers(1, 40),
)
def test_a_cell_is_the_highest_value_of_its_time_and_bursts_are_marked(rows, columns, most, since, until):
    # two windows in a row let the period be known, and have all keys
    rows += [Row((key,), end, {"p99": around(end)}) for end in (41, 42) for key in (None, "0", "1", "2")]
    displayed = [row for row in rows if (since or 0) <= row.end <= (until or 99)]
    times = [None if index is None else NOON + index * MINUTE for index in (since, until)]
    requested = HeatMapRequest(rows=most, columns=columns, since=times[0], until=times[1])
    answer = heat_map_answer(history(rows), requested, None, "us", 3)
    json.dumps(answer, allow_nan=False)
    ends = minutes(answer["ends"])
    if not displayed:
        assert (ends, answer["keys"], answer["values"], answer["matching"]) == ([], [], [], 0)
        return
    newest = max(row.end for row in displayed)
    assert 0 < len(ends) <= columns
    assert ends == sorted(set(ends)) and ends[-1] == newest
    # every column but the last is equally long, and together they hold all windows
    begins = [end - answer["windows_per_column"] for end in ends[:-1]]
    begins.append(ends[-2] if len(ends) > 1 else min(row.end for row in displayed) - 1)
    assert begins[1:] == ends[:-1] and begins[0] < min(row.end for row in displayed)
    assert newest - begins[-1] <= answer["windows_per_column"]
    order = keys_answer(history(displayed), KeysRequest("p99"), None, 1)
    assert answer["keys"] == [row["key"] for row in order["rows"]][:most]
    assert answer["matching"] == order["matching"]
    for index, key in enumerate(answer["keys"]):
        for column, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            here = [row for row in displayed if row.key[0] == key["podset"] and begin < row.end <= end]
            known = [row.value("p99") for row in here if row.value("p99") is not None]
            assert answer["values"][index][column] == max(known, default=None)
            assert ([index, column] in answer["bursts"]) == any(row.burst for row in here)


def test_where_all_windows_have_room_each_has_a_column_and_an_outage_has_empty_ones():
    ends = [1, 2, 3, 8, 9, 10]
    rows = [Row(("6",), end, {"p99": around(end)}) for end in ends]
    answer = heat_map_answer(history(rows), HeatMapRequest(columns=10), None, None, 1)
    assert minutes(answer["ends"]) == list(range(1, 11))
    assert answer["values"] == [[1, 2, 3, None, None, None, None, 8, 9, 10]]
    assert answer["windows_per_column"] == 1


def test_one_odd_window_does_not_make_gaps_of_all_others():
    rows = [Row(("6",), 2 * end, {"p99": around(1)}) for end in range(40)] + [Row(("6",), 79, {"p99": around(2)})]
    answer = heat_map_answer(history(rows), HeatMapRequest(columns=100), None, None, 1)
    assert len(answer["ends"]) <= 41
    assert answer["values"][0].count(None) <= 1 and 2 in answer["values"][0]


def test_columns_keep_their_windows_while_time_goes_on():
    values = [(index * 7919) % 1000 for index in range(140)]
    displayed = []
    for newest in range(100, 140):
        rows = [Row(("6",), end, {"p99": around(values[end])}) for end in range(newest - 99, newest + 1)]
        answer = heat_map_answer(history(rows), HeatMapRequest(columns=20), None, None, 1)
        displayed.append(dict(zip(answer["ends"], answer["values"][0], strict=True)))
    for before, after in pairwise(displayed):
        # the first column loses windows, and the last one gains some
        inner = list(before)[1:-1]
        assert all(after[end] == before[end] for end in inner if end in list(after)[1:])
        assert len(set(inner) & set(after)) >= len(inner) - 1


def test_rows_are_the_keys_that_match_in_the_order_of_the_overview():
    rows = [Row((str(index),), 1, {"p99": around(index % 7), "p50": around(index)}, count=index) for index in range(30)]
    built, wanted = history(rows), Filter(search="1")
    for sort, order, rank in (("count", "asc", "window"), ("p50", "desc", "span"), (None, "desc", "window")):
        requested = HeatMapRequest("p99", 5, filter=wanted, sort=sort, order=order, rank=rank)
        answer = heat_map_answer(built, requested, None, None, 1)
        same = keys_answer(built, KeysRequest(sort, order, wanted, limit=5, rank=rank), None, 1)
        assert answer["keys"] == [row["key"] for row in same["rows"]]
        assert answer["matching"] == same["matching"] == 12
        assert answer["quantile"] == "p99"


def test_bursts_that_at_least_half_of_the_keys_have_at_once_are_shared():
    bursting = {1: "01", 2: "012", 3: "0123", 4: ""}  # of six keys
    rows = [
        Row((str(key),), end, {"p99": around(5)}, burst=str(key) in bursts)
        for end, bursts in bursting.items()
        for key in range(6)
    ]
    built = history(rows)
    answer = heat_map_answer(built, HeatMapRequest(rows=2), None, None, 1)  # whichever keys are displayed
    assert answer["shared_bursts"] == [1, 2]
    key = key_answer(built, KeyRequest({"podset": "0"}))
    assert (key["bursts"], key["shared_bursts"]) == ([True, True, True, False], [False, True, True, False])
    window = keys_answer(built, KeysRequest(time=NOON + 3 * MINUTE), None, 1)
    assert (window["bursts"], window["shares_burst"]) == (4, True)
    few = [replace(row, burst=True) for row in rows if row.key[0] in "012"]  # three keys may be a coincidence
    assert heat_map_answer(history(few), HeatMapRequest(), None, None, 1)["shared_bursts"] == []


def test_a_single_window_is_a_single_column():
    answer = heat_map_answer(history([Row(("6",), 3, {"p99": around(5)})]), HeatMapRequest(), None, "us", 9)
    assert answer == {
        "version": 9,
        "query": "inbound",
        "quantile": "p99",
        "unit": "us",
        "ends": [time_text(NOON + 3 * MINUTE)],
        "keys": [{"podset": "6"}],
        "values": [[5.0]],
        "bursts": [],
        "shared_bursts": [],
        "windows_per_column": 1,
        "matching": 1,
    }


def test_an_unknown_quantile_is_refused_with_what_there_is():
    with pytest.raises(BadRequest, match="there are p99"):
        heat_map_answer(history([Row(("6",), 3, {"p99": around(5)})]), HeatMapRequest("p75"), None, None, 1)


def test_silent_keys_have_a_row_up_to_where_they_fell_silent():
    rows = [Row(("1",), end, {"p99": around(1)}) for end in (1, 2, 3)] + [Row(("2",), 1, {"p99": around(2)})]
    answer = heat_map_answer(history(rows), HeatMapRequest(filter=Filter(silent=True)), None, "us", 1)
    assert (answer["keys"], answer["values"], answer["matching"]) == ([{"podset": "2"}], [[2.0, None, None]], 1)
