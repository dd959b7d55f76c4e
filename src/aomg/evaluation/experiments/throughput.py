"""Throughput of AOMG, Exact and CMQS at 100K by 1K, and of every rival at 100K by 10K."""

from functools import partial
from typing import Any

from aomg.evaluation.experiment import Experiment, Measurements, Piece
from aomg.evaluation.measure.contenders import (
    EXACT,
    PAPERS_RIVALS,
    TITLES,
    Contender,
    default_aomg,
    everyone,
    paper_aomg,
    rival,
)
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.measure.speed import course_of, race
from aomg.evaluation.outcome import Claim, Outcome, Plot, Series, Table, TableColumn

SIZE = 100_000
SHORT, LONG = 1_000, 10_000
EPSILON = 0.02  # 2 P / N at 100K by 1K: a bucket of CMQS is a sub-window
FACTORS = (1, 2, 5, 10)
PAPER, DEFAULT = "AOMG (paper)", "AOMG (default)"
LEAST_LOSS, MOST_LOSS = 15, 92


def _cmqs(factor: int) -> str:
    return f"CMQS {factor}x"


def _contenders(period: int) -> list[Contender]:
    """Return the contenders of a period: at 1K those of the paper's figure, at 10K all."""
    if period == LONG:
        return everyone()
    first = [paper_aomg(), default_aomg(), *(rival(policy) for policy in EXACT)]
    return first + [rival("cmqs", _cmqs(factor), epsilon=EPSILON * factor) for factor in FACTORS]


def _source(own: ValueSource | None) -> ValueSource:
    return own if own is not None else of_stream("pingmesh")


def _speeds(source: ValueSource, scale: Scale, period: int) -> dict[str, Any]:
    course = course_of(scale, source, *source.window(SIZE, period))
    return race(_contenders(period), source, course, scale.rounds)


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    source = _source(own)
    return [
        Piece(f"{source.name}-{period}", partial(_speeds, source, scale, period), scale.rounds * work)
        for period, work in ((SHORT, 8.0), (LONG, 15.0))
    ]


def _lower(speed: float, than: float) -> float:
    """Return by how many percent a speed is lower than another."""
    return 100 * (1 - speed / than)


def _table(speeds: Measurements, title: str, note: str) -> Table:
    columns = [
        TableColumn("policy"),
        TableColumn("throughput", 2, "M events/s"),
        TableColumn(f"times {PAPER}", 3),
        TableColumn(f"times {DEFAULT}", 3),
        TableColumn("timed events", 1, "millions"),
    ]
    paper, default = speeds[PAPER]["best"], speeds[DEFAULT]["best"]
    rows = [
        [name, speed["best"], speed["best"] / paper, speed["best"] / default, speed["events"] / 1e6]
        for name, speed in speeds.items()
    ]
    return Table(title, columns, rows, note)


def _bars(speeds: Measurements, title: str) -> Plot:
    names = list(speeds)
    series = [Series("throughput", names, [speeds[name]["best"] for name in names])]
    return Plot(title, "policy", "M events/s", series, "bars", log_y=True)


def _faster(speeds: Measurements, than: str) -> str:
    """List the rivals that are faster than a contender."""
    names = [n for n in speeds if n not in (PAPER, DEFAULT) and speeds[n]["best"] > speeds[than]["best"]]
    return ", ".join(f"{n} ({speeds[n]['best'] / speeds[than]['best']:.1f} times)" for n in names)


def _outcome(measurements: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
    source = _source(own)
    short, long = (measurements[f"{source.name}-{period}"] for period in (SHORT, LONG))
    findings = []
    for period, speeds in ((SHORT, short), (LONG, long)):
        size, period = source.window(SIZE, period)
        for name in (PAPER, DEFAULT):
            findings.append(f"{size:,} by {period:,}: faster than {name} is {_faster(speeds, name) or 'no rival'}.")
    first, last = short[_cmqs(FACTORS[0])]["best"], short[_cmqs(FACTORS[-1])]["best"]
    findings.append(
        f"CMQS gains {last / first:.1f} times from an epsilon of {EPSILON:g} to {EPSILON * FACTORS[-1]:g}; "
        f"with the smallest it runs at {first / short['Exact']['best']:.2f} of the speed of Exact."
    )
    left_out = [contender.title for contender in _contenders(LONG) if contender.title not in long]
    if left_out:
        findings.append(
            f"Not run, because they refuse these values or their library is missing: {', '.join(left_out)}."
        )
    note = "Best of the rounds, one thread. The paper draws this figure and prints no numbers."
    sizes = [source.window(SIZE, period) for period in (SHORT, LONG)]
    titles = [f"{source.title}: {size:,} events by {period:,}" for size, period in sizes]
    return Outcome(
        [
            _table(short, titles[0], f"{note} CMQS 1x has an epsilon of {EPSILON:g}."),
            _table(long, titles[1], "Epsilon .015, K 12. In the paper its rivals have 0.08 to 0.85 times AOMG."),
        ],
        [_bars(short, f"Throughput, {titles[0]}"), _bars(long, f"Throughput, {titles[1]}")],
        findings,
        _claims(short, long) if own is None else (),
    )


def _claims(short: Measurements, long: Measurements) -> list[Claim]:
    """Return the paper's claims, checked with AOMG in paper mode, with the default's number beside."""
    ours, default = short[PAPER]["best"], short[DEFAULT]["best"]
    rivals = {name: speed["best"] for name, speed in short.items() if name == "Exact" or name.startswith("CMQS")}
    fastest = max(rivals, key=rivals.__getitem__)
    names = [TITLES[policy] for policy in PAPERS_RIVALS]
    losses = {name: _lower(long[name]["best"], long[PAPER]["best"]) for name in names}
    least, most = min(losses, key=losses.__getitem__), max(losses, key=losses.__getitem__)
    by_default = [_lower(long[name]["best"], long[DEFAULT]["best"]) for name in names]
    holds = losses[least] >= LEAST_LOSS
    return [
        Claim(
            "throughput: AOMG above Exact and CMQS at every epsilon, 100K by 1K",
            "higher",
            f"{ours:.2f} M events/s in paper mode, {default:.1f} by default; the fastest of them is {fastest} "
            f"with {rivals[fastest]:.2f}",
            ours > rivals[fastest],
            "" if ours > rivals[fastest] else f"{fastest} is faster than paper mode",
        ),
        Claim(
            "throughput: CMQS with the smallest epsilon is slower than Exact, 100K by 1K",
            "lower",
            f"{rivals[_cmqs(1)]:.2f} against {rivals['Exact']:.2f} M events/s",
            rivals[_cmqs(1)] < rivals["Exact"],
            "" if rivals[_cmqs(1)] < rivals["Exact"] else "CMQS is faster than Exact here even so",
        ),
        Claim(
            "throughput: the paper's rivals below AOMG, 100K by 10K",
            f"{LEAST_LOSS} to {MOST_LOSS} % lower",
            f"{losses[least]:.0f} % ({least}) to {losses[most]:.0f} % ({most}) lower than paper mode, "
            f"{min(by_default):.0f} to {max(by_default):.0f} % lower than the default",
            holds,
            "" if holds else f"{least} is within {LEAST_LOSS} % of paper mode, or faster",
        ),
    ]


EXPERIMENT = Experiment(
    "throughput",
    "Throughput of AOMG and its rivals",
    "How many events per second does each policy process, on one thread?",
    "Section 6.2, Throughput",
    _pieces,
    _outcome,
)
