"""The metrics: what Prometheus reads is what the windows say, whatever keys are called and however many there are."""

import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_classic
from prometheus_client.registry import CollectorRegistry
from scraped import END, HEALTH, SECOND, alert, example, histories, row, target

from aomg.web.metrics.exposition import Metrics, exposition
from aomg.web.metrics.labels import OURS, label_names, label_values
from aomg.web.metrics.names import COUNTERS, MEANINGS
from aomg.web.metrics.series_cap import shares

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
NAMED = re.compile(r"`(aomg_\w+)`")
P99 = {"p99": (4280.0, 4310.0, 4350.0)}


def read(metrics, accept=OPENMETRICS):
    """Every series of the text: (name, labels) -> value. No series may come twice."""
    text = exposition(metrics, accept)[0].decode()
    families = list((read_openmetrics if accept == OPENMETRICS else read_classic)(text))
    samples = [sample for family in families for sample in family.samples]
    result = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}
    assert len(result) == len(samples), "a series comes twice"
    return result


def of(result, name):
    """The series of one name, as a list of (labels, value)."""
    return [(dict(labels), value) for (answer, labels), value in result.items() if answer == name]


def value(result, name, **labels):
    return result[name, frozenset(labels.items())]


# -- what is told ------------------------------------------------------------------------------------------------------


def test_every_number_of_a_moment_is_told_with_its_name_and_labels():
    result = read(example())
    inbound = {"query": "inbound", "podset": "6"}
    for name, expected in (("aomg_quantile_low", 4280), ("aomg_quantile", 4310), ("aomg_quantile_high", 4350)):
        assert value(result, name, **inbound, quantile="0.99", unit="us") == expected
    assert value(result, "aomg_quantile", **inbound, quantile="0.999", unit="us") == 8100
    assert value(result, "aomg_share_below_low", **inbound, threshold="4000") == 0.96875
    assert value(result, "aomg_window_events", **inbound) == 3000
    assert value(result, "aomg_window_burst", **inbound) == 0
    assert value(result, "aomg_window_burst", query="outbound", podset="13") == 1
    assert value(result, "aomg_window_end_seconds", query="inbound") == END / SECOND
    assert value(result, "aomg_window_keys", query="inbound") == 2
    assert value(result, "aomg_alerts", state="firing") == value(result, "aomg_alerts", state="pending") == 1
    assert of(result, "aomg_alert_firing") == [
        ({"alertname": "PodsetSwitchFault", "alertgroup": "network", "podset": "6", "severity": "page"}, 1)
    ]
    room = {"target": "inbound_p99", "group": "network", "podset": "6"}
    parts = [value(result, f"aomg_target_headroom{part}", **room) for part in ("_low", "", "_high")]
    assert parts == [0.13, 0.138, 0.144]
    assert value(result, "aomg_events_total") == 900_000
    assert value(result, "aomg_late_events_total") == 12
    assert value(result, "aomg_refused_rows_total", reason='a "line"\ncannot be read') == 2
    assert value(result, "aomg_batch_seconds") == 2.5, "of the newest micro-batch"
    assert value(result, "aomg_batch_phase_seconds", phase="judge") == 0.25
    assert value(result, "aomg_undelivered_alerts", receiver="webhook 1") == 2
    assert value(result, "aomg_lag_seconds") == 17.5
    assert value(result, "aomg_results_stale") == 0 and value(result, "aomg_monitor_live") == 1
    assert value(result, "aomg_follower_failing", follower="alerts") == 1
    assert value(result, "aomg_follower_failing", follower="results") == 0
    assert {name.removesuffix("_total") for name, _ in result} == set(MEANINGS), "every metric that there is"


def test_results_that_are_stale_are_told_as_one():
    stale = {**HEALTH, "stale": {"seconds": 340.0, "because": "...", "what_to_do": "..."}}
    assert value(read(Metrics({}, health=stale)), "aomg_results_stale") == 1


