"""What a Python worker of Spark keeps from one task to the next."""

import gc
from functools import cache, lru_cache

from pyspark import TaskContext

from aomg.core.keyed import KeyedWindows
from aomg.query import Query


@lru_cache(maxsize=8)
def fleet_of(query: Query) -> KeyedWindows:
    """The worker's fleet for a query: its state is made once a process."""
    fleet = KeyedWindows(query)
    if TaskContext.get() is not None:
        settle()
    return fleet


@cache
def settle() -> None:
    """Set what a worker has loaded by now aside from garbage collection, once.

    After each task Spark collects the garbage of its worker, which walks every object there is: 60 ms with Numba and
    Arrow loaded, more than a small task takes. What was loaded is here to stay; what comes later is collected as ever.
    """
    gc.collect()
    gc.freeze()
