"""What all benchmarks share: turns, ratios, exact answers, and what a figure says."""

import datetime
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from statistics import median
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from aomg.streams import BLOCK, pingmesh

Array = npt.NDArray[Any]
Timed = Callable[[], float]
"""A case of a benchmark, ready to run: each call runs it once and returns its seconds."""
LARGE = 256 * BLOCK  # 16.8 million values, 134 MB
SMALL = 128 * BLOCK  # 8.4 million values, 67 MB: no array that is summed is smaller


@dataclass
class Figure:
    """One line of a table: what was asked, what was aimed at, and what came out."""

    what: str
    measured: str
    aim: str = ""
    met: bool | None = None
    detail: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Ratio:
    """How much faster one is than the other: the best of each, and the median of the rounds."""

    best: float
    median: float

    def __str__(self) -> str:
        return f"{self.best:.2f} (median {self.median:.2f})"


# Two yardsticks. The aims are set against the plain sum: a loop over the values as one writes it, doubles by their
# words (added as doubles, one after the other, they would be slower still). The fastest is indexed, so that it is
# vectorised, and free to add doubles in any order: what the memory can really do. Both are reported.
@numba.njit(nogil=True, cache=True)
def plain_sum(words: npt.NDArray[np.int64]) -> int:
    total = 0
    for word in words:
        total += word
    return total


@numba.njit(nogil=True, cache=True, fastmath={"reassoc"})
def memory_sum(values: Array) -> Any:
    total = values[0] - values[0]
    for i in range(values.size):
        total += values[i]
    return total


def timed(work: Callable[[], object]) -> Timed:
    """Return a call that runs the work once and returns its seconds."""

    def seconds() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    return seconds


def seconds_of_script(script: str, **environment: str) -> float:
    """Run a script in a fresh process; return the seconds that it measured and printed."""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the script ended with status {done.returncode}:\n{done.stderr}")
    return float(done.stdout)


def take_turns(rounds: int, *rivals: Callable[[], object]) -> list[list[float]]:
    """Seconds of each rival in each round, after one that is not timed: all compiled, all pages touched."""
    for rival in rivals:
        rival()
    clocks = [timed(rival) for rival in rivals]
    seconds: list[list[float]] = [[] for _ in rivals]
    for _ in range(rounds):
        for times, clock in zip(seconds, clocks, strict=True):
            times.append(clock())
    return seconds


def ratio(slow: list[float], fast: list[float], scale: float = 1.0) -> Ratio:
    """How many times `fast` is faster than `slow`; `scale` for different amounts of work."""
    rounds = [scale * a / b for a, b in zip(slow, fast, strict=True)]
    return Ratio(scale * min(slow) / min(fast), median(rounds))


@cache
def pingmesh_values(events: int, seed: int = 1) -> npt.NDArray[np.int64]:
    values = pingmesh(seed).take(events)
    values.flags.writeable = False
    return values


def exact(window: Array, quantiles: Iterable[object]) -> list[float]:
    """The exact quantiles of raw values."""
    from aomg.evaluation.measure import accuracy  # not above: `against` measures revisions that have it elsewhere

    return [float(value) for value in accuracy.exact(window, tuple(map(str, quantiles)))]


def machine() -> dict[str, Any]:
    """What the figures were measured on; nothing that names the machine itself."""
    from aomg.evaluation.machine import cpu  # not above, as in `exact`

    return {
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