def test_a_monitor_that_ended_is_told_as_zero_and_one_that_nobody_knows_of_not_at_all():
    ended = {**HEALTH, "live": False}
    assert value(read(Metrics({}, health=ended)), "aomg_monitor_live") == 0
    unknown = {**HEALTH, "live": False, "batches": [], "totals": {"events": 0, "rows": 0, "late": None}}
    result = read(Metrics({}, health=unknown))
    assert not of(result, "aomg_monitor_live") and not of(result, "aomg_events_total")


def test_of_a_folder_of_results_alone_only_windows_are_told():
    result = read(Metrics(histories([row({"podset": "6"}, **P99)])))
    assert {name for name, _ in result} == {
        "aomg_quantile", "aomg_quantile_low", "aomg_quantile_high", "aomg_window_events", "aomg_window_burst",
        "aomg_window_end_seconds", "aomg_window_keys", "aomg_series_left_out",
    }  # fmt: skip
    assert "unit" not in of(result, "aomg_quantile")[0][0]


def test_nothing_at_all_is_an_empty_text_that_can_be_read():
    assert exposition(Metrics({}), OPENMETRICS)[0] == b"# EOF\n"
    assert exposition(Metrics({}, alerts=[]), "")[0].decode().count("aomg_alerts{") == 2


def test_what_is_not_known_is_left_out_and_an_endless_bound_is_told():
    rows = [
        row({"podset": "1"}, p50=(None, None, None), p99=(None, 5.0, None)),
        row({"podset": "2"}, p50=(1.0, 2.0, 3.0), p99=(-math.inf, 5.0, math.inf)),
    ]
    health = {"stale": None, "lag_seconds": None, "batches": [], "totals": {"late": None}, "undelivered": {}}
    result = read(Metrics(histories(rows), targets=[target((None, 0.5, None))], health=health))
    assert of(result, "aomg_quantile") == [
        ({"query": "inbound", "podset": "1", "quantile": "0.99"}, 5.0),
        ({"query": "inbound", "podset": "2", "quantile": "0.5"}, 2.0),
        ({"query": "inbound", "podset": "2", "quantile": "0.99"}, 5.0),
    ]
    assert [number for _, number in of(result, "aomg_quantile_low")] == [1.0, -math.inf]
    assert [number for _, number in of(result, "aomg_quantile_high")] == [3.0, math.inf]
    assert not of(result, "aomg_target_headroom_low") and not of(result, "aomg_lag_seconds")
    assert not any(math.isnan(number) for number in result.values())


def test_only_the_newest_window_of_a_query_is_told():
    rows = [row({"podset": "gone"}, end=END - 15 * SECOND, **P99), row({"podset": "here"}, **P99)]
    assert [labels["podset"] for labels, _ in of(read(Metrics(histories(rows))), "aomg_window_events")] == ["here"]


@given(st.lists(st.floats(1e-6, 1e9), min_size=3, max_size=3).map(sorted))
def test_the_exact_value_is_never_outside_of_the_interval_that_is_told(bounds):
    result = read(Metrics(histories([row({"podset": "6"}, p99=tuple(bounds))])))
    (_, low), (_, middle), (_, high) = (of(result, f"aomg_quantile{part}")[0] for part in ("_low", "", "_high"))
    assert low <= bounds[0] and bounds[2] <= high and low <= middle <= high
    assert middle == pytest.approx(bounds[1], rel=1e-6)


# -- formats -----------------------------------------------------------------------------------------------------------


def test_each_asker_gets_the_format_that_it_knows():
    of_prometheus = (
        "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
        "text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
    )
    text, kind = exposition(example(), of_prometheus)
    assert kind.startswith("application/openmetrics-text; version=1.0.0; charset=utf-8") and text.endswith(b"# EOF\n")
    for accept in ("", "*/*", "text/html", "application/openmetrics-text; version=newest", "\xff;;=,;version="):
        text, kind = exposition(example(), accept)
        assert kind == "text/plain; version=0.0.4; charset=utf-8" and b"# EOF" not in text
        assert b"# TYPE aomg_events_total counter" in text


