"""Defines the verdict of a rule at one window end: for each of its alerts, whether the condition holds, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from aomg.monitor.alert import FleetReport
from aomg.monitor.rules.intervals import Flags
from aomg.monitor.rules.rows import Labels

Bounds = tuple[float, float, float]


@dataclass(frozen=True)
class Evidence:
    """Why an alert changed: the quantities of its condition (low, value, high), and the number of events."""

    quantities: Mapping[str, Bounds] = field(default_factory=dict)
    annotation_quantities: Mapping[str, Bounds] = field(default_factory=dict)
    """Quantities that only the annotations read."""
    count: int | None = None
    fleet: FleetReport | None = None


class Verdict(Protocol):
    """One rule at one window end. Truths are columns; evidence is gathered on request."""

    @property
    def labels(self) -> Sequence[Labels]:
        """The alerts that were evaluated."""

    @property
    def holds(self) -> Flags:
        """Three rows: whether the condition holds certainly, by the values alone, possibly."""

    @property
    def has_data(self) -> Flags:
        """Which of them had enough events."""

    @property
    def last_seen(self) -> Mapping[Labels, int]:
        """Of fleet rules that remember members: the last window end at which each had a row."""

    def row_of(self, labels: Labels) -> int | None:
        """Return the row of an alert, or None if it has none."""

    def evidence(self, row: int) -> Evidence:
        """Return the evidence for an alert."""
