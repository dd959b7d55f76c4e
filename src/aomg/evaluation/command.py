"""The command `aomg evaluate`: runs experiments, writes their results and the report, prints tables."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from aomg.evaluation import Experiment, experiment, files, names
from aomg.evaluation.files import ExperimentResult
from aomg.evaluation.machine import conditions_of, part_read
from aomg.evaluation.measure.scale import FULL, QUICK, STANDARD, Scale
from aomg.evaluation.measure.source import ValueSource, of_file
from aomg.evaluation.outcome import Claim, Outcome
from aomg.evaluation.report import claims, terminal
from aomg.evaluation.report import html as report
from aomg.evaluation.run import EvaluationError, Run, put

OUT = Path("aomg-evaluation")
REPORT = "report.html"
_OWN_STREAMS = "has its own streams"


class Interrupted(KeyboardInterrupt):
    """The user stopped the evaluation; the message says what is stored and how to resume."""


def scale_of(quick: bool, full: bool) -> Scale:
    """Return the requested scale."""
    if quick and full:
        raise EvaluationError("--quick and --full exclude each other; give one")
    return QUICK if quick else FULL if full else STANDARD


def source_of(data: Path | None, value: str | None) -> ValueSource | None:
    """Return the requested file and column; None for the paper's streams."""
    if data is None and value is not None:
        raise EvaluationError(f"--value {value} needs a file: add --data FILE")
    return None if data is None else of_file(data, value)


def chosen(console: Console, requested: Sequence[str], source: ValueSource | None) -> list[Experiment]:
    """Return the named experiments, or all; with --data, only those that apply to the user's data."""
    experiments = [experiment(name) for name in dict.fromkeys(requested or names())]
    if source is None:
        return experiments
    unsuitable = [candidate.name for candidate in experiments if not candidate.own_data]
    if requested and unsuitable:
        raise EvaluationError(f"{unsuitable[0]} {_OWN_STREAMS} and does not run with --data; remove one of the two")
    for name in unsuitable:
        console.print(f"{name} is skipped: it {_OWN_STREAMS}", style="dim")
    return [candidate for candidate in experiments if candidate.own_data]


def command_line(
    requested: Sequence[str], scale: Scale, data: Path | None, value: str | None, out: Path, check: bool
) -> str:
    """Return the command line that repeats this evaluation."""
    words = ["aomg", "evaluate", *requested]
    words += [] if scale == STANDARD else [f"--{scale.name}"]
    words += [] if data is None else ["--data", str(data), "--value", str(value)]
    words += [] if out == OUT else ["--out", str(out)]
    return shlex.join([*words, *(["--check"] if check else [])])


def run(
    console: Console,
    requested: Sequence[str] = (),
    scale: Scale = STANDARD,
    data: Path | None = None,
    value: str | None = None,
    out: Path = OUT,
    check: bool = False,
) -> tuple[list[ExperimentResult], list[Claim]]:
    """Run experiments. Write each result when it is complete, and the report with all of them.

    Returns the results, and all claims if `check`. Raises AomgError with a remedy on failure, and Interrupted on
    Ctrl-C: completed pieces are stored, and the same command resumes.
    """
    report.check_plotly()
    if check and (requested or data is not None):
        raise EvaluationError("--check runs all experiments of the paper; remove names and --data")
    source = source_of(data, value)
    this = Run(out, scale, source)
    experiments = chosen(console, claims.makers() if check else requested, source)
    resume = command_line(requested, scale, data, value, out, check)
    conditions = conditions_of(this, resume)
    if source is not None:
        console.print(f"{source.title}: {part_read(conditions)}", style="dim", markup=False)
    missing = this.missing(experiments)
    total = sum(len(this.pieces(current)) for current in experiments)
    if len(missing) < total:
        console.print(f"resuming: {total - len(missing)} of {total} pieces are already measured", style="dim")
    results = []
    try:
        with terminal.progress(console, missing) as watch:
            for current in experiments:
                outcome = this.outcome(current, watch)
                results.append(ExperimentResult.of(current, outcome, conditions))
                terminal.show(console, current, results[-1].outcome)
                _write(out, results[-1], this)
    except KeyboardInterrupt:
        measured = total - len(this.missing(experiments))
        raise Interrupted(f"stopped: {measured} of {total} pieces are stored in {out}. To resume: {resume}") from None
    claim_list = _check(console, this, conditions) if check else []
    console.print(f"\nreport: {escape(str(out / REPORT))}", soft_wrap=True)
    return results, claim_list


def _write(out: Path, result: ExperimentResult, run: Run) -> None:
    """Write a result, and the report of all results of this run in the folder."""
    files.write(out, result)
    put(out / REPORT, report.page(files.read(out, names(), run.identity)))


def _check(console: Console, run: Run, conditions: dict[str, Any]) -> list[Claim]:
    table, claim_list = claims.check(run)
    terminal.show_table(console, table)
    question = "Which of the paper's claims hold here?"
    files.write(
        run.folder,
        ExperimentResult("claims", table.title, question, "", Outcome([table], claims=claim_list), conditions),
    )
    return claim_list


def as_json(results: Sequence[ExperimentResult], claim_list: Sequence[Claim], out: Path) -> str:
    """Return all results as one JSON document."""
    document = {
        "report": str(out / REPORT),
        "experiments": [asdict(result) for result in results],
        "claims": [asdict(claim) for claim in claim_list],
    }
    return json.dumps(document, indent=1, allow_nan=False)


def list_experiments(console: Console, json_wanted: bool = False) -> None:
    """Print the name of every experiment, its title and its question."""
    experiments = [experiment(name) for name in names()]
    if json_wanted:
        keys = ("name", "title", "question", "paper", "own_data")
        console.print_json(json.dumps([{key: getattr(listed, key) for key in keys} for listed in experiments]))
        return
    console.print("aomg evaluate [NAME ...] [--quick | --full] [--data FILE --value COLUMN]\n", markup=False)
    for listed in experiments:
        section = listed.paper or "ours"
        own = "" if listed.own_data else "; not with --data"
        console.print(
            f"[bold]{listed.name:<12}[/] {escape(listed.question)} [dim]({escape(section)}{own})[/]", soft_wrap=True
        )
