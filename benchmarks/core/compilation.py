"""How long does the default query take to compile with an empty cache?

NumPy and Numba are imported before the clock starts, aomg after it: a revision may compile when it is imported.
"""

import tempfile

from benchmarks.measure import Timed, seconds_of_script

SCRIPT = """
import time
import numba
import numpy as np
values = np.arange(131_072)
started = time.perf_counter()
import aomg
aomg.Operator(aomg.Query(131_072, 16_384)).push(values)
print(time.perf_counter() - started)
"""


def cases(quick: bool) -> dict[str, Timed]:
    return {"first compilation, default query": _compile}


def _compile() -> float:
    with tempfile.TemporaryDirectory(prefix="aomg-compile-") as empty:
        return seconds_of_script(SCRIPT, NUMBA_CACHE_DIR=empty)
