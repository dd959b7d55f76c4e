"""Programs that some tests start: whether each one runs here, why not, and how to get it.

A program on PATH may still lack a library or a file, so it counts only if it really starts. A test that is marked
`needs(PROGRAM)` is skipped where it does not; the first such test of a process waits for the start.
"""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer

import pytest

from aomg.errors import SettingsError
from aomg.evaluation.report import pictures

PATIENCE = 60  # seconds for a start, which takes less than one

needs = pytest.mark.needs


@dataclass(frozen=True)
class Program:
    """A program under the first of its names on PATH. `trial` starts it and returns what it complains about."""

    names: Sequence[str]
    remedy: str
    trial: Callable[[str], str | None]

    @cached_property
    def path(self) -> str:
        return next(filter(None, map(shutil.which, self.names)), "")

    @cached_property
    def fault(self) -> str | None:
        """Why it cannot be used here, with the remedy; None if it can."""
        if not self.path:
            return f"{self.names[0]} is not installed: {self.remedy}"
        complaint = self.trial(self.path)
        return complaint and f"{self.path} does not start ({complaint}): {self.remedy}"


class Browser:
    """The system's Chromium, driven by Playwright."""

    @cached_property
    def fault(self) -> str | None:
        try:
            with pictures.browser():
                return None
        except SettingsError as error:
            return str(error)


def version(path: str) -> str | None:
    """Ask a program for its version."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return None if done.returncode == 0 else last_line(done.stderr)


def alertmanager(path: str) -> str | None:
    """Start an Alertmanager until it listens: it reads its templates then, which `--version` does not."""
    with TemporaryDirectory() as folder:
        config = Path(folder, "alertmanager.yml")
        config.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
        command = [path, f"--config.file={config}", f"--storage.path={folder}/data", "--cluster.listen-address="]
        command.append("--web.listen-address=127.0.0.1:0")
        try:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        except OSError as error:
            return str(error)
        late = Timer(PATIENCE, process.kill)
        late.start()
        said, listens = "", False
        with process:
            while not listens and (line := process.stderr.readline()):
                said += line
                listens = "listening" in line.lower()
            process.terminate()
        late.cancel()
        return None if listens else last_line(said)


def last_line(text: str) -> str:
    """The last line that says anything, without what is usual in a log before the message."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rpartition(" err=")[2] if lines else "it ended without a word"


_FETCHED = "run make prometheus, as root if that is not enough, or apt install"
PROMETHEUS = Program(["prometheus"], f"{_FETCHED} prometheus", version)
PROMTOOL = Program(["promtool"], f"{_FETCHED} prometheus", version)
ALERTMANAGER = Program(["prometheus-alertmanager", "alertmanager"], f"{_FETCHED} prometheus-alertmanager", alertmanager)
BROWSER = Browser()
