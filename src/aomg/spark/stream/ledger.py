"""The ledgers of a stream's shard, one for each query: how far it has come, and what became of its events."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

from aomg.tables.rows import NEVER


@dataclass(slots=True)
class Ledger:
    """The ledger of one query. The names of its fields are in checkpoints and must not change.

    layout
        What the state of the query depends on (`aomg.spark.stream.processor.layout_of`).
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
    name
        The name of the query.
    slot
        Which entries of the state's maps are its own (aomg.spark.stream.tables).
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
    name: str = ""
    slot: int = 0

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


_TEXTS = ("layout", "name")
_COLUMNS = {field.name: "string" if field.name in _TEXTS else "long" for field in fields(Ledger)}

BEFORE = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items() if name not in ("name", "slot"))
"""The schema of the value `ledger` in checkpoints of a version that had one query in a state."""

SCHEMA = f"ledgers array<struct<{', '.join(f'{name}: {kind}' for name, kind in _COLUMNS.items())}>>"
"""The schema of the value `ledgers`: one for each query."""


def ledger_of(row: Sequence[Any]) -> Ledger:
    """The ledger of a row of the state store, of this version or of the one before, which lacks the last two."""
    ledger = Ledger(str(row[0]))
    for name, part in zip(_COLUMNS, row, strict=False):
        setattr(ledger, name, str(part) if name in _TEXTS else int(part))
    return ledger
