"""CSV: a reader gets back what was shown, and no spreadsheet computes what an event said."""

import csv
import io

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from web.histories import MINUTE, NOON, Row, around, history, many_rows

from aomg.web.parameters import BadRequest
from aomg.web.views.csv import alerts_csv, cell, csv_lines, health_csv, heat_map_csv, histogram_csv, key_csv, keys_csv
from aomg.web.views.heat_map import HeatMapRequest, heat_map_answer
from aomg.web.views.key import KeyRequest, key_answer
from aomg.web.views.overview import Filter, KeysRequest, keys_answer

WIDE = "\uff1d\uff0b\uff0d\uff20"  # = + - @ as some keyboards write them
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text(
    "=+-@\t\r\n\x00 ,;\"'1.eE" + WIDE, max_size=8
)


def read(pieces):
    """Header and lines, as a reader that knows RFC 4180 gets them."""
    lines = list(csv.reader(io.StringIO("".join(pieces), newline=""), strict=True))
    assert {len(line) for line in lines} == {len(lines[0])}
    return lines


@given(st.lists(st.lists(texts, min_size=3, max_size=3)))
def test_what_is_written_is_read_again_and_lines_end_as_the_standard_says(rows):
    written = "".join(csv_lines(["a", "b,c", 'd"'], rows))
    assert read([written]) == [["a", "b,c", 'd"'], *([cell(text) for text in row] for row in rows)]
    assert written.endswith("\r\n")


@given(texts)
@example("=cmd|' /C calc'!A0")
@example(" =1+1")
@example("\t=1+1")
@example("-2+3")
@example("+1e5")
@example("-7")
@example(WIDE)
def test_no_text_can_be_a_formula_and_numbers_stay_numbers(text):
    response = cell(text)
    assert response in (text, "'" + text)
    if response.lstrip().startswith(tuple("=+-@" + WIDE)) or response[:1] in ("\t", "\r", "\n", "\x00"):
        float(response)
        assert response[:1] in "+-"
    if text[:1].isalnum():
        assert response == text


def test_numbers_are_written_as_they_are_and_nothing_for_what_is_missing():
    assert [cell(text) for text in ("-7", "+1e5", "-0.25", "-7-", "+", "1-")] == [
        "-7",
        "+1e5",
        "-0.25",
        "'-7-",
        "'+",
        "1-",
    ]
    assert [cell(one) for one in (-1.5, 10, 1e300, True, False, None, "")] == [
        *("-1.5", "10", "1e+300"),
        *("true", "false", "", ""),
    ]


@given(rows=many_rows(), sort=st.sampled_from(["p99", "count", "key"]), search=st.sampled_from(["", "1"]))
def test_the_table_of_keys_has_all_that_match_in_the_order_of_the_overview(rows, sort, search):
    built, wanted = history(rows), Filter(search=search)
    marks = {(("podset", "1"), ("severity", "page")): [("Slow", "firing"), ("Busy", "pending")]}
    header, *lines = read(keys_csv(built, KeysRequest(sort, filter=wanted, offset=3, limit=1), marks))
    displayed = keys_answer(built, KeysRequest(sort, filter=wanted, limit=500), marks, 1)["rows"]
    assert len(lines) == len(displayed)
    for line, row in zip(lines, displayed, strict=True):
        response = dict(zip(header, line, strict=True))
        assert response["podset"] == (row["key"]["podset"] or "")
        assert (response["count"], response["burst"]) == (str(row["count"]), str(row["burst"]).lower())
        assert (response["start"], response["end"]) == ("2026-11-16T11:56:00Z", "2026-11-16T12:01:00Z")
        assert response["alert_state"] == ("firing" if row["key"]["podset"] == "1" else "")
        assert response["alerts"] == ("2" if row["key"]["podset"] == "1" else "0")
        for name, estimate in row["estimates"].items():
            for part, column in (("value", name), ("low", f"{name}_low"), ("high", f"{name}_high")):
                assert response[column] == ("" if estimate[part] is None else repr(estimate[part]))
            assert response[f"{name}_method"] == estimate["method"]


def test_ten_thousand_keys_come_in_pieces_and_none_is_lost():
    built = history(Row((str(index),), 1, {"p99": around(index)}) for index in range(10_000))
    pieces = list(keys_csv(built, KeysRequest(), None))
    assert len(pieces) > 10 and max(map(len, pieces)) < 200_000
    assert [line[0] for line in read(pieces)[1:]] == [str(index) for index in reversed(range(10_000))]


def test_what_is_wrong_is_said_before_anything_is_sent():
    with pytest.raises(BadRequest):
        keys_csv(history([Row(("1",), 1, {"p99": around(1)})]), KeysRequest("p1"), None)


def test_labels_that_are_called_like_a_column_can_be_told_apart_and_formulas_in_names_are_guarded():
    built = history([Row(("1", "=2"), 1, {"p99": around(1)})], names=("count", "=x"))
    header, line = read(keys_csv(built, KeysRequest(), None))
    assert header[:2] == ["key.count", "'=x"] and line[:2] == ["1", "'=2"]
    assert len(set(header)) == len(header)


def test_no_value_is_outside_of_its_interval():
    """The nearest number of seven digits is 123456.8."""
    built = history([Row(("6",), 1, {"p99": (123456.79, 123456.6, 123456.795)})])
    for written in (keys_csv(built, KeysRequest(), None), key_csv(key_answer(built, KeyRequest({"podset": "6"})))):
        response = dict(zip(*read(written), strict=True))
        assert (response["p99"], response["p99_low"], response["p99_high"]) == ("123456.7", "123456.5", "123456.8")


