"""Annotations: fixed names, readable values, and no way to run anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.monitor.alert import Alert, FleetReport
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.templates import parse, quantity_values, values_of

ALERT = Alert(
    id="0" * 32,
    rule="Slow",
    group="network",
    transition="firing",
    labels={"podset": "17", "row": None, "severity": "page"},
    annotations={},
    start=0,
    end=60_000_000,
    certainty="certain",
    quantities={"inbound.p99": (4280.0, 4310.0, 4350.0), "inbound.count": (7.0, 7.0, 7.0)},
    count=7,
    started=30_000_000,
    fired=60_000_000,
    batch=3,
    units={"inbound.p99": "us"},
)


def rendered(text, alert=ALERT):
    return parse(text).render(values_of(alert))


def test_a_text_says_labels_values_and_times():
    assert (
        rendered("{{$alert}}/{{ $group }} is {{ $transition }}, {{ $certainty }}") == "Slow/network is firing, certain"
    )
    assert (
        rendered("podset {{ $labels.podset }}, row {{ $labels.row }}: {{ $labels.severity }}")
        == "podset 17, row -: page"
    )
    assert rendered("{{ $value }}; {{ inbound.p99.low }}") == "4.31 ms (4.28..4.35); 4.28 ms"
    assert rendered("{{ inbound.count }} {{ $count }}") == "7 7"
    assert rendered("{{ $start }} {{ $started }} {{ $end }}") == (
        "1970-01-01T00:00:00Z 1970-01-01T00:00:30Z 1970-01-01T00:01:00Z"
    )


def test_what_is_not_known_any_more_is_said_to_be_no_data():
    assert rendered("p50 {{ inbound.p50 }}, {{ $members }}") == "p50 no data, no data"


def test_a_fleets_text_names_the_members_and_how_many_more_there_are():
    fleet = FleetReport(violating=23, total=100, members=tuple(f"s{n}" for n in range(20)), suspect=None)
    quantities = {"share": (0.23, 0.25, 0.3)}
    alert = Alert(**{**vars(ALERT), "fleet": fleet, "quantities": quantities, "units": {"share": "%"}})
    text = rendered("{{ $value }}: {{ $violating }}/{{ $total }}: {{ $members }}; {{ $suspect }}", alert)
    assert text.startswith("25 % (23..30): 23/100: s0, s1") and text.endswith("s19 and 3 more; -")


@pytest.mark.parametrize(
    "bounds, unit, text",
    [
        ((900.0, 950.0, 1000.0), "us", "950 us (900..1000)"),
        ((0.004, 0.004, 0.004), "s", "4 ms"),
        ((1500.0, 1500.0, 1500.0), "ms", "1.5 s"),
        ((0.5, 0.9, 1.0), None, "0.9 (0.5..1)"),
        ((float("-inf"), 3.0, float("inf")), None, "3 (unknown..unknown)"),
        ((1939.99, 1939.996, 1939.998), "us", "1.93999 ms (1.93999..1.94)"),  # three digits are 1.94 ms
        ((4350.0, 4415.25, 4470.0), "us", "4.42 ms (4.35..4.47)"),
        ((0.98765, 0.98765496, 0.98765497), "%", "98.765 % (98.765..98.766)"),
    ],
)
def test_quantities_are_told_in_the_unit_that_people_would_use_with_their_interval(bounds, unit, text):
    assert quantity_values("q", bounds, unit)["q"] == text


@pytest.mark.parametrize(
    "text, problem",
    [
        ("p99 {{ $value", "{{ at character 5"),
        ("{{ $value | humanize }}", "is not a value"),
        ("{{ }}", "is not a value"),
        ("{{ p99 > 3 }}", "is not a value"),
        ("{{ {{ $value }} }}", "is not a value"),
        ("x" * 4_001, "the limit is 4,000"),
    ],
)
def test_a_text_that_cannot_be_meant_is_refused_with_its_place(text, problem):
    with pytest.raises(ConfigError) as refused:
        parse(text)
    assert problem in str(refused.value)


@given(st.text())
def test_a_text_without_places_says_itself(text):
    if "{{" not in text:
        assert rendered(text) == text


@given(st.text(), st.text())
def test_what_a_label_holds_is_told_as_it_is_and_never_read_as_a_template(before, label):
    alert = Alert(**{**vars(ALERT), "labels": {"podset": label + "{{ $alert }}"}})
    before = before.replace("{{", "")
    assert rendered(before + "-{{ $labels.podset }}", alert) == before + "-" + label + "{{ $alert }}"


def test_every_name_that_is_offered_can_be_told():
    values = values_of(ALERT)
    assert {name: rendered(f"{{{{ {name} }}}}") for name in values} == dict(values)
    assert "$labels.podset" in values and "inbound.p99.high" in values and "$members" not in values
