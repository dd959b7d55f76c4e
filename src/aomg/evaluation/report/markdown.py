"""Writes Markdown pages: one per result with its tables, findings, claims and pictures, and an index.

``python -m aomg.evaluation.report.markdown build/evaluation docs/results`` writes them from the results.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from aomg.errors import AomgError
from aomg.evaluation import names
from aomg.evaluation.files import ExperimentResult, read
from aomg.evaluation.machine import facts, facts_of_all
from aomg.evaluation.outcome import Claim, Plot, Table, tally
from aomg.evaluation.report.definitions import METHODS
from aomg.evaluation.report.pictures import svgs
from aomg.evaluation.report.plots import caption
from aomg.evaluation.report.tables import is_number, texts
from aomg.evaluation.run import EvaluationError, put

_WRITTEN = "<!-- written by make evaluation: edit the experiment instead -->\n"


def pages(results: Sequence[ExperimentResult], draw: Callable[[Sequence[Plot]], list[str]] = svgs) -> dict[str, str]:
    """Return the content of every file by name: Markdown and SVG."""
    drawn = iter(draw([plot for result in results for plot in result.outcome.plots]))
    files = {"README.md": index(results)}
    for result in results:
        files[f"{result.name}.md"] = page(result)
        files |= {picture: next(drawn) for picture, _ in _pictures(result)}
    return files


def page(result: ExperimentResult) -> str:
    """Return the page of one result."""
    outcome = result.outcome
    where = f"In the paper: {result.paper}." if result.paper else "Not in the paper: our own question."
    parts = [_WRITTEN, f"# {_words(result.title)}\n", f"{_words(result.question)} {_words(where)}\n"]
    if outcome.findings:
        parts += ["## Findings\n", "".join(f"- {_words(finding)}\n" for finding in outcome.findings)]
    for table in outcome.tables:
        parts += [f"## {_words(table.title)}\n", rows(table)]
        parts += [f"{_words(table.note)}\n"] if table.note else []
    for picture, plot in _pictures(result):
        note = caption(plot)
        parts += [f"## {_words(plot.title)}\n", f"![{_words(plot.title)}]({picture})\n"]
        parts += [f"{_words(note)}\n"] if note else []
    if outcome.claims:
        parts += ["## Claims\n", claimed([("", claim) for claim in outcome.claims])]
    conditions = dict(facts(result.about))
    parts.append(
        f"Measured {conditions['measured']} with `{conditions['command']}` on {conditions['processor']}; "
        f"{_words(conditions['scale'])}. [How it was measured](README.md#methods), [all results](README.md).\n"
    )
    return "\n".join(parts)


def index(results: Sequence[ExperimentResult]) -> str:
    """Return the index: all results, all claims, the methods and the machine."""
    if not results:
        raise EvaluationError("there are no results: run aomg evaluate first")
    listed = "".join(
        f"| [{r.name}]({r.name}.md) | {_cell(r.question)} | {_cell(r.paper or 'ours')} |\n" for r in results
    )
    parts = [
        _WRITTEN,
        "# Results\n",
        "The paper's tables and figures, measured on this implementation, and a few questions of our own. "
        "[evaluation.md](../evaluation.md) explains how to run everything, also on your own data.\n",
        f"| name | question | in the paper |\n|---|---|---|\n{listed}",
    ]
    claims = [(result.name, claim) for result in results for claim in result.outcome.claims]
    if claims:
        parts += ["## Claims\n", f"Of the paper's claims, {tally([c for _, c in claims])}.\n", claimed(claims)]
    parts += ["## Methods\n", "".join(f"- **{name}**: {_words(text)}\n" for name, text in METHODS)]
    machine = [(name, text) for name, text in facts_of_all([result.about for result in results]) if text]
    parts += ["## Machine\n", "".join(f"- **{name}**: {_words(text)}\n" for name, text in machine)]
    return "\n".join(parts)


def rows(table: Table) -> str:
    """Return a table with right-aligned numbers."""
    numbers = [is_number(table, column) for column in range(len(table.columns))]
    lines = [[_cell(column.heading) for column in table.columns], ["---:" if number else "---" for number in numbers]]
    lines += [[_cell(cell) for cell in row] for row in texts(table)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def claimed(claims: Sequence[tuple[str, Claim]]) -> str:
    """Return a table of claims; with names of experiments, each links to its page."""
    lines = ["| claim | the paper | here | verdict | |", "|---|---|---|---|---|"]
    for name, claim in claims:
        title = f"[{_cell(claim.name)}]({name}.md)" if name else _cell(claim.name)
        verdict = f"**{claim.verdict}**" if claim.fails else claim.verdict
        lines.append(
            f"| {title} | {_cell(claim.paper)} | {_cell(claim.measured)} | {verdict} | {_cell(claim.reason)} |"
        )
    return "\n".join(lines) + "\n"


def between_marks(page: str, name: str, text: str) -> str:
    """Return the page with this text between two marks; raise EvaluationError unless it has each mark once."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise EvaluationError(f"the page needs the marks {begin} and {end}, once each")
    return f"{page.partition(begin)[0]}{begin}\n{text}{end}{page.partition(end)[2]}"


def _pictures(result: ExperimentResult) -> list[tuple[str, Plot]]:
    return [(f"{result.name}-{number}.svg", plot) for number, plot in enumerate(result.outcome.plots, 1)]


def _words(text: str) -> str:
    """Escape text for Markdown and HTML."""
    for sign in "\\`*_[]<":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\n", " ")


def _cell(text: str) -> str:
    return _words(text).replace("|", "\\|")


def main(arguments: Sequence[str]) -> None:
    """Write the pages of all results into a folder, and remove pages of results that no longer exist."""
    if len(arguments) != 2:
        raise EvaluationError("give two folders: results and pages")
    source, target = map(Path, arguments)
    content = pages(read(source, names()))
    for name, text in content.items():
        put(target / name, text)
    for file in (*target.glob("*.md"), *target.glob("*.svg")):
        if file.name not in content and (file.suffix == ".svg" or file.read_text().startswith(_WRITTEN)):
            file.unlink()
    print(f"{len(content)} files in {target}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except AomgError as error:
        sys.exit(f"cannot write pages: {error}")
