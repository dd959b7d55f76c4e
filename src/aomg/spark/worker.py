"""State that a Python worker of Spark reuses from task to task."""

import gc
from functools import cache, lru_cache

from pyspark import TaskContext

from aomg.core.keyed import KeyedWindows
from aomg.query import Query


@lru_cache(maxsize=8)
def keyed_windows(query: Query) -> KeyedWindows:
    """The worker's Level 2 for a query, allocated once per process."""
    windows = KeyedWindows(query)
    if TaskContext.get() is not None:
        freeze_loaded_objects()
    return windows


@cache
def freeze_loaded_objects() -> None:
    """Exclude what the worker has loaded so far from garbage collection, once.

    Spark collects its worker's garbage after each task and visits every object: 60 ms with Numba and Arrow loaded, more
    than a small task takes. Modules stay loaded anyway; later objects are collected as usual.
    """
    gc.collect()
    gc.freeze()
