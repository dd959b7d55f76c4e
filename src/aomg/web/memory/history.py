"""The windows in memory: what stored rows told of every key, for as long back as a number of bytes allows."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from aomg.web.memory.query_rows import HeldQuery
from aomg.web.memory.windows import QueryHistory, Window

Span = tuple[int, int]

__all__ = ["History", "QueryHistory", "Window"]


class History:
    """The windows of all queries, the newest of them where not all fit into `most_bytes`.

    One thread adds, any number of threads take snapshots: a snapshot never changes, and costs nothing. Windows are
    dropped by their end, of all queries alike, so that all go equally far back; those with the newest end stay, however
    large they are. Rows of windows that were dropped once are not taken again. Keys that are in no window any more go
    too, and then the others get new numbers: `Keys` and `Window` of one snapshot belong together.

    A row of four quantiles takes 64 to 85 bytes: 10,000 keys by 1,440 windows take less than 1 GB.
    """

    def __init__(self, most_bytes: int = 1 << 30) -> None:
        self.most_bytes = most_bytes
        self.floor: int | None = None
        """The newest end that was dropped; rows up to there are of no use any more."""
        self._held: dict[str, HeldQuery] = {}
        self._sizes: dict[int, int] = {}
        self._bytes = 0
        self._snapshot: Mapping[str, QueryHistory] = {}

    def snapshot(self) -> Mapping[str, QueryHistory]:
        """Every query as it is now, by name."""
        return self._snapshot

    def bytes(self) -> int:
        """How much is held, at most. It is above `most_bytes` only if the newest windows alone are."""
        return self._bytes

    def add(self, table: pa.Table, instead_of: tuple[Span, Span] | None = None) -> bool:
        """Take stored rows (`aomg.monitor.sinks.result_rows.SCHEMA`), in any order; True if anything changed.

        Of rows with the same query, labels and end that of the newer batch counts, and of the same batch that which
        came last. Costs some 20 ms for 10,000 rows.

        Where the rows of a query cannot be taken, those of the others are, and then what went wrong is raised.

        instead_of
            Rows that go at the same moment, as `forget` takes them.
        """
        changed = self._forget(*instead_of) if instead_of is not None else set()
        useful = pc.and_(pc.is_valid(table["query"]), pc.is_valid(table["end"]))
        if self.floor is not None:
            useful = pc.and_(useful, pc.greater(table["end"].cast(pa.int64()), self.floor))
        table = _filtered(table, useful)
        names = table["query"].cast(pa.string())
        failure: Exception | None = None
        for query in pc.unique(names).to_pylist():
            held = self._held.setdefault(query, HeldQuery(query))
            grown: dict[int, int] = {}
            try:
                held.add(_filtered(table, pc.equal(names, query)), grown)
            except Exception as error:
                failure = failure or error
            for end, size in grown.items():
                self._sizes[end] = self._sizes.get(end, 0) + size
            changed |= {query} if grown else set()
        is_new = self._publish(changed)
        if failure is not None:
            raise failure
        return is_new

    def forget(self, batches: Span, ends: Span) -> bool:
        """Let go of the rows that some batches (first and last) wrote for windows that end in `ends` (the last not).

        What rows of older batches had to tell instead is not known any more (see `overrode`): add them again.
        """
        return self._publish(self._forget(batches, ends))

    def held(self, batches: Span, ends: Span) -> int:
        """How many rows are held that `forget` would let go."""
        return sum(held.count(batches, ends) for held in self._held.values())

    @property
    def overrode(self) -> bool:
        """Whether a row of one batch ever took the place of that of another one."""
        return any(held.overrode for held in self._held.values())

    def _forget(self, batches: Span, ends: Span) -> set[str]:
        changed = set()
        for held in self._held.values():
            for end, size in held.forget(batches, ends).items():
                changed.add(held.name)
                self._sizes[end] += size
                if not self._sizes[end]:
                    del self._sizes[end]
        return changed

    def _publish(self, changed: set[str]) -> bool:
        if not changed:
            return False
        dropped = self._drop_oldest()
        new = dict(self._snapshot)
        for name, held in self._held.items():
            if name in changed or dropped:
                new[name] = held.snapshot()
        self._snapshot = new
        return True

    def _drop_oldest(self) -> bool:
        """Keep within the bound. Returns whether windows had to go."""
        windows, before = sum(self._sizes.values()), self.floor
        self._bytes = windows + self._keys_bytes()
        for end in sorted(self._sizes)[:-1] if self._bytes > self.most_bytes else ():
            self.floor = end
            windows -= self._sizes.pop(end)
            self._bytes = windows + self._keys_bytes()
            if self._bytes <= self.most_bytes:
                break
        if self.floor is None or self.floor == before:
            return False
        for held in self._held.values():
            held.drop(self.floor)
        return True

    def _keys_bytes(self) -> int:
        return sum(held.keys_bytes(self.floor) for held in self._held.values())


def _filtered(table: pa.Table, wanted: pa.ChunkedArray) -> pa.Table:
    """Some of the rows; without a copy, if it is all of them."""
    return table if pc.all(wanted, min_count=0).as_py() else table.filter(wanted)
