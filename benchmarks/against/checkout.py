"""Makes the two sides of a comparison: this checkout, and another revision with an environment that fits it."""

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXTRAS = "spark,java"  # what the cases import


class CheckoutError(Exception):
    """A side that cannot be made; says why, and what to do."""


@dataclass(frozen=True)
class Checkout:
    """One side: where its aomg is, and the Python that runs it."""

    side: str  # "new" or "old"
    revision: str
    source: Path
    python: Path
    cache: Path  # of compiled kernels: each side has its own

    def environment(self) -> dict[str, str]:
        """Return the variables that make a process import this side's aomg."""
        return os.environ | {"PYTHONPATH": str(self.source), "NUMBA_CACHE_DIR": str(self.cache)}


@dataclass(frozen=True)
class Pair:
    """The two sides, a sentence about their environments, and the folder with the benchmarks that both run."""

    new: Checkout
    old: Checkout
    environments: str
    benchmarks: Path


def pair(root: Path, revision: str, build: Path, force_same: bool = False) -> Pair:
    """Return this checkout and the revision; `force_same` uses this environment for both whatever they need."""
    commit = _commit(root, revision)
    folder = _clone(root, commit, build)
    differences = _differences(root, folder)
    here = Path(sys.executable)
    if not differences:
        python, told = here, "one for both: the same constraints.txt and dependencies"
    elif force_same:
        python, told = here, f"one for both (--same-environment), although they differ in {differences}"
    else:
        python, told = _virtual_environment(folder, revision), f"one for each: they differ in {differences}"
    copy = _copy(root, build)
    head = _commit(root, "HEAD")
    changed = ", with changes that are not committed" if _git(root, "status", "--porcelain") else ""
    return Pair(
        Checkout("new", f"this checkout, {head[:12]}{changed}", copy / "src", here, build / "numba-cache" / "new"),
        Checkout(
            "old",
            commit[:12] if commit.startswith(revision) else f"{revision}, {commit[:12]}",
            folder / "src",
            python,
            build / "numba-cache" / commit[:12],
        ),
        told,
        copy,
    )


def _commit(root: Path, revision: str) -> str:
    if not (root / ".git").exists():
        raise CheckoutError(f"{root} is not a git checkout: `against` needs the history; clone the repository")
    try:
        return _git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except CheckoutError:
        raise CheckoutError(f"git knows no revision {revision!r}: name a branch, a tag or a commit") from None


def _clone(root: Path, commit: str, build: Path) -> Path:
    """Check the commit out into a folder of its own; kept for the next time."""
    folder = build / commit[:12]
    if not folder.exists():
        build.mkdir(parents=True, exist_ok=True)
        part = build / f"{commit[:12]}.part"  # under its name it is complete
        shutil.rmtree(part, ignore_errors=True)
        _git(root, "clone", "--quiet", "--shared", "--no-checkout", str(root), str(part))
        _git(part, "checkout", "--quiet", "--detach", commit)
        part.rename(folder)
    return folder


def _copy(root: Path, build: Path) -> Path:
    """Copy this checkout as it is now: who edits it while it is measured does not change what is measured."""
    folder = build / "new"
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("src", "benchmarks"):  # with the times of their files, so that compiled kernels are found again
        shutil.copytree(root / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "results"))
    return folder


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CheckoutError("git is not installed: `against` needs it to check the revision out") from None
    if done.returncode:
        raise CheckoutError(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout.strip()


# -- environments --------------------------------------------------------------------------------------------------


def _differences(one: Path, other: Path) -> str:
    """Return which of the things differ that decide what is installed; empty if none does."""
    found = []
    if _constraints(one) != _constraints(other):
        found.append("constraints.txt")
    if _dependencies(one) != _dependencies(other):
        found.append("the dependencies of pyproject.toml")
    return " and ".join(found)


def _constraints(folder: Path) -> list[str]:
    file = folder / "constraints.txt"
    lines = file.read_text().splitlines() if file.exists() else []
    return [line for line in lines if line and not line.startswith("#")]


def _dependencies(folder: Path) -> dict[str, Any]:
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return {key: project.get(key) for key in ("requires-python", "dependencies", "optional-dependencies")}


def _virtual_environment(folder: Path, revision: str) -> Path:
    """Install the revision's own versions; kept for the next time."""
    environment = folder / ".venv"
    python, complete = environment / "bin" / "python", environment / ".complete"
    if not complete.exists():
        constraints = ["-c", "constraints.txt"] if (folder / "constraints.txt").exists() else []
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(environment)],
            [str(python), "-m", "pip", "install", "--quiet", *constraints, "-e", f".[{EXTRAS}]"],
        ):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CheckoutError(
                    f"the environment of {revision} could not be made: {' '.join(command)} failed\n"
                    f"{done.stdout}{done.stderr}\nTo use this environment for both, say --same-environment"
                )
        complete.touch()
    return python
