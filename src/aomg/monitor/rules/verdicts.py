"""What a rule says of one window end: for each of its alerts, whether the condition holds, and what was seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from aomg.monitor.alert import FleetReport
from aomg.monitor.rules.intervals import Flags
from aomg.monitor.rules.rows import Labels

Bounds = tuple[float, float, float]


@dataclass(frozen=True)
class Evidence:
    """What was seen of one alert: the quantities of its condition (low, value, high), and the events behind them."""

    quantities: Mapping[str, Bounds] = field(default_factory=dict)
    further: Mapping[str, Bounds] = field(default_factory=dict)
    """Quantities that only the annotations tell."""
    count: int | None = None
    fleet: FleetReport | None = None


class Verdict(Protocol):
    """One rule at one window end. Truths are columns; evidence is gathered for those that are asked for."""

    @property
    def labels(self) -> Sequence[Labels]:
        """The alerts that were judged."""

    @property
    def holds(self) -> Flags:
        """Three rows: whether the condition holds certainly, by the values alone, possibly."""

    @property
    def judged(self) -> Flags:
        """Which of them had data."""

    @property
    def seen(self) -> Mapping[Labels, int]:
        """Of fleets that remember: every member, and the window end at which it was seen last."""

    def row_of(self, labels: Labels) -> int | None:
        """Return where this alert is, or None if nothing is known of it."""

    def evidence(self, row: int) -> Evidence:
        """Gather what was seen of an alert."""
