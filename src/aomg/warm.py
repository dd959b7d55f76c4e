"""Compiles the kernels of usual queries ahead, on all cores: `aomg warm`.

Each kind of query runs once on a few events. Processes begin with different kinds; a kernel is compiled by one of them,
and the others load it. Kernels that are compiled already are loaded: then it takes a second or two.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from rich.console import Console

from aomg.caches import kernel_cache
from aomg.core.kernels._compile import STAMP
from aomg.errors import AomgError

EVENTS = 20_000
_PER_MINUTE = 60_000_000 // 2_000  # microseconds between events: some minutes of them


class WarmError(AomgError, RuntimeError):
    """The kernels could not be compiled."""


def _counted() -> None:
    from aomg import Operator, Query

    for values in (np.arange(EVENTS), np.arange(EVENTS) + 0.5):
        Operator(Query(size=4_000, period=1_000)).push(values)


def _timed() -> None:
    from aomg import Operator, Query

    for values in (np.arange(EVENTS), np.arange(EVENTS) + 0.5):
        operator = Operator(Query("5m", "1m"))
        operator.push(values, _times())
        operator.finish()


def _keyed() -> None:
    import pyarrow as pa

    import aomg

    query = aomg.Query("5m", "1m")
    numbers = np.arange(EVENTS)
    for keys in (pa.array(numbers % 100), pa.array(numbers % 100).cast(pa.string())):
        for values in (numbers, numbers + 0.5):
            table = pa.table({"ts": _times(), "key": keys, "value": values})
            aomg.quantiles(table, query, value="value", time="ts", by="key")
    stored = aomg.summaries(table, query, value="value", time="ts", by="key")
    aomg.windows(stored, query, by="key")
    operator = aomg.KeyedOperator(query, value="value", time="ts", by="key")
    for part in (table.slice(0, EVENTS // 2), table.slice(EVENTS // 2)):
        operator.push(part)
        operator = aomg.KeyedOperator.load(query, operator.save())
    operator.finish()


KEYED = "keyed"
KINDS: dict[str, tuple[str, Callable[[], None]]] = {
    "counted": ("one stream, windows counted in events", _counted),
    "timed": ("one stream, windows in event time", _timed),
    KEYED: ("many keys: tables, Spark and the monitor", _keyed),
}


def run(console: Console, names: Sequence[str] = (), processes: int | None = None) -> None:
    """Compile the kernels of the named kinds, or of all, and print how long it took. Raises WarmError."""
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise WarmError(f"there is no kind {unknown[0]!r}; there are {', '.join(KINDS)}")
    folder = kernel_cache()
    if folder is None:
        raise WarmError("nothing can be compiled here: unset NUMBA_DISABLE_JIT")
    started = time.perf_counter()
    chosen = list(names) or list(KINDS)
    for name in chosen:
        console.print(f"{name:<8} {KINDS[name][0]}", highlight=False)
    with console.status("compiling (half a minute at the first run)"):
        wait_for(compilations(chosen, processes))
    seconds = time.perf_counter() - started
    console.print(f"compiled in {seconds:.0f} s; stored in {folder.parent}", soft_wrap=True, highlight=False)


def compilations(names: Sequence[str], processes: int | None = None) -> list["subprocess.Popen[str]"]:
    """Start the processes that compile these kinds: as many as there are cores, each beginning with another kind."""
    count = min(processes or os.cpu_count() or 1, len(names))
    command = [sys.executable, "-m", "aomg.warm"]
    return [
        subprocess.Popen(
            [*command, *names[first:], *names[:first]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        for first in range(count)
    ]


def is_warm(name: str) -> bool:
    """Whether this kind was compiled ahead here, for this version of the kernels. Reads no kernel."""
    marker = _marker(name)
    return marker is not None and marker.exists()


def _marker(name: str) -> Path | None:
    """The empty file beside the compiled kernels that says so."""
    folder = kernel_cache()
    return None if folder is None else folder / f"warm-{name}-{STAMP}"


def wait_for(processes: Sequence["subprocess.Popen[str]"]) -> None:
    """Wait until all have ended. Raises WarmError with the last line of the first that failed."""
    failure = None
    try:
        for process in processes:
            errors = process.communicate()[1].strip()
            if process.returncode and failure is None:
                failure = errors.splitlines()[-1] if errors else f"a process ended with code {process.returncode}"
    finally:
        for process in processes:
            process.kill()
    if failure is not None:
        raise WarmError(f"the kernels could not be compiled: {failure}")


def _times() -> "np.ndarray[tuple[int], np.dtype[np.datetime64]]":
    return np.datetime64("2024-05-01", "us") + np.arange(EVENTS) * _PER_MINUTE


if __name__ == "__main__":
    for name in sys.argv[1:]:
        KINDS[name][1]()
        if (marker := _marker(name)) is not None:
            with suppress(OSError):
                marker.touch()
