"""Our question: the worst window with the envelope and without it, and the width of low..high."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from aomg import FewK, Operator
from aomg.evaluation.experiment import Experiment, Measurements, Piece
from aomg.evaluation.measure.accuracy import QUANTILES, Windows, measure
from aomg.evaluation.measure.contenders import Contender, default_aomg, paper_aomg
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import Values, ValueSource, of_stream
from aomg.evaluation.outcome import Cell, Outcome, Plot, Series, Table, TableColumn

SIZE, PERIOD, SMALL_PERIOD = 131_072, 16_384, 4_096
_LEVELS = 7  # decades
_LEAST = 1e-4  # percent: zero is drawn here


def contenders() -> list[Contender]:
    """Return AOMG with the envelope, without it, and as in the paper, with few-k merging and without."""
    return [
        default_aomg("with envelope"),
        default_aomg("without envelope", guarantee=False),
        paper_aomg(FewK(), "paper, few-k"),
        paper_aomg(title="paper, mean alone"),
    ]


@dataclass(frozen=True)
class Case:
    """A stream and its window."""

    source: ValueSource
    size: int = SIZE
    period: int = PERIOD


def decades(events: int, start: int) -> Values:
    """Generate values of one random decade per sub-window: sub-windows have nothing in common."""

    def sub_window(number: int) -> Values:
        random = np.random.default_rng([20, number])
        return random.integers(1_000, 2_000, PERIOD) * 10 ** random.integers(0, _LEVELS)

    return _by_sub_windows(sub_window, events, start)


def steps(events: int, start: int) -> Values:
    """Generate five values, two decades apart, whose shares end at the quantiles, so that chance decides the quantile.

    All sub-windows have the same distribution and are independent; only the density at the quantile, zero, is unusual.
    """

    def sub_window(number: int) -> Values:
        random = np.random.default_rng([21, number])
        return 10 ** (2 * np.searchsorted([float(q) for q in QUANTILES], random.random(PERIOD)))

    return _by_sub_windows(sub_window, events, start)


def _by_sub_windows(sub_window: Callable[[int], Values], events: int, start: int) -> Values:
    first, last = start // PERIOD, -(-(start + events) // PERIOD)
    values = np.concatenate([sub_window(number) for number in range(first, max(last, first + 1))])
    return values[start - first * PERIOD :][:events]


def cases(own: ValueSource | None) -> list[Case]:
    """Return streams whose sub-windows differ, or the user's data."""
    if own is not None:
        return [Case(own, *own.window(SIZE, PERIOD))]
    bursts = [(factor, period) for period in (PERIOD, SMALL_PERIOD) for factor in (2, 10, 100)]
    return [
        *(Case(of_stream("bursts", factor=factor, period=period), SIZE, period) for factor, period in bursts),
        Case(of_stream("drift")),
        Case(of_stream("drift", day=4 * SIZE, swing=0.5)),
        Case(of_stream("drift", day=SIZE, swing=0.9)),
        Case(of_stream("ar1", psi=0.5)),
        Case(of_stream("ar1", psi=0.9)),
        Case(ValueSource("decades", "Decades that jump", decades)),
        Case(ValueSource("steps", "Steps at the quantiles", steps)),
    ]


def _measured(case: Case, contender: Contender, events: int) -> dict[str, Any]:
    """Return the result of `measure`, and the guarantee in percent, None if there is none."""
    measurement = measure(contender, case.source, Windows(case.size, case.period, events))
    operator = contender.start(case.size, case.period, QUANTILES)
    guarantee = operator.query.guarantee if isinstance(operator, Operator) else None
    return {**measurement, "guarantee": None if guarantee is None else 100 * guarantee}


def _name(case: Case, contender: Contender) -> str:
    return f"{case.source.name}-{contender.title.replace(', ', '-').replace(' ', '-')}"


def _events(source: ValueSource, scale: Scale) -> int:
    """Return the number of events. A file is read completely at every scale: its worst window may be the last."""
    return source.size or scale.events


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    return [
        Piece(_name(case, contender), partial(_measured, case, contender, events), 0.3 * events / 1e6)
        for case in cases(own)
        for events in [_events(case.source, scale)]
        for contender in contenders()
    ]


def _most(numbers: list[float | None]) -> float | None:
    return max((number for number in numbers if number is not None), default=None)


def _share(parts: list[int], of: list[int]) -> str:
    return f"{sum(parts):,} of {sum(of):,}"


def _certified_share(measurement: Measurements) -> float:
    """Return the percentage of answers that are right to their code: certified or exact.

    Pieces stored by earlier versions count both as exact.
    """
    certified = sum(methods.get(name, 0) for methods in measurement["methods"] for name in ("exact", "certified"))
    return float(100 * certified / max(measurement["windows"] * len(measurement["methods"]), 1))


