"""Errors, space and throughput of every policy on one stream, 128K by 16K; shared by `taxi` and `host`."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from aomg.errors import SettingsError
from aomg.evaluation.experiment import Measurements, Piece
from aomg.evaluation.measure.accuracy import QUANTILES, Windows, measure
from aomg.evaluation.measure.contenders import PAPERS_RIVALS, TITLES, Contender, everyone
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.measure.speed import course_of, race
from aomg.evaluation.outcome import Plot, Series, Table, TableColumn

SIZE, PERIOD = 131_072, 16_384
PAPER, DEFAULT = "AOMG (paper)", "AOMG (default)"
PAPERS_TITLES = tuple(TITLES[policy] for policy in PAPERS_RIVALS)

Measured = Mapping[str, Mapping[str, Any]]
"""The measurements of each policy, by its title."""


def contenders() -> list[Contender]:
    """Return AOMG in both modes and every rival, at epsilon .015 and K 12."""
    return everyone()


def pieces(scale: Scale, sources: Sequence[ValueSource]) -> list[Piece]:
    """Return one race per stream, and one measurement of errors per policy."""
    events = max(scale.events, SIZE)
    planned = []
    for source in sources:
        planned.append(Piece(f"{source.name}-speed", partial(_speeds, source, scale), 16.0 * scale.rounds))
        for contender in contenders():
            work = partial(_errors, contender, source, Windows(SIZE, PERIOD, events))
            planned.append(Piece(_name(source, contender.title), work, events / 1e6))
    return planned


def _name(source: ValueSource, title: str) -> str:
    return f"{source.name}-{title.lower().replace(' ', '-').replace('(', '').replace(')', '')}"


def _speeds(source: ValueSource, scale: Scale) -> dict[str, Any]:
    return race(contenders(), source, course_of(scale, source, SIZE, PERIOD), scale.rounds)


def _errors(contender: Contender, source: ValueSource, windows: Windows) -> dict[str, Any] | None:
    """Return errors and space; None if the policy's library is missing."""
    try:
        return measure(contender, source, windows, by_rank=True)
    except SettingsError:
        return None


def measured(measurements: Measurements, source: ValueSource) -> Measured:
    """Return errors, space and throughput of each policy on a stream, except those whose library is missing."""
    speeds = measurements[f"{source.name}-speed"]
    return {title: {**measurements[_name(source, title)], "speed": speed["best"]} for title, speed in speeds.items()}


def error(measurements: Measured, title: str, quantile: str) -> float:
    """Return the average value error of a policy at a quantile, in percent."""
    return float(measurements[title]["value_error"][QUANTILES.index(quantile)])


def table(measurements: Measured, source: ValueSource, papers: Mapping[str, float]) -> Table:
    """Return the table of a stream; `papers` are the paper's errors at 0.999."""
    columns = [TableColumn("policy"), *(TableColumn(f"Q{quantile}", 2, "%") for quantile in QUANTILES)]
    columns += [TableColumn("Q0.999, paper", 2, "%")] if papers else []
    columns += [
        TableColumn("worst Q0.999", 2, "%"),
        TableColumn("variables"),
        TableColumn("bytes"),
        TableColumn("throughput", 1, "M events/s"),
    ]
    rows: list[list[Any]] = []
    for title, measurement in measurements.items():
        printed = [papers.get(title)] if papers else []
        worst = measurement["worst_value_error"][-1]
        rows.append(
            [
                title,
                *measurement["value_error"],
                *printed,
                worst,
                measurement["variables"],
                measurement["nbytes"],
                measurement["speed"],
            ]
        )
    note = "Average value errors of all windows. Epsilon .015, K 12. Throughput of one thread, best of the rounds."
    return Table(f"{source.title}: every policy, {SIZE:,} by {PERIOD:,}", columns, rows, note)


def plots(measurements: Measured, source: ValueSource) -> list[Plot]:
    """Return plots of the errors at the lowest and highest quantile, and of the throughput."""
    titles = list(measurements)
    errors = [Series(f"Q{q}", titles, [error(measurements, title, q) for title in titles]) for q in ("0.5", "0.999")]
    speeds = [Series("throughput", titles, [measurements[title]["speed"] for title in titles])]
    return [
        Plot(f"{source.title}: value errors", "policy", "average value error (%)", errors, "bars", log_y=True),
        Plot(f"{source.title}: throughput", "policy", "M events/s", speeds, "bars", log_y=True),
    ]


def findings(measurements: Measured, source: ValueSource) -> list[str]:
    """Describe which rivals are more accurate than AOMG at 0.999, and which are faster."""
    sentences = []
    rivals = [title for title in measurements if title not in (PAPER, DEFAULT) and not title.startswith("Exact")]
    for mode in (PAPER, DEFAULT):
        ours = error(measurements, mode, "0.999")
        nearer = [
            f"{t} ({error(measurements, t, '0.999'):.2f} %)" for t in rivals if error(measurements, t, "0.999") < ours
        ]
        faster = [
            f"{t} ({measurements[t]['speed'] / measurements[mode]['speed']:.1f} times)"
            for t in measurements
            if t not in (PAPER, DEFAULT) and measurements[t]["speed"] > measurements[mode]["speed"]
        ]
        sentences.append(
            f"{source.title}, {mode}: {ours:.2f} % at Q0.999; "
            f"{'more accurate: ' + ', '.join(nearer) if nearer else 'no sketch is more accurate'}; "
            f"{'faster: ' + ', '.join(faster) if faster else 'no rival is faster'}."
        )
    return sentences
