"""Gives rules their meaning: checks a RuleConfig against the queries, and judges the rows of a window end by it.

An alert rule judges every key for itself. A fleet rule (fleets.py) judges the share of members that violate, and a
target (targets.py) tells how much is left to a limit. A rule on several queries joins their rows on equal labels; the
parts of its condition that read a row which is not there, or has fewer than `min_count` events, do not hold.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from math import lcm
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aomg.monitor.alerts import Alert, canonical
from aomg.monitor.conditions import Column, Flag
from aomg.monitor.errors import ConfigError
from aomg.monitor.expressions import Expression, parse
from aomg.monitor.intervals import Flags, Interval
from aomg.monitor.joins import Joined, Sufficient
from aomg.monitor.names import resolve
from aomg.monitor.rows import Labels, WindowRows
from aomg.monitor.templates import (
    FIELDS,
    FLEET_FIELDS,
    Template,
    split_part,
    values_of,
)
from aomg.monitor.templates import (
    parse as parse_template,
)
from aomg.monitor.verdicts import Bounds, Evidence, Verdict

if TYPE_CHECKING:
    from aomg.monitor.config import QueryConfig, RuleConfig
    from aomg.monitor.targets import Target

RESERVED = ("alertname", "alertgroup")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule that judges every key for itself.

    key_names
        What the labels of the rows it reads are called.
    orders
        The queries it reads, and the order in which each has its labels.
    period, size
        Of its windows: it is judged at the ends that all its queries have, and tells the longest of them.
    """

    name: str
    group: str
    labels: Mapping[str, str]
    expression: Expression
    when: str
    for_: int
    keep_firing_for: int
    min_count: int
    period: int
    size: int
    key_names: tuple[str, ...]
    orders: Mapping[str, tuple[str, ...]]
    annotations: Mapping[str, Template]
    further: tuple[Column, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def label_names(self) -> tuple[str, ...]:
        """What the labels of its alerts are called."""
        return self.key_names

    @cached_property
    def key(self) -> str:
        """What tells it from other rules."""
        return canonical([self.group, self.name, dict(self.labels), list(self.label_names)])

    @cached_property
    def quantities(self) -> tuple[Column, ...]:
        """What its condition reads, but for flags."""
        return tuple(leaf for leaf in self.expression.reads if isinstance(leaf, Column))

    @property
    def remembers(self) -> bool:
        """Whether it needs to know which members it has seen."""
        return False

    def joined(self, windows: Mapping[str, WindowRows]) -> Joined:
        """Return the rows it judges."""
        return Joined(self.key_names, self.orders, windows)

    def judge(self, end: int, joined: Joined, seen: Mapping[Labels, int]) -> Verdict:
        """Judge all rows of a window end: a few array operations. `seen` is what the last verdict told."""
        return PlainVerdict(self, joined)

    def annotations_of(self, alert: Alert, evidence: Evidence) -> dict[str, str]:
        """Return what the annotations say of an alert."""
        values = values_of(alert, evidence.further, self.units)
        return {name: text.render(values) for name, text in self.annotations.items()}


class PlainVerdict:
    """What an alert rule says of the rows of one window end."""

    def __init__(self, rule: Rule, joined: Joined) -> None:
        self._rule = rule
        self._joined = joined
        self._rows = Sufficient(joined, rule.min_count)
        self.labels = joined.labels
        self.holds: Flags = rule.expression.truth(self._rows).holds
        self.seen: Mapping[Labels, int] = {}

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Events of each row: of several queries the fewest; 0 where none has events enough."""
        return self._rows.fewest(tuple(self._rule.orders))

    @cached_property
    def judged(self) -> Flags:
        """Which rows had data."""
        return self.counts > 0

    def row_of(self, labels: Labels) -> int | None:
        """Return the row of a key."""
        return self._joined.row_of.get(labels)

    def evidence(self, row: int) -> Evidence:
        """Gather the quantities of one row, of the queries that have it."""
        return Evidence(_told(self._read, row), _told(self._further, row), int(self.counts[row]) or None)

    @cached_property
    def _read(self) -> "list[_Read]":
        return [self._column(column) for column in self._rule.quantities]

    @cached_property
    def _further(self) -> "list[_Read]":
        return [self._column(column) for column in self._rule.further]

    def _column(self, column: Column) -> "_Read":
        return str(column), self._rows.present(column.query), self._joined.interval(column.query, column.name)


_Read = tuple[str, Flags, Interval]
"""A quantity by name, which rows have it, and what it is."""


def _told(columns: list[_Read], row: int) -> dict[str, Bounds]:
    return {
        name: (float(told.low[row]), float(told.value[row]), float(told.high[row]))
        for name, present, told in columns
        if present[row]
    }


def build(rule: "RuleConfig", queries: Mapping[str, "QueryConfig"]) -> "Rule | Target":
    """Return the rule of a configuration, checked. Raises ConfigError with its line and what to do."""
    from aomg.monitor.fleets import fleet_of
    from aomg.monitor.targets import target_of

    try:
        if rule.query is not None and rule.query not in queries:
            raise ConfigError(f"there is no query {rule.query!r}; there are {', '.join(queries)}")
        if rule.kind == "target":
            return target_of(rule, queries)
        plain = _plain(rule, queries)
        return plain if rule.kind == "alert" else fleet_of(rule, plain)
    except ConfigError as problem:
        raise ConfigError(f"rule {rule.name}: {problem.message}", problem.line or rule.line) from None


@contextmanager
def _in(rule: "RuleConfig", key: str) -> Iterator[None]:
    """Let complaints have the line of a key of the rule."""
    try:
        yield
    except ConfigError as problem:
        raise problem.placed(rule.lines.get(key)) from None


def _plain(rule: "RuleConfig", queries: Mapping[str, "QueryConfig"]) -> Rule:
    if rule.expr is None:
        raise ConfigError("it has no expr; write a condition such as p99 > 4ms")
    own = rule.query if rule.query is not None else next(iter(queries)) if len(queries) == 1 else None
    with _in(rule, "expr"):
        expression = parse(rule.expr, queries, own)
    read = [queries[name] for name in expression.queries]
    for config in read:
        if config.query.counted:
            raise ConfigError(f"query {config.name} counts elements; rules need windows of time, such as size: 1 hour")
        if set(config.labels) != set(read[0].labels):
            raise _cannot_join(read[0], config)
    key_names = read[0].labels
    with _in(rule, "labels"):
        for name in rule.labels:
            if name in key_names or name in RESERVED:
                raise ConfigError(f"the label {name!r} is taken; call it something else")
            if "{{" in rule.labels[name]:
                raise ConfigError(
                    f"the label {name!r} has a template; labels are fixed, annotations may have templates"
                )
    further: dict[Column, None] = {}

    def check(name: str) -> str:
        return _template_name(name, rule, key_names, {c.name: c for c in read}, expression, further)

    with _in(rule, "annotations"):
        annotations = {name: parse_template(text, check) for name, text in rule.annotations.items()}
    columns = [leaf for leaf in (*expression.reads, *further) if isinstance(leaf, Column)]
    return Rule(
        name=rule.name,
        group=rule.group,
        labels=dict(rule.labels),
        expression=expression,
        when=rule.when,
        for_=rule.for_,
        keep_firing_for=rule.keep_firing_for,
        min_count=rule.min_count,
        period=lcm(*(config.query.period for config in read)),
        size=max(config.query.size for config in read),
        key_names=key_names,
        orders={config.name: config.labels for config in read},
        annotations=annotations,
        further=tuple(further),
        units={str(column): column.unit for column in columns if column.unit},
    )


def _template_name(
    name: str,
    rule: "RuleConfig",
    key_names: tuple[str, ...],
    read: Mapping[str, "QueryConfig"],
    expression: Expression,
    further: dict[Column, None],
) -> str:
    """Check a name in an annotation and return it in full; what the condition does not read goes to `further`."""
    fleet = rule.kind == "fleet"
    place = f" in {{{{ {name} }}}}"
    if name.startswith("$labels."):
        known = [*(rule.of if fleet else key_names), *rule.labels]
        if name.removeprefix("$labels.") not in known:
            raise ConfigError(f"there is no such label{place}; there are {', '.join(known) or 'none'}")
        return name
    if name.startswith("$"):
        fields = (*FIELDS, *FLEET_FIELDS) if fleet else FIELDS
        if name[1:] not in fields:
            raise ConfigError(f"there is no such value{place}; there are ${', $'.join(fields)} and $labels.NAME")
        return name
    if fleet:
        raise ConfigError(f"a fleet has no single quantity{place}; it has ${', $'.join(FLEET_FIELDS)} and $value")
    quantity, part = split_part(name)
    own = rule.query if rule.query in read else next(iter(read)) if len(read) == 1 else None
    column = resolve(quantity, read, own, place)
    if isinstance(column, Flag):
        raise ConfigError(f"burst is no quantity{place}; leave it out")
    if column not in expression.reads:
        further[column] = None
    return str(column) + part


def _cannot_join(first: "QueryConfig", other: "QueryConfig") -> ConfigError:
    mine, theirs = ", ".join(first.labels) or "none", ", ".join(other.labels) or "none"
    label = next(iter(first.labels), "label")
    return ConfigError(
        f"queries {first.name} (labels {mine}) and {other.name} (labels {theirs}) cannot be joined; give both the same "
        f"label names with by: {{label: column}}, such as by: {{{label}: its column}} in {other.name}"
    )
