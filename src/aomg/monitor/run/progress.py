"""What a monitor tells of itself after each micro-batch, to whoever watches it: a terminal, a page, a test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from aomg.monitor.alert import Alert
from aomg.monitor.alerts.judge import Active
from aomg.monitor.rules.rows import WindowRows


@dataclass(frozen=True)
class Progress:
    """One micro-batch."""

    batch: int
    seconds: float
    """That judging and writing took, on the driver."""
    refused: Mapping[str, int]
    """Refused rows of the batch, by reason."""
    newest: Mapping[str, WindowRows]
    """The newest window of each query that has one in the batch."""
    rows: int
    """Of results."""
    alerts: Sequence[Alert]
    """What changed."""
    active: Sequence[Active]
    """The alerts that are pending or fire now."""


class Watcher(Protocol):
    """Hears of every micro-batch when it is written."""

    def __call__(self, progress: Progress) -> None:
        """Take one. Must not take long, and must not fail."""
