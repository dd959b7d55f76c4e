"""Finds the limits of rules that the page draws: every comparison of one quantity with a constant.

`inbound.p99 > 4ms and not outbound.p50 <= 1ms` has two: inbound.p99 > 4000 and outbound.p50 > 1000. Comparisons
between quantities (`p99_9 > 20 * p50`) have no line to draw.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from aomg.monitor.config.model import Config
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.alert import Rule
from aomg.monitor.rules.builder import build
from aomg.monitor.rules.conditions import Column, Comparison, Condition, Constant, Joint, Not
from aomg.monitor.rules.fleet import FleetConfig

_TURNED_ROUND = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "==": "==", "!=": "!="}
_OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "==": "!=", "!=": "=="}


@dataclass(frozen=True)
class Limit:
    """A line to draw. `value` is in the query's unit; the rule's condition holds for `quantity operator value`."""

    query: str
    estimate: str
    value: float
    operator: str
    rule: str
    group: str = ""
    kind: Literal["alert", "target"] = "alert"


@dataclass(frozen=True)
class KnownRule:
    """An alert rule of the configuration: its condition as written, the queries that it reads, and its limits."""

    condition: str
    queries: tuple[str, ...]
    limits: tuple[Limit, ...]
    share: float | None = None
    """Share of a fleet's members that must violate the condition."""


def limits_of(config: Config) -> tuple[Limit, ...]:
    """Return all limits, without duplicates, in the order of the file. Invalid rules have none."""
    limits: dict[Limit, None] = {}
    for rule in config.rules:
        try:
            built = build(rule, config.queries)
        except ConfigError:
            continue  # `aomg check` reports the error
        if isinstance(built, Rule):
            limits.update(dict.fromkeys(_limits(built)))
        else:
            column = built.column
            limits[Limit(column.query, column.name, built.limit, ">", rule.name, rule.group, "target")] = None
    return tuple(limits)


def known_rules(config: Config) -> Mapping[tuple[str, str], KnownRule]:
    """Return every alert rule of the configuration, by group and name."""
    rules = {}
    for rule in config.rules:
        try:
            built = build(rule, config.queries)
        except ConfigError:
            continue
        if isinstance(built, Rule):
            queries, limits = built.expression.queries, tuple(dict.fromkeys(_limits(built)))
            share = rule.share if isinstance(rule, FleetConfig) else None
            rules[rule.group, rule.name] = KnownRule(built.expression.text, queries, limits, share)
    return rules


def _limits(rule: Rule) -> Iterator[Limit]:
    for column, operator, value in _comparisons(rule.expression.condition):
        yield Limit(column.query, column.name, value, operator, rule.name, rule.group)


def _comparisons(condition: Condition, turned: bool = False) -> Iterator[tuple[Column, str, float]]:
    """Yield each comparison of a column with a constant; negated ones with the opposite operator."""
    if isinstance(condition, Not):
        yield from _comparisons(condition.condition, not turned)
    elif isinstance(condition, Joint):
        for part in condition.conditions:
            yield from _comparisons(part, turned)
    elif isinstance(condition, Comparison):
        left, sign, right = condition.left, condition.sign, condition.right
        if isinstance(left, Constant):
            left, sign, right = right, _TURNED_ROUND[sign], left
        if isinstance(left, Column) and isinstance(right, Constant):
            yield left, _OPPOSITE[sign] if turned else sign, float(right.exact)
