"""Our question: error, bytes and speed of every policy on every stream, and which ones another beats in all three."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from aomg import FewK
from aomg.errors import InputError, SettingsError
from aomg.evaluation.experiment import Experiment, Measurements, Piece
from aomg.evaluation.measure.accuracy import QUANTILES, Windows, measure
from aomg.evaluation.measure.contenders import Contender, default_aomg, paper_aomg, sketches
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.measure.speed import Course, race
from aomg.evaluation.outcome import Cell, Outcome, Plot, Series, Table, TableColumn

WINDOW, PERIOD = 131_072, 16_384
STREAMS = ("pingmesh", "search", "taxi", "normal", "uniform", "host_resources", "ar1", "bursts", "drift")
PAPER, DEFAULT = "AOMG (paper)", "AOMG (default)"
_STORED = ("windows", "value_error", "worst_value_error", "rank_error", "nbytes")
_TIMED = 1_000_000  # largest number of events per turn
_EVENTS_A_SECOND = 4_000_000  # limits the time of a turn: the scale's events at this speed
_LEAST = 1e-4  # percent: zero is drawn here, because a logarithmic axis has no zero


@dataclass(frozen=True)
class Point:
    """The measurements of one policy on one stream. Errors are in percent: the mean over windows at each quantile."""

    policy: str
    errors: tuple[float | None, ...]
    worst: float | None
    """The largest error of all windows and quantiles."""
    nbytes: int
    speed: float
    """Million events per second."""

    @property
    def tail(self) -> float | None:
        """The error at the highest quantile; None if the exact value is zero in every window."""
        return self.errors[-1]

    @property
    def mean(self) -> float | None:
        """The mean error of the quantiles."""
        there = [error for error in self.errors if error is not None]
        return sum(there) / len(there) if there else None

    def dominates(self, candidate: "Point") -> bool:
        """Return whether this is no worse in error at the highest quantile, bytes and speed, and better in one."""
        if self.tail is None or candidate.tail is None:
            return False
        pairs = [(self.tail, candidate.tail), (self.nbytes, candidate.nbytes), (-self.speed, -candidate.speed)]
        return all(mine <= its for mine, its in pairs) and any(mine < its for mine, its in pairs)


def contenders() -> list[Contender]:
    """Return AOMG in three modes, the paper's rivals, and modern sketches."""
    ours = [paper_aomg(title=PAPER), paper_aomg(FewK(), "AOMG (paper, few-k)"), default_aomg(DEFAULT)]
    return [*ours, *sketches()]


def sources(own: ValueSource | None) -> list[ValueSource]:
    """Return the user's data, or all streams."""
    return [own] if own is not None else [of_stream(name) for name in STREAMS]


def points(measurements: Measurements, source: ValueSource) -> list[Point]:
    """Return the measurements of a stream, without the policies that refuse its values."""
    return [
        Point(
            policy,
            tuple(measurement["value_error"]),
            max((worst for worst in measurement["worst_value_error"] if worst is not None), default=None),
            measurement["nbytes"],
            measurement["speed"],
        )
        for policy, measurement in measurements[source.name].items()
        if "refused" not in measurement
    ]


def dominators(point: Point, among: Sequence[Point]) -> list[str]:
    """Return the policies that dominate a point, in their order."""
    return [candidate.policy for candidate in among if candidate.dominates(point)]


def _measured(source: ValueSource, windows: Windows, rounds: int, seconds: float) -> dict[str, Any]:
    """Return errors, bytes and speed by policy, or why a policy refuses these values."""
    by_title: dict[str, Any] = {}
    for contender in contenders():
        try:
            measurement = measure(contender, source, windows, by_rank=True)
            by_title[contender.title] = {key: measurement[key] for key in _STORED}
        except (InputError, SettingsError) as error:
            by_title[contender.title] = {"refused": str(error)}
    able = [contender for contender in contenders() if "refused" not in by_title[contender.title]]
    events = _TIMED if source.size is None else min(windows.events - windows.size, _TIMED)
    course = Course(windows.size, windows.period, events, QUANTILES, seconds)
    for title, speed in race(able, source, course, rounds).items():
        by_title[title]["speed"] = speed["best"]
    return by_title


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    pieces = []
    for source in sources(own):
        windows = Windows(*source.window(WINDOW, PERIOD), source.most(scale.events))
        seconds = scale.events / _EVENTS_A_SECOND
        work = len(contenders()) * (windows.events / 1e6 + scale.rounds * seconds)
        pieces.append(Piece(source.name, partial(_measured, source, windows, scale.rounds, seconds), work))
    return pieces


