"""Ours: error, bytes and speed of every policy on every stream, and which of them another beats in all three."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from aomg import FewK
from aomg.errors import InputError, SettingsError
from aomg.evaluation.experiment import Experiment, Found, Piece
from aomg.evaluation.measure.accuracy import QUANTILES, Windows, measure
from aomg.evaluation.measure.contenders import MODERN_RIVALS, PAPERS_RIVALS, Contender, default_aomg, paper_aomg, rival
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.measure.speed import Course, race
from aomg.evaluation.outcome import Cell, Outcome, Plot, Series, Table, TableColumn

WINDOW, PERIOD = 131_072, 16_384
STREAMS = ("pingmesh", "search", "taxi", "normal", "uniform", "host_resources", "ar1", "bursts", "drift")
PAPER, DEFAULT = "AOMG (paper)", "AOMG (default)"
_KEPT = ("windows", "value_error", "worst_value_error", "rank_error", "nbytes")
_TIMED = 1_000_000  # events of one turn, at most
_EVENTS_A_SECOND = 4_000_000  # a turn takes no longer than the scale's events at this speed
_LEAST = 1e-4  # percent: where no error at all is drawn, for a logarithmic axis has no zero


@dataclass(frozen=True)
class Point:
    """What one policy reached on one stream. Errors are in percent: the mean over windows at each quantile."""

    policy: str
    errors: tuple[float | None, ...]
    worst: float | None
    """The largest error of all windows and quantiles."""
    nbytes: int
    speed: float
    """Million events a second."""

    @property
    def tail(self) -> float | None:
        """The error at the highest quantile; None where every window's exact value is zero."""
        return self.errors[-1]

    @property
    def mean(self) -> float | None:
        """The mean error of the quantiles."""
        there = [error for error in self.errors if error is not None]
        return sum(there) / len(there) if there else None

    def dominates(self, other: "Point") -> bool:
        """Whether this is no worse in error at the highest quantile, bytes and speed, and better in one of them."""
        if self.tail is None or other.tail is None:
            return False
        pairs = [(self.tail, other.tail), (self.nbytes, other.nbytes), (-self.speed, -other.speed)]
        return all(mine <= its for mine, its in pairs) and any(mine < its for mine, its in pairs)


def contenders() -> list[Contender]:
    """AOMG in its three forms, the paper's rivals, and the sketches of today."""
    ours = [paper_aomg(title=PAPER), paper_aomg(FewK(), "AOMG (paper, few-k)"), default_aomg(DEFAULT)]
    return [*ours, *(rival(policy) for policy in (*PAPERS_RIVALS, *MODERN_RIVALS))]


def sources(own: ValueSource | None) -> list[ValueSource]:
    """The streams that are measured: one's own, or all that there are."""
    return [own] if own is not None else [of_stream(name) for name in STREAMS]


def points(found: Found, source: ValueSource) -> list[Point]:
    """What was found of a stream, without the policies that do not take it."""
    return [
        Point(
            policy,
            tuple(told["value_error"]),
            max((worst for worst in told["worst_value_error"] if worst is not None), default=None),
            told["nbytes"],
            told["speed"],
        )
        for policy, told in found[source.name].items()
        if "refused" not in told
    ]


def dominators(point: Point, among: Sequence[Point]) -> list[str]:
    """The policies that dominate one, in their order."""
    return [other.policy for other in among if other.dominates(point)]


