"""Writes the report: one HTML file with Plotly inside, which loads nothing else."""

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files as resources
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote

from aomg.errors import SettingsError
from aomg.evaluation.files import ExperimentResult, csv_of
from aomg.evaluation.machine import facts_of_all, part_read
from aomg.evaluation.outcome import Claim, Plot, Table, tally
from aomg.evaluation.report.definitions import METHODS
from aomg.evaluation.report.plots import caption, described, figure
from aomg.evaluation.report.tables import headings, is_number, is_papers_column, is_papers_row, texts

# Nothing may be loaded from elsewhere; inline scripts may run.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:"


def check_plotly() -> None:
    """Raise SettingsError with the install command if Plotly is missing."""
    if find_spec("plotly") is None:
        raise SettingsError("the report needs Plotly: pip install 'aomg[evaluation]'")


@cache
def plotly() -> str:
    """Return Plotly's JavaScript from the installed package. Cached: it is 5 MB."""
    check_plotly()
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def own(name: str) -> str:
    """Return a file of this package that goes into the page: report.css or report.js."""
    return resources("aomg.evaluation.report").joinpath(name).read_text(encoding="utf-8")


def page(results: Sequence[ExperimentResult]) -> str:
    """Return the whole report: about 5 MB, nearly all of it Plotly."""
    about = results[-1].about
    data = about["data"]
    title = f"AOMG on {data['title']}" if data else "AOMG: reproducing the paper"
    claims = [(result, claim) for result in results for claim in result.outcome.claims]
    contents = [("summary", "Summary"), *((r.name, r.title) for r in results)]
    contents += [("methods", "Methods"), ("machine", "Machine")]
    links = "\n".join(f'<li><a href="#{name}">{_text(text)}</a></li>' for name, text in contents)
    parts = [
        _summary(results, claims),
        *(_section(result) for result in results),
        _definitions("methods", "Methods", METHODS),
        _definitions("machine", "Machine", facts_of_all([result.about for result in results])),
    ]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{_text(title)}</title>