def _table(source: ValueSource, among: Sequence[Point], windows: int) -> Table:
    size, period = source.window(WINDOW, PERIOD)
    columns = [
        TableColumn("policy"),
        TableColumn("error at Q0.999", 3, "%"),
        TableColumn("mean of four quantiles", 3, "%"),
        TableColumn("worst window", 2, "%"),
        TableColumn("bytes"),
        TableColumn("M events/s", 1),
        TableColumn("dominated by"),
    ]
    rows: list[list[Cell]] = []
    for point in among:
        by = dominators(point, among)
        listed = ", ".join(by[:3]) + (f" and {len(by) - 3} more" if len(by) > 3 else "")
        numbers: list[Cell] = [point.tail, point.mean, point.worst, point.nbytes, point.speed]
        rows.append([point.policy, *numbers, None if point.tail is None else listed or "nobody"])
    note = (
        f"{windows:,} windows of {size:,}, period {period:,}. Dominated: another is no worse in error at Q0.999, bytes "
        "and speed, and better in one. The worst window is that of any of the four quantiles. Bytes are those of live "
        "state just before a sub-window closes; AOMG (paper) stores the sub-window's values until it sorts them. The "
        "random numbers of KLL, REQ and classic quantiles cannot be seeded, so their results differ from run to run."
    )
    return Table(f"{source.title}: error, bytes and speed", columns, rows, note)


def _plot(source: ValueSource, among: Sequence[Point]) -> Plot:
    """Return a plot with a series per policy, AOMG on top; dominated ones have open marks."""
    series = []
    for point in reversed(among):
        if point.tail is not None:
            label = f"{point.policy}, {point.speed:.3g} M events/s"
            beaten = bool(dominators(point, among))
            series.append(Series(point.policy, [point.nbytes], [max(point.tail, _LEAST)], [label], dashed=beaten))
    caption = (
        "Lower and further left is better; the tooltip of a point has its speed. Open marks are dominated: another is "
        f"no worse in error, bytes and speed, and better in one. Zero errors are drawn at {_LEAST:g} %."
    )
    title, y = f"{source.title}: error against space", "value error at Q0.999 (%)"
    return Plot(title, "bytes", y, series, "points", log_x=True, log_y=True, caption=caption)


def _sentence(source: ValueSource, among: Sequence[Point]) -> str:
    """Describe the default on a stream, and who does better in what."""
    ours = next(p for p in among if p.policy == DEFAULT)
    others = [p for p in among if not p.policy.startswith("AOMG")]
    if ours.tail is None:
        return f"{source.title}: the exact value at Q0.999 is zero in every window, so there is no relative error."
    less = [f"{p.policy} {p.tail:.3g} %" for p in others if p.tail is not None and p.tail < ours.tail]
    fewer = [f"{p.policy} {p.nbytes:,}" for p in others if p.nbytes < ours.nbytes]
    faster = [f"{p.policy} {p.speed:.3g}" for p in others if p.speed > ours.speed]
    return (
        f"{source.title}: {DEFAULT} has an error of {ours.tail:.3g} % at Q0.999, with {ours.nbytes:,} bytes, at "
        f"{ours.speed:.3g} M events/s. Less error: {_listed(less)}. Fewer bytes: {_listed(fewer)}. "
        f"Faster: {_listed(faster)}."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nobody"


def _summary(by_stream: dict[str, list[Point]]) -> tuple[Table, list[str]]:
    """Return where each policy is dominated, and a sentence per mode of AOMG."""
    rows: list[list[Cell]] = []
    findings = []
    for policy in [contender.title for contender in contenders()]:
        where = {
            stream: dominators(point, among)
            for stream, among in by_stream.items()
            for point in among
            if point.policy == policy and point.tail is not None
        }
        beaten = {stream: by for stream, by in where.items() if by}
        rows.append([policy, len(where), len(where) - len(beaten), ", ".join(beaten)])
        if policy.startswith("AOMG"):
            rivals = {stream: [name for name in by if not name.startswith("AOMG")] for stream, by in beaten.items()}
            by_rivals = [f"{stream} ({_listed(by)})" for stream, by in rivals.items() if by]
            findings.append(
                f"{policy} is dominated on {len(beaten)} of {len(where)} streams; by a rival on {len(by_rivals)}"
                f"{': ' if by_rivals else ''}{', '.join(by_rivals)}."
            )
    columns = [
        TableColumn("policy"),
        TableColumn("streams"),
        TableColumn("not dominated on"),
        TableColumn("dominated on"),
    ]
    return Table("Which policy is dominated where", columns, rows), findings


def _outcome(measurements: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
    by_stream = {source.title: points(measurements, source) for source in sources(own)}
    summary, findings = _summary(by_stream)
    tables, plots = [summary], list[Plot]()
    for source in sources(own):
        among = by_stream[source.title]
        tables.append(_table(source, among, measurements[source.name][DEFAULT]["windows"]))
        plots += [_plot(source, among)] if any(point.tail is not None for point in among) else []
        findings.append(_sentence(source, among))
        refused = [
            (policy, measurement["refused"])
            for policy, measurement in measurements[source.name].items()
            if "refused" in measurement
        ]
        findings += [f"{source.title}: {policy} is not measured: {why}." for policy, why in refused]
    return Outcome(tables, plots, findings)


EXPERIMENT = Experiment(
    "frontier",
    "The frontier: error, bytes and speed of every policy",
    "Which policy is beaten by another in error, bytes and speed at once, and on which stream?",
    "",
    _pieces,
    _outcome,
)
