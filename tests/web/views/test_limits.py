"""The lines that the page draws are the limits that the rules judge by."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.monitor.config.reader import EXAMPLE, load
from aomg.web.views.limits import Limit, known_rules, limits_of

HEAD = """
source: {{parquet: events/, time: ts}}
state: state/
queries:
  inbound: {{value: rtt, unit: us, by: podset, size: 2m, period: 15s, quantiles: [0.5, 0.99], thresholds: [500]}}
  outbound: {{value: rtt, unit: ms, by: podset, size: 2m, period: 15s, quantiles: [0.5, 0.99]}}
sinks: {{results: [{{parquet: results/}}]}}
groups: [{{name: network, rules: [{rules}]}}]
"""


def configured(folder: Path, *rules: str):
    (folder / "c.yaml").write_text(HEAD.format(rules=", ".join(rules)))
    return load(folder / "c.yaml")


def drawn(folder: Path, expression: str) -> list[tuple]:
    limits = limits_of(configured(folder, f'{{alert: Slow, expr: "{expression}"}}'))
    assert all((limit.rule, limit.group, limit.kind) == ("Slow", "network", "alert") for limit in limits)
    return [(f"{limit.query}.{limit.estimate}", limit.operator, limit.value) for limit in limits]


@pytest.mark.parametrize(
    ("expression", "limits"),
    [
        ("inbound.p99 > 4ms", [("inbound.p99", ">", 4000.0)]),
        ("outbound.p99 > 4ms", [("outbound.p99", ">", 4.0)]),
        ("4ms <= inbound.p99", [("inbound.p99", ">=", 4000.0)]),
        ("not inbound.p99 <= 4ms", [("inbound.p99", ">", 4000.0)]),
        ("not (not inbound.p99 < 4ms)", [("inbound.p99", "<", 4000.0)]),
        ("inbound.p99 > 4ms and outbound.p50 >= 1000us", [("inbound.p99", ">", 4000.0), ("outbound.p50", ">=", 1.0)]),
        (
            "not (inbound.p99 > 4ms or not inbound.p50 < 2ms)",
            [("inbound.p99", "<=", 4000.0), ("inbound.p50", "<", 2000.0)],
        ),
        ("inbound.p99 > 4ms or inbound.p99 > 4000", [("inbound.p99", ">", 4000.0)]),
        ("inbound.p99 > 2 * 2ms", [("inbound.p99", ">", 4000.0)]),
        ("inbound.below_500 < 90%", [("inbound.below_500", "<", 0.9)]),
        ("inbound.count > 100 and inbound.burst", [("inbound.count", ">", 100.0)]),
        ("inbound.p99 > 20 * inbound.p50", []),
        ("inbound.p99 > outbound.p99", []),
        ("inbound.p99 - inbound.p50 > 4ms", []),
        ("inbound.burst", []),
    ],
)
def test_comparisons_with_a_constant_are_limits_in_the_unit_of_the_query(tmp_path, expression, limits):
    assert drawn(tmp_path, expression) == limits


@given(st.lists(st.booleans(), max_size=6), st.sampled_from([">", ">=", "<", "<="]), st.integers(1, 9))
def test_every_not_turns_the_operator_and_nothing_else(tmp_path_factory, turns, operator, value):
    folder = tmp_path_factory.mktemp("turns")
    expression = "".join("not " if turn else "" for turn in turns) + f"inbound.p99 {operator} {value}ms"
    ((name, answer, limit),) = drawn(folder, expression)
    assert (name, limit) == ("inbound.p99", value * 1000.0)
    holds = {">": 2 > 1, ">=": 2 >= 1, "<": 2 < 1, "<=": 2 <= 1}  # of a value above the limit
    assert holds[answer] == (holds[operator] != (sum(turns) % 2 == 1))


def test_targets_and_fleets_have_limits_and_broken_rules_none(tmp_path):
    config = configured(
        tmp_path,
        "{target: room, query: inbound, quantile: p99, at_most: 5ms}",
        '{alert: Crisis, expr: "inbound.p99 > 4ms", share: 30%}',
        '{alert: Broken, expr: "inbound.p42 > 4ms"}',
    )
    assert limits_of(config) == (
        Limit("inbound", "p99", 5000.0, ">", "room", "network", "target"),
        Limit("inbound", "p99", 4000.0, ">", "Crisis", "network"),
    )
    rules = known_rules(config)
    assert list(rules) == [("network", "Crisis")]
    assert rules["network", "Crisis"].share == 0.3 and rules["network", "Crisis"].queries == ("inbound",)


def test_the_shipped_rules_have_their_limits():
    config = load(EXAMPLE)
    assert [(one.query, one.estimate, one.value, one.rule) for one in limits_of(config)] == [
        ("inbound", "p99", 4000.0, "PodsetSwitchFault"),
        ("outbound", "p99", 4000.0, "PodsetSwitchFault"),
        ("inbound", "p99", 5000.0, "inbound_p99"),
    ]
    answer = known_rules(config)["network", "TailAgainstMedian"]
    assert (answer.condition, answer.queries, answer.limits) == ("p99_9 > 20 * p50", ("inbound",), ())
