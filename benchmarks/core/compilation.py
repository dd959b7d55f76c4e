"""How long does the first result take with an empty cache, and once the kernels are compiled?

NumPy and Numba are imported before the clock starts, aomg after it: a revision may compile when it is imported.
"""

import tempfile

from benchmarks.measure import Figure, Timed, seconds_of_script

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
SCRIPTS = {"windows counted in events": COUNTED, "event time": TIMED}
AIM = 8.0


def cases(quick: bool) -> dict[str, Timed]:
    return {"first compilation, default query": lambda: _seconds(COUNTED)[0]}


def run(quick: bool) -> list[Figure]:
    rounds = 1 if quick else 3
    figures = []
    for what, script in SCRIPTS.items():
        pairs = [_seconds(script) for _ in range(rounds)]
        cold, compiled = (min(seconds) for seconds in zip(*pairs, strict=True))
        figures.append(
            Figure(
                f"first result with an empty cache, {what}",
                f"{cold:.1f} s, once compiled {compiled:.1f} s",
                f"<= {AIM:.0f} s",
                cold <= AIM,
                {"cold_seconds": [pair[0] for pair in pairs], "compiled_seconds": [pair[1] for pair in pairs]},
            )
        )
    return figures


def _seconds(script: str) -> tuple[float, float]:
    """Seconds to the first result in a process without compiled kernels, and in the next one."""
    with tempfile.TemporaryDirectory(prefix="aomg-compile-") as empty:
        cold = seconds_of_script(script, NUMBA_CACHE_DIR=empty)
        return cold, seconds_of_script(script, NUMBA_CACHE_DIR=empty)
