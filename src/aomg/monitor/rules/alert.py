"""Alert rules: a condition that is evaluated for every key on its own, at each window end.

A rule on several queries joins their rows on equal labels. A part of its condition that reads a missing row, or one
with fewer than `min_count` events, does not hold.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import lcm
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from aomg.monitor.alert import Alert, canonical
from aomg.monitor.config.model import QueryConfig, RuleConfig
from aomg.monitor.config.schema import Field, key
from aomg.monitor.config.values import duration, one_of, table, text
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.conditions import Column, Flag
from aomg.monitor.rules.intervals import Flags, Interval
from aomg.monitor.rules.joins import Joined, Sufficient
from aomg.monitor.rules.language import Expression, parse
from aomg.monitor.rules.names import own_query, resolve
from aomg.monitor.rules.rows import Labels, WindowRows
from aomg.monitor.rules.templates import FIELDS, Template, split_part, values_of
from aomg.monitor.rules.templates import parse as parse_template
from aomg.monitor.rules.verdicts import Bounds, Evidence, Verdict

RESERVED = ("alertname", "alertgroup")


def _annotation(field: Field) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", field.key):
        field.refuse("is not a valid annotation name; use letters, digits and _, and begin with a letter")
    return text(field)


@dataclass(frozen=True, kw_only=True)
class AlertConfig(RuleConfig):
    """An alert rule as configured. Durations are microseconds."""

    kind = "alert"
    name_key = "alert"
    template_fields: ClassVar[tuple[str, ...]] = FIELDS
    """What annotations may use, as $NAME."""

    expr: str = key(text, help="the condition, at most 1,000 characters")
    when: str = key(
        one_of("certain", "possible"),
        "certain",
        help="or `possible`: [how sure](#certain-and-possible) the condition must be",
    )
    for_: int = key(duration, 0, name="for", help="how long the condition must hold before the alert fires")
    keep_firing_for: int = key(duration, 0, help="how long it must not hold before the alert is resolved")
    annotations: dict[str, str] = key(table(_annotation), {}, help="texts with [placeholders](#annotations)")

    def build(self, queries: Mapping[str, QueryConfig]) -> "Rule":
        """Return the rule, checked against the queries. Raises ConfigError."""
        with self.line_of("expr"):
            expression = parse(self.expr, queries, self.query)
        read = [queries[name] for name in expression.queries]
        for config in read:
            if config.query.counted:
                raise ConfigError(
                    f"query {config.name} counts its windows in events; rules need windows of time, such as 1 hour"
                )
            if set(config.labels) != set(read[0].labels):
                raise _cannot_join(read[0], config)
        key_names = read[0].labels
        with self.line_of("labels"):
            self._check_labels(key_names)
        extra: dict[Column, None] = {}

        def check(name: str) -> str:
            return self._template_name(name, key_names, {c.name: c for c in read}, expression, extra)

        with self.line_of("annotations"):
            annotations = {name: parse_template(text, check) for name, text in self.annotations.items()}
        columns = [leaf for leaf in (*expression.reads, *extra) if isinstance(leaf, Column)]
        return Rule(
            name=self.name,
            group=self.group,
            labels=dict(self.labels),
            expression=expression,
            when=self.when,
            for_=self.for_,
            keep_firing_for=self.keep_firing_for,
            min_count=self.min_count,
            period=lcm(*(config.query.period for config in read)),
            size=max(config.query.size for config in read),
            key_names=key_names,
            orders={config.name: config.labels for config in read},
            annotations=annotations,
            annotation_columns=tuple(extra),
            units={str(column): column.unit for column in columns if column.unit},
        )

    def alert_labels(self, key_names: tuple[str, ...]) -> tuple[str, ...]:
        """The names of the labels that identify its alerts, besides the rule's own."""
        return key_names

    def check_quantity(self, place: str) -> None:
        """Refuse quantities in annotations, if its alerts have none. `place` ends the message."""

    def _check_labels(self, key_names: tuple[str, ...]) -> None:
        for name in self.labels:
            if name in key_names or name in RESERVED:
                raise ConfigError(f"the label {name!r} is in use; choose another name")
            if "{{" in self.labels[name]:
                raise ConfigError(f"the label {name!r} has a placeholder; only annotations may have placeholders")

    def _template_name(
        self,
        name: str,
        key_names: tuple[str, ...],
        read: Mapping[str, QueryConfig],
        expression: Expression,
        extra: dict[Column, None],
    ) -> str:
        """Check a name in an annotation and return it in full. Adds columns that the condition lacks to `extra`."""
        place = f" in {{{{ {name} }}}}"
        if name.startswith("$labels."):
            known = [*self.alert_labels(key_names), *self.labels]
            if name.removeprefix("$labels.") not in known:
                raise ConfigError(f"unknown label{place}; the labels are {', '.join(known) or 'none'}")
            return name
        if name.startswith("$"):
            if name[1:] not in self.template_fields:
                raise ConfigError(
                    f"unknown value{place}; the values are ${', $'.join(self.template_fields)} and $labels.NAME"
                )
            return name
        self.check_quantity(place)
        quantity, part = split_part(name)
        column = resolve(quantity, read, own_query(self.query if self.query in read else None, read), place)
        if isinstance(column, Flag):
            raise ConfigError(f"burst is not a quantity{place}; remove it")
        if column not in expression.reads:
            extra[column] = None
        return str(column) + part


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule that evaluates its condition for every key.

    key_names
        The names of the labels of the rows it reads.
    orders
        The queries it reads, and the order in which each has its labels.
    period, size
        It is evaluated at the window ends that all its queries have; its alerts have the longest of their windows.
    annotation_columns
        Quantities that only the annotations read.
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
    annotation_columns: tuple[Column, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of the labels of its alerts."""
        return self.key_names

    @cached_property
    def key(self) -> str:
        """Identifies the rule among all rules."""
        return canonical([self.group, self.name, dict(self.labels), list(self.label_names)])

    @cached_property
    def quantities(self) -> tuple[Column, ...]:
        """The columns that its condition reads, without flags."""
        return tuple(leaf for leaf in self.expression.reads if isinstance(leaf, Column))

    @property
    def remembers(self) -> bool:
        """Whether it needs to know which members had rows before."""
        return False

    def joined(self, windows: Mapping[str, WindowRows]) -> Joined:
        """Return the rows that it evaluates."""
        return Joined(self.key_names, self.orders, windows)

    def judge(self, end: int, joined: Joined, last_seen: Mapping[Labels, int]) -> Verdict:
        """Evaluate all rows of a window end: a few array operations. `last_seen` is that of the last verdict."""
        return KeyVerdict(self, joined)

    def annotations_of(self, alert: Alert, evidence: Evidence) -> dict[str, str]:
        """Return the annotations of an alert, with values filled in."""
        values = values_of(alert, evidence.annotation_quantities, self.units)
        return {name: text.render(values) for name, text in self.annotations.items()}


class KeyVerdict:
    """An alert rule at one window end: whether its condition holds, for each key."""

    def __init__(self, rule: Rule, joined: Joined) -> None:
        self._rule = rule
        self._joined = joined
        self._rows = Sufficient(joined, rule.min_count)
        self.labels = joined.labels
        self.holds: Flags = rule.expression.truth(self._rows).holds
        self.last_seen: Mapping[Labels, int] = {}

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Events of each row: the fewest of several queries; 0 where none has enough events."""
        return self._rows.fewest(tuple(self._rule.orders))

    @cached_property
    def has_data(self) -> Flags:
        """Which rows have enough events."""
        return self.counts > 0

    def row_of(self, labels: Labels) -> int | None:
        """Return the row of a key."""
        return self._joined.row_of.get(labels)

    def evidence(self, row: int) -> Evidence:
        """Return the quantities of one row, of the queries that have it."""
        return Evidence(
            _bounds(self._condition_columns, row), _bounds(self._annotation_columns, row), int(self.counts[row]) or None
        )

    @cached_property
    def _condition_columns(self) -> "list[_NamedColumn]":
        return [self._column(column) for column in self._rule.quantities]

    @cached_property
    def _annotation_columns(self) -> "list[_NamedColumn]":
        return [self._column(column) for column in self._rule.annotation_columns]

    def _column(self, column: Column) -> "_NamedColumn":
        return str(column), self._rows.present(column.query), self._joined.interval(column.query, column.name)


_NamedColumn = tuple[str, Flags, Interval]
"""The name of a quantity, which rows have it, and its values."""


def _bounds(columns: list[_NamedColumn], row: int) -> dict[str, Bounds]:
    return {
        name: (float(values.low[row]), float(values.value[row]), float(values.high[row]))
        for name, present, values in columns
        if present[row]
    }


def _cannot_join(first: QueryConfig, second: QueryConfig) -> ConfigError:
    labels = [", ".join(config.labels) or "none" for config in (first, second)]
    label = next(iter(first.labels), "label")
    return ConfigError(
        f"queries {first.name} (labels {labels[0]}) and {second.name} (labels {labels[1]}) cannot be joined; give both "
        f"the same label names with by: {{label: column}}, such as by: {{{label}: its column}} in {second.name}"
    )
