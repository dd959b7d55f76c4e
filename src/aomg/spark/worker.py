"""Prepares a Python worker of Spark for many tasks."""

import gc
from functools import cache

from pyspark import TaskContext

from aomg.query import Query
from aomg.tables.keyed_windows import keyed_windows


def prepare_worker(*queries: Query) -> None:
    """Allocate Level 2 of each query, and exclude what is loaded from garbage collection, both once per process."""
    for query in queries:
        keyed_windows(query)
    if TaskContext.get() is not None:
        freeze_loaded_objects()


@cache
def freeze_loaded_objects() -> None:
    """Exclude what the worker has loaded so far from garbage collection, once.

    Spark collects its worker's garbage after each task and visits every object: 60 ms with Numba and Arrow loaded, more
    than a small task takes. Modules stay loaded anyway; later objects are collected as usual.
    """
    gc.collect()
    gc.freeze()
