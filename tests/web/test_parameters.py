from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.times import time_of, time_text
from aomg.web.http.endpoints import ENDPOINTS
from aomg.web.parameters import BadRequest, Parameter, parse_parameters

PARAMETERS = (
    Parameter("query", "text", "q", most=20),
    Parameter("limit", "whole", "l", 100, least=1, most=500),
    Parameter("from", "time", "f", argument="since"),
    Parameter("order", "choice", "o", "desc", choices=("desc", "asc")),
    Parameter("burst", "flag", "b"),
    Parameter("where", "labels", "w"),
)


def refused(text: str) -> BadRequest:
    with pytest.raises(BadRequest) as caught:
        parse_parameters(PARAMETERS, text.encode())
    return caught.value


def test_what_is_not_asked_has_its_default():
    assert parse_parameters(PARAMETERS, b"") == {
        "query": None,
        "limit": 100,
        "since": None,
        "order": "desc",
        "burst": None,
        "where": {},
    }


def test_every_kind_is_read():
    answer = parse_parameters(
        PARAMETERS, b"query=in&limit=500&from=1970-01-01T00:00:01Z&order=asc&burst=false&where.pod=a%26b&where.dc.x=1"
    )
    assert answer == {
        "query": "in",
        "limit": 500,
        "since": 1_000_000,
        "order": "asc",
        "burst": False,
        "where": {"pod": "a&b", "dc.x": "1"},
    }


def test_defaults_of_one_request_are_not_those_of_another():
    parse_parameters(PARAMETERS, b"where.pod=1")
    assert parse_parameters(PARAMETERS, b"")["where"] == {}


@pytest.mark.parametrize(
    ("text", "error", "what_to_do"),
    [
        ("limt=3", "no parameter 'limt'", "did you mean limit?"),
        ("wher.pod=3", "no parameter 'wher.pod'", "where.LABEL"),
        ("limit=3&limit=3", "'limit' is given twice", "once"),
        ("where.a=3&where.a=4", "'where.a' is given twice", "once"),
        ("limit=0", "limit is '0'", "from 1 to 500"),
        ("limit=501", "limit is '501'", "from 1 to 500"),
        ("limit=1e2", "limit is '1e2'", "whole number"),
        ("limit=%D9%A1", "limit is", "whole number"),
        ("limit=", "limit is ''", "whole number"),
        ("limit=99999999999999999999", "limit is", "whole number"),
        ("from=yesterday", "from is 'yesterday'", "2024-05-01T09:00:00Z"),
        ("from=2024-05-01T09:00:00", "from is", "with its zone"),
        ("from=2024-05-01T09:00:00+02:00", "from is", "%2B"),
        ("from=2024-13-01T09:00:00Z", "from is", "with its zone"),
        ("order=up", "order is 'up'", "desc, asc"),
        ("burst=1", "burst is '1'", "true or false"),
        ("where.=1", "'where.' names no label", "where.LABEL=VALUE"),
        ("where=1", "no parameter 'where'", "where.LABEL"),
        ("query=" + "x" * 21, "query is too long", "20 characters"),
        ("where.a=" + "x" * 4097, "'where.a' is too long", "4,096 characters"),
        ("query=%ff", "not UTF-8", "%C3%A4"),
        ("&".join(f"where.a{n}=1" for n in range(41)), "too many", "40"),
        ("query=" + "x" * 64_001, "too long", "64,000"),
    ],
)
def test_a_request_that_means_nothing_is_told_what_to_do(text, error, what_to_do):
    answer = refused(text)
    assert error in answer.error
    assert what_to_do in answer.what_to_do


def test_what_is_shown_of_a_request_is_short_and_cannot_act_on_a_terminal():
    answer = refused("%1b[31m%0d%0aSet-Cookie:x=" + "y" * 500).error
    assert answer.isprintable()
    assert len(answer) < 150


@given(st.binary(max_size=300))
def test_any_bytes_are_taken_or_refused(raw):
    try:
        parse_parameters(PARAMETERS, raw)
    except BadRequest as answer:
        assert answer.error and answer.what_to_do
        assert answer.error.isprintable()


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=50), max_size=10))
def test_labels_come_through_whatever_they_hold(labels):
    labels = {name: value for name, value in labels.items() if _is_unicode(name + value)}
    answer = parse_parameters(
        PARAMETERS, urlencode({f"where.{name}": value for name, value in labels.items()}).encode()
    )
    assert answer["where"] == labels


@given(st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999))
def test_times_that_answers_tell_can_be_asked(microseconds):
    text = time_text(microseconds)
    assert parse_parameters(PARAMETERS, f"from={quote(text)}".encode())["since"] == microseconds == time_of(text)


@given(st.integers(-999, 999))
def test_numbers_are_taken_within_their_bounds_only(number):
    try:
        assert parse_parameters(PARAMETERS, f"limit={number}".encode())["limit"] == number
        assert 1 <= number <= 500
    except BadRequest:
        assert not 1 <= number <= 500


def test_declared_defaults_could_be_asked():
    for endpoint in ENDPOINTS:
        for one in endpoint.parameters:
            if one.kind in ("whole", "choice") and one.default is not None:
                answer = parse_parameters(endpoint.parameters, f"{one.name}={one.default}".encode())
                assert answer[one.argument or one.name] == one.default


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
