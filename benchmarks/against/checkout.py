"""Prepares the two sides of a comparison: this checkout, and another revision with an environment that fits it."""

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXTRAS = "spark,java"  # for the imports of the cases


class CheckoutError(Exception):
    """A side that cannot be prepared; the message has the reason and the remedy."""


@dataclass(frozen=True)
class Checkout:
    """One side: the path of its aomg, and the Python that runs it."""

    side: str  # "new" or "old"
    revision: str
    source: Path
    python: Path
    cache: Path  # of compiled kernels: one per side

    def environment(self) -> dict[str, str]:
        """Return the variables that make a process import this side's aomg."""
        return os.environ | {"PYTHONPATH": str(self.source), "NUMBA_CACHE_DIR": str(self.cache)}


@dataclass(frozen=True)
class Pair:
    """The two sides, a description of their environments, and the folder with the benchmarks that both run."""

    new: Checkout
    old: Checkout
    environments: str
    benchmarks: Path


def pair(root: Path, revision: str, build: Path, force_same: bool = False) -> Pair:
    """Return this checkout and the revision; `force_same` uses this environment for both even if they differ."""
    commit = _commit(root, revision)
    folder = _clone(root, commit, build)
    differences = _differences(root, folder)
    here = Path(sys.executable)
    if not differences:
        python, environments = here, "one for both: the same constraints.txt and dependencies"
    elif force_same:
        python, environments = here, f"one for both (--same-environment), although they differ in {differences}"
    else:
        python, environments = _virtual_environment(folder, revision), f"one for each: they differ in {differences}"
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
        environments,
        copy,
    )


def _commit(root: Path, revision: str) -> str:
    if not (root / ".git").exists():
        raise CheckoutError(f"{root} is not a git checkout: `against` needs the history; clone the repository")
    try:
        return _git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except CheckoutError:
        raise CheckoutError(f"git has no revision {revision!r}: give a branch, a tag or a commit") from None


def _clone(root: Path, commit: str, build: Path) -> Path:
    """Check the commit out into its own folder, which is reused next time."""
    folder = build / commit[:12]
    if not folder.exists():
        build.mkdir(parents=True, exist_ok=True)
        part = build / f"{commit[:12]}.part"  # renamed when complete
        shutil.rmtree(part, ignore_errors=True)
        _git(root, "clone", "--quiet", "--shared", "--no-checkout", str(root), str(part))
        _git(part, "checkout", "--quiet", "--detach", commit)
        part.rename(folder)
    return folder


def _copy(root: Path, build: Path) -> Path:
    """Copy this checkout, so that edits during the measurement have no effect."""
    folder = build / "new"
    shutil.rmtree(folder, ignore_errors=True)
    for part in (
        "src",
        "benchmarks",
    ):  # with the times of their files, so that the cache of compiled kernels stays valid
        shutil.copytree(root / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "results"))
    return folder


def _git(folder: Path, *arguments: str) -> str:
    try:
        process = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CheckoutError("git is not installed: `against` needs it to check the revision out") from None
    if process.returncode:
        raise CheckoutError(f"git {arguments[0]} failed: {process.stderr.strip()}")
    return process.stdout.strip()


# -- environments --------------------------------------------------------------------------------------------------


def _differences(new: Path, old: Path) -> str:
    """Return which files with dependencies differ; empty if none does."""
    differences = []
    if _constraints(new) != _constraints(old):
        differences.append("constraints.txt")
    if _dependencies(new) != _dependencies(old):
        differences.append("the dependencies of pyproject.toml")
    return " and ".join(differences)


def _constraints(folder: Path) -> list[str]:
    file = folder / "constraints.txt"
    lines = file.read_text().splitlines() if file.exists() else []
    return [line for line in lines if line and not line.startswith("#")]


def _dependencies(folder: Path) -> dict[str, Any]:
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return {key: project.get(key) for key in ("requires-python", "dependencies", "optional-dependencies")}


def _virtual_environment(folder: Path, revision: str) -> Path:
    """Install the versions of the revision into an environment, which is reused next time."""
    environment = folder / ".venv"
    python, complete = environment / "bin" / "python", environment / ".complete"
    if not complete.exists():
        constraints = ["-c", "constraints.txt"] if (folder / "constraints.txt").exists() else []
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(environment)],
            [str(python), "-m", "pip", "install", "--quiet", *constraints, "-e", f".[{EXTRAS}]"],
        ):
            process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if process.returncode:
                raise CheckoutError(
                    f"the environment of {revision} could not be created: {' '.join(command)} failed\n"
                    f"{process.stdout}{process.stderr}\nTo use this environment for both, add --same-environment"
                )
        complete.touch()
    return python