<link rel="icon" href="data:,">
<style>{own("report.css")}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the results</a>
<header>
<h1>{_text(title)}</h1>
<p>{_text(_opening(about))}</p>
</header>
<nav aria-label="Contents"><details open><summary>Contents</summary><ol>
{links}
</ol></details></nav>
<main id="content">
{"".join(parts)}
</main>
<script>{plotly()}</script>
<script>{own("report.js")}</script>
</body>
</html>
"""


def _opening(about: dict[str, Any]) -> str:
    data = about["data"]
    subject = (
        f"Approximate quantiles of sliding windows over your data: {part_read(about)}."
        if data
        else "The tables and figures of “Approximate Quantiles for Datacenter Telemetry Monitoring” "
        "(arXiv 1906.00228), measured on this implementation, with the paper's numbers beside ours, and a few "
        "questions of our own."
    )
    return f"{subject} Measured {about['date']} at the {about['scale']['name']} scale on {about['cpu']}."


def _summary(results: Sequence[ExperimentResult], claims: Sequence[tuple[ExperimentResult, Claim]]) -> str:
    """Return the section with the number of claims that hold, those that do not, and all questions."""
    lines = []
    if claims:
        broken = [(result, claim) for result, claim in claims if claim.fails]
        lines.append(f"<p>Of the paper's claims, <strong>{_text(tally([claim for _, claim in claims]))}</strong>.</p>")
        if broken:
            lines.append("<p>These do not:</p><ul>")
            lines += [
                f'<li><a href="#{result.name}">{_text(claim.name)}</a>: the paper says {_text(claim.paper)}, '
                f"measured {_text(claim.measured)}.</li>"
                for result, claim in broken
            ]
            lines.append("</ul>")
    rows = "".join(
        f'<tr><th scope="row"><a href="#{r.name}">{_text(r.name)}</a></th>'
        f"<td>{_text(r.question)}</td><td>{_text(r.paper or 'ours')}</td></tr>"
        for r in results
    )
    lines.append(
        f'<div class="scroll whole" tabindex="0" role="region" aria-label="Questions"><table class="words"><thead><tr>'
        f'<th scope="col">name</th><th scope="col">question</th><th scope="col">in the paper</th>'
        f"</tr></thead><tbody>{rows}</tbody></table></div>"
    )
    return f'<section id="summary"><h2>Summary</h2>{"".join(lines)}</section>\n'


def _section(result: ExperimentResult) -> str:
    """Return the section of one experiment: question, findings, tables, plots and claims."""
    outcome = result.outcome
    where = f"In the paper: {result.paper}." if result.paper else "Not in the paper: our own question."
    parts = [f"<h2>{_text(result.title)}</h2>", f'<p class="question">{_text(result.question)}</p>']
    parts.append(f'<p class="where">{_text(where)}</p>')
    if outcome.findings:
        parts.append('<h3>Findings</h3><ul class="findings">')
        parts += [f"<li>{_text(finding)}</li>" for finding in outcome.findings]
        parts.append("</ul>")
    for file, table in result.tables():
        parts.append(f"<h3>{_text(table.title)}</h3>{_table(table, file)}")
    for number, plot in enumerate(outcome.plots, 1):
        parts.append(f"<h3>{_text(plot.title)}</h3>{_plot(plot, f'{result.name}-plot-{number}')}")
    if outcome.claims:
        parts.append(f"<h3>Claims</h3>{_claims(outcome.claims)}")
    return f'<section id="{result.name}">{"".join(parts)}</section>\n'


def _table(table: Table, file: str) -> str:
    """Return a table in a scrollable box, with a link to its CSV file, which is part of the page."""
    name = file.rpartition("/")[2]
    content = f"data:text/csv;charset=utf-8,{quote(csv_of(table))}"
    numbers = [is_number(table, column) for column in range(len(table.columns))]
    papers = [is_papers_column(table, column) for column in range(len(table.columns))]
    kinds = [
        " ".join(kind for kind, is_it in (("number", number), ("paper", paper)) if is_it)
        for number, paper in zip(numbers, papers, strict=True)
    ]
    head = "".join(
        f'<th scope="col"{_class(kind)}>{_text(heading)}</th>'
        for heading, kind in zip(headings(table), kinds, strict=True)
    )
    rows = []
    for row in texts(table):
        first, *others = (
            f"{_class(kind)}{_may_break(cell)}>{_text(cell)}" for cell, kind in zip(row, kinds, strict=True)
        )
        cells = f'<th scope="row"{first}</th>' + "".join(f"<td{cell}</td>" for cell in others)
        rows.append(f"<tr{_class('paper' if is_papers_row(row) else '')}>{cells}</tr>")
    note = f'<p class="note">{_text(table.note)}</p>' if table.note else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(table.title)}">'
        f'<table data-file="{name}"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
        f'{note}<p class="note"><a download="{name}" href="{content}">{name}</a></p>'
    )


def _may_break(cell: str) -> str:
    """Return the attribute that allows line breaks in long texts; numbers and names have none."""
    return "" if len(cell) <= 28 else ' data-long=""'


def _plot(plot: Plot, place: str) -> str:
    both = {"light": figure(plot), "dark": figure(plot, dark=True)}
    # escape "<", so that no text can end the script
    content = json.dumps(both, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    note = caption(plot)
    below = f"<figcaption>{_text(note)}</figcaption>" if note else ""
    return (
        f'<figure><div class="plot" id="{place}" role="img" aria-label="{_text(described(plot))}"></div>'
        f"{below}</figure>"
        f'<script type="application/json" data-plot="{place}">{content}</script>'
    )


def _claims(claims: Sequence[Claim]) -> str:
    rows = []
    for claim in claims:
        kind, mark = {True: ("holds", "✓"), False: ("fails", "✗"), None: ("open", "?")}[claim.holds]
        sign = f'<span class="{kind}">{mark} {_text(claim.verdict)}</span>'
        reason = f'<div class="reason">{_text(claim.reason)}</div>' if claim.reason else ""
        rows.append(
            f'<tr><th scope="row">{_text(claim.name)}{reason}</th><td>{_text(claim.paper)}</td>'
            f"<td>{_text(claim.measured)}</td><td>{sign}</td></tr>"
        )
    return (
        '<div class="scroll whole" tabindex="0" role="region" aria-label="Claims"><table class="words claims">'
        '<thead><tr><th scope="col">claim</th><th scope="col">paper</th><th scope="col">measured here</th>'
        f'<th scope="col">verdict</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _definitions(place: str, title: str, pairs: Sequence[tuple[str, str]]) -> str:
    items = "".join(f"<dt>{_text(name)}</dt><dd>{_text(text)}</dd>" for name, text in pairs)
    return f'<section id="{place}"><h2>{title}</h2><dl>{items}</dl></section>\n'


def _text(text: str) -> str:
    """Escape text for HTML; keep a percent sign on the line of its number."""
    return escape(text.replace(" %", "\u00a0%"))


def _class(names: str) -> str:
    return f' class="{names}"' if names else ""
