"""Defines what a monitor reports after each micro-batch, to a terminal, a page or a test."""

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
    """Time for rules and sinks, on the driver."""
    refused: Mapping[str, int]
    """Refused rows of the batch, by reason."""
    newest: Mapping[str, WindowRows]
    """The newest window of each query that has one in the batch."""
    rows: int
    """Rows of results."""
    alerts: Sequence[Alert]
    """The transitions of the batch."""
    active: Sequence[Active]
    """The alerts that are pending or firing now."""
    events: int = 0
    """Events that the batch read."""


class Watcher(Protocol):
    """Called after every micro-batch, once it is written."""

    def __call__(self, progress: Progress) -> None:
        """Take the report of one micro-batch. Must be fast, and must not fail."""
