"""Throughput of AOMG and Exact by window size: 1K to 1M events (100M for Normal and Uniform)."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from aomg.evaluation.experiment import Experiment, Measurements, Piece
from aomg.evaluation.measure.contenders import Contender, default_aomg, paper_aomg, rival
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.measure.speed import course_of, races
from aomg.evaluation.outcome import Claim, Outcome, Plot, Series, Table, TableColumn

PERIOD = 1_000
WINDOWS = (1_000, 10_000, 100_000, 1_000_000)
LONGER = (10_000_000, 100_000_000)
SYNTHETIC = ("normal", "uniform")
PAPER, DEFAULT, EXACT, SORTED = "AOMG (paper)", "AOMG (default)", "Exact", "Exact (sorted)"
FALL = (58, 79)
TIMES_AT_10K = (2.4, 4.8)
TIMES_AT_1M = 62
FLAT = 0.8  # slowest over fastest window: at or above, the throughput counts as consistent


def _contenders() -> list[Contender]:
    return [paper_aomg(), default_aomg(), rival("exact"), rival("exact-sorted")]


def _sources(own: ValueSource | None) -> list[ValueSource]:
    return [own] if own is not None else [of_stream(name) for name in ("pingmesh", "search", *SYNTHETIC)]


def _windows(source: ValueSource, scale: Scale) -> list[int]:
    """Return the window sizes of a source: at most the scale's largest, and at most half of a file."""
    sizes = WINDOWS + LONGER if source.name in SYNTHETIC and source.size is None else WINDOWS
    return [size for size in sizes if size <= scale.largest_window and 2 * size <= source.most(2 * size)]


def _speeds(source: ValueSource, scale: Scale) -> dict[str, Any]:
    """Return speeds by window; windows take turns, too. Normal and Uniform also run over all events of the scale."""
    sizes = _windows(source, scale)
    courses = [course_of(scale, source, size, PERIOD) for size in sizes]
    through = scale.synthetic if source.name in SYNTHETIC and source.size is None else 0
    by_course = races(_contenders(), source, courses, scale.rounds, through)
    return {str(size): speeds for size, speeds in zip(sizes, by_course, strict=True)}


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    return [
        Piece(
            source.name,
            partial(_speeds, source, scale),
            sum(3 * scale.rounds + size / 1e6 for size in _windows(source, scale)),
        )
        for source in _sources(own)
    ]


Speeds = Mapping[int, Mapping[str, float]]
"""Million events per second, by window and contender."""


def _best(measurements: Measurements, source: ValueSource, scale: Scale) -> Speeds:
    """Return the best rounds; NaN for contenders that are too slow to fill a window."""
    measured = {size: measurements[source.name][str(size)] for size in _windows(source, scale)}
    names = [contender.title for contender in _contenders()]
    return {
        size: {name: by_title[name]["best"] if name in by_title else math.nan for name in names}
        for size, by_title in measured.items()
    }


def _flatness(speeds: Speeds, name: str) -> float:
    """Return the speed of the slowest window divided by that of the fastest."""
    known = [of_window[name] for of_window in speeds.values() if not math.isnan(of_window[name])]
    return min(known) / max(known)


