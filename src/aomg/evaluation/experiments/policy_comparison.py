"""Errors, space and throughput of every policy on one stream, 128K by 16K: what `taxi` and `host` ask."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from aomg.errors import SettingsError
from aomg.evaluation.experiment import Found, Piece
from aomg.evaluation.measure.accuracy import QUANTILES, Windows, measure
from aomg.evaluation.measure.contenders import (
    MODERN_RIVALS,
    PAPERS_RIVALS,
    TITLES,
    Contender,
    default_aomg,
    paper_aomg,
    rival,
)
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.measure.speed import course_of, race
from aomg.evaluation.outcome import Plot, Series, Table, TableColumn

SIZE, PERIOD = 131_072, 16_384
PAPER, DEFAULT = "AOMG (paper)", "AOMG (default)"
PAPERS_TITLES = tuple(TITLES[policy] for policy in PAPERS_RIVALS)

Measured = Mapping[str, Mapping[str, Any]]
"""What was measured of each policy, by its title."""


def contenders() -> list[Contender]:
    """AOMG in both modes and every rival, at epsilon .015 and K 12."""
    rivals = ("exact", "exact-sorted", *PAPERS_RIVALS, *MODERN_RIVALS)
    return [paper_aomg(), default_aomg(), *(rival(policy) for policy in rivals)]


def pieces(scale: Scale, sources: Sequence[ValueSource]) -> list[Piece]:
    """One race for each stream, and one measurement of errors for each policy."""
    events = max(scale.events, SIZE)
    found = []
    for source in sources:
        found.append(Piece(f"{source.name}-speed", partial(_speeds, source, scale), 16.0 * scale.rounds))
        for contender in contenders():
            work = partial(_errors, contender, source, Windows(SIZE, PERIOD, events))
            found.append(Piece(_name(source, contender.title), work, events / 1e6))
    return found


def _name(source: ValueSource, title: str) -> str:
    return f"{source.name}-{title.lower().replace(' ', '-').replace('(', '').replace(')', '')}"


def _speeds(source: ValueSource, scale: Scale) -> dict[str, Any]:
    return race(contenders(), source, course_of(scale, source, SIZE, PERIOD), scale.rounds)


def _errors(contender: Contender, source: ValueSource, windows: Windows) -> dict[str, Any] | None:
    """Errors and space; nothing of a policy whose library is missing."""
    try:
        return measure(contender, source, windows, by_rank=True)
    except SettingsError:
        return None


def measured(found: Found, source: ValueSource) -> Measured:
    """Errors, space and throughput of each policy on a stream, but those whose library is missing."""
    speeds = found[f"{source.name}-speed"]
    return {title: {**found[_name(source, title)], "speed": told["best"]} for title, told in speeds.items()}


def error(told: Measured, title: str, quantile: str) -> float:
    """The average value error of a policy at a quantile, percent."""
    return float(told[title]["value_error"][QUANTILES.index(quantile)])


def table(told: Measured, source: ValueSource, papers: Mapping[str, float]) -> Table:
    """All of a stream in one table; `papers` are the paper's errors at 0.999."""
    columns = [TableColumn("policy"), *(TableColumn(f"Q{quantile}", 2, "%") for quantile in QUANTILES)]
    columns += [TableColumn("Q0.999, paper", 2, "%")] if papers else []
    columns += [
        TableColumn("worst Q0.999", 2, "%"),
        TableColumn("variables"),
        TableColumn("bytes"),
        TableColumn("throughput", 1, "M events/s"),
    ]
    rows: list[list[Any]] = []
    for title, one in told.items():
        printed = [papers.get(title)] if papers else []
        worst = one["worst_value_error"][-1]
        rows.append([title, *one["value_error"], *printed, worst, one["variables"], one["nbytes"], one["speed"]])
    note = "Average value errors of all windows. Epsilon .015, K 12. Throughput of one thread, best of the rounds."
    return Table(f"{source.title}: every policy, {SIZE:,} by {PERIOD:,}", columns, rows, note)


def plots(told: Measured, source: ValueSource) -> list[Plot]:
    """Errors at the ends of what is asked, and throughput."""
    titles = list(told)
    errors = [Series(f"Q{q}", titles, [error(told, title, q) for title in titles]) for q in ("0.5", "0.999")]
    speeds = [Series("throughput", titles, [told[title]["speed"] for title in titles])]
    return [
        Plot(f"{source.title}: value errors", "policy", "average value error (%)", errors, "bars", log_y=True),
        Plot(f"{source.title}: throughput", "policy", "M events/s", speeds, "bars", log_y=True),
    ]


def findings(told: Measured, source: ValueSource) -> list[str]:
    """Which rivals are nearer than AOMG at 0.999, and which are faster."""
    sentences = []
    rivals = [title for title in told if title not in (PAPER, DEFAULT) and not title.startswith("Exact")]
    for mode in (PAPER, DEFAULT):
        ours = error(told, mode, "0.999")
        nearer = [f"{t} ({error(told, t, '0.999'):.2f} %)" for t in rivals if error(told, t, "0.999") < ours]
        faster = [
            f"{t} ({told[t]['speed'] / told[mode]['speed']:.1f} times)"
            for t in told
            if t not in (PAPER, DEFAULT) and told[t]["speed"] > told[mode]["speed"]
        ]
        sentences.append(
            f"{source.title}, {mode}: {ours:.2f} % at Q0.999; "
            f"{'nearer are ' + ', '.join(nearer) if nearer else 'no sketch is nearer'}; "
            f"{'faster are ' + ', '.join(faster) if faster else 'no rival is faster'}."
        )
    return sentences
