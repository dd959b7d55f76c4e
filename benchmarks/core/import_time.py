"""How long does `import aomg` take in a fresh process?"""

from benchmarks.measure import Timed, seconds_of_script

SCRIPT = """
import time
started = time.perf_counter()
import aomg
print(time.perf_counter() - started)
"""


def cases(quick: bool) -> dict[str, Timed]:
    return {"import aomg": lambda: seconds_of_script(SCRIPT)}
