"""The judge: alerts go through their states as the rules say, and nothing that happens to the process changes it."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import MINUTE, queries, query, rows, rule

from aomg.errors import StateError
from aomg.monitor.alert import Alert, alert_id, canonical
from aomg.monitor.alerts.judge import Judge, OrderError
from aomg.monitor.alerts.state import State
from aomg.monitor.rules.builder import build
from aomg.times import time_of, time_text

SLOW, QUICK = {"p99": 5000.0}, {"p99": 3000.0}


def judge_of(*configs, by_name=None):
    by_name = by_name or queries()
    return Judge([build(config, by_name) for config in configs], by_name)


def run(judge, ends):
    """Judge {minute: {label: {...}}}, one window end a batch; a missing minute is no batch at all."""
    state, transitions = State(), []
    for minute, table in ends.items():
        state, alerts = judge.step(state, {"inbound": [rows(minute * MINUTE, table)] if table else []}, minute)
        transitions += [(alert.transition, alert.end // MINUTE) for alert in alerts]
    return state, transitions


# -- states ------------------------------------------------------------------------------------------------------------


def test_an_alert_without_for_fires_at_once_and_resolves_at_once():
    state, transitions = run(judge_of(rule()), {1: {"a": QUICK}, 2: {"a": SLOW}, 3: {"a": SLOW}, 4: {"a": QUICK}})
    assert transitions == [("firing", 2), ("resolved", 4)]
    assert state.rules == {}


def test_an_alert_is_pending_for_as_long_as_for_says_and_then_fires():
    transitions = run(judge_of(rule(for_=2 * MINUTE)), {minute: {"a": SLOW} for minute in range(1, 6)})[1]
    assert transitions == [("pending", 1), ("firing", 3)]


def test_a_condition_that_goes_away_before_it_fires_is_inactive_and_starts_anew():
    ends = {1: {"a": SLOW}, 2: {"a": QUICK}, 3: {"a": SLOW}, 4: {"a": SLOW}, 5: {"a": SLOW}}
    transitions = run(judge_of(rule(for_=2 * MINUTE)), ends)[1]
    assert transitions == [("pending", 1), ("inactive", 2), ("pending", 3), ("firing", 5)]


def test_a_firing_alert_is_kept_until_the_condition_has_been_away_for_long_enough():
    ends = {minute: {"a": SLOW if minute in (1, 3) else QUICK} for minute in range(1, 8)}
    assert run(judge_of(rule(keep_firing_for=3 * MINUTE)), ends)[1] == [("firing", 1), ("resolved", 6)]


def test_a_key_without_a_row_counts_as_false_and_the_alert_says_that_there_are_no_data():
    judge = judge_of(rule(annotations={"summary": "p99 {{ p99 }}"}))
    state, _ = judge.step(State(), {"inbound": [rows(MINUTE, {"a": SLOW, "b": QUICK})]}, 0)
    _, [alert] = judge.step(state, {"inbound": [rows(2 * MINUTE, {"b": QUICK})]}, 1)
    assert (alert.transition, alert.certainty, alert.quantities, alert.count) == ("resolved", "no data", {}, None)
    assert alert.annotations == {"summary": "p99 no data"}
    assert (alert.started, alert.fired) == (MINUTE, MINUTE)


def test_a_certain_alert_that_is_still_possible_says_so_when_it_resolves():
    judge = judge_of(rule())
    state, _ = judge.step(State(), {"inbound": [rows(MINUTE, {"a": SLOW})]}, 0)
    _, [alert] = judge.step(state, {"inbound": [rows(2 * MINUTE, {"a": {"p99": (3900.0, 4100.0, 4200.0)}})]}, 1)
    assert (alert.transition, alert.certainty) == ("resolved", "possible")


def test_window_ends_without_any_row_are_judged_too():
    _, transitions = run(judge_of(rule(keep_firing_for=2 * MINUTE)), {1: {"a": SLOW, "b": QUICK}, 9: {"b": QUICK}})
    assert transitions == [("firing", 1), ("resolved", 3)]
    transitions = run(judge_of(rule(for_=3 * MINUTE)), {1: {"a": SLOW}, 9: {"a": SLOW}})[1]
    assert transitions == [("pending", 1), ("inactive", 2), ("pending", 9)]


def test_a_gap_of_a_hundred_years_is_judged_without_going_through_all_its_minutes():
    century = 100 * 366 * 24 * 60
    transitions = run(judge_of(rule(keep_firing_for=5 * MINUTE)), {1: {"a": SLOW}, century: {"a": SLOW}})[1]
    assert transitions == [("firing", 1), ("resolved", 6), ("firing", century)]


def test_a_batch_without_windows_changes_nothing_but_its_number():
    judge = judge_of(rule())
    before, _ = judge.step(State(), {"inbound": [rows(MINUTE, {"a": SLOW})]}, 4)
    after, alerts = judge.step(before, {"inbound": []}, 5)
    assert alerts == [] and after == State(5, before.judged, before.rules)


def test_a_rule_on_queries_with_different_periods_is_judged_at_the_ends_that_both_have():
    by_name = queries(query(), query("outbound", period="5 minutes"))
    judge = judge_of(rule("inbound.p99 > 4ms or outbound.p99 > 4ms", for_=MINUTE), by_name=by_name)
    windows = {
        "inbound": [rows(minute * MINUTE, {"a": SLOW}) for minute in range(3, 13)],
        "outbound": [rows(minute * MINUTE, {"a": QUICK}, "outbound") for minute in (5, 10)],
    }
    _, alerts = judge.step(State(), windows, 0)
    assert [(alert.transition, alert.end // MINUTE) for alert in alerts] == [("pending", 5), ("firing", 10)]


def test_when_a_whole_query_falls_silent_its_rules_are_judged_by_the_clock_of_the_others():
    by_name = queries(query(), query("outbound"))
    judge = judge_of(rule("outbound.p99 > 4ms"), by_name=by_name)
    first = {"inbound": [rows(MINUTE, {"a": QUICK})], "outbound": [rows(MINUTE, {"a": SLOW}, "outbound")]}
    state, _ = judge.step(State(), first, 0)
    _, [alert] = judge.step(state, {"inbound": [rows(2 * MINUTE, {"a": QUICK})], "outbound": []}, 1)
    assert (alert.transition, alert.end) == ("resolved", 2 * MINUTE)


def test_the_alerts_of_a_rule_that_was_removed_are_resolved():
    state, _ = run(judge_of(rule(labels={"severity": "page"}), rule(name="Other", for_=MINUTE)), {1: {"a": SLOW}})
    after, alerts = judge_of(rule(name="New")).step(state, {"inbound": [rows(2 * MINUTE, {"a": QUICK})]}, 2)
    transitions = [(alert.rule, alert.transition, alert.labels) for alert in alerts]
    assert sorted(transitions) == [
        ("Other", "inactive", {"podset": "a"}),
        ("Slow", "resolved", {"podset": "a", "severity": "page"}),
    ]
    assert after.rules == {}


def test_alerts_come_in_the_order_of_their_ends_rules_and_labels():
    judge = judge_of(rule(name="Z"), rule(name="A"))
    windows = {"inbound": [rows(minute * MINUTE, {"b": SLOW, None: SLOW, "a": SLOW}) for minute in (2, 1)]}
    _, alerts = judge.step(State(), windows, 0)
    transitions = [(alert.end // MINUTE, alert.rule, alert.labels["podset"]) for alert in alerts]
    assert transitions == [(1, name, label) for name in "ZA" for label in (None, "a", "b")]


def test_what_is_pending_or_fires_can_be_looked_at():
    judge = judge_of(rule(), rule(name="Later", for_=MINUTE))
    state, _ = run(judge, {1: {"b": SLOW, "a": QUICK}})
    transitions = [(each.rule, each.labels, each.firing, each.since) for each in judge.active(state)]
    assert transitions == [("Slow", {"podset": "b"}, True, MINUTE), ("Later", {"podset": "b"}, False, MINUTE)]


# -- against a simulation that anyone can read -------------------------------------------------------------------------

LABELS = "abc"
LEVELS = [(3000.0, 3000.0, 3000.0), (3000.0, 4500.0, 5000.0), (5000.0, 6000.0, 7000.0)]
timelines = st.dictionaries(
    st.integers(1, 14),
    st.dictionaries(
        st.sampled_from(LABELS), st.tuples(st.sampled_from(LEVELS), st.sampled_from([50, 100])), min_size=1
    ),
    min_size=1,
)
settings_of = st.fixed_dictionaries(
    {
        "when": st.sampled_from(["certain", "possible"]),
        "for_": st.integers(0, 4).map(lambda n: n * MINUTE),
        "keep_firing_for": st.integers(0, 4).map(lambda n: n * MINUTE),
        "min_count": st.sampled_from([0, 100]),
    }
)


def true_at(minute, label, timeline, config):
    if label not in timeline.get(minute, {}):
        return False
    (low, _, high), count = timeline[minute][label]
    return count >= config.min_count and (low if config.when == "certain" else high) > 4000


def simulated(timeline, config):
    """One alert after the other, one minute after the other."""
    transitions = []
    for label in LABELS:
        state, since, last_true = "inactive", None, None
        for minute in range(min(timeline), max(timeline) + 1):
            if true_at(minute, label, timeline, config):
                last_true = minute
                if state == "inactive":
                    since = minute
                    state = "pending" if config.for_ else "firing"
                    transitions.append((minute, label, state))
                elif state == "pending" and (minute - since) * MINUTE >= config.for_:
                    state = "firing"
                    transitions.append((minute, label, state))
            elif state == "pending":
                state = "inactive"
                transitions.append((minute, label, state))
            elif state == "firing" and (minute - last_true) * MINUTE >= config.keep_firing_for:
                state = "inactive"
                transitions.append((minute, label, "resolved"))
    return sorted(transitions)


def window(minute, timeline):
    return rows(minute * MINUTE, {label: {"p99": p99, "count": n} for label, (p99, n) in timeline[minute].items()})


def in_batches(judge, timeline, cuts, through=lambda state: state):
    """Judge a timeline in batches that end at `cuts`; `through` is what happens to the state between them."""
    state, alerts, states = State(), [], []
    minutes = sorted(timeline)
    for batch, cut in enumerate([*sorted(cuts), 99]):
        due = [minute for minute in minutes if minute <= cut]
        minutes = minutes[len(due) :]
        state, more = judge.step(through(state), {"inbound": [window(minute, timeline) for minute in due]}, batch)
        alerts += more
        states.append(state)
    return alerts, states


cut_points = st.sets(st.integers(1, 14), max_size=6)


@settings(max_examples=200)
@given(timelines, settings_of, cut_points)
def test_the_judge_does_what_a_slow_and_obvious_simulation_does(timeline, given_as, cuts):
    config = rule(**given_as)
    alerts, states = in_batches(judge_of(config), timeline, cuts)
    transitions = sorted((alert.end // MINUTE, alert.labels["podset"], alert.transition) for alert in alerts)
    assert transitions == simulated(timeline, config)
    active = {
        label for label in LABELS for part in [states[-1].rules.values()] for each in part if (label,) in each.instances
    }
    last = {label: transition for _, label, transition in transitions}
    assert active == {label for label, transition in last.items() if transition in ("pending", "firing")}


def fleets(silent, share):
    by_name = queries(query(labels=("podset", "server")))
    config = rule(kind="fleet", share=share, of=("podset",), silent=silent, remember=3 * MINUTE, for_=MINUTE)
    return Judge([build(config, by_name)], by_name), by_name


members = st.dictionaries(
    st.integers(1, 12),
    st.dictionaries(
        st.tuples(st.sampled_from("xy"), st.sampled_from("ab")), st.sampled_from([3000.0, 5000.0]), min_size=1
    ),
    min_size=1,
)


@given(members, st.sampled_from(["ignore", "violating", "healthy"]), st.sampled_from([0.5, 1.0]), cut_points)
def test_fleets_with_silent_members_are_judged_as_one_would_by_hand_however_batches_are_cut(ends, silent, share, cuts):
    judge, _ = fleets(silent, share)
    state, transitions, minutes = State(), [], sorted(ends)
    for batch, cut in enumerate([*sorted(cuts), 99]):
        due = [minute for minute in minutes if minute <= cut]
        minutes = minutes[len(due) :]
        tables = [rows(m * MINUTE, {key: {"p99": value} for key, value in ends[m].items()}) for m in due]
        state = State.from_json(json.loads(json.dumps(state.to_json())))
        state, alerts = judge.step(state, {"inbound": tables}, batch)
        transitions += [(alert.end // MINUTE, alert.labels["podset"], alert.transition) for alert in alerts]
    expected, seen, phase, since = [], {}, {}, {}
    for minute in range(min(ends), max(ends) + 1):
        now = ends.get(minute, {})
        seen = {m: last for m, last in {**seen, **dict.fromkeys(now, minute)}.items() if minute - last <= 3}
        for podset in "xy":
            votes = [value > 4000 for (fleet, _), value in now.items() if fleet == podset]
            if silent != "ignore":
                votes += [silent == "violating" for m in seen if m[0] == podset and m not in now]
            true = bool(votes) and sum(votes) >= share * len(votes)
            before = phase.get(podset)
            if true and before is None:
                phase[podset], since[podset] = "pending", minute
            elif true and before == "pending" and minute > since[podset]:
                phase[podset] = "firing"
            elif not true and before is not None:
                expected.append((minute, podset, "resolved" if phase.pop(podset) == "firing" else "inactive"))
            if phase.get(podset) not in (None, before):
                expected.append((minute, podset, phase[podset]))
    assert sorted(transitions) == sorted(expected)
    assert all(len(part.last_seen) <= 4 for part in state.rules.values())


# -- what may happen to the process ------------------------------------------------------------------------------------


def clusters(name):
    """A fleet of all that one query has in a cluster, where whoever is silent violates."""
    by_name = queries(query("load", ("cluster", "machine")), query("turned", ("machine", "cluster")))
    by_name |= queries(query("racks", ("cluster", "rack")), query("requests", ("cluster", "rack", "service")))
    lost = rule("count < 1", "Lost", query=name, kind="fleet", share=0.01, of=("cluster",), silent="violating",
                remember=60 * MINUTE)  # fmt: skip
    return judge_of(lost, by_name=by_name), lambda minute, *keys: {
        name: [rows(minute * MINUTE, dict.fromkeys(keys, QUICK), name)]
    }


@pytest.mark.parametrize(
    ("name", "key", "members"),
    [
        ("requests", ("eu", "r1", "web"), {("eu", "r1", "web")}),
        ("racks", ("eu", "r1"), {("eu", "r1")}),
        ("turned", ("m1", "eu"), {("m1", "eu"), ("m2", "eu")}),
        ("load", ("eu", "m1"), {("eu", "m1"), ("eu", "m2")}),
    ],
)
@pytest.mark.parametrize("is_old", [False, True])
def test_a_fleet_that_is_pointed_at_another_query_forgets_the_members_of_the_old_one(name, key, members, is_old):
    """With as many labels or not: they are no members that have fallen silent."""
    judge, window = clusters("load")
    state, _ = judge.step(State(), window(1, ("eu", "m1"), ("eu", "m2")), 0)
    document = json.loads(json.dumps(state.to_json()))
    if is_old:  # a state of before, which does not say what the labels of members are called
        for part in document["rules"].values():
            del part["key_names"]
        if name in ("racks", "turned"):
            return  # it cannot be known
    judge, window = clusters(name)
    after, alerts = judge.step(State.from_json(document), window(2, key), 1)
    (part,) = after.rules.values()
    assert set(part.last_seen) == members
    assert [one.transition for one in alerts] == (["firing"] if len(members) == 2 else [])
    if alerts:
        assert alerts[0].fleet.members == ("m2",) and alerts[0].fleet.silent == 1


def test_what_fires_is_told_again_with_the_id_it_had():
    judge = judge_of(rule(annotations={"summary": "{{ $labels.podset }}: p99 {{ p99 }}"}), rule(name="B", for_=MINUTE))
    state, changes = State(), []
    for minute in range(1, 4):
        window = {"a": SLOW, "b": SLOW if minute == 1 else QUICK}
        state, alerts = judge.step(state, {"inbound": [rows(minute * MINUTE, window)]}, minute)
        changes += alerts
    fired = {one.id: one for one in changes if one.transition == "firing" and one.labels["podset"] == "a"}
    again = judge.firing(State.from_json(json.loads(json.dumps(state.to_json()))))
    assert [one.id for one in again] == list(fired) and len(again) == 2
    for one in again:
        then = fired[one.id]
        assert (one.rule, one.labels, one.start, one.end, one.started, one.fired, one.transition) == (
            then.rule, then.labels, then.start, then.end, then.started, then.fired, "firing",
        )  # fmt: skip
    assert again[0].annotations == {"summary": "a: p99 no data"}


def text_of(state):
    return canonical(state.to_json())


@given(timelines, settings_of, cut_points)
def test_restarting_from_any_state_that_was_written_changes_nothing(timeline, given_as, cuts):
    judge = judge_of(rule(**given_as))
    alerts, states = in_batches(judge, timeline, cuts)
    again, restored = in_batches(
        judge_of(rule(**given_as)), timeline, cuts, through=lambda state: State.from_json(json.loads(text_of(state)))
    )
    assert [canonical(alert.to_json()) for alert in again] == [canonical(alert.to_json()) for alert in alerts]
    assert [text_of(state) for state in restored] == [text_of(state) for state in states]


@given(timelines, settings_of, cut_points)
def test_a_repeated_batch_gives_the_same_bytes_and_leaves_the_state_before_it_as_it_was(timeline, given_as, cuts):
    judge, state, minutes = judge_of(rule(**given_as)), State(), sorted(timeline)
    for batch, cut in enumerate([*sorted(cuts), 99]):
        due = {"inbound": [window(minute, timeline) for minute in minutes if minute <= cut]}
        minutes = minutes[len(due["inbound"]) :]
        before = text_of(state)
        results = [judge.step(state, due, batch) for _ in range(2)]
        assert text_of(state) == before
        transitions = [(text_of(after), [canonical(alert.to_json()) for alert in alerts]) for after, alerts in results]
        assert transitions[0] == transitions[1]
        state = results[0][0]


@given(timelines, settings_of, cut_points)
def test_however_the_stream_is_cut_into_batches_the_ids_are_the_same_and_distinct(timeline, given_as, cuts):
    judge = judge_of(rule(**given_as), rule(**given_as, name="Other"), rule(**given_as, labels={"severity": "page"}))
    whole, _ = in_batches(judge, timeline, ())
    parts, _ = in_batches(judge, timeline, cuts)
    assert [alert.id for alert in parts] == [alert.id for alert in whole]
    assert len({alert.id for alert in whole}) == len(whole)


texts = st.sampled_from(["", "a", "b", "ab"])
labels_of = st.dictionaries(texts, st.none() | texts, max_size=2)
transitions = st.tuples(texts, texts, labels_of, st.sampled_from(["firing", "resolved"]), st.integers(0, 2))


@given(transitions, transitions, st.integers(0, 4))
def test_a_transition_that_differs_in_anything_has_another_id(one, other, place):
    changed = (*one[:place], other[place], *one[place + 1 :])
    assert (alert_id(*one) == alert_id(*changed)) == (one == changed)
    assert (alert_id(*one) == alert_id(one[1], one[0], *one[2:])) == (one[0] == one[1])
    whole = (one[0] + one[1], "", *one[2:])
    assert (alert_id(*one) == alert_id(*whole)) == (one == whole)


def test_the_id_of_a_transition_is_the_same_in_every_version_of_the_program():
    assert alert_id("network", "Slow", {"podset": "7"}, "firing", MINUTE) == "dfef1b96d46e6193e0736aa28f60db28"


def test_nothing_is_remembered_of_a_clean_stream():
    judge = judge_of(rule(for_=MINUTE), rule(name="Tail", expr="p99 > 100 * p50"))
    state = State()
    for minute in range(1, 200):
        table = {f"p{n}": {"p99": 3000.0, "p50": 250.0} for n in range(minute % 7 + 1)}
        state, alerts = judge.step(state, {"inbound": [rows(minute * MINUTE, table)]}, minute)
        assert alerts == [] and len(text_of(state)) < 80


@pytest.mark.parametrize(
    "windows, batch, problem",
    [
        (
            {"inbound": [rows(5 * MINUTE, {"a": QUICK})]},
            7,
            "ends at 1970-01-01T00:05:00Z; 1970-01-01T00:05:00Z was already evaluated",
        ),
        ({"inbound": [rows(4 * MINUTE, {"a": QUICK})]}, 7, "was already evaluated"),
        ({"inbound": [rows(6 * MINUTE, {"a": QUICK})] * 2}, 7, "two windows"),
        (
            {"inbound": [rows(6 * MINUTE + 1, {"a": QUICK})]},
            7,
            "ends at 1970-01-01T00:06:00.000001Z, which is not a multiple of its period 1m",
        ),
        ({"inbound": [rows(6 * MINUTE, {"a": QUICK})]}, 5, "batch 5 follows batch 5"),
        ({"else": []}, 7, "which no rule uses"),
    ],
)
def test_windows_that_were_judged_and_batches_out_of_order_are_refused(windows, batch, problem):
    judge = judge_of(rule())
    state, _ = judge.step(State(), {"inbound": [rows(5 * MINUTE, {"a": SLOW})]}, 5)
    with pytest.raises(OrderError) as refused:
        judge.step(state, windows, batch)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    "damage",
    [
        {"version": 2},
        {"rules": {"x": {"instances": [1]}}},
        {"rules": []},
        {"judged": "now"},
        {"batch": 1.5},
    ],
)
def test_a_state_that_is_damaged_or_of_another_version_is_refused(damage):
    state, _ = run(judge_of(rule()), {1: {"a": SLOW}})
    assert State.from_json(state.to_json()) == state
    with pytest.raises(StateError, match="alert state"):
        State.from_json({**state.to_json(), **damage})
    assert State.from_json(None) == State()


# -- records -----------------------------------------------------------------------------------------------------------


def fired(**more):
    _, [alert] = judge_of(rule(**more)).step(State(), {"inbound": [rows(MINUTE, {"7": SLOW})]}, 0)
    return alert


def test_alertmanager_is_told_of_labels_annotations_and_times():
    alert = fired(labels={"severity": "page"}, annotations={"summary": "p99 {{ $value }}"})
    body = alert.for_alertmanager()
    assert body == {
        "labels": {"alertname": "Slow", "alertgroup": "network", "podset": "7", "severity": "page"},
        "annotations": {"summary": "p99 5 ms"},
        "startsAt": "1970-01-01T00:01:00Z",
    }
    assert alert.for_alertmanager(ends=5 * MINUTE)["endsAt"] == "1970-01-01T00:05:00Z"
    assert alert.for_alertmanager(ends=0)["startsAt"] == "1970-01-01T00:00:00Z", "an alert cannot end before it starts"


def test_alertmanager_is_told_of_a_resolved_alert_with_its_start_and_its_end():
    judge = judge_of(rule())
    state, _ = judge.step(State(), {"inbound": [rows(MINUTE, {"7": SLOW, None: SLOW})]}, 0)
    _, alerts = judge.step(state, {"inbound": [rows(3 * MINUTE, {"7": QUICK})]}, 1)
    bodies = [alert.for_alertmanager() for alert in alerts]
    assert [part["labels"].get("podset") for part in bodies] == [None, "7"]
    assert {(part["startsAt"], part["endsAt"]) for part in bodies} == {("1970-01-01T00:01:00Z", "1970-01-01T00:02:00Z")}


@given(timelines, settings_of)
def test_an_alert_comes_back_from_json_as_it_was(timeline, given_as):
    for alert in in_batches(judge_of(rule(**given_as)), timeline, ())[0]:
        back = Alert.from_json(json.loads(canonical(alert.to_json())))
        assert back == alert


def test_bounds_that_are_not_known_are_null_in_json():
    judge = judge_of(rule(when="possible"))
    table = {"a": {"p99": (np.nan, 5000.0, np.nan)}}
    _, [alert] = judge.step(State(), {"inbound": [rows(MINUTE, table)]}, 0)
    document = alert.to_json()
    assert document["quantities"] == {"inbound.p99": [None, 5000.0, None]}
    assert Alert.from_json(document) == alert


def test_a_fleets_alert_comes_back_from_json_as_it_was():
    judge, _ = fleets("violating", 0.5)
    table = {("x", "a"): SLOW, ("x", "b"): QUICK}
    _, [pending] = judge.step(State(), {"inbound": [rows(MINUTE, table)]}, 0)
    assert Alert.from_json(json.loads(canonical(pending.to_json()))) == pending


def test_something_else_than_an_alert_is_refused():
    for damage in ({"start": "yesterday"}, {"quantities": {"p99": [1]}}, {"surprise": 1}):
        with pytest.raises(StateError, match="not an alert"):
            Alert.from_json({**fired().to_json(), **damage})


@given(st.integers(-(2**55), 2**56))
def test_times_are_written_and_read_back_to_the_microsecond(microseconds):
    assert time_of(time_text(microseconds)) == microseconds
