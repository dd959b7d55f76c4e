"""What a shard of a stream knows of itself: whose state it is, how far it has come, what became of every event."""

from dataclasses import astuple, dataclass, fields

from aomg.spark.parcels import NEVER


@dataclass(slots=True)
class Ledger:
    """One row of the state store.

    layout is the query that the state belongs to; closed_to the first sub-window that has not been answered; entry the
    newest number of an entry, waiting how many entries of tallies there are. The rest are counts of events, the latest
    sub-window that was seen and the latest time.
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

    def next_entry(self) -> int:
        """A number for an entry that no other has had."""
        self.entry += 1
        return self.entry

    def row(self) -> tuple[str | int, ...]:
        """As the state store takes it."""
        return astuple(self)


SCHEMA = ", ".join(f"{field.name} {'string' if field.name == 'layout' else 'long'}" for field in fields(Ledger))
