"""Ours: what the envelope is for. The worst window with it and without, and how wide low..high is."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from aomg import FewK, Operator
from aomg.evaluation.experiment import Experiment, Found, Piece
from aomg.evaluation.measure.accuracy import QUANTILES, Windows, measure
from aomg.evaluation.measure.contenders import Contender, default_aomg, paper_aomg
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import Values, ValueSource, of_stream
from aomg.evaluation.outcome import Cell, Outcome, Plot, Series, Table, TableColumn

SIZE, PERIOD, SMALL_PERIOD = 131_072, 16_384, 4_096
_LEVELS = 7  # decades
_LEAST = 1e-4  # percent: where no error at all is drawn


def contenders() -> list[Contender]:
    """With the envelope; the same without; and as the paper has it, with few-k merging and without."""
    return [
        default_aomg("with envelope"),
        default_aomg("without envelope", guarantee=False),
        paper_aomg(FewK(), "paper, few-k"),
        paper_aomg(title="paper, mean alone"),
    ]


@dataclass(frozen=True)
class Case:
    """A stream, and the window that it is asked with."""

    source: ValueSource
    size: int = SIZE
    period: int = PERIOD


def decades(events: int, start: int) -> Values:
    """Values of one decade in each sub-window, drawn anew for the next: the sub-windows have nothing in common."""

    def sub_window(number: int) -> Values:
        random = np.random.default_rng([20, number])
        return random.integers(1_000, 2_000, PERIOD) * 10 ** random.integers(0, _LEVELS)

    return _by_sub_windows(sub_window, events, start)


def steps(events: int, start: int) -> Values:
    """Five values, two decades apart, whose shares end at the asked quantiles: chance decides which one is asked for.

    Every sub-window is drawn alike and independently, so only the density at the quantile, which is none, is unusual.
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
    """Streams that are not alike from one sub-window to the next; or one's own."""
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
    """What `measure` says, and the guarantee in percent; None if there is none."""
    found = measure(contender, case.source, Windows(case.size, case.period, events))
    operator = contender.start(case.size, case.period, QUANTILES)
    asked = operator.query.guarantee if isinstance(operator, Operator) else None
    return {**found, "guarantee": None if asked is None else 100 * asked}


def _name(case: Case, contender: Contender) -> str:
    return f"{case.source.name}-{contender.title.replace(', ', '-').replace(' ', '-')}"


def _events(source: ValueSource, scale: Scale) -> int:
    """A file is read to its end whatever the scale: its worst window may be the last. Streams have no end."""
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


def _exact_share(told: Found) -> float:
    """Percent of the answers that were certified exact (to their code)."""
    exact = sum(methods.get("exact", 0) for methods in told["methods"])
    return float(100 * exact / max(told["windows"] * len(told["methods"]), 1))


def _outcome(found: Found, scale: Scale, own: ValueSource | None) -> Outcome:
    errors: list[list[Cell]] = []
    intervals: list[list[Cell]] = []
    worst: dict[str, dict[str, float | None]] = {contender.title: {} for contender in contenders()}
    width: dict[str, dict[str, float | None]] = {contender.title: {} for contender in contenders()}
    broken = []
    for case in cases(own):
        for contender in contenders():
            told = found[_name(case, contender)]
            here: list[Cell] = [case.source.title, case.period, contender.title]
            errors.append([*here, *told["value_error"], *told["worst_value_error"]])
            kept = _share(told["intervals_kept"], told["intervals"])
            widths = [_mean(told["interval_width"]), _most(told["worst_interval_width"])]
            top = _most(told["worst_value_error"])
            intervals.append([*here, told["guarantee"], top, *widths, kept, _exact_share(told)])
            worst[contender.title][case.source.title] = top
            width[contender.title][case.source.title] = widths[0]
            if told["intervals_kept"] != told["intervals"]:
                broken.append(f"{case.source.title}, {contender.title}: {kept}")
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
                TableColumn("certified exact", 1, "%"),
            ],
            intervals,
            "Over all windows and quantiles. The width is in percent of the exact value. Certified exact: the operator "
            "proved that its answer has the leading digits of the exact value.",
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
    findings = _findings(found, own, worst, broken)
    if own is not None:
        windows, size = found[_name(cases(own)[0], contenders()[0])]["windows"], cases(own)[0].size
        findings.insert(0, f"All {_events(own, scale):,} values are read, to the end: {windows:,} windows of {size:,}.")
    return Outcome(tables, plots, findings)


def _mean(numbers: list[float | None]) -> float | None:
    there = [number for number in numbers if number is not None]
    return sum(there) / len(there) if there else None


def _plot(title: str, y: str, by_title: dict[str, dict[str, float | None]]) -> Plot:
    series = [
        Series(title, list(by_stream), [None if n is None else max(n, _LEAST) for n in by_stream.values()])
        for title, by_stream in by_title.items()
    ]
    return Plot(title, "", y, series, "bars", log_y=True, caption=f"What is zero is drawn at {_LEAST:g} %.")


def _findings(
    found: Found, own: ValueSource | None, worst: dict[str, dict[str, float | None]], broken: list[str]
) -> list[str]:
    findings = []
    for contender in contenders():
        by_stream = {stream: error for stream, error in worst[contender.title].items() if error is not None}
        if not by_stream:
            continue
        told = [found[_name(case, contender)] for case in cases(own)]
        stream = max(by_stream, key=lambda name: by_stream[name])
        asked = told[0]["guarantee"]
        promise = "nothing is guaranteed" if asked is None else f"{asked:.3g} % is guaranteed"
        exact = sum(_exact_share(one) for one in told) / len(told)
        findings.append(
            f"AOMG {contender.title}: the worst window is off by {by_stream[stream]:.3g} % ({stream}); {promise}. "
            f"{exact:.1f} % of the answers are certified exact."
        )
    everything = [found[_name(case, contender)] for case in cases(own) for contender in contenders()]
    total = sum(sum(told["intervals"]) for told in everything)
    if broken:
        findings.append(f"The exact value was outside of low..high, which must never be: {'; '.join(broken)}.")
    else:
        findings.append(f"The exact value was inside low..high in all {total:,} answers.")
    enveloped, *others = [contender.title for contender in contenders()]
    nearer = [
        f"{stream}: {title} {other:.3g} % to {error:.3g} %"
        for stream, error in worst[enveloped].items()
        for title in others
        if error is not None and (other := worst[title][stream]) is not None and other < error
    ]
    if nearer:
        findings.append(f"The worst window is nearer without the envelope on some streams. {'; '.join(nearer)}.")
    return findings


EXPERIMENT = Experiment(
    "guarantee",
    "The guarantee: the worst window, with the envelope and without",
    "How wrong can an answer be when sub-windows are not alike, and what does the interval say then?",
    "",
    _pieces,
    _outcome,
)
