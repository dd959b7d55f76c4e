"""Correlated values: errors of Level 2 on AR(1) streams, and how often they are within Theorem 1's bound."""

from decimal import Decimal
from functools import partial
from statistics import NormalDist
from typing import Any

from aomg.core.paper.theorem import theorem_1
from aomg.evaluation.experiment import Experiment, Measurements, Piece
from aomg.evaluation.measure.accuracy import Windows, measure
from aomg.evaluation.measure.contenders import paper_aomg
from aomg.evaluation.measure.differences import Pair, differences
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.outcome import Claim, Outcome, Plot, Series, Table, TableColumn
from aomg.streams.normal import MEAN, SD

SIZE = 131_072
PERIODS = {16_384: 1, 1_024: 16}  # every n-th window is evaluated: the same ones at both periods
PSI = tuple(tenth / 10 for tenth in range(10))
QUANTILES = (*(f"0.{tenth}" for tenth in range(1, 10)), "0.99")
SHOWN = ("0.5", "0.9", "0.99")
PAPER = {0.0: (3.46e-5, 1.23e-4, 8.88e-4), 0.2: (3.47e-5, 1.39e-4, 9.84e-4), 0.8: (5.66e-5, 3.35e-4, 1.56e-3)}
GROWTH = {0.2: 1.25, 0.8: 3.0}  # "slightly" and "mildly"; the paper's own largest are 1.13 and 2.72
UNIT = 1e-5


def _name(psi: float, period: int) -> str:
    return f"psi-{psi:g}-period-{period}"


def _measured(source: ValueSource, scale: Scale, period: int) -> dict[str, Any]:
    return measure(paper_aomg(), source, Windows(SIZE, period, _events(scale), PERIODS[period]), QUANTILES)


def _events(scale: Scale) -> int:
    return max(scale.events, SIZE)


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    sources = {psi: of_stream("ar1", psi=psi) for psi in PSI}
    return [
        Piece(_name(psi, period), partial(_measured, sources[psi], scale, period), _events(scale) / 1e6)
        for psi in PSI
        for period in PERIODS
    ]


def _errors(measured: dict[str, Any]) -> list[float]:
    """Return the average relative errors of the shown quantiles, as shares."""
    return [measured["value_error"][QUANTILES.index(quantile)] / 100 for quantile in SHOWN]


def _error_table(measurements: Measurements, period: int) -> Table:
    columns = [TableColumn("psi", 1)]
    for quantile in SHOWN:
        columns += [TableColumn(quantile, 2, "10^-5"), TableColumn(f"{quantile}, paper", 2, "10^-5")]
    rows: list[list[Any]] = []
    for psi in PSI:
        row: list[Any] = [psi]
        for error, paper in zip(_errors(measurements[_name(psi, period)]), PAPER.get(psi, (None,) * 3), strict=True):
            row += [error / UNIT, None if paper is None else paper / UNIT]
        rows.append(row)
    title = f"Average relative errors of the mean, AR(1), {SIZE:,} by {period:,}"
    return Table(title, columns, rows, "The paper does not state its window and period.")


