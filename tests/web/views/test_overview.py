"""The overview: every key that matches is a row, once, in the order that was asked."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from web.histories import MINUTE, NOON, Row, around, history, many_rows, natural

from aomg.times import time_text
from aomg.web.parameters import BadRequest
from aomg.web.views.overview import Filter, KeysRequest, keys_answer, marks_by_key

SORTS = ("p50", "p99", "p99_9", "count", "width", "key", "alert")
states = st.lists(st.sampled_from(["firing", "pending"]), max_size=3)
filters = st.builds(
    Filter,
    search=st.sampled_from(["", "", "", "1", "x"]),
    where=st.sampled_from([{}, {}, {}, {}, {"podset": "1"}, {"podset": "1", "nothing": "1"}]),
    alert=st.sampled_from(["any", "any", "any", "alerting", "firing", "pending", "none"]),
    burst=st.sampled_from([None, None, None, True, False]),
)


def marked(alerts):
    """Alerts of keys as an alert log gives them: with a label of the rule's own."""
    return {
        (("podset", key), ("severity", "page")): [(f"rule{index}", state) for index, state in enumerate(response)]
        for key, response in alerts.items()
        if response
    }


def level(response):
    return 2 if "firing" in response else 1 if response else 0


def fits(row, wanted, response):
    levels = {"any": {0, 1, 2}, "alerting": {1, 2}, "firing": {2}, "pending": {1}, "none": {0}}
    label = row.key[0]
    return (
        wanted.search in (label or "")
        and all(name == "podset" and label == value for name, value in wanted.where.items())
        and level(response) in levels[wanted.alert]
        and wanted.burst in (None, row.burst)
    )


def compared(row, sort, response):
    if sort in ("count", "key", "alert"):
        return {"count": row.count, "key": natural(row)[0], "alert": level(response)}[sort]
    return row.width("p99") if sort == "width" else row.value(sort)


@given(
    rows=many_rows(ends=3),
    alerts=st.dictionaries(st.none() | st.integers(0, 12).map(str), states),
    wanted=filters,
    sort=st.sampled_from(SORTS),
    order=st.sampled_from(["asc", "desc"]),
    limit=st.integers(1, 5),
    index=st.none() | st.integers(0, 4),
)
def test_pages_together_are_all_keys_that_match_in_order_and_none_of_them_twice(
    rows, alerts, wanted, sort, order, limit, index
):
    ends = [row.end for row in rows if index is None or row.end <= index]
    present = [row for row in rows if ends and row.end == max(ends)]
    response = {row.key[0]: alerts.get(row.key[0], []) for row in present}
    match = [row for row in present if fits(row, wanted, response[row.key[0]])]
    values = {row.key: compared(row, sort, response[row.key[0]]) for row in match}
    known = sorted((row for row in match if values[row.key] is not None), key=natural)
    known.sort(key=lambda row: values[row.key] * (1 if order == "asc" else -1))
    unknown = sorted((row for row in match if values[row.key] is None), key=natural)

    built, result = history(rows), []
    for offset in range(0, len(match) + limit, limit):
        time = None if index is None else NOON + index * MINUTE
        requested = KeysRequest(sort, order, wanted, time, offset, limit, spark=2)
        answer = keys_answer(built, requested, marked(alerts), 7)
        json.dumps(answer, allow_nan=False)
        assert (answer["total"], answer["matching"], answer["offset"]) == (len(present), len(match), offset)
        assert answer["at"] == (time_text(present[0].time) if present else None)
        assert len(answer["rows"]) <= limit
        result += answer["rows"]
    assert [row["key"]["podset"] for row in result] == [row.key[0] for row in known + unknown]
    for row, displayed in zip(known + unknown, result, strict=True):
        assert (displayed["count"], displayed["burst"]) == (row.count, row.burst)
        state = {0: None, 1: "pending", 2: "firing"}[level(response[row.key[0]])]
        assert (displayed["alert"] or {}).get("state") == state
        for name, parts in row.estimates.items():
            finite = [part if math.isfinite(part) else None for part in parts]
            assert [displayed["estimates"][name][part] for part in ("value", "low", "high")] == finite


