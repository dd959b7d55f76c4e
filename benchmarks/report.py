"""Writes docs/figures.md from the stored outcomes of all benchmarks: python -m benchmarks report.

The page depends only on benchmarks/results and constraints.txt. A benchmark without a stored outcome, or with an old
one, is marked; no figure is filled in.
"""

import re
from pathlib import Path

from benchmarks import registry
from benchmarks.measure import Figure
from benchmarks.outcome import RESULTS, ROOT, DamagedError, Outcome, read

PAGE = ROOT / "docs" / "figures.md"
CONSTRAINTS = ROOT / "constraints.txt"
SIGNS = {True: "yes", False: "**no**", None: ""}
PACKAGES = {"numpy": ("numpy", "NumPy"), "numba": ("numba", "Numba"), "spark": ("pyspark", "Spark")}
"""The packages of an outcome: their names in constraints.txt and in texts."""
INTRODUCTION = """<!-- written by python -m benchmarks report: run the benchmark instead of editing a figure -->

# Figures

All figures of the project, as the benchmarks measured them last. A speed is a ratio: rivals take turns in one run on
one machine. The figure divides the best rounds of both; the median of all rounds is in brackets. A figure without an
aim is there for comparison. The [glossary](glossary.md) explains the terms. 128K by 16K is a window of 131,072 events
with a period of 16,384; 100K by 1K is 100,000 and 1,000.

`make bench` and `make bench-spark` measure everything again, `python -m benchmarks NAME` one benchmark. At full size,
it stores its figures in `benchmarks/results`, and `python -m benchmarks report` writes this page from them. To compare
two revisions, see `python -m benchmarks against --help`. [Results](results/README.md) has the paper's tables and
figures, [Where it loses](where-it-loses.md) the cases in which others do better.
"""


def write(results: Path = RESULTS, page: Path = PAGE, constraints: Path = CONSTRAINTS) -> None:
    """Write the page."""
    page.write_text(content(results, constraints.read_text()))


def content(results: Path, constraints: str) -> str:
    """Return the page: a section per area with its figures and how they were measured."""
    return "\n".join([INTRODUCTION, *(_section(area, results, constraints) for area in registry.AREAS)])


def _section(area: registry.Area, results: Path, constraints: str) -> str:
    figures = ["| what | figure | against | aim | met | command |", "|---|---|---|---|---|---|"]
    conditions = ["| command | date | commit | machine and versions | state |", "|---|---|---|---|---|"]
    for name in area.modules:
        command = f"`{registry.command(name)}`"
        try:
            outcome = read(results, name)
        except DamagedError as error:
            conditions.append(f"| {command} | | | | **damaged**: {_cell(str(error))} |")
            continue
        if outcome is None:
            conditions.append(f"| {command} | | | | **missing**: not measured yet |")
            continue
        figures += [_row(figure, command) for figure in outcome.figures]
        conditions.append(_condition(outcome, command, constraints))
    return "\n".join([f"## {area.title}\n", f"{area.about}\n", *figures, "", "Measured:\n", *conditions, ""])


def _row(figure: Figure, command: str) -> str:
    cells = [figure.what, figure.measured, figure.against, figure.aim]
    return f"| {' | '.join(map(_cell, cells))} | {SIGNS[figure.met]} | {command} |"


def _condition(outcome: Outcome, command: str, constraints: str) -> str:
    machine = outcome.machine
    parts = [f"{machine['cpu']}, {machine['cores']} cores", f"Python {machine['python']}"]
    parts += [f"{title} {machine[key]}" for key, (_, title) in PACKAGES.items() if key in machine]
    differences = [
        f"{title} {machine[key]}, constraints.txt has {current}"
        for key, (package, title) in PACKAGES.items()
        if key in machine and (current := _version(constraints, package)) not in (None, machine[key])
    ]
    state = f"**stale**: measured with {'; '.join(differences)}" if differences else outcome.origin or "current"
    cells = [machine["date"], outcome.commit or "unknown", ", ".join(parts), state]
    return f"| {command} | {' | '.join(map(_cell, cells))} |"


def _version(constraints: str, package: str) -> str | None:
    match = re.search(rf"^{package}==(\S+)", constraints, re.MULTILINE)
    return match[1] if match else None


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