def _worst_of_known(measurement: dict[str, Any], period: int) -> tuple[float, str]:
    """Return the worst error divided by Theorem 1's bound with the stream's true density, and its quantile."""
    density = NormalDist(MEAN, SD)
    ratios = {}
    for quantile, worst in zip(QUANTILES, measurement["worst_value_error"], strict=True):
        value = density.inv_cdf(float(quantile))
        bound, _ = theorem_1(Decimal(quantile), SIZE, 1 / density.pdf(value), 0.0, SIZE // period)
        ratios[quantile] = worst / 100 * value / bound
    quantile = max(ratios, key=ratios.__getitem__)
    return ratios[quantile], quantile


def _coverage_table(measurements: Measurements, period: int) -> Table:
    columns = [
        TableColumn("psi", 1),
        TableColumn("answers"),
        TableColumn("with a bound"),
        TableColumn("error within it", 4),
        TableColumn("within the corrected one", 4),
        TableColumn("worst quantile", 4),
        TableColumn("paper", 0),
        TableColumn("worst error / known bound", 2),
    ]
    rows: list[list[Any]] = []
    for psi in PSI:
        measurement = measurements[_name(psi, period)]
        bounded = sum(measurement["bounded"])
        shares = [sum(measurement[kind]) / bounded if bounded else None for kind in ("covered", "covered_corrected")]
        by_quantile = [
            covered_count / bounded_count
            for covered_count, bounded_count in zip(measurement["covered"], measurement["bounded"], strict=True)
            if bounded_count
        ]
        answers = measurement["windows"] * len(QUANTILES)
        worst, _ = _worst_of_known(measurement, period)
        rows.append([psi, answers, bounded, *shares, min(by_quantile, default=None), 1 if psi else None, worst])
    title = f"Theorem 1, {SIZE:,} by {period:,}: share of answers within the bound"
    note = (
        "At 0.1, 0.2, ..., 0.9 and 0.99. If sub-windows are too different to be independent draws of one distribution, "
        "or too small, there is no bound: such answers count neither as covered nor as missed. The known bound is that "
        "of the true density, for all answers: above 1, at least one error is outside."
    )
    return Table(title, columns, rows, note)


def _lines(measurements: Measurements, period: int) -> Plot:
    series = []
    for place, quantile in enumerate(SHOWN):
        series.append(Series(quantile, PSI, [_errors(measurements[_name(psi, period)])[place] for psi in PSI]))
        series.append(
            Series(f"{quantile}, paper", list(PAPER), [printed[place] for printed in PAPER.values()], dashed=True)
        )
    return Plot(f"Errors of the mean, {SIZE:,} by {period:,}", "psi", "average relative error", series, log_y=True)


def _outcome(measurements: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
    without = {
        period: Series(
            f"period {period:,}",
            PSI,
            [
                1
                - sum(measurements[_name(psi, period)]["bounded"])
                / (measurements[_name(psi, period)]["windows"] * len(QUANTILES))
                for psi in PSI
            ],
        )
        for period in PERIODS
    }
    findings = []
    for period in PERIODS:
        none, most = (_errors(measurements[_name(psi, period)]) for psi in (PSI[0], PSI[-1]))
        grown = ", ".join(f"{b / a:.1f} times at {q}" for q, a, b in zip(SHOWN, none, most, strict=True))
        findings.append(f"Period {period:,}: from psi 0 to {PSI[-1]} the errors grow {grown}.")
        of_period = [measurements[_name(psi, period)] for psi in PSI]
        answers = sum(t["windows"] for t in of_period) * len(QUANTILES)
        bounded, covered = sum(sum(t["bounded"]) for t in of_period), sum(sum(t["covered"]) for t in of_period)
        findings.append(
            f"Period {period:,}: of {answers:,} answers {answers - bounded:,} have no bound; "
            f"{bounded - covered:,} of the other {bounded:,} are outside of theirs."
        )
        known = {psi: _worst_of_known(measurements[_name(psi, period)], period) for psi in PSI}
        outside = [f"psi {psi:g} ({ratio:.1f} times it, at {q})" for psi, (ratio, q) in known.items() if ratio > 1]
        findings.append(
            f"Period {period:,}: with the true density every answer has a bound, and the worst errors are "
            f"{'outside of it at ' + ', '.join(outside) if outside else 'within it at every psi'}."
        )
    findings += _differences(measurements)
    return Outcome(
        [table(measurements, period) for table in (_error_table, _coverage_table) for period in PERIODS],
        [
            *(_lines(measurements, period) for period in PERIODS),
            Plot("Answers without a bound by Theorem 1", "psi", "share", list(without.values())),
        ],
        findings,
        _claims(measurements),
    )


def _differences(measurements: Measurements) -> list[str]:
    """Describe errors that are far from the paper's at each period, and the nearest period: the paper states none."""
    pairs = {
        period: [
            Pair(f"psi {psi:g} at {quantile}", ours / UNIT, paper / UNIT, unit="e-5")
            for psi, printed in PAPER.items()
            for quantile, ours, paper in zip(SHOWN, _errors(measurements[_name(psi, period)]), printed, strict=True)
        ]
        for period in PERIODS
    }
    distances = {period: max(pair.times(1.0) for pair in of_period) for period, of_period in pairs.items()}
    nearest = min(distances, key=distances.__getitem__)
    why = (
        "The paper does not state its window and period; "
        f"of those here, a period of {nearest:,} is nearest, at most {distances[nearest]:.1f} times apart."
    )
    return [
        text for period, of_period in pairs.items() for text in differences(f"Period {period:,}", of_period, why=why)
    ]


def _claims(measurements: Measurements) -> list[Claim]:
    claims = []
    for period in PERIODS:
        of_period = [measurements[_name(psi, period)] for psi in PSI[1:]]
        bounded, covered = (sum(sum(t[kind]) for t in of_period) for kind in ("bounded", "covered"))
        answers = sum(t["windows"] for t in of_period) * len(QUANTILES)
        worst = max(_worst_of_known(measurement, period)[0] for measurement in of_period)
        holds = bounded > 0 and covered == bounded
        claims.append(
            Claim(
                f"ar1: errors within Theorem 1's bound, psi 0.1 to 0.9, {SIZE:,} by {period:,}",
                "always (1)",
                f"{covered:,} of {bounded:,}; no bound for {answers - bounded:,} more; "
                f"of all, the worst error is {worst:.2f} of the bound with the true density",
                holds,
                "" if holds else f"{bounded - covered:,} answers are outside of the bound",
            )
        )
    period = next(iter(PERIODS))
    independent = _errors(measurements[_name(0.0, period)])
    for psi, most in GROWTH.items():
        growth = [
            here / zero for here, zero in zip(_errors(measurements[_name(psi, period)]), independent, strict=True)
        ]
        paper = [here / zero for here, zero in zip(PAPER[psi], PAPER[0.0], strict=True)]
        holds = max(growth) <= most
        claims.append(
            Claim(
                f"ar1: errors at psi {psi:g} against psi 0, at {', '.join(SHOWN)}",
                f"{_times(paper)} (read as at most {most:g})",
                _times(growth),
                holds,
                "" if holds else "the errors grow more with the correlation here",
            )
        )
    return claims


def _times(ratios: list[float]) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios) + " times"


EXPERIMENT = Experiment(
    "ar1",
    "Correlated values",
    "Do errors grow, and does Theorem 1's bound hold, when neighbouring values are correlated?",
    "Section 6.4, Table 5",
    _pieces,
    _outcome,
    own_data=False,
)