@given(
    rows=many_rows(ends=12, keys=3),
    periods=st.integers(1, 15),
    index=st.none() | st.integers(1, 12),
)
def test_a_sparkline_has_a_place_for_every_period_and_is_empty_where_a_key_was_silent(rows, periods, index):
    # windows of every minute but the ones that are missing; the first two make the period known
    rows = [row for row in rows if row.end > 2] + [Row(("99",), end, {"p99": around(1)}) for end in (1, 2)]
    built = history(rows)
    answer = keys_answer(
        built, KeysRequest(time=None if index is None else NOON + index * MINUTE, spark=periods), None, 1
    )
    last = max(row.end for row in rows if index is None or row.end <= index)
    ends = [end for end in range(last - periods + 1, last + 1) if end >= min(row.end for row in rows)]
    first = min(row.end for row in rows if row.end >= ends[0])
    ends = [end for end in ends if end >= first]
    values = {(row.key[0], row.end): row.value("p99") for row in rows}
    assert answer["rows"]
    for row in answer["rows"]:
        assert row["spark"] == [values.get((row["key"]["podset"], end)) for end in ends]
    times = [time_text(NOON + end * MINUTE) for end in (ends[0], ends[-1])]
    finite = [value for row in answer["rows"] for value in row["spark"] if value is not None]
    bounds = {"low": min(finite, default=None), "high": max(finite, default=None)}  # of all keys: one scale for all
    assert answer["spark"] == {"estimate": "p99", "first": times[0], "last": times[1], "windows": len(ends)} | bounds
    for row in answer["rows"]:
        known = {end: value for end, value in zip(ends, row["spark"], strict=True) if value is not None}
        highest = max(known.values(), default=None)
        newest = max((end for end, value in known.items() if value == highest), default=None)
        assert (row["worst"] is None) == (highest is None)
        if row["worst"] is not None:
            assert (row["worst"]["value"], row["worst"]["end"]) == (highest, time_text(NOON + newest * MINUTE))
    request = KeysRequest(time=None if index is None else NOON + index * MINUTE, spark=periods, rank="span")
    worst = [row["worst"] and row["worst"]["value"] for row in keys_answer(built, request, None, 1)["rows"]]
    known = [value for value in worst if value is not None]
    assert known == sorted(known, reverse=True) and worst == known + [None] * (len(worst) - len(known))
    assert sorted(known) == sorted(row["worst"]["value"] for row in answer["rows"] if row["worst"] is not None)


@settings(max_examples=50)
@given(
    rows=many_rows(ends=6, keys=5),
    wanted=filters,
    sort=st.sampled_from(SORTS),
    index=st.none() | st.integers(0, 7),
)
def test_silent_keys_are_those_of_earlier_windows_that_the_shown_one_lacks_with_their_newest_row(
    rows, wanted, sort, index
):
    built, before = history(rows), [row for row in rows if index is None or row.end <= index]
    newest = max((row.end for row in before), default=0)
    last = {row.key: max(one.end for one in before if one.key == row.key) for row in before}
    silent = [row for row in before if row.end == last[row.key] < newest]
    match = {row.key[0] for row in silent if fits(row, wanted, [])}

    time = None if index is None else NOON + index * MINUTE
    usual = keys_answer(built, KeysRequest(sort, filter=wanted, time=time), None, 1)
    answer = keys_answer(built, KeysRequest(sort, filter=replace(wanted, silent=True), time=time), None, 1)
    assert usual["silent"] == answer["silent"] == answer["total"] == len(silent)
    assert (answer["matching"], answer["at"]) == (len(match), usual["at"])
    assert {row["end"] for row in usual["rows"]} <= {usual["at"]}
    result = {row["key"]["podset"]: row for row in answer["rows"]}
    assert set(result) == match and len(answer["rows"]) == len(match)
    for row in silent:
        if row.key[0] in match:
            response = result[row.key[0]]
            assert (response["end"], response["count"], response["burst"]) == (
                time_text(row.time),
                row.count,
                row.burst,
            )
            assert response["estimates"]["p50"]["value"] == row.value("p50")
            assert response["spark"][-1] is None  # nothing came up to the window that is shown
    values = [compared(row, sort, []) for key in result for row in silent if row.key[0] == key]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=True)


@pytest.mark.parametrize("sort", ["p99", "width"])
def test_keys_without_a_number_come_last_whichever_way_is_sorted(sort):
    response = [around(2, 1), around(math.nan), around(1, 3), around(math.inf), around(2, 1), around(0, 1)]
    built = history(Row((str(index),), 1, {"p99": response[index]}) for index in range(5 if sort == "p99" else 6))
    last = ["1", "3"] if sort == "p99" else ["1", "3", "5"]
    displayed = {
        order: [row["key"]["podset"] for row in keys_answer(built, KeysRequest(sort, order), None, 1)["rows"]]
        for order in ("asc", "desc")
    }
    one, two = (["2", "0", "4"], ["0", "4", "2"]) if sort == "p99" else (["0", "4", "2"], ["2", "0", "4"])
    assert displayed == {"asc": one + last, "desc": two + last}


