"""Answers as bytes, kept while they are the newest: many viewers who ask the same cost as much as one."""

import gzip
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import Any

MOST_ENTRIES = 256
MOST_BYTES = 64 << 20
_WORTH_COMPRESSING = 1_400


@dataclass(frozen=True, eq=False)
class Kept:
    """An answer; compressed once, when first asked so."""

    content: bytes

    @cached_property
    def compressed(self) -> bytes | None:
        """The same as gzip, or None where that is not worth it."""
        return gzip.compress(self.content, 3, mtime=0) if len(self.content) >= _WORTH_COMPRESSING else None

    @property
    def size(self) -> int:
        """In bytes, with room for the compressed ones."""
        return len(self.content) * 5 // 4


class KeptAnswers:
    """The answers that were asked last, within a number of bytes. Those asked at the same time are made once."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        self._making: dict[Hashable, Future[Kept]] = {}

    def get(self, asked: Hashable, make: Callable[[], bytes]) -> Kept:
        """What `make` returns; only the first who asks calls it, and its error is everyone's."""
        with self._lock:
            if asked in self._kept:
                self._kept.move_to_end(asked)
                return self._kept[asked]
            making = self._making.get(asked)
            mine = making is None
            if making is None:
                making = self._making[asked] = Future()
        if not mine:
            return making.result()
        try:
            kept = Kept(make())
        except BaseException as error:
            with self._lock:
                del self._making[asked]
            making.set_exception(error)
            raise
        with self._lock:
            del self._making[asked]
            self._keep(asked, kept)
        making.set_result(kept)
        return kept

    def _keep(self, asked: Hashable, kept: Kept) -> None:
        self._kept[asked] = kept
        self._bytes += kept.size
        while self._kept and (self._bytes > self._most_bytes or len(self._kept) > MOST_ENTRIES):
            self._bytes -= self._kept.popitem(last=False)[1].size


def json_bytes(told: Any) -> bytes:
    """JSON without spaces, in ASCII; what is not finite is refused rather than written as JSON has not."""
    return json.dumps(told, separators=(",", ":"), allow_nan=False).encode()
