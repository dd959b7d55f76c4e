"""Writes measured losses into docs/where-it-loses.md: rivals that do better, and claims that do not hold.

``python -m aomg.evaluation.report.losses_page build/evaluation docs/where-it-loses.md`` replaces the text between the
page's marks. The text around them is written by hand.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from aomg.errors import AomgError
from aomg.evaluation import experiment, names
from aomg.evaluation.files import ExperimentResult, read
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.report.losses import EXPERIMENTS, Loss, losses, tables
from aomg.evaluation.report.markdown import between_marks, claimed, rows
from aomg.evaluation.run import EvaluationError, Run, put


def filled(page: str, cases: Sequence[Loss], results: Sequence[ExperimentResult]) -> str:
    """Return the page with the losses and the failing claims between its marks."""
    failing = [
        (f"results/{result.name}", claim) for result in results for claim in result.outcome.claims if claim.fails
    ]
    parts = {
        "losses": "\n".join(f"### {table.title}\n\n{rows(table)}" for table in tables(cases)),
        "claims": claimed(failing) if failing else "All hold.\n",
    }
    for name, text in parts.items():
        page = between_marks(page, name, text)
    return page


def run_of(folder: Path, results: Sequence[ExperimentResult]) -> Run:
    """Return the run of the results; raise EvaluationError if there are several, or if it is not complete."""
    scales = {Scale(**result.about["scale"]) for result in results}
    if len(scales) != 1:
        raise EvaluationError(f"{folder} has results of {len(scales)} scales; run aomg evaluate at one of them")
    run = Run(folder, scales.pop())
    missing = run.missing(experiment(name) for name in EXPERIMENTS)
    if missing:
        raise EvaluationError(f"{folder} lacks {len(missing)} pieces of {', '.join(EXPERIMENTS)}; run them first")
    return run


def main(arguments: Sequence[str]) -> None:
    """Update the page from the results of an evaluation. Measures nothing."""
    if len(arguments) != 2:
        raise EvaluationError("give the folder of results and the page")
    source, page = map(Path, arguments)
    results = read(source, names())
    put(page, filled(page.read_text(), losses(run_of(source, results)), results))
    print(page)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except AomgError as error:
        sys.exit(f"cannot write the page: {error}")
