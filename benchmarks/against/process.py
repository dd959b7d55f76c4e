"""Starts the worker process of one side and sends it requests."""

import json
import selectors
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.against.checkout import Checkout

MOST_SECONDS = 1_800.0
"""After this time without an answer, a worker hangs."""
_LINES = 20  # of a log in an error


class SideError(Exception):
    """A benchmark that failed on one side; the message has the side and the error."""


class Process:
    """A running worker: a context manager that ends it."""

    def __init__(self, checkout: Checkout, benchmarks: Path, name: str, module: str, quick: bool = False) -> None:
        self.side = checkout.side
        self._where = f"{name} on the {checkout.side} side ({checkout.revision})"
        self._log = log = benchmarks.parent / f"{name}-{checkout.side}.log"
        command = [str(checkout.python), "-m", "benchmarks.against.worker", module, str(checkout.source)]
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [*command, "quick" if quick else "full"],
                cwd=benchmarks,  # those of this checkout on both sides
                env=checkout.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout

    def __enter__(self) -> "Process":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._requests.close()  # the worker ends when its input ends
            self._process.wait(0 if kind else 60)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self._process.kill()
            self._process.wait()
        self._answers.close()

    def prepare(self) -> None:
        """Start the preparation; `cases` waits for it, so that both sides prepare at the same time."""
        self._send({"do": "prepare"})

    def cases(self) -> list[str]:
        """Wait for the preparation and return the names of the cases."""
        names: list[str] = self._receive()["cases"]
        return names

    def measure(self, case: str, times: int) -> dict[str, float]:
        """Run a case this many times; return the seconds by both clocks, `wall` and `cpu`."""
        self._send({"do": "measure", "case": case, "times": times})
        return self._receive()

    def _send(self, request: dict[str, Any]) -> None:
        try:
            print(json.dumps(request), file=self._requests, flush=True)
        except BrokenPipeError:
            raise self._ended() from None

    def _receive(self) -> dict[str, Any]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            if not selector.select(MOST_SECONDS):
                raise SideError(f"{self._where} has not answered for {MOST_SECONDS:,.0f} seconds; see {self._log}")
        line = self._answers.readline()
        if not line:
            raise self._ended()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise SideError(f"{self._where} failed:\n{answer['error']}")
        return answer

    def _ended(self) -> SideError:
        status = self._process.wait()
        lines = "\n".join(self._log.read_text(errors="replace").splitlines()[-_LINES:])
        return SideError(f"{self._where} failed: its process ended with status {status}\n{lines}")