def _measured(source: ValueSource, windows: Windows, rounds: int, seconds: float) -> dict[str, Any]:
    """Errors, bytes and speed by policy; of one that does not take these values, why."""
    told: dict[str, Any] = {}
    for contender in contenders():
        try:
            one = measure(contender, source, windows, by_rank=True)
            told[contender.title] = {key: one[key] for key in _KEPT}
        except (InputError, SettingsError) as error:
            told[contender.title] = {"refused": str(error)}
    able = [contender for contender in contenders() if "refused" not in told[contender.title]]
    events = _TIMED if source.size is None else min(windows.events - windows.size, _TIMED)
    course = Course(windows.size, windows.period, events, QUANTILES, seconds)
    for title, speed in race(able, source, course, rounds).items():
        told[title]["speed"] = speed["best"]
    return told


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    pieces = []
    for source in sources(own):
        windows = Windows(*source.window(WINDOW, PERIOD), source.most(scale.events))
        seconds = scale.events / _EVENTS_A_SECOND
        work = 15 * (windows.events / 1e6 + scale.rounds * seconds)  # fifteen policies
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
        shown = ", ".join(by[:3]) + (f" and {len(by) - 3} more" if len(by) > 3 else "")
        numbers: list[Cell] = [point.tail, point.mean, point.worst, point.nbytes, point.speed]
        rows.append([point.policy, *numbers, None if point.tail is None else shown or "nobody"])
    note = (
        f"{windows:,} windows of {size:,}, period {period:,}. Dominated: another is no worse in error at Q0.999, bytes "
        "and speed, and better in one. The worst window is that of any of the four quantiles. Bytes are those of live "
        "state just before a sub-window closes; AOMG (paper) holds the sub-window's values until it sorts them. KLL, "
        "REQ and classic quantiles draw numbers that no seed repeats, so theirs differ from run to run."
    )
    return Table(f"{source.title}: error, bytes and speed", columns, rows, note)


def _plot(source: ValueSource, among: Sequence[Point]) -> Plot:
    """A series for each policy, AOMG on top; the dominated ones are set apart."""
    series = []
    for point in reversed(among):
        if point.tail is not None:
            label = f"{point.policy}, {point.speed:.3g} M events/s"
            beaten = bool(dominators(point, among))
            series.append(Series(point.policy, [point.nbytes], [max(point.tail, _LEAST)], [label], dashed=beaten))
    caption = (
        "Lower and further left is better; each point tells its speed. Open marks are dominated: another is no worse "
        f"in error, bytes and speed, and better in one. No error is drawn at {_LEAST:g} %."
    )
    title, y = f"{source.title}: error against space", "value error at Q0.999 (%)"
    return Plot(title, "bytes", y, series, "points", log_x=True, log_y=True, caption=caption)


def _sentence(source: ValueSource, among: Sequence[Point]) -> str:
    """How the default stands on a stream, and who does better in what."""
    ours = next(p for p in among if p.policy == DEFAULT)
    others = [p for p in among if not p.policy.startswith("AOMG")]
    if ours.tail is None:
        return f"{source.title}: the exact value at Q0.999 is zero in every window, so there is no relative error."
    less = [f"{p.policy} {p.tail:.3g} %" for p in others if p.tail is not None and p.tail < ours.tail]
    fewer = [f"{p.policy} {p.nbytes:,}" for p in others if p.nbytes < ours.nbytes]
    faster = [f"{p.policy} {p.speed:.3g}" for p in others if p.speed > ours.speed]
    return (
        f"{source.title}: {DEFAULT} is off by {ours.tail:.3g} % at Q0.999, with {ours.nbytes:,} bytes, at "
        f"{ours.speed:.3g} M events/s. Less error: {_listed(less)}. Fewer bytes: {_listed(fewer)}. "
        f"Faster: {_listed(faster)}."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nobody"


def _summary(by_stream: dict[str, list[Point]]) -> tuple[Table, list[str]]:
    """Where each policy is dominated, and a sentence for each form of AOMG."""
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
            rivals = {stream: [one for one in by if not one.startswith("AOMG")] for stream, by in beaten.items()}
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
    return Table("Who is dominated where", columns, rows), findings


def _outcome(found: Found, scale: Scale, own: ValueSource | None) -> Outcome:
    by_stream = {source.title: points(found, source) for source in sources(own)}
    summary, findings = _summary(by_stream)
    tables, plots = [summary], list[Plot]()
    for source in sources(own):
        among = by_stream[source.title]
        tables.append(_table(source, among, found[source.name][DEFAULT]["windows"]))
        plots += [_plot(source, among)] if any(point.tail is not None for point in among) else []
        findings.append(_sentence(source, among))
        refused = [(policy, told["refused"]) for policy, told in found[source.name].items() if "refused" in told]
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
