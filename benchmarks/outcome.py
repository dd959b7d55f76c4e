"""Stores the outcome of a benchmark, and reads it back: one JSON file per benchmark in benchmarks/results."""

import importlib.metadata
import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import registry
from benchmarks.measure import Figure, machine

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


class DamagedError(Exception):
    """A file that is not the outcome of a benchmark."""


@dataclass(frozen=True)
class Outcome:
    """The figures of one benchmark, and how they were measured.

    `machine` has the processor, the versions and the date. `origin` is set if the figures are older than this format:
    then the commit is the one that stored them.
    """

    name: str
    command: str
    commit: str
    machine: dict[str, Any]
    figures: Sequence[Figure]
    origin: str = ""


def measured_now(name: str, figures: Sequence[Figure], root: Path = ROOT) -> Outcome:
    """Return the outcome of a benchmark that has just run."""
    conditions = machine()
    if name in registry.SPARK.modules:
        conditions["spark"] = importlib.metadata.version("pyspark")
    return Outcome(name, registry.command(name), _commit(root), conditions, figures)


def write(folder: Path, outcome: Outcome) -> Path:
    """Store an outcome in place of the last one; return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{outcome.name}.json"
    file.write_text(json.dumps(asdict(outcome), indent=2) + "\n")
    return file


def read(folder: Path, name: str) -> Outcome | None:
    """Return the stored outcome of a benchmark; None if there is none. Raises DamagedError if it cannot be read."""
    file = folder / f"{name}.json"
    if not file.exists():
        return None
    try:
        content = json.loads(file.read_text())
        figures = [Figure(**figure) for figure in content["figures"]]
        return Outcome(**{**content, "figures": figures})
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"{file.name} is damaged: {error}") from error


def _commit(root: Path) -> str:
    """Return the checked-out commit, and whether files differ from it; empty without git."""
    try:
        head = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "src")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{head} with changes" if changed else head


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
