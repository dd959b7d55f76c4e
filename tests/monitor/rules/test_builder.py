"""Rules: what they join, whom they name, and what is refused before the start. The paper's cases among them."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import MINUTE, queries, query, rows, rule

from aomg.monitor.alerts.judge import Judge
from aomg.monitor.alerts.state import State
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.builder import build, check_rules
from aomg.monitor.rules.intervals import CERTAIN, POSSIBLE

BOTH = queries(query(), query("outbound"))
SERVERS = queries(query(labels=("podset", "server")), query("outbound", labels=("podset", "server")))


def judged(config, by_name, *, end=10 * MINUTE, seen=None, **tables):
    """The verdict of a rule on rows given as query={label: {...}}."""
    built = build(config, by_name)
    windows = {name: rows(end, table, name) for name, table in tables.items()}
    return built.judge(end, built.joined(windows), seen or {})


def holding(verdict, how=CERTAIN):
    return {verdict.labels[row] for row in np.flatnonzero(verdict.holds[how])}


# -- rules on keys -----------------------------------------------------------------------------------------------------


def test_a_podset_that_is_slow_in_both_directions_is_found_and_one_that_is_slow_in_one_is_not():
    config = rule("inbound.p99 > 4ms and outbound.p99 > 4ms")
    slow, quick = {"p99": 5000.0}, {"p99": 3000.0}
    verdict = judged(
        config, BOTH, inbound={"1": slow, "2": slow, "3": quick}, outbound={"1": slow, "2": quick, "3": slow}
    )
    assert holding(verdict) == holding(verdict, POSSIBLE) == {("1",)}


def test_rows_are_joined_by_the_names_of_their_labels_not_by_their_order():
    by_name = queries(query(labels=("cluster", "server")), query("load", labels=("server", "cluster"), unit=None))
    verdict = judged(
        rule("inbound.p99 > 4ms and load.p99 > 0.9"),
        by_name,
        inbound={("east", "1"): {"p99": 5000.0}, ("west", "1"): {"p99": 5000.0}},
        load={("1", "east"): {"p99": 0.95}, ("1", "west"): {"p99": 0.5}},
    )
    assert holding(verdict) == {("east", "1")}


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([1.0, 5000.0])),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([1.0, 5000.0])),
)
def test_a_key_that_one_query_lacks_is_judged_by_what_the_other_says(inbound, outbound):
    tables = {
        "inbound": {key: {"p99": value} for key, value in inbound.items()},
        "outbound": {key: {"p99": value} for key, value in outbound.items()},
    }
    slow_in, slow_out = ({(k,) for k, v in part.items() if v > 4000} for part in (inbound, outbound))
    both = judged(rule("inbound.p99 > 4ms and outbound.p99 > 4ms"), BOTH, **tables)
    either = judged(rule("inbound.p99 > 4ms or outbound.p99 > 4ms"), BOTH, **tables)
    assert holding(both) == holding(both, POSSIBLE) == slow_in & slow_out
    assert holding(either) == holding(either, POSSIBLE) == slow_in | slow_out
    assert set(either.labels) == {(key,) for key in {*inbound, *outbound}}


def test_a_row_with_fewer_events_than_min_count_is_as_if_it_were_not_there():
    few = {"p99": 5000.0, "count": 99}
    enough = {"p99": 5000.0, "count": 100}
    verdict = judged(rule("p99 > 4ms", min_count=100), queries(), inbound={"a": few, "b": enough})
    assert holding(verdict, POSSIBLE) == {("b",)}
    verdict = judged(rule("not (p99 > 9ms)", min_count=100), queries(), inbound={"a": few, "b": enough})
    assert holding(verdict, POSSIBLE) == {("b",)}


def test_an_alert_tells_the_interval_of_every_quantity_and_the_fewest_events_behind_them():
    config = rule(
        "inbound.p99 > 4ms and outbound.p99 > 4ms and not inbound.burst",
        annotations={"summary": "{{ $labels.podset }}: {{ outbound.p99 }}, median {{ inbound.p50 }}"},
        labels={"severity": "page"},
    )
    windows = {
        "inbound": [rows(MINUTE, {"7": {"p99": (4100.0, 4200.0, 4300.0), "p50": 250.0, "count": 50}})],
        "outbound": [rows(MINUTE, {"7": {"p99": (4500.0, 4600.0, 4700.0), "count": 40}}, "outbound")],
    }
    _, [alert] = Judge([build(config, BOTH)], BOTH).step(State(), windows, 0)
    assert alert.quantities == {"inbound.p99": (4100.0, 4200.0, 4300.0), "outbound.p99": (4500.0, 4600.0, 4700.0)}
    assert (alert.count, alert.certainty, alert.transition) == (40, "certain", "firing")
    assert alert.labels == {"podset": "7", "severity": "page"}
    assert alert.annotations == {"summary": "7: 4.6 ms (4.5..4.7), median 250 us"}
    assert (alert.start, alert.end) == (-9 * MINUTE, MINUTE)


def test_a_possible_alert_says_whether_it_is_certain():
    config = rule("p99 > 4ms", when="possible")
    table = {"a": {"p99": (3000.0, 3500.0, 5000.0)}, "b": {"p99": 5000.0}}
    judge = Judge([build(config, queries())], queries())
    _, alerts = judge.step(State(), {"inbound": [rows(MINUTE, table)]}, 0)
    assert {alert.labels["podset"]: alert.certainty for alert in alerts} == {"a": "possible", "b": "certain"}


# -- fleets ------------------------------------------------------------------------------------------------------------


def servers(slow, quick, podset="7", fuzzy=0):
    named = [f"s{n:02d}" for n in range(slow + quick + fuzzy)]
    values = [5000.0] * slow + [3000.0] * quick + [(3000.0, 3900.0, 4500.0)] * fuzzy
    return {(podset, name): {"p99": value} for name, value in zip(named, values, strict=True)}


def test_when_every_server_of_a_podset_is_slow_in_both_directions_its_switch_is_named():
    config = rule("inbound.p99 > 4ms and outbound.p99 > 4ms", kind="fleet", share=1.0, of=("podset",))
    config = dataclasses.replace(config, annotations={"summary": "{{ $suspect }} ({{ $violating }} of {{ $total }})"})
    inbound = {**servers(30, 0, "7"), **servers(29, 1, "8")}
    windows = {
        "inbound": [rows(MINUTE, inbound)],
        "outbound": [rows(MINUTE, {**servers(30, 0, "7"), **servers(30, 0, "8")}, "outbound")],
    }
    _, [alert] = Judge([build(config, SERVERS)], SERVERS).step(State(), windows, 0)
    assert alert.labels == {"podset": "7"}
    assert "switch of podset 7" in alert.fleet.suspect
    assert alert.annotations["summary"] == f"{alert.fleet.suspect} (30 of 30)"
    assert (alert.fleet.violating, alert.fleet.total, alert.quantities) == (30, 30, {"share": (1.0, 1.0, 1.0)})
    assert alert.fleet.members == tuple(f"s{n:02d}" for n in range(20))
    assert alert.count == 30_000


def test_a_performance_crisis_is_declared_when_a_tenth_of_the_machines_violates_any_limit():
    by_name = queries(
        query("latency", labels=("machine",), quantiles=("0.999",)), query("load", labels=("machine",), unit=None)
    )
    config = rule("latency.p99_9 > 200ms or load.p99 > 0.9", kind="fleet", share=0.1, of=())

    def crisis(slow, busy):
        names = [f"m{n}" for n in range(70)]
        latency = {name: {"p99_9": 250_000.0 if index < slow else 1_000.0} for index, name in enumerate(names)}
        load = {name: {"p99": 0.95 if index >= 70 - busy else 0.5} for index, name in enumerate(names)}
        return holding(judged(config, by_name, latency=latency, load=load))

    assert crisis(4, 3) == {()}
    assert crisis(4, 2) == set()
    assert crisis(0, 0) == set()


def test_a_share_is_reached_exactly_when_it_is_written_so():
    """7 % of 100 are 7, though 0.07 * 100 is more than that in doubles."""
    config = rule("p99 > 4ms", kind="fleet", share=0.07, of=("podset",))
    by_name = queries(query(labels=("podset", "server")))
    assert holding(judged(config, by_name, inbound=servers(7, 93))) == {("7",)}
    assert holding(judged(config, by_name, inbound=servers(6, 94))) == set()


def test_a_fleet_is_certain_by_its_certain_members_alone_and_possible_by_the_possible_ones():
    by_name = queries(query(labels=("podset", "server")))
    config = rule("p99 > 4ms", kind="fleet", share=0.5, of=("podset",))
    verdict = judged(config, by_name, inbound=servers(4, 4, fuzzy=2))
    assert holding(verdict) == set() and holding(verdict, POSSIBLE) == {("7",)}
    assert verdict.evidence(0).quantities == {"share": (0.4, 0.4, 0.6)}
    assert verdict.evidence(0).fleet.violating == 4
    possible = judged(dataclasses.replace(config, when="possible"), by_name, inbound=servers(4, 4, fuzzy=2))
    assert possible.evidence(0).fleet.violating == 6


@pytest.mark.parametrize(
    "silent, fires, total", [("ignore", False, 3), ("violating", True, 10), ("healthy", False, 10)]
)
def test_machines_that_fell_silent_count_as_the_rule_says(silent, fires, total):
    by_name = queries(query(labels=("podset", "server")))
    config = rule("p99 > 4ms", kind="fleet", share=0.7, of=("podset",), silent=silent)
    before = judged(config, by_name, inbound=servers(0, 10))
    assert holding(before) == set()
    now = judged(config, by_name, end=11 * MINUTE, seen=before.last_seen, inbound=servers(0, 3))
    assert holding(now) == ({("7",)} if fires else set())
    report = now.evidence(0).fleet
    assert (report.total, report.silent) == (total, total - 3)
    assert report.members == (tuple(f"s{n:02d}" for n in range(3, 10)) if fires else ())


def test_a_silent_machine_is_forgotten_after_as_long_as_the_rule_remembers():
    by_name = queries(query(labels=("podset", "server")))
    config = rule("p99 > 4ms", kind="fleet", share=0.5, of=("podset",), silent="violating", remember=5 * MINUTE)
    seen = judged(config, by_name, end=10 * MINUTE, inbound=servers(0, 4)).last_seen
    for end, total in [(14, 4), (15, 4), (16, 1)]:
        verdict = judged(config, by_name, end=end * MINUTE, seen=seen, inbound=servers(0, 1))
        assert verdict.evidence(0).fleet.total == total
        assert len(verdict.last_seen) == total
        seen = verdict.last_seen


def test_a_machine_with_too_few_events_to_judge_is_silent():
    by_name = queries(query(labels=("podset", "server")))
    config = rule("p99 > 4ms", kind="fleet", share=0.5, of=("podset",), min_count=100)
    table = servers(1, 1)
    table["7", "s99"] = {"p99": 3000.0, "count": 99}
    assert judged(config, by_name, inbound=table).evidence(0).fleet.total == 2


members = st.dictionaries(
    st.tuples(st.sampled_from("xy"), st.sampled_from("abcdefgh")),
    st.sampled_from([(1.0, 1.0, 1.0), (1.0, 5000.0, 9000.0), (5000.0, 6000.0, 7000.0)]),
)


@given(members, st.integers(1, 100), st.sampled_from(["certain", "possible"]))
def test_a_fleet_is_judged_as_one_would_count_by_hand(table, percent, when):
    by_name = queries(query(labels=("podset", "server")))
    config = rule("p99 > 4ms", kind="fleet", share=percent / 100, of=("podset",), when=when)
    verdict = judged(config, by_name, inbound={key: {"p99": bounds} for key, bounds in table.items()})
    assert set(verdict.labels) == {(podset,) for podset, _ in table}
    for row, (podset,) in enumerate(verdict.labels):
        ours = [bounds for (fleet, _), bounds in table.items() if fleet == podset]
        certain = sum(low > 4000 for low, _, _ in ours)
        possible = sum(high > 4000 for _, _, high in ours)
        assert verdict.holds[CERTAIN, row] == (100 * certain >= percent * len(ours))
        assert verdict.holds[POSSIBLE, row] == (100 * possible >= percent * len(ours))
        assert verdict.evidence(row).fleet.violating == (certain if when == "certain" else possible)


# -- targets -----------------------------------------------------------------------------------------------------------


def target(**more):
    return rule(None, "checkout", "target", quantile="p99", at_most="200ms", **more)


def test_a_target_tells_what_is_left_to_its_limit_with_an_interval():
    table = {"a": {"p99": (140_000.0, 150_000.0, 160_000.0)}, "b": {"p99": 250_000.0}, "c": {"p99": 1.0, "count": 3}}
    judge = Judge([build(target(min_count=10), queries())], queries())
    [room] = judge.headrooms({"inbound": [rows(MINUTE, table)]})
    records = {record["labels"]["podset"]: record for record in room.records()}
    assert set(records) == {"a", "b"}
    assert records["a"]["headroom"] == pytest.approx([0.2, 0.25, 0.3])
    assert records["b"]["headroom"] == pytest.approx([-0.25] * 3)
    assert (records["a"]["target"], records["a"]["end"]) == ("checkout", "1970-01-01T00:01:00Z")


@given(st.lists(st.floats(0, 1e9), min_size=4, max_size=4).map(sorted))
def test_the_headroom_of_the_exact_quantile_lies_in_the_interval(bounds):
    low, value, exact, high = bounds
    [room] = build(target(), queries()).headrooms({"inbound": [rows(MINUTE, {"a": {"p99": (low, value, high)}})]})
    from fractions import Fraction

    left = (200_000 - Fraction(exact)) / 200_000
    assert Fraction(float(room.headroom.low[0])) <= left <= Fraction(float(room.headroom.high[0]))


# -- refusals ----------------------------------------------------------------------------------------------------------

MIXED = queries(query(), query("outbound", labels=("src",)), query("counted", labels=("podset",), size=100, period=10))
REFUSED = [
    (rule("inbound.p99 > outbound.p99"), "cannot be joined; give both the same label names with by: {label: column}"),
    (rule("p99 > 1", query="inbuond"), "there is no query 'inbuond'; the queries are inbound, outbound, counted"),
    (rule("p95 > 1", query="inbound"), "add 0.95 to quantiles of inbound"),
    (rule("counted.p99 > 1"), "query counted counts its windows in events; rules need windows of time"),
    (rule("inbound.p99 > 1", labels={"podset": "x"}), "the label 'podset' is in use"),
    (rule("inbound.p99 > 1", labels={"alertname": "x"}), "the label 'alertname' is in use"),
    (rule("inbound.p99 > 1", labels={"by": "{{ $value }}"}), "only annotations may have placeholders"),
    (
        rule("inbound.p99 > 1", annotations={"a": "{{ $labels.rack }}"}),
        "unknown label in {{ $labels.rack }}; the labels are podset",
    ),
    (rule("inbound.p99 > 1", annotations={"a": "{{ $valu }}"}), "unknown value in {{ $valu }}"),
    (rule("inbound.p99 > 1", annotations={"a": "{{ $members }}"}), "unknown value in {{ $members }}"),
    (rule("inbound.p99 > 1", annotations={"a": "{{ inbound.p95 }}"}), "add 0.95 to quantiles of inbound"),
    (rule("inbound.p99 > 1", annotations={"a": "{{ outbound.p99 }}"}), "unknown query 'outbound'"),
    (rule("inbound.p99 > 1", kind="fleet", share=0.1, of=("podset",)), "of names all labels"),
    (
        rule("inbound.p99 > 1", kind="fleet", share=0.1, of=("rack",)),
        "'rack', which is not a label; the labels are podset",
    ),
    (rule("inbound.p99 > 1", kind="fleet", share=0.0), "share must be more than 0%"),
    (
        rule("inbound.p99 > 1", kind="fleet", share=0.1, annotations={"a": "{{ p99 }}"}),
        "a fleet has no single quantity",
    ),
    (target(), "'p99' needs a query; write inbound.p99"),
    (
        dataclasses.replace(target(), query="inbound", at_most="fast"),
        "'fast' is not a limit; write a number or a duration",
    ),
    (dataclasses.replace(target(), query="inbound", at_most="0ms"), "headroom needs a limit above zero"),
    (dataclasses.replace(target(), query="inbound", quantile="burst"), "'burst' is not a quantity"),
]


@pytest.mark.parametrize("config, problem", REFUSED, ids=[problem[:40] for _, problem in REFUSED])
def test_a_rule_that_cannot_be_meant_is_refused_with_its_name_its_line_and_what_to_do(config, problem):
    with pytest.raises(ConfigError) as refused:
        build(config, MIXED)
    assert problem in str(refused.value)
    assert refused.value.line == 7 and f"rule {config.name}: " in str(refused.value)


def test_two_rules_of_one_name_need_different_labels():
    page, ticket = (build(rule(labels={"severity": each}), queries()) for each in ("page", "ticket"))
    Judge([page, ticket], queries())
    with pytest.raises(ConfigError, match="two rules Slow with the same labels"):
        Judge([page, ticket, page], queries())


def test_the_shipped_example_has_rules_that_can_be_built():
    from aomg.monitor.config.reader import EXAMPLE, load

    built = check_rules(load(EXAMPLE))
    assert [each.name for each in built] == ["PodsetSwitchFault", "TailAgainstMedian", "inbound_p99"]
