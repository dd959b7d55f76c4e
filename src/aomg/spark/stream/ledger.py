"""The ledger of a stream's shard: which query its state belongs to, how far it has come, what became of its events."""

from dataclasses import astuple, dataclass, fields
from typing import Any

from aomg.tables.rows import NEVER


@dataclass(slots=True)
class Ledger:
    """One row of the state store. The names of its fields are in checkpoints and must not change.

    layout
        The query that the state belongs to.
    closed_to
        The first sub-window that has not closed.
    entry
        The last number that a table of the state store got.
    waiting
        How many tables of open tallies there are.
    used, late, open, came, refused, future
        Counts of events, as in `aomg.spark.Accounts`.
    latest, clock
        The latest sub-window, and the latest time that moves the watermark.
    """

    layout: str
    closed_to: int = NEVER
    entry: int = 0
    waiting: int = 0
    used: int = 0
    late: int = 0
    open: int = 0
    came: int = 0
    refused: int = 0
    future: int = 0
    latest: int = NEVER
    clock: int = NEVER

    def add(self, parcel: Any) -> None:
        """Take over the time and the counts of a parcel: a `Parcel`, or Spark's row of one."""
        self.latest = max(self.latest, parcel.latest)
        self.clock = max(self.clock, parcel.clock)
        self.came += parcel.came
        self.refused += parcel.refused
        self.future += parcel.future
        self.used += parcel.weightless

    def next_entry(self) -> int:
        """A new number for a table of the state store."""
        self.entry += 1
        return self.entry

    def row(self) -> tuple[str | int, ...]:
        """The row for the state store."""
        return astuple(self)


SCHEMA = ", ".join(f"{field.name} {'string' if field.name == 'layout' else 'long'}" for field in fields(Ledger))
