"""The record of an alert: nothing of it is lost on the way to JSON and back, and its id is what it is made of."""

import dataclasses
import hashlib
import json
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from samples import NOON, alert

from aomg.monitor.alert import Alert, FleetReport, alert_id, canonical
from aomg.times import time_of, time_text

TEXTS = st.text(max_size=8)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


@st.composite
def alerts(draw) -> Alert:
    fleet = draw(st.none() | st.builds(FleetReport, st.integers(0, 9), st.integers(0, 9), st.tuples(TEXTS),
                                       st.integers(0, 9), st.none() | TEXTS))  # fmt: skip
    return alert(
        draw(st.sampled_from(["pending", "firing", "resolved", "inactive"])),
        labels=draw(st.dictionaries(TEXTS, st.none() | TEXTS, max_size=3)),
        annotations=draw(st.dictionaries(TEXTS, TEXTS, max_size=2)),
        quantities=draw(st.dictionaries(TEXTS, st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=2)),
        count=draw(st.none() | st.integers(0, 10)),
        started=draw(st.integers(0, NOON)),
        units=draw(st.dictionaries(TEXTS, TEXTS, max_size=2)),
        fleet=fleet,
    )


@given(alerts())
def test_json_has_every_field_of_an_alert_in_its_order_and_in_its_own_types(one):
    record = one.to_json()
    assert list(record) == [
        field.name for field in dataclasses.fields(one) if field.name != "fleet" or one.fleet is not None
    ]
    if one.fleet is not None:
        assert list(record["fleet"]) == [field.name for field in dataclasses.fields(one.fleet)]
    assert json.loads(json.dumps(record, allow_nan=False)) == record


@given(alerts())
def test_an_alert_comes_back_from_json_as_it_was_but_for_what_is_not_finite(one):
    back = Alert.from_json(json.loads(json.dumps(one.to_json())))
    assert dataclasses.replace(back, quantities={}) == dataclasses.replace(one, quantities={})
    for name, parts in one.quantities.items():
        for part, again in zip(parts, back.quantities[name], strict=True):
            assert part == again or not math.isfinite(part)


def test_numbers_of_numpy_become_numbers_of_json():
    one = alert(count=np.int64(7), quantities={"p99": tuple(np.float64([1, 2, np.inf]))}, batch=np.int64(3))
    record = one.to_json()
    assert type(record["count"]) is int and type(record["batch"]) is int
    assert [type(part) for part in record["quantities"]["p99"]] == [float, float, type(None)]


@given(TEXTS, TEXTS, st.dictionaries(TEXTS, st.none() | TEXTS, max_size=3), TEXTS, st.integers(-(2**62), 2**62))
def test_an_id_is_the_digest_of_the_canonical_json_of_its_parts(group, rule, labels, transition, end):
    content = canonical([group, rule, labels, transition, end])
    assert (
        alert_id(group, rule, labels, transition, end) == hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
    )


@given(st.integers(-(2**55), 2**55))
def test_times_come_back(microseconds):
    assert time_of(time_text(microseconds)) == microseconds
