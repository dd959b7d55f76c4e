"""The cost of few-k merging: throughput and error of paper mode at 100K by 1K, with no, some and all of the tail."""

from functools import partial
from typing import Any

from aomg import FewK
from aomg.evaluation.experiment import Experiment, Measurements, Piece
from aomg.evaluation.measure.accuracy import Windows, measure
from aomg.evaluation.measure.contenders import Contender, default_aomg, paper_aomg
from aomg.evaluation.measure.differences import Pair, differences
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.measure.speed import course_of, race
from aomg.evaluation.outcome import Claim, Outcome, Plot, Series, Table, TableColumn

SIZE, PERIOD = 100_000, 1_000
HIGH = ("0.99", "0.999")
MOST_WINDOWS = 500
PAPER_COST = {0.2: 9.0, 1.0: 21.2}
PAPER_ERROR = {0.2: 0.6}
WITHOUT, DEFAULT = "without few-k", "AOMG (default)"


def _title(fraction: float, high: str) -> str:
    return f"fraction {fraction:g}, tails from {high}"


def _contenders() -> dict[str, Contender]:
    """Return paper mode without few-k, with tails for 0.999 (the paper's top-k) and from 0.99 on, and the default."""
    by_title = {WITHOUT: paper_aomg(title=WITHOUT)}
    for high in reversed(HIGH):
        for fraction in PAPER_COST:
            title = _title(fraction, high)
            by_title[title] = paper_aomg(FewK(fraction=fraction, high=float(high)), title)
    return by_title | {DEFAULT: default_aomg(DEFAULT)}


def _source(own: ValueSource | None) -> ValueSource:
    return own if own is not None else of_stream("pingmesh")


def _speeds(source: ValueSource, scale: Scale) -> dict[str, Any]:
    course = course_of(scale, source, *source.window(SIZE, PERIOD))
    return race(list(_contenders().values()), source, course, scale.rounds)


def _errors(source: ValueSource, scale: Scale) -> dict[str, Any]:
    size, period = source.window(SIZE, PERIOD)
    events = source.most(scale.events)
    windows = Windows(size, period, events, max((events - size) // period // MOST_WINDOWS, 1))
    return {title: measure(contender, source, windows, HIGH) for title, contender in _contenders().items()}


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    source = _source(own)
    return [
        Piece(f"{source.name}-speed", partial(_speeds, source, scale), 6.0 * scale.rounds),
        Piece(f"{source.name}-error", partial(_errors, source, scale), 6 * scale.events / 1e6),
    ]


def _outcome(measurements: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
    source = _source(own)
    speeds, errors = measurements[f"{source.name}-speed"], measurements[f"{source.name}-error"]
    cost = {title: 100 * (1 - speed["best"] / speeds[WITHOUT]["best"]) for title, speed in speeds.items()}
    rows: list[list[Any]] = []
    printed = {_title(fraction, "0.999"): fraction for fraction in PAPER_COST}
    for title, speed in speeds.items():
        fraction = printed.get(title)
        rows.append(
            [
                title,
                speed["best"],
                cost[title] if title not in (WITHOUT, DEFAULT) else None,
                PAPER_COST.get(fraction) if fraction and own is None else None,
                *errors[title]["value_error"],
                PAPER_ERROR.get(fraction) if fraction and own is None else None,
                errors[title]["variables"],
            ]
        )
    columns = [
        TableColumn("few-k merging"),
        TableColumn("throughput", 2, "M events/s"),
        TableColumn("cost", 1, "%"),
        TableColumn("cost, paper", 1, "%"),
        TableColumn("error at 0.99", 2, "%"),
        TableColumn("error at 0.999", 2, "%"),
        TableColumn("error at 0.999, paper", 2, "%"),
        TableColumn("variables"),
    ]
    size, period = source.window(SIZE, PERIOD)
    note = (
        "The paper describes tails from 0.999: at 1K, Q0.99 needs no top-k. A sub-window also stores as many samples "
        "for bursts, which the paper's figure may not include. The default has no few-k lists."
    )
    with_tails = list(printed)
    findings = [
        f"Tails for 0.999 cost {_listed(cost, with_tails)} of the throughput of paper mode and lower the error there "
        f"from {_error(errors[WITHOUT])} to {' and '.join(_error(errors[title]) for title in with_tails)}.",
        f"Tails from 0.99 on cost {_listed(cost, [_title(fraction, '0.99') for fraction in PAPER_COST])}.",
        f"The default, with an error of {_error(errors[DEFAULT])} at 0.999, runs at "
        f"{speeds[DEFAULT]['best'] / speeds[WITHOUT]['best']:.1f} times the speed of paper mode without few-k merging.",
    ]
    if own is None:
        pairs = [
            Pair(f"throughput at fraction {f:g}", cost[_title(f, "0.999")], paper, 1) for f, paper in PAPER_COST.items()
        ]
        why = (
            "Samples for bursts are stored in addition to the top-k lists, which the paper's figure may not include. "
            "And our paper mode is faster than a tree, so the same extra work is a larger share of its time."
        )
        findings += differences("Cost of few-k merging", pairs, why=why)
    names = list(speeds)
    return Outcome(
        [Table(f"Cost of few-k merging, {source.title}, {size:,} by {period:,}", columns, rows, note)],
        [
            Plot(
                "Throughput with few-k merging, paper mode",
                "few-k merging",
                "M events/s",
                [Series("throughput", names[:-1], [speeds[name]["best"] for name in names[:-1]])],
                "bars",
            )
        ],
        findings,
        _claims(cost, errors) if own is None else (),
    )


def _listed(cost: dict[str, float], titles: list[str]) -> str:
    return " and ".join(f"{cost[title]:.1f} % (fraction {f:g})" for title, f in zip(titles, PAPER_COST, strict=True))


def _error(measured: dict[str, Any]) -> str:
    error = measured["value_error"][-1]
    return f"{error:.2f} %" if error is not None else "no relative error"


def _claims(cost: dict[str, float], errors: Measurements) -> list[Claim]:
    claims = []
    for fraction, paper in PAPER_COST.items():
        percent = round(cost[_title(fraction, "0.999")], 1)  # to the digits that the paper prints
        claims.append(
            Claim(
                f"fewk_cost: throughput that few-k merging costs at fraction {fraction:g}",
                f"{paper} %",
                f"{percent:.1f} %",
                percent <= paper,
                ""
                if percent <= paper
                else "samples for bursts are stored in addition to the top-k lists, which the paper's figure may not "
                "include",
            )
        )
    for fraction, paper in PAPER_ERROR.items():
        error = errors[_title(fraction, "0.999")]["value_error"][-1]
        claims.append(
            Claim(f"fewk_cost: error at 0.999 at fraction {fraction:g}", f"{paper} %", f"{error:.2f} %", error <= paper)
        )
    return claims


EXPERIMENT = Experiment(
    "fewk_cost",
    "The cost of few-k merging",
    "How much throughput does a better 0.999-quantile cost?",
    "Section 6.3, Throughput",
    _pieces,
    _outcome,
)
