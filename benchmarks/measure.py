"""Shared by all benchmarks: rounds in turns, ratios, exact quantiles, and figures."""

import datetime
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
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
QUANTILES = "p50 / p90 / p99 / p99.9"
"""The order of errors in a figure."""


@dataclass
class Figure:
    """One line of a table: what is measured, the figure in words, what it is compared with, and the aim."""

    what: str
    measured: str
    aim: str = ""
    met: bool | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    unit: str = "ratio of speeds"
    against: str = ""
    """The rival, the limit or the paper's figure."""


@dataclass(frozen=True)
class Ratio:
    """How many times one rival is faster than another: best round of each, and median of the rounds."""

    best: float
    median: float

    def __str__(self) -> str:
        return f"{self.best:.2f} (median {self.median:.2f})"


# Two yardsticks, both reported. Aims refer to the plain sum: a simple loop over the values, with doubles read as words
# (adding them as doubles would be slower). The fastest sum uses an index, so that it is vectorised, and may add doubles
# in any order: it shows what the memory can deliver.
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
    """Run a script in a fresh process; return the seconds that it printed."""
    command = [sys.executable, "-c", script]
    process = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    if process.returncode:
        raise RuntimeError(f"the script ended with status {process.returncode}:\n{process.stderr}")
    return float(process.stdout)


def take_turns(rounds: int, *rivals: Callable[[], object]) -> list[list[float]]:
    """Return the seconds of each rival in each round, after an untimed one that compiles and touches all pages."""
    for rival in rivals:
        rival()
    clocks = [timed(rival) for rival in rivals]
    seconds: list[list[float]] = [[] for _ in rivals]
    for _ in range(rounds):
        for times, clock in zip(seconds, clocks, strict=True):
            times.append(clock())
    return seconds


def ratio(slow: list[float], fast: list[float], scale: float = 1.0) -> Ratio:
    """Return how many times `fast` is faster than `slow`; `scale` corrects for different amounts of work."""
    rounds = [scale * a / b for a, b in zip(slow, fast, strict=True)]
    return Ratio(scale * min(slow) / min(fast), median(rounds))


@cache
def pingmesh_values(events: int, seed: int = 1) -> npt.NDArray[np.int64]:
    values = pingmesh(seed).take(events)
    values.flags.writeable = False
    return values


def exact(window: Array, quantiles: Iterable[object]) -> list[float]:
    """Return the exact quantiles of raw values."""
    from aomg.evaluation.measure import accuracy  # not at the top: `against` measures revisions without this module

    return [float(value) for value in accuracy.exact(window, tuple(map(str, quantiles)))]


def machine() -> dict[str, Any]:
    """Return processor, versions and date; nothing that identifies the machine."""
    from aomg.evaluation.machine import cpu  # not at the top, as in `exact`

    return {
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