def test_a_key_over_time_has_a_line_for_each_window_and_none_for_gaps():
    rows = [Row(("-6x",), end, {"p99": (1.5, 1.0, 2.0)}, count=end, burst=end == 2) for end in (1, 2, 5)]
    requested = KeyRequest({"podset": "-6x"}, until=NOON + 9 * MINUTE)
    assert read(key_csv(key_answer(history(rows), requested))) == [
        ["podset", "end", "count", "burst", "p99", "p99_low", "p99_high", "p99_method"],
        ["'-6x", "2026-11-16T12:01:00Z", "1", "false", "1.5", "1.0", "2.0", "band"],
        ["'-6x", "2026-11-16T12:02:00Z", "2", "true", "1.5", "1.0", "2.0", "band"],
        ["'-6x", "2026-11-16T12:05:00Z", "5", "false", "1.5", "1.0", "2.0", "band"],
    ]


def test_silent_keys_have_the_times_of_their_own_newest_windows():
    built = history([Row(("1",), 3), Row(("2",), 1, count=7), Row(("2",), 2, count=8), Row(("4",), 1, count=9)])
    header, *lines = read(keys_csv(built, KeysRequest("key", "asc", Filter(silent=True)), None))
    response = [dict(zip(header, line, strict=True)) for line in lines]
    assert [[one[name] for name in ("podset", "start", "end", "count")] for one in response] == [
        ["2", "2026-11-16T11:57:00Z", "2026-11-16T12:02:00Z", "8"],
        ["4", "2026-11-16T11:56:00Z", "2026-11-16T12:01:00Z", "9"],
    ]


@settings(max_examples=40)
@given(rows=many_rows(ends=4, keys=4), silent=st.booleans())
def test_a_heat_map_has_a_line_for_each_cell_with_a_value(rows, silent):
    answer = heat_map_answer(history(rows), HeatMapRequest(filter=Filter(silent=silent)), None, "us", 1)
    header, *lines = read(heat_map_csv(answer, ["podset"]))
    assert header == ["podset", "end", "p99", "burst"]
    displayed = {(key["podset"], end) for key in answer["keys"] for end in answer["ends"]}
    named = {(row.key[0], f"2026-11-16T12:0{row.end}:00Z"): row for row in rows}
    assert {(key or None, end) for key, end, _, _ in lines} == {
        place for place in displayed if place in named and named[place].value("p99") is not None
    }
    for key, end, value, burst in lines:
        row = named[key or None, end]
        assert float(value) == row.value("p99") and burst == str(row.burst).lower()


def test_a_histogram_has_a_line_for_each_bucket():
    buckets = [{"low": 0.0, "high": 1.5, "count": 2}, {"low": 1.5, "high": 2.0, "count": 1}]
    answer = {"key": {"podset": "=6", "count": None}, "start": "s", "end": "e", "buckets": buckets}
    assert read(histogram_csv(answer)) == [
        ["podset", "key.count", "start", "end", "low", "high", "count"],
        ["'=6", "", "s", "e", "0.0", "1.5", "2"],
        ["'=6", "", "s", "e", "1.5", "2.0", "1"],
    ]


def test_alerts_have_a_column_for_every_label_and_every_bound():
    one = {
        "id": "ab",
        "rule": "Slow",
        "group": "network",
        "state": "firing",
        "labels": {"podset": "6", "severity": "page"},
        "annotations": {"summary": "=HYPERLINK(1)"},
        "certainty": "certain",
        "quantities": {"inbound.p99": [4100.0, 4200.0, None]},
        "units": {"inbound.p99": "us"},
        "count": 10,
        "end": "2026-11-16T12:01:00Z",
        "fleet": None,
        "reason": "p99 4.2 ms",
    }
    other = {
        "rule": "Fleet",
        "state": "resolved",
        "labels": {"rack": "@7"},
        "fleet": {"violating": 3, "members": ["a"]},
    }
    header, *lines = read(alerts_csv([one, other]))
    first, second = (dict(zip(header, line, strict=True)) for line in lines)
    assert header[:2] == ["state", "rule"]
    assert (first["labels.podset"], first["labels.rack"], second["labels.rack"]) == ("6", "", "'@7")
    assert [first[f"quantities.inbound.p99.{part}"] for part in ("low", "value", "high")] == ["4100.0", "4200.0", ""]
    assert first["annotations.summary"] == "'=HYPERLINK(1)"
    assert (second["fleet.violating"], second["fleet.members"], first["fleet.violating"]) == ("3", "a", "")


def test_batches_have_a_column_for_every_phase():
    batches = [
        {"batch": 1, "at": "2026-11-16T12:01:00Z", "phases": {"read": 0.5}, "late": None},
        {"batch": 2, "at": "2026-11-16T12:02:00Z", "phases": {"read": 0.5, "write": 0.1}, "late": 3},
    ]
    assert read(health_csv(batches)) == [
        ["batch", "at", "phases.read", "phases.write", "late"],
        ["1", "2026-11-16T12:01:00Z", "0.5", "", ""],
        ["2", "2026-11-16T12:02:00Z", "0.5", "0.1", "3"],
    ]


def test_nothing_to_tell_still_has_a_header():
    assert read(alerts_csv([]))[0][:2] == ["state", "rule"]
    assert read(health_csv([])) == [["batch"]]
