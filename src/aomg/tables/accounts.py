"""Counts what became of every event."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Accounts:
    """Counts of events. Always came = used + late + refused + future + open.

    came
        All events that arrived.
    used
        In a sub-window that has closed, or of weight 0: those are used at once.
    late
        Left out, because their sub-window had closed.
    refused
        Left out, because they have no time, no finite value, or a weight that is not a whole number from 0 to 2^31 - 1.
    future
        Left out, because they are too far ahead of the clock.
    open
        In a sub-window that has not closed.
    """

    came: int = 0
    used: int = 0
    late: int = 0
    refused: int = 0
    future: int = 0
    open: int = 0

    @property
    def reconcile(self) -> bool:
        """Whether the counts add up: every event is in exactly one of them."""
        return self.came == self.used + self.late + self.refused + self.future + self.open
