"""The process of one side: runs the cases of one benchmark on request.

Requests are lines of JSON on standard input; each is answered with one line of JSON. ``{"do": "prepare"}`` creates the
inputs, runs every case once to compile it, and answers ``{"cases": [...]}``. ``{"do": "measure", "case": ..., "times":
n}`` runs the case n times and answers its seconds by two clocks, ``{"wall": ..., "cpu": ...}``. A failure answers
``{"error": traceback}``. All other output goes to standard error.
"""

import importlib
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import aomg


class Worker:
    """The cases of one benchmark."""

    def __init__(self, module: str, source: Path, quick: bool) -> None:
        self._module, self._source, self._quick = module, source, quick
        self._cases: dict[str, Callable[[], float]] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "prepare":
            return self._prepare()
        return self._measure(request["case"], request["times"])

    def _prepare(self) -> dict[str, Any]:
        imported = Path(aomg.__file__)
        if not imported.is_relative_to(self._source):
            raise RuntimeError(f"aomg was imported from {imported}, not from {self._source}")
        self._cases = importlib.import_module(f"benchmarks.{self._module}").cases(self._quick)
        for run in self._cases.values():
            run()
        return {"cases": list(self._cases)}

    def _measure(self, case: str, times: int) -> dict[str, Any]:
        run = self._cases[case]
        used = _cpu_seconds()
        seconds = sum(run() for _ in range(times))
        return {"wall": seconds, "cpu": _cpu_seconds() - used}


def _cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main() -> None:
    answers = _take_standard_output()
    module, source, quick = sys.argv[1:]
    worker = Worker(module, Path(source), quick == "quick")
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


def _take_standard_output() -> IO[str]:
    """Reserve standard output for the answers; redirect what Spark and the benchmarks print."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


if __name__ == "__main__":
    main()
