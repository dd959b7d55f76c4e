"""Runs the page as a child process of `aomg run --web`; its failure never stops the monitor.

The child ends when its standard input closes, which the operating system does however the parent ends. It gets the
token through the environment. The parent imports none of the page's packages: the child reports what is missing.
"""

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aomg.packages import named_missing

START_SECONDS = 60.0
_END_SECONDS = 10.0


@contextmanager
def page_of(place: Path, port: int | None, report: Callable[[str], None]) -> Iterator[str | None]:
    """Serve the page in a child process while the context is open; yields its address, or None where it failed.

    `report` is called once if the page fails or ends early, perhaps from another thread.
    """
    child = _Child(place, port, report)
    try:
        yield child.address()
    finally:
        child.close()


class _Child:
    def __init__(self, place: Path, port: int | None, report: Callable[[str], None]) -> None:
        self._report, self._place = report, place
        self._address: str | None = None
        self._decided = threading.Event()
        self._ending = threading.Event()
        self._errors: deque[str] = deque(maxlen=20)
        command = [sys.executable, "-m", "aomg.web.child", str(place), *([] if port is None else [str(port)])]
        # in its own session: Ctrl-C reaches only the monitor, and the page ends after it
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
            errors="replace",
        )
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read_errors, self._read_address)]
        for reader in self._readers:
            reader.start()

    def address(self) -> str | None:
        """Wait for the address; None if the page failed."""
        if not self._decided.wait(START_SECONDS):
            self._report(f"the page did not start within {START_SECONDS:.0f} seconds; the monitor runs on without it")
            self.close()
        return self._address

    def close(self) -> None:
        """End the child, and wait until it is gone."""
        self._ending.set()
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join(_END_SECONDS)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            self._errors.extend(line.rstrip() for line in lines if line.strip())

    def _read_address(self) -> None:
        """Read the address, then wait for the child to end, and report an unexpected end."""
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            self._address = lines.readline().strip() or None
            if self._address is not None:
                self._decided.set()
            for _ in lines:
                pass
        if not self._ending.is_set():
            self._process.wait()
            self._readers[0].join(_END_SECONDS)
            why = self._errors[-1] if self._errors else f"it ended with code {self._process.returncode}"
            verb = "cannot be served" if self._address is None else "ended"
            self._report(f"the page {verb}: {why}. The monitor runs on; to try again: aomg web {self._place}")
        self._decided.set()


def main() -> None:
    """Run the child: place and port as arguments, the address on standard output, errors on standard error."""
    place, port = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        from aomg.errors import AomgError
        from aomg.web.command import serve
    except ModuleNotFoundError as error:
        sys.exit(named_missing(str(error.name), "web"))
    try:
        serve(place, port=port, report=_report, until=_wait_for_close)
    except AomgError as error:
        sys.exit(str(error))


def _report(address: str) -> None:
    print(address, flush=True)


def _wait_for_close() -> None:
    """Wait until standard input closes."""
    with suppress(OSError):
        while os.read(0, 4096):
            pass


if __name__ == "__main__":
    main()
