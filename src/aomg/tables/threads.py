"""Runs the parts of a computation in threads: compiled loops and Arrow release Python's lock."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

from aomg.core.groups import MapParts
from aomg.errors import InputError


def thread_count(threads: Any) -> int:
    """How many threads to use: as many as there are CPUs for this process if `threads` is None."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InputError(f"threads={threads!r} must be a whole number, 1 or more, or None for as many as CPUs")
    return threads


@contextmanager
def mapping(threads: int) -> Iterator[MapParts]:
    """A function like `map` that calls in so many threads. They are started when there are several parts."""
    with ExitStack() as stack:
        pools: list[ThreadPoolExecutor] = []

        def map_parts(call: Callable[[Any], Any], parts: Iterable[Any]) -> Iterable[Any]:
            parts = list(parts)
            if threads == 1 or len(parts) < 2:
                return [call(part) for part in parts]
            if not pools:
                pools.append(stack.enter_context(ThreadPoolExecutor(threads, thread_name_prefix="aomg")))
            return list(pools[0].map(call, parts))

        yield map_parts