def _outcome(measurements: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
    errors: list[list[Cell]] = []
    intervals: list[list[Cell]] = []
    worst: dict[str, dict[str, float | None]] = {contender.title: {} for contender in contenders()}
    width: dict[str, dict[str, float | None]] = {contender.title: {} for contender in contenders()}
    broken = []
    for case in cases(own):
        for contender in contenders():
            measurement = measurements[_name(case, contender)]
            labels: list[Cell] = [case.source.title, case.period, contender.title]
            errors.append([*labels, *measurement["value_error"], *measurement["worst_value_error"]])
            contained = _share(measurement["intervals_kept"], measurement["intervals"])
            widths = [_mean(measurement["interval_width"]), _most(measurement["worst_interval_width"])]
            top = _most(measurement["worst_value_error"])
            intervals.append(
                [*labels, measurement["guarantee"], top, *widths, contained, _certified_share(measurement)]
            )
            worst[contender.title][case.source.title] = top
            width[contender.title][case.source.title] = widths[0]
            if measurement["intervals_kept"] != measurement["intervals"]:
                broken.append(f"{case.source.title}, {contender.title}: {contained}")
    where = [TableColumn("stream"), TableColumn("period"), TableColumn("AOMG")]
    tables = [
        Table(
            "Value error with and without the envelope",
            [*where, *(TableColumn(f"{kind} Q{q}", 3, "%") for kind in ("mean", "worst") for q in QUANTILES)],
            errors,
            f"Mean and worst over the windows, of {_events(cases(own)[0].source, scale):,} values each.",
        ),
        Table(
            "The interval low..high",
            [
                *where,
                TableColumn("guarantee", 1, "%"),
                TableColumn("worst error", 2, "%"),
                TableColumn("mean width", 2, "%"),
                TableColumn("worst width", 1, "%"),
                TableColumn("exact value inside"),
                TableColumn("certified", 1, "%"),
            ],
            intervals,
            "Over all windows and quantiles. The width is in percent of the exact value. Certified: the operator "
            "proved that its answer has the leading digits of the exact value, or all of them (exact).",
        ),
    ]
    plots = [
        _plot(title, y, by_title)
        for title, y, by_title in (
            ("Worst window", "worst value error (%)", worst),
            ("Width of low..high", "mean width (%)", width),
        )
        if any(number is not None for by_stream in by_title.values() for number in by_stream.values())
    ]
    findings = _findings(measurements, own, worst, broken)
    if own is not None:
        windows, size = measurements[_name(cases(own)[0], contenders()[0])]["windows"], cases(own)[0].size
        findings.insert(0, f"All {_events(own, scale):,} values are read: {windows:,} windows of {size:,}.")
    return Outcome(tables, plots, findings)


def _mean(numbers: list[float | None]) -> float | None:
    there = [number for number in numbers if number is not None]
    return sum(there) / len(there) if there else None


def _plot(title: str, y: str, by_title: dict[str, dict[str, float | None]]) -> Plot:
    series = [
        Series(title, list(by_stream), [None if n is None else max(n, _LEAST) for n in by_stream.values()])
        for title, by_stream in by_title.items()
    ]
    return Plot(title, "", y, series, "bars", log_y=True, caption=f"Zero is drawn at {_LEAST:g} %.")


def _findings(
    measurements: Measurements, own: ValueSource | None, worst: dict[str, dict[str, float | None]], broken: list[str]
) -> list[str]:
    findings = []
    for contender in contenders():
        by_stream = {stream: error for stream, error in worst[contender.title].items() if error is not None}
        if not by_stream:
            continue
        of_contender = [measurements[_name(case, contender)] for case in cases(own)]
        stream = max(by_stream, key=lambda name: by_stream[name])
        guarantee = of_contender[0]["guarantee"]
        promise = "nothing is guaranteed" if guarantee is None else f"{guarantee:.3g} % is guaranteed"
        certified = sum(_certified_share(measurement) for measurement in of_contender) / len(of_contender)
        findings.append(
            f"AOMG {contender.title}: the worst window has an error of {by_stream[stream]:.3g} % ({stream}); {promise}."
            f" {certified:.1f} % of the answers are certified."
        )
    everything = [measurements[_name(case, contender)] for case in cases(own) for contender in contenders()]
    total = sum(sum(of_contender["intervals"]) for of_contender in everything)
    if broken:
        findings.append(f"The exact value was outside of low..high, which must never happen: {'; '.join(broken)}.")
    else:
        findings.append(f"The exact value was inside low..high in all {total:,} answers.")
    enveloped, *others = [contender.title for contender in contenders()]
    nearer = [
        f"{stream}: {title} {without:.3g} % to {error:.3g} %"
        for stream, error in worst[enveloped].items()
        for title in others
        if error is not None and (without := worst[title][stream]) is not None and without < error
    ]
    if nearer:
        findings.append(
            f"The worst window has a smaller error without the envelope on some streams. {'; '.join(nearer)}."
        )
    return findings


EXPERIMENT = Experiment(
    "guarantee",
    "The guarantee: the worst window with the envelope and without it",
    "How large can the error be if sub-windows differ, and does the interval contain the exact value?",
    "",
    _pieces,
    _outcome,
)
