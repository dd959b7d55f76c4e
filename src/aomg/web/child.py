"""The page as a child of `aomg run --web`: started, waited for, ended; its failure never stops the monitor.

The child ends when its standard input closes, which the system does whenever and however the parent ends. A token
goes to it by the environment. Needs no package of the page here: the child says what is missing.
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

START_SECONDS = 60.0
_END_SECONDS = 10.0
_MISSING = "the package {} is missing; run: pip install 'aomg[web]'"


@contextmanager
def page_of(place: Path, port: int | None, tell: Callable[[str], None]) -> Iterator[str | None]:
    """The address of the page of a place, served by a child while this is entered; None where it cannot be served.

    `tell` hears once why it cannot, or that it ended early; it may be called from another thread.
    """
    child = _Child(place, port, tell)
    try:
        yield child.address()
    finally:
        child.close()


class _Child:
    def __init__(self, place: Path, port: int | None, tell: Callable[[str], None]) -> None:
        self._tell, self._place = tell, place
        self._address: str | None = None
        self._said = threading.Event()
        self._ending = threading.Event()
        self._errors: deque[str] = deque(maxlen=20)
        command = [sys.executable, "-m", "aomg.web.child", str(place), *([] if port is None else [str(port)])]
        # a session of its own: Ctrl-C is for the monitor, and the page ends after it
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
        """Wait for it."""
        if not self._said.wait(START_SECONDS):
            self._tell(f"the page did not start within {START_SECONDS:.0f} seconds; the monitor goes on without it")
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
        """Take the first line, wait for the end of the rest, and tell of it unless it was asked for."""
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            self._address = lines.readline().strip() or None
            if self._address is not None:
                self._said.set()
            for _ in lines:
                pass
        if not self._ending.is_set():
            self._process.wait()
            self._readers[0].join(_END_SECONDS)
            why = self._errors[-1] if self._errors else f"it ended with code {self._process.returncode}"
            what = "cannot be served" if self._address is None else "is gone"
            self._tell(f"the page {what}: {why}. The monitor goes on; try: aomg web {self._place}")
        self._said.set()


def main() -> None:
    """Be the child: a place and a port as arguments, the address on standard output, what is wrong on the other."""
    place, port = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        from aomg.errors import AomgError
        from aomg.web.command import serve
    except ModuleNotFoundError as error:
        sys.exit(_MISSING.format(error.name))
    try:
        serve(place, port=port, tell=_tell, until=_closed)
    except AomgError as error:
        sys.exit(str(error))


def _tell(address: str) -> None:
    print(address, flush=True)


def _closed() -> None:
    """Wait until standard input closes."""
    with suppress(OSError):
        while os.read(0, 4096):
            pass


if __name__ == "__main__":
    main()