texts = st.text(st.characters(codec=None) | st.sampled_from('"\\\n\r{}=, \x00\ud800'), max_size=6)
label_sets = st.dictionaries(texts | st.sampled_from(sorted(OURS)), texts | st.none(), max_size=4)


@given(st.lists(label_sets, min_size=1, max_size=4), st.sampled_from([OPENMETRICS, ""]))
def test_the_text_says_the_same_as_that_of_the_library_whatever_keys_are_called(keys, accept):
    metrics = Metrics({}, alerts=[alert("firing", **{}) | {"labels": labels} for labels in keys], health=HEALTH)
    ours = exposition(metrics, accept)[0].decode()
    registry = CollectorRegistry()
    registry.register(metrics)
    theirs = choose_encoder(accept)[0](registry).decode()
    reader = read_openmetrics if accept else read_classic
    assert sorted(map(_comparable, reader(ours))) == sorted(map(_comparable, reader(theirs)))


def _comparable(family):
    samples = sorted((s.name, sorted(s.labels.items()), s.value) for s in family.samples)
    return family.name, family.type, family.documentation, samples


# -- names and values of labels ----------------------------------------------------------------------------------------


@given(st.lists(texts | st.sampled_from([*OURS, "a_b", "a-b", "a.b", "a_b_2", "key_job", "__name__", "9", "größe"])))
def test_names_are_what_prometheus_takes_none_of_ours_and_as_many_as_before(names):
    answer = label_names(names)
    assert set(answer) == set(names) and len(set(answer.values())) == len(set(names))
    for name in answer.values():
        assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name) and not name.startswith("__") and name not in OURS
    assert label_names(reversed(names)) == answer, "whatever their order is"


def test_names_that_need_no_change_keep_it_even_if_others_become_equal_to_them():
    answer = label_names(["rack.no", "rack_no", "job", "key_job"])
    assert answer == {"rack.no": "rack_no_2", "rack_no": "rack_no", "job": "key_job_2", "key_job": "key_job"}


def test_labels_without_a_value_are_left_out():
    assert label_values({"a": None, "b": "", "c": "x"}, label_names("abc")) == {"c": "x"}


def test_a_key_cannot_pass_for_another_series_or_break_a_line():
    evil = 'x"} 0\naomg_quantile{query="inbound",quantile="0.99"} 1\n# EOF\n'
    rows = [row({"query": evil, "quantile": "0.5", "__name__": "up", "le": "\\"}, **P99)]
    result = read(Metrics(histories(rows)))
    labels = {"key_query": evil, "key_quantile": "0.5", "key___name__": "up", "key_le": "\\"}
    assert of(result, "aomg_quantile") == [({"query": "inbound", "quantile": "0.99", **labels}, 4310)]


def test_keys_that_become_equal_are_told_once_and_the_others_are_counted():
    rows = [row({"host": host}, count=count, **P99) for host, count in [("", 1), ("a", 2), (None, 3)]]
    result = read(Metrics(histories(rows)))
    assert len(of(result, "aomg_window_events")) == 2
    assert value(result, "aomg_series_left_out", query="inbound") == 5


@given(st.lists(label_sets, min_size=1, max_size=6))
def test_no_series_comes_twice_whatever_targets_are_called(keys):
    targets = [target((0.1, 0.2, 0.3)) | {"labels": labels} for labels in keys]
    result = read(Metrics({}, targets=targets))
    left_out = value(result, "aomg_series_left_out", target="inbound_p99", group="network")
    assert len(of(result, "aomg_target_headroom")) * 3 + left_out == 3 * len(keys)


# -- too many ----------------------------------------------------------------------------------------------------------


def many(count, query="inbound", **more):
    return [row({"podset": str(number)}, query, **P99, **more) for number in range(count)]


def test_beyond_the_cap_whole_keys_are_left_out_and_counted():
    result = read(Metrics(histories(many(100)), most_series=52))
    displayed = [labels["podset"] for labels, _ in of(result, "aomg_window_events")]
    assert displayed == [str(number) for number in range(10)], "those that were seen first"
    assert len(of(result, "aomg_quantile_low")) == 10
    assert value(result, "aomg_series_left_out", query="inbound") == 90 * 5
    assert value(result, "aomg_window_keys", query="inbound") == 100, "how many there are is told all the same"


