"""Targets: the headroom between a quantile and its limit, for autoscalers and for the live page.

The headroom is (limit - quantile) / limit: 1 without any load, 0 at the limit, negative beyond it. Like the quantile,
it has an interval low..high that contains the exact value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aomg.monitor.config.model import QueryConfig, RuleConfig
from aomg.monitor.config.schema import key
from aomg.monitor.config.values import text
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.conditions import Column
from aomg.monitor.rules.intervals import Interval
from aomg.monitor.rules.language import constant
from aomg.monitor.rules.names import own_query, resolve
from aomg.monitor.rules.rows import Labels, WindowRows
from aomg.times import time_text


@dataclass(frozen=True, kw_only=True)
class TargetConfig(RuleConfig):
    """A target as configured. Its limit is as written: 200ms or 0.9."""

    kind = "target"
    name_key = "target"

    quantile: str = key(text, help="the quantity that has a limit, such as `p99`")
    at_most: str = key(text, help="the limit, such as `200ms` or `0.9`")

    def build(self, queries: Mapping[str, QueryConfig]) -> "Target":
        """Return the target, checked against the queries. Raises ConfigError."""
        column = resolve(self.quantile, queries, own_query(self.query, queries))
        if not isinstance(column, Column):
            raise ConfigError(f"{self.quantile!r} is not a quantity; write one such as p99")
        limit = constant(self.at_most, column.unit)
        if not limit > 0:
            raise ConfigError(f"at_most is {self.at_most}; headroom needs a limit above zero")
        return Target(
            name=self.name,
            group=self.group,
            labels=dict(self.labels),
            column=column,
            limit=limit,
            min_count=self.min_count,
            label_names=queries[column.query].labels,
        )


@dataclass(frozen=True, eq=False)
class Headroom:
    """The headroom of every key at one window end, as columns."""

    target: str
    group: str
    end: int
    label_names: tuple[str, ...]
    labels: tuple[Labels, ...]
    headroom: Interval
    fixed: Mapping[str, str] = field(default_factory=dict)
    """The target's own labels."""

    def records(self) -> Iterator[dict[str, Any]]:
        """Return a JSON object for each key."""
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
    """A quantile with a limit. It fires no alert; it reports its headroom."""

    name: str
    group: str
    labels: Mapping[str, str]
    column: Column
    limit: float
    min_count: int
    label_names: tuple[str, ...]

    def headroom(self, rows: WindowRows) -> Headroom:
        """Return the headroom of every key that has enough events."""
        limit = Interval.exactly(self.limit)
        room = (limit - rows.interval(self.column.name)) / limit
        enough = np.flatnonzero(rows.count >= self.min_count)
        labels = tuple(rows.labels[row] for row in enough)
        return Headroom(self.name, self.group, rows.end, self.label_names, labels, room.take(enough), self.labels)

    def headrooms(self, windows: Mapping[str, Sequence[WindowRows]]) -> list[Headroom]:
        """Return the headroom at every window end of a batch, the earliest first."""
        rows = sorted(windows.get(self.column.query, ()), key=lambda rows: rows.end)
        return [self.headroom(part) for part in rows]