def _outcome(measurements: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
    by_source = {source.title: _best(measurements, source, scale) for source in _sources(own)}
    names = [contender.title for contender in _contenders()]
    rows: list[list[Any]] = []
    for source in _sources(own):
        for size, speeds in by_source[source.title].items():
            events = [speed["longest"] / 1e6 for speed in measurements[source.name][str(size)].values()]
            ratios = [speeds[PAPER] / speeds[EXACT], speeds[DEFAULT] / speeds[EXACT], speeds[DEFAULT] / speeds[SORTED]]
            timed = " to ".join(dict.fromkeys(f"{number:,.2f}" for number in (min(events), max(events))))
            numbers = [None if math.isnan(number) else number for number in (*speeds.values(), *ratios)]
            rows.append([source.title, size, *numbers, timed])
    columns = [TableColumn("stream"), TableColumn("window"), *(TableColumn(name, 2, "M events/s") for name in names)]
    columns += [TableColumn("paper / Exact", 1), TableColumn("default / Exact", 1), TableColumn("default / sorted", 1)]
    columns += [TableColumn("timed events", unit="millions")]
    note = (
        "Best of the rounds, one thread. All are timed equally long, so slow ones on fewer events; the longest round "
        "is shown. Without a number: filling the window would have taken hours."
    )
    flat: list[list[Any]] = [
        [title, *(_flatness(speeds, name) for name in names)] for title, speeds in by_source.items()
    ]
    flat_columns = [TableColumn("stream"), *(TableColumn(name, 2) for name in names)]
    plots = [
        Plot(
            f"Throughput by window size: {title}",
            f"window, period {PERIOD:,}",
            "M events/s",
            [_line(name, speeds) for name in names],
            log_x=True,
            log_y=True,
        )
        for title, speeds in by_source.items()
    ]
    return Outcome(
        [
            Table(f"Throughput by window size, period {PERIOD:,}", columns, rows, note),
            Table("The slowest window's throughput over the fastest one's", flat_columns, flat, "1 means equal."),
        ],
        plots,
        _findings(by_source),
        _claims(by_source, _unrest(measurements)) if own is None else (),
    )


def _line(name: str, speeds: Speeds) -> Series:
    known = {size: by_title[name] for size, by_title in speeds.items() if not math.isnan(by_title[name])}
    return Series(name, list(known), list(known.values()))


def _findings(by_source: Mapping[str, Speeds]) -> list[str]:
    findings = []
    for title, speeds in by_source.items():
        faster = [
            f"{name} at {size:,} ({by_title[name] / by_title[PAPER]:.1f} times)"
            for size, by_title in speeds.items()
            for name in (EXACT, SORTED)
            if by_title[name] > by_title[PAPER]
        ]
        beaten = [
            size
            for size, by_title in speeds.items()
            if any(by_title[name] > by_title[DEFAULT] for name in (EXACT, SORTED))
        ]
        last = max(size for size, by_title in speeds.items() if not math.isnan(by_title[EXACT] + by_title[SORTED]))
        findings.append(
            f"{title}: faster than paper mode is {', '.join(faster) or 'no exact rival'}; faster than the default is "
            f"{'one at ' + ', '.join(f'{size:,}' for size in beaten) if beaten else 'none'}. "
            f"At {last:,} the default is {speeds[last][DEFAULT] / speeds[last][EXACT]:.0f} times Exact and "
            f"{speeds[last][DEFAULT] / speeds[last][SORTED]:.0f} times sorted arrays."
        )
    return findings


def _unrest(measurements: Measurements) -> float:
    """Return the worst ratio of the slowest to the fastest round of a window in paper mode: the machine's noise."""
    rounds = [by_title[PAPER]["rounds"] for by_window in measurements.values() for by_title in by_window.values()]
    return float(min(min(own) / max(own) for own in rounds))


def _claims(by_source: Mapping[str, Speeds], unrest: float) -> list[Claim]:
    """Return the paper's claims, checked with AOMG in paper mode if the scale has their windows."""
    level = {title: (_flatness(s, PAPER), _flatness(s, DEFAULT)) for title, s in by_source.items()}
    uneven = [title for title, (paper, _) in level.items() if paper < FLAT]
    claims = [
        Claim(
            "scalability: AOMG's throughput is consistent over all windows and streams",
            f"consistent (read as slowest over fastest window >= {FLAT})",
            f"{min(p for p, _ in level.values()):.2f} at least in paper mode, "
            f"{min(d for _, d in level.values()):.2f} by default",
            not uneven,
            f"below {FLAT} in paper mode on {', '.join(uneven)}; rounds of one and the same window: {unrest:.2f}"
            if uneven
            else "",
        )
    ]
    if all({1_000, 10_000} <= set(speeds) for speeds in by_source.values()):
        falls = [100 * (1 - speeds[10_000][EXACT] / speeds[1_000][EXACT]) for speeds in by_source.values()]
        less = min(falls) < FALL[0]
        claims += [
            Claim(
                "scalability: Exact falls from a window of 1K to one of 10K",
                f"by {FALL[0]} to {FALL[1]} %",
                f"by {min(falls):.0f} to {max(falls):.0f} %",
                not less,
                "removing an event from the tree costs about as much here as adding one, "
                "and both cost less with fewer distinct values"
                if less
                else "",
            ),
            _times(by_source, 10_000, f"{TIMES_AT_10K[0]} to {TIMES_AT_10K[1]} times", min, TIMES_AT_10K[0]),
        ]
    claims.append(_times(by_source, 1_000_000, f"up to {TIMES_AT_1M} times", max, TIMES_AT_1M))
    return claims


def _times(by_source: Mapping[str, Speeds], size: int, paper: str, aggregate: Any, aim: float) -> Claim:
    """Return the claim about AOMG's speed relative to Exact's at a window; `aggregate` of the streams decides."""
    name = f"scalability: AOMG's throughput against Exact's at {size:,}"
    if not all(size in speeds for speeds in by_source.values()):
        return Claim(name, paper, "no window as large", None, "measure it without --quick")
    ratios = {mode: [s[size][mode] / s[size][EXACT] for s in by_source.values()] for mode in (PAPER, DEFAULT)}
    ranges = [f"{min(values):.1f} to {max(values):.1f} times" for values in ratios.values()]
    holds = aggregate(ratios[PAPER]) >= aim
    return Claim(
        name,
        paper,
        f"{ranges[0]} in paper mode, {ranges[1]} by default",
        holds,
        ""
        if holds
        else "paper mode does not reach it" + (", the default does" if aggregate(ratios[DEFAULT]) >= aim else ""),
    )


EXPERIMENT = Experiment(
    "scalability",
    "Throughput by window size",
    "Does a longer window cost speed?",
    "Section 6.2, Scalability",
    _pieces,
    _outcome,
)
