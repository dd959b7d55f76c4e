"""Targets: how much is left between a quantile and the limit it must keep, for autoscalers and for the live page.

The headroom is (limit - quantile) / limit: 1 where there is no load at all, 0 at the limit, below 0 beyond it. It has
an interval as the quantile has: low..high always holds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aomg.monitor.config.model import QueryConfig, RuleConfig
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.conditions import Column
from aomg.monitor.rules.intervals import Interval
from aomg.monitor.rules.language import constant
from aomg.monitor.rules.names import resolve
from aomg.monitor.rules.rows import Labels, WindowRows
from aomg.times import time_text


@dataclass(frozen=True, eq=False)
class Headroom:
    """The headroom of every key at one window end, in columns."""

    target: str
    group: str
    end: int
    label_names: tuple[str, ...]
    labels: tuple[Labels, ...]
    headroom: Interval
    fixed: Mapping[str, str] = field(default_factory=dict)
    """The target's own labels."""

    def records(self) -> Iterator[dict[str, Any]]:
        """Go through the keys, each in JSON's types."""
        room = self.headroom
        for row, labels in enumerate(self.labels):
            bounds = (float(part[row]) for part in (room.low, room.value, room.high))
            yield {
                "target": self.target,
                "group": self.group,
                "end": time_text(self.end),
                "labels": {**dict(zip(self.label_names, labels, strict=True)), **self.fixed},
                "headroom": [part if np.isfinite(part) else None for part in bounds],
            }


@dataclass(frozen=True, kw_only=True)
class Target:
    """A limit that a quantile must keep. It alerts nobody; `headroom` is what it tells."""

    name: str
    group: str
    labels: Mapping[str, str]
    column: Column
    limit: float
    min_count: int
    label_names: tuple[str, ...]

    def headroom(self, rows: WindowRows) -> Headroom:
        """Return the headroom of every key that has events enough."""
        limit = Interval.exactly(self.limit)
        room = (limit - rows.interval(self.column.name)) / limit
        enough = np.flatnonzero(rows.count >= self.min_count)
        labels = tuple(rows.labels[row] for row in enough)
        return Headroom(self.name, self.group, rows.end, self.label_names, labels, room.take(enough), self.labels)

    def headrooms(self, windows: Mapping[str, Sequence[WindowRows]]) -> list[Headroom]:
        """Return the headroom at every window end of a batch, the earliest first."""
        rows = sorted(windows.get(self.column.query, ()), key=lambda rows: rows.end)
        return [self.headroom(part) for part in rows]


def target_of(rule: RuleConfig, queries: Mapping[str, QueryConfig]) -> Target:
    """Return the target of a configuration. Raises ConfigError with what to do."""
    if rule.quantile is None or rule.at_most is None:
        raise ConfigError("a target needs quantile and at_most, such as quantile: p99 and at_most: 200ms")
    own = rule.query if rule.query is not None else next(iter(queries)) if len(queries) == 1 else None
    column = resolve(rule.quantile, queries, own)
    if not isinstance(column, Column):
        raise ConfigError(f"{rule.quantile!r} is no quantity; name one such as p99")
    limit = constant(rule.at_most, column.unit)
    if not limit > 0:
        raise ConfigError(f"at_most is {rule.at_most}; headroom needs a limit above zero")
    return Target(
        name=rule.name,
        group=rule.group,
        labels=dict(rule.labels),
        column=column,
        limit=limit,
        min_count=rule.min_count,
        label_names=queries[column.query].labels,
    )
