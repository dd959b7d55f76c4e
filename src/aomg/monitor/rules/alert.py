"""Alert rules: judge every key for itself, at each window end.

A rule on several queries joins their rows on equal labels; the parts of its condition that read a row which is not
there, or has fewer than `min_count` events, do not hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aomg.monitor.alert import Alert, canonical
from aomg.monitor.rules.conditions import Column
from aomg.monitor.rules.intervals import Flags, Interval
from aomg.monitor.rules.joins import Joined, Sufficient
from aomg.monitor.rules.language import Expression
from aomg.monitor.rules.rows import Labels, WindowRows
from aomg.monitor.rules.templates import Template, values_of
from aomg.monitor.rules.verdicts import Bounds, Evidence, Verdict


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
