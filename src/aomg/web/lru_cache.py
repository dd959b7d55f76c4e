"""Thread-safe LRU cache, bounded by entries and bytes."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class LruCache(Generic[T]):
    """Thread-safe LRU cache.

    Threads that request a missing key at the same time share one computation, and its error.

    max_entries, max_bytes
        The least recently used values are evicted beyond either bound.
    size_of
        Bytes of a value; counted only towards `max_bytes`.
    """

    def __init__(
        self, max_entries: int, max_bytes: int | None = None, size_of: Callable[[T], int] = lambda value: 0
    ) -> None:
        self._max_entries, self._max_bytes, self._size_of = max_entries, max_bytes, size_of
        self._bytes = 0
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._pending: dict[Hashable, Future[T]] = {}

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the value of a key; computes and stores a missing one. Nothing is stored where `compute` raises."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            pending = self._pending.get(key)
            if pending is None:
                mine = self._pending[key] = Future()
        if pending is not None:
            return pending.result()
        try:
            value = compute()
        except BaseException as error:
            with self._lock:
                del self._pending[key]
            mine.set_exception(error)
            raise
        with self._lock:
            del self._pending[key]
            self._store(key, value)
        mine.set_result(value)
        return value

    def __len__(self) -> int:
        return len(self._values)

    def _store(self, key: Hashable, value: T) -> None:
        self._values[key] = value
        self._bytes += self._size_of(value)
        while self._values and self._is_over():
            self._bytes -= self._size_of(self._values.popitem(last=False)[1])

    def _is_over(self) -> bool:
        return len(self._values) > self._max_entries or (self._max_bytes is not None and self._bytes > self._max_bytes)
