"""Holds the newest windows of all queries in memory, within a number of bytes."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from aomg.web.memory.query_store import QueryStore
from aomg.web.memory.windows import QueryHistory, Window

Span = tuple[int, int]

__all__ = ["History", "QueryHistory", "Window"]


class History:
    """The windows of all queries; the newest where not all fit into `most_bytes`.

    One thread adds rows, any number of threads take snapshots: a snapshot never changes, and costs nothing. The oldest
    windows are evicted first, of all queries alike, so that all reach equally far back; those with the newest end stay,
    however large they are. Rows of evicted windows are never added again. Keys that are in no window any more are
    dropped too, and the others then get new numbers: use `Keys` and `Window` of one snapshot together.

    A row of four quantiles takes 64 to 85 bytes: 10,000 keys by 1,440 windows take less than 1 GB.
    """

    def __init__(self, most_bytes: int = 1 << 30) -> None:
        self.most_bytes = most_bytes
        self.floor: int | None = None
        """The newest evicted window end; rows up to it are ignored."""
        self._stores: dict[str, QueryStore] = {}
        self._sizes: dict[int, int] = {}
        self._bytes = 0
        self._snapshot: Mapping[str, QueryHistory] = {}

    def snapshot(self) -> Mapping[str, QueryHistory]:
        """Return every query as of now, by name."""
        return self._snapshot

    def bytes(self) -> int:
        """Return an upper bound of the memory in use. It exceeds `most_bytes` only if the newest windows alone do."""
        return self._bytes

    def add(self, table: pa.Table, instead_of: tuple[Span, Span] | None = None) -> bool:
        """Add stored rows (`aomg.monitor.sinks.result_rows.SCHEMA`), in any order; True if anything changed.

        Of rows with the same query, labels and end, the one of the newer batch counts; within a batch, the last. Costs
        about 20 ms for 10,000 rows.

        If the rows of one query are invalid, those of the others are added, and the error is raised afterwards.

        instead_of
            Rows to drop at the same moment: the arguments of `forget`.
        """
        changed = self._forget(*instead_of) if instead_of is not None else set()
        useful = pc.and_(pc.is_valid(table["query"]), pc.is_valid(table["end"]))
        if self.floor is not None:
            useful = pc.and_(useful, pc.greater(table["end"].cast(pa.int64()), self.floor))
        table = _filtered(table, useful)
        names = table["query"].cast(pa.string())
        failure: Exception | None = None
        for query in pc.unique(names).to_pylist():
            store = self._stores.setdefault(query, QueryStore(query))
            grown: dict[int, int] = {}
            try:
                store.add(_filtered(table, pc.equal(names, query)), grown)
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
        """Drop the rows of some batches (first to last) for windows that end in `ends` (the second exclusive).

        Rows of older batches that they had overridden (see `overrode`) are not restored: add them again.
        """
        return self._publish(self._forget(batches, ends))

    def count(self, batches: Span, ends: Span) -> int:
        """Return the number of rows that `forget` would drop."""
        return sum(store.count(batches, ends) for store in self._stores.values())

    @property
    def overrode(self) -> bool:
        """Whether a row of one batch ever replaced a row of another."""
        return any(store.overrode for store in self._stores.values())

    def _forget(self, batches: Span, ends: Span) -> set[str]:
        changed = set()
        for store in self._stores.values():
            for end, size in store.forget(batches, ends).items():
                changed.add(store.name)
                self._sizes[end] += size
                if not self._sizes[end]:
                    del self._sizes[end]
        return changed

    def _publish(self, changed: set[str]) -> bool:
        if not changed:
            return False
        dropped = self._drop_oldest()
        new = dict(self._snapshot)
        for name, store in self._stores.items():
            if name in changed or dropped:
                new[name] = store.snapshot()
        self._snapshot = new
        return True

    def _drop_oldest(self) -> bool:
        """Evict the oldest windows beyond the bound; True if there were any."""
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
        for store in self._stores.values():
            store.drop(self.floor)
        return True

    def _keys_bytes(self) -> int:
        return sum(store.keys_bytes(self.floor) for store in self._stores.values())


def _filtered(table: pa.Table, wanted: pa.ChunkedArray) -> pa.Table:
    """Return some of the rows; without a copy, if it is all of them."""
    return table if pc.all(wanted, min_count=0).as_py() else table.filter(wanted)
