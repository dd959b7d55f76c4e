"""Shares Level 2 of a query: its memory is allocated once per process."""

from functools import lru_cache

from aomg.core.keyed import KeyedWindows
from aomg.query import Query


@lru_cache(maxsize=64)
def keyed_windows(query: Query) -> KeyedWindows:
    """Level 2 of a query, for one thread at a time."""
    return KeyedWindows(query)