def test_the_window_shown_is_the_newest_that_ended_by_the_time_asked():
    built = history([Row(("1",), 2, count=2), Row(("1",), 4, count=4)])
    displayed = {
        index: [row["count"] for row in keys_answer(built, KeysRequest(time=NOON + index), None, 1)["rows"]]
        for index in (2 * MINUTE - 1, 2 * MINUTE, 4 * MINUTE - 1, 4 * MINUTE, 9 * MINUTE)
    }
    assert list(displayed.values()) == [[], [2], [2], [4], [4]]


def test_the_interval_still_holds_after_rounding_and_numbers_are_short():
    built = history([Row(("1",), 1, {"p99": (0.421, 0.4205, 0.4215), "p50": (4.2, 4.2, 4.2)})])
    (row,) = keys_answer(built, KeysRequest(), None, 1)["rows"]
    p99, p50 = row["estimates"]["p99"], row["estimates"]["p50"]
    assert p99["value"] == 0.421 and p99["low"] <= 0.4205 < 0.421 < 0.4215 <= p99["high"]
    assert p50["value"] == 4.2 and p50["low"] <= 4.2 <= p50["high"]
    assert max(len(str(part)) for part in (*p99.values(), *p50.values())) <= 9
    assert row["width"] == pytest.approx(0.001 / 0.421, rel=1e-3)


def test_unless_asked_the_worst_p99_comes_first_or_the_highest_quantile_where_there_is_no_p99():
    rows = [
        Row((str(index),), 1, {"p50": around(-index), "p99": around(index), "p99_9": around(5)}) for index in range(3)
    ]
    answer = keys_answer(history(rows), KeysRequest(), None, 1)
    assert (answer["sort"], [row["key"]["podset"] for row in answer["rows"]]) == ("p99", ["2", "1", "0"])
    rows = [Row(("1",), 1, {"p99_9": around(1), "p5": around(2), "below_5": around(3)})]
    assert keys_answer(history(rows), KeysRequest(), None, 1)["sort"] == "p99_9"
    assert keys_answer(history(rows), KeysRequest(sort="p99.9"), None, 1)["sort"] == "p99_9"
    assert keys_answer(history(rows), KeysRequest(sort="below_5"), None, 1)["spark"]["estimate"] == "below_5"


def test_an_unknown_sort_is_refused_with_what_there_is():
    built = history([Row(("1",), 1, {"p99": around(1)})])
    with pytest.raises(BadRequest, match=r"no 'p98'.*did you mean p99\? there are p99, count, width, key, alert"):
        keys_answer(built, KeysRequest(sort="p98"), None, 1)


@given(
    keys=st.lists(
        st.tuples(st.sampled_from(["1", "2", "", None]), st.sampled_from(["1", "2", None])), unique=True, min_size=1
    ),
    alerts=st.dictionaries(
        st.dictionaries(st.sampled_from(["src", "dst", "severity"]), st.sampled_from(["1", "2", "", None])).map(
            lambda labels: tuple(sorted(labels.items()))
        ),
        states.map(lambda response: [("Rule", state) for state in response]),
    ),
)
@example(keys=[("1", "2")], alerts={(("src", "1"),): [("Rule", "firing")]})
def test_a_key_is_marked_by_the_alerts_that_have_all_its_labels(keys, alerts):
    # an empty text and no value are one to whoever asks by address, so that a key with an empty one has no rival here
    keys = [key for key in keys if key[0] is not None or ("", key[1]) not in keys]
    built = history([Row(key, 1) for key in keys], names=("src", "dst"))
    result = marks_by_key(alerts, built.keys)
    for number in range(len(built.keys)):
        labels = built.keys.labels(number)
        exact = [
            state
            for response, states in alerts.items()
            for _, state in states
            if all(name in dict(response) and dict(response)[name] == value for name, value in labels.items())
        ]
        near = [
            state
            for response, states in alerts.items()
            for _, state in states
            if all(
                name in dict(response) and (dict(response)[name] or None) == (value or None)
                for name, value in labels.items()
            )
        ]
        marks = [state for _, state in result.get(number, [])]
        assert set(exact) <= set(marks) <= set(near) and len(exact) <= len(marks) <= len(near)
        assert marks == sorted(marks)  # those that fire first


def test_a_query_without_labels_has_one_key_and_every_alert_of_it_marks_that():
    built = history([Row((), 1)], names=())
    answer = keys_answer(built, KeysRequest(), {(("severity", "page"),): [("Slow", "firing"), ("Busy", "pending")]}, 1)
    assert [(row["key"], row["alert"]) for row in answer["rows"]] == [
        ({}, {"state": "firing", "rule": "Slow", "more": 1})
    ]
