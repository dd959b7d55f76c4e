"""How long does the first result take with an empty cache?

NumPy and Numba are imported before the clock starts, aomg after it: a revision may compile when it is imported.
"""

import tempfile
from functools import partial

from benchmarks.measure import Timed, seconds_of_script

COUNTED = """
import time
import numba
import numpy as np
values = np.arange(131_072)
started = time.perf_counter()
import aomg
aomg.Operator(aomg.Query(131_072, 16_384)).push(values)
print(time.perf_counter() - started)
"""
TIMED = """
import time
import numba
import numpy as np
values = np.arange(131_072)
times = np.datetime64("2024-05-01", "us") + 100_000 * values
started = time.perf_counter()
import aomg
aomg.Operator(aomg.Query("1h", "1m")).push(values, times)
print(time.perf_counter() - started)
"""
SCRIPTS = {"first compilation, default query": COUNTED, "first compilation, event time": TIMED}


def cases(quick: bool) -> dict[str, Timed]:
    return {name: partial(_compile, script) for name, script in SCRIPTS.items()}


def _compile(script: str) -> float:
    with tempfile.TemporaryDirectory(prefix="aomg-compile-") as empty:
        return seconds_of_script(script, NUMBA_CACHE_DIR=empty)
