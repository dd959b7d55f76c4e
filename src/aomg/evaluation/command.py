"""The command: which experiments are run, on what, in which order, and what is written and said."""

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
from aomg.evaluation.machine import about, part_read
from aomg.evaluation.measure.scale import FULL, QUICK, STANDARD, Scale
from aomg.evaluation.measure.source import ValueSource, of_file
from aomg.evaluation.outcome import Claim, Outcome
from aomg.evaluation.report import claims, terminal
from aomg.evaluation.report import html as report
from aomg.evaluation.run import EvaluationError, Run, put

OUT = Path("aomg-evaluation")
REPORT = "report.html"
_NOT_YOURS = "is about streams of its own"


class Interrupted(KeyboardInterrupt):
    """Somebody stopped the evaluation; the message says what is kept and how to go on."""


def scale_of(quick: bool, full: bool) -> Scale:
    """The scale that was asked for."""
    if quick and full:
        raise EvaluationError("--quick and --full are two scales; give one")
    return QUICK if quick else FULL if full else STANDARD


def source_of(data: Path | None, value: str | None) -> ValueSource | None:
    """The file and column that were asked for; None if it is the paper's streams."""
    if data is None and value is not None:
        raise EvaluationError(f"--value {value} is a column of a file: give the file too, with --data FILE")
    return None if data is None else of_file(data, value)


def chosen(console: Console, asked: Sequence[str], source: ValueSource | None) -> list[Experiment]:
    """The experiments that were named, or all; on data of one's own only those that mean something there."""
    found = [experiment(name) for name in dict.fromkeys(asked or names())]
    if source is None:
        return found
    others = [one.name for one in found if not one.own_data]
    if asked and others:
        raise EvaluationError(f"{others[0]} {_NOT_YOURS} and does not run with --data; leave out one of the two")
    for name in others:
        console.print(f"{name} is skipped: it {_NOT_YOURS}", style="dim")
    return [one for one in found if one.own_data]


def command(asked: Sequence[str], scale: Scale, data: Path | None, value: str | None, out: Path, check: bool) -> str:
    """The command line that does the same again."""
    words = ["aomg", "evaluate", *asked]
    words += [] if scale == STANDARD else [f"--{scale.name}"]
    words += [] if data is None else ["--data", str(data), "--value", str(value)]
    words += [] if out == OUT else ["--out", str(out)]
    return shlex.join([*words, *(["--check"] if check else [])])


def run(
    console: Console,
    asked: Sequence[str] = (),
    scale: Scale = STANDARD,
    data: Path | None = None,
    value: str | None = None,
    out: Path = OUT,
    check: bool = False,
) -> tuple[list[ExperimentResult], list[Claim]]:
    """Run experiments and write their results: each as soon as it is there, and the report with all of them.

    Gives the results, and all claims if they are to be checked. Raises AomgError with what to do where it cannot be
    done, and Interrupted on Ctrl-C; then, what was measured is kept and the same command goes on from there.
    """
    report.check_plotly()
    if check and (asked or data is not None):
        raise EvaluationError("--check runs all that the paper makes claims about; leave out names and --data")
    source = source_of(data, value)
    this = Run(out, scale, source)
    experiments = chosen(console, claims.makers() if check else asked, source)
    again = command(asked, scale, data, value, out, check)
    told = about(this, again)
    if source is not None:
        console.print(f"{source.title}: {part_read(told)}", style="dim", markup=False)
    missing = this.missing(experiments)
    total = sum(len(this.pieces(one)) for one in experiments)
    if len(missing) < total:
        console.print(f"going on: {total - len(missing)} of {total} pieces were there", style="dim")
    results = []
    try:
        with terminal.progress(console, missing) as watch:
            for one in experiments:
                outcome = this.outcome(one, watch)
                results.append(ExperimentResult.of(one, outcome, told))
                terminal.show(console, one, results[-1].outcome)
                _write(out, results[-1], this)
    except KeyboardInterrupt:
        kept = total - len(this.missing(experiments))
        raise Interrupted(f"stopped: {kept} of {total} pieces are kept in {out}. To go on: {again}") from None
    found = _check(console, this, told) if check else []
    console.print(f"\nreport: {escape(str(out / REPORT))}", soft_wrap=True)
    return results, found


def _write(out: Path, result: ExperimentResult, run: Run) -> None:
    """Write a result, and the report of all results of this run that are in the folder."""
    files.write(out, result)
    put(out / REPORT, report.page(files.read(out, names(), run.identity)))


def _check(console: Console, run: Run, told: dict[str, Any]) -> list[Claim]:
    table, found = claims.check(run)
    terminal.show_table(console, table)
    question = "Which of the paper's numbers hold here?"
    files.write(run.folder, ExperimentResult("claims", table.title, question, "", Outcome([table], claims=found), told))
    return found


def as_json(results: Sequence[ExperimentResult], found: Sequence[Claim], out: Path) -> str:
    """All that was found in one document, for programs."""
    told = {
        "report": str(out / REPORT),
        "experiments": [asdict(result) for result in results],
        "claims": [asdict(claim) for claim in found],
    }
    return json.dumps(told, indent=1, allow_nan=False)


def list_experiments(console: Console, json_wanted: bool = False) -> None:
    """Print the name of every experiment, its title and its question."""
    found = [experiment(name) for name in names()]
    if json_wanted:
        keys = ("name", "title", "question", "paper", "own_data")
        console.print_json(json.dumps([{key: getattr(one, key) for key in keys} for one in found]))
        return
    console.print("aomg evaluate [NAME ...] [--quick | --full] [--data FILE --value COLUMN]\n", markup=False)
    for one in found:
        where = one.paper or "ours"
        own = "" if one.own_data else "; not on data of one's own"
        console.print(f"[bold]{one.name:<12}[/] {escape(one.question)} [dim]({escape(where)}{own})[/]", soft_wrap=True)
