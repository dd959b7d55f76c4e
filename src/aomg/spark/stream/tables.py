"""Stores tables in the maps of Spark's state store. Several queries share a map: each has the entries of its slot.

A map is read as a whole, once for all queries of a shard's step. The entries of slot 0 have the numbers of their
tables, as in checkpoints of a version that had one query in a state.
"""

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import MapState

from aomg.errors import StateError
from aomg.tables.rows import pack, unpack

SLOTS = 60
"""Queries that a state has room for."""

MARK = b"-"
"""The content of an entry that has no table."""

_BITS = 57  # of a number, which may be negative
_HALF = 1 << (_BITS - 1)

Tables = dict[int, pa.Table]


def slot_of(entry: int) -> int:
    """The slot of an entry."""
    return (entry + _HALF) >> _BITS


class StateMap:
    """A map of a shard's state. Call `begin` when another shard's step begins."""

    def __init__(self, state: MapState) -> None:
        self._state = state
        self._entries: dict[int, bytes] | None = None

    def begin(self) -> None:
        """Forget the entries of the shard before."""
        self._entries = None

    def entries(self) -> dict[int, bytes]:
        """All entries, of every slot."""
        if self._entries is None:
            self._entries = {int(entry): bytes(content) for (entry,), (content,) in self._state.iterator()}
        return self._entries

    def get(self, entry: int) -> bytes | None:
        """The content of an entry, without reading the others."""
        if self._entries is not None:
            return self._entries.get(entry)
        stored = self._state.getValue((entry,))
        return None if stored is None else bytes(stored[0])

    def put(self, entry: int, content: bytes) -> None:
        """Store an entry."""
        self._state.updateValue((entry,), (content,))
        if self._entries is not None:
            self._entries[entry] = content

    def remove(self, entries: Iterable[int]) -> None:
        """Remove entries."""
        for entry in list(entries):
            self._state.removeKey((entry,))
            if self._entries is not None:
                self._entries.pop(entry, None)

    def clear(self, slot: int) -> None:
        """Remove all entries of a slot."""
        self.remove([entry for entry in self.entries() if slot_of(entry) == slot])


class SlotTables:
    """The tables of one query in a map, by number."""

    def __init__(self, state: StateMap, slot: int) -> None:
        self._state, self._slot, self._base = state, slot, slot << _BITS

    def contents(self) -> dict[int, bytes]:
        """The bytes of all tables."""
        entries = self._state.entries().items()
        return {entry - self._base: content for entry, content in entries if slot_of(entry) == self._slot}

    def read(self) -> Tables:
        """All tables."""
        return {number: unpack(content) for number, content in self.contents().items()}

    def get(self, number: int) -> bytes:
        """The bytes of one table. Raises StateError if there is none."""
        content = self._state.get(self._base + number)
        if content is None:
            raise StateError(f"the checkpoint is damaged: table {number} is missing; start with a new checkpoint")
        return content

    def put(self, number: int, table: pa.Table, compression: str = "lz4") -> None:
        """Store a table, unless it is empty."""
        if table.num_rows:
            self._state.put(self._base + number, pack(table, compression))

    def mark(self, number: int) -> None:
        """Store a mark in place of a table."""
        self._state.put(self._base + number, MARK)

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove tables."""
        self._state.remove(self._base + number for number in numbers)