def test_keys_whose_alert_fires_are_never_left_out_for_others():
    alerts = [alert(podset="77", severity="page"), alert("pending", podset="78"), alert(podset="nobody"), alert()]
    result = read(Metrics(histories(many(100)), alerts=alerts, most_series=20))
    displayed = [labels["podset"] for labels, _ in of(result, "aomg_window_events")]
    assert displayed == ["77", "0", "1"]
    assert len(of(result, "aomg_alert_firing")) == 3


def test_an_alert_of_one_query_does_not_move_the_keys_of_another():
    rows = [*many(100), *many(100, "outbound")]
    result = read(Metrics(histories(rows), alerts=[alert(podset="77", queries=["inbound"])], most_series=41))
    displayed = [(labels["query"], labels["podset"]) for labels, _ in of(result, "aomg_window_events")]
    assert displayed == [("inbound", "77"), *[("inbound", str(key)) for key in range(3)]] + [
        ("outbound", str(key)) for key in range(4)
    ]


def test_a_query_with_many_keys_leaves_room_for_the_others():
    rows = [*many(1000), *many(3, "outbound"), *many(500, "other")]
    targets = [target((0.1, 0.2, 0.3), podset=str(number)) for number in range(1000)]
    result = read(Metrics(histories(rows), targets=targets, most_series=315))
    displayed = [labels["query"] for labels, _ in of(result, "aomg_window_events")]
    assert [displayed.count(query) for query in ("inbound", "outbound", "other")] == [20, 3, 20]
    assert len(of(result, "aomg_target_headroom")) == 33
    answer = sum(len(of(result, name)) for name in MEANINGS if name not in ("aomg_series_left_out", *COUNTERS))
    assert answer - 2 * 3 <= 315, "and all of them together are not more than the cap"


def test_ten_thousand_keys_stay_within_the_cap_and_the_first_stay_the_first():
    early = [row({"podset": f"p{number}"}, end=END - SECOND, **P99) for number in range(2_500)]
    late = [row({"podset": f"p{number}"}, **P99) for number in range(10_000)]
    before, after = (
        {labels["podset"] for labels, _ in of(read(Metrics(histories(rows))), "aomg_window_events")}
        for rows in (early, [*early, *reversed(late)])
    )
    assert before == after and len(before) == 10_000 // 5


@given(st.lists(st.integers(0, 50), max_size=6), st.integers(0, 100))
def test_shares_are_fair_and_nothing_is_wasted(wanted, most):
    given_ = shares(wanted, most)
    assert all(0 <= got <= requested for got, requested in zip(given_, wanted, strict=True))
    short = [got for got, requested in zip(given_, wanted, strict=True) if got < requested]
    assert sum(given_) == min(most, sum(wanted))
    if short:
        assert max(given_) - min(short) <= 1, "nobody has more than one who wanted more"


def test_the_guide_names_every_metric_with_its_labels_and_every_name_that_is_ours():
    guide = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text()
    rows = {name: line for line in guide.splitlines() if line.startswith("| `aomg") for name in NAMED.findall(line)}
    assert set(rows) == {f"{name}_total" if name in COUNTERS else name for name in MEANINGS}
    labels = {}
    for name, answer in read(example()):
        labels.setdefault(name, set()).update(label for label, _ in answer)
    for name, answer in labels.items():
        line = guide.splitlines()[guide.splitlines().index(rows[name]) - 1] if "the same" in rows[name] else rows[name]
        assert all(f"`{label}`" in line for label in answer - {"podset", "severity"}), name
    (ours,) = re.findall(r"their name is reserved \((.*?)\)", guide, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", ours)) == OURS


def test_health_is_told_as_json_has_it():
    assert read(Metrics({}, health=json.loads(json.dumps(HEALTH)))) == read(Metrics({}, health=HEALTH))
