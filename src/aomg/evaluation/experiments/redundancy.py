"""Throughput, space and error of AOMG by the share of distinct values."""

from functools import partial
from typing import Any

import numpy as np

from aomg.core.codes import REALS, DigitsCodec
from aomg.evaluation.experiment import Experiment, Measurements, Piece
from aomg.evaluation.measure.accuracy import QUANTILES, Windows, measure
from aomg.evaluation.measure.contenders import Contender, default_aomg, paper_aomg
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import Values, ValueSource, of_stream
from aomg.evaluation.measure.speed import course_of, race
from aomg.evaluation.outcome import Claim, Outcome, Plot, Series, Table, TableColumn

SIZE, PERIOD = 100_000, 10_000
DIGITS: tuple[int | None, ...] = (1, 2, 3, 4, 5, 6, None)
PAPER = "AOMG (paper)"


def _label(digits: int | None) -> str:
    return "raw" if digits is None else f"{digits}"


def _sources(own: ValueSource | None) -> list[ValueSource]:
    return [own] if own is not None else [of_stream("pingmesh"), of_stream("normal")]


def cut(values: Values, digits: int | None) -> Values:
    """Return the values with all but their first significant digits set to zero, as doubles. O(n)."""
    if digits is None:
        return values.astype(np.float64)
    codec = DigitsCodec(digits)
    low, high = codec.intervals(codec.codes(values), REALS)
    return np.where(values < 0, high, low)


def _cut_source(source: ValueSource, digits: int | None) -> ValueSource:
    return ValueSource(
        f"{source.name}-{_label(digits)}",
        source.title,
        lambda n, start: cut(source.take(n, start), digits),
        source.size,
    )


def _default(digits: int | None) -> Contender:
    return default_aomg(_label(digits), digits=digits)


def _speeds(source: ValueSource, scale: Scale) -> dict[str, Any]:
    """Return the speed of the default with each number of digits, and of paper mode on truncated values."""
    size, period = source.window(SIZE, PERIOD)
    course = course_of(scale, source, size, period)
    default = race([_default(digits) for digits in DIGITS], source, course, scale.rounds)
    turns: dict[str, list[float]] = {_label(digits): [] for digits in DIGITS}
    for _ in range(scale.rounds):
        for digits in DIGITS:
            speed = race([paper_aomg()], _cut_source(source, digits), course, 1)
            turns[_label(digits)].append(speed[PAPER]["best"])
    return {
        "default": {label: speed["best"] for label, speed in default.items()},
        "paper": {label: max(speeds) for label, speeds in turns.items()},
    }


def _space(source: ValueSource, scale: Scale, digits: int | None) -> dict[str, Any]:
    """Return the space just before a sub-window closes, its share of distinct values, and the errors."""
    size, period = source.window(SIZE, PERIOD)
    values = source.values(size + period - 1)
    default, paper = (contender.start(size, period, QUANTILES) for contender in (_default(digits), paper_aomg()))
    default.push(values)
    paper.push(cut(values, digits))
    windows = Windows(size, period, source.most(scale.events))
    distinct = np.unique(cut(values[size:], digits)).size
    return {
        "distinct": distinct / (period - 1),
        "variables": default.variables(),
        "nbytes": default.nbytes,
        "paper_variables": paper.variables(),
        "papers_state": 2 * distinct + len(QUANTILES) * (size // period),
        "value_error": measure(_default(digits), source, windows)["value_error"],
    }


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    planned = []
    for source in _sources(own):
        planned.append(Piece(f"{source.name}-speed", partial(_speeds, source, scale), 12.0 * scale.rounds))
        for digits in DIGITS:
            space = partial(_space, source, scale, digits)
            planned.append(Piece(f"{source.name}-{_label(digits)}", space, scale.events / 1e6))
    return planned


def _outcome(measurements: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
    columns = [
        TableColumn("stream"),
        TableColumn("digits"),
        TableColumn("distinct values", 2, "%"),
        TableColumn("default", 1, "M events/s"),
        TableColumn("paper mode", 2, "M events/s"),
        TableColumn("variables, default"),
        TableColumn("variables, paper mode"),
        TableColumn("variables, the paper's state"),
        TableColumn("bytes, default"),
        TableColumn("error at Q0.5", 3, "%"),
        TableColumn("error at Q0.999", 3, "%"),
    ]
    rows: list[list[Any]] = []
    findings, claims, speeds, space = [], [], [], []
    for source in _sources(own):
        by_mode = measurements[f"{source.name}-speed"]
        parts = {_label(digits): measurements[f"{source.name}-{_label(digits)}"] for digits in DIGITS}
        for label, part in parts.items():
            errors = [part["value_error"][0], part["value_error"][-1]]
            fast = [by_mode["default"][label], by_mode["paper"][label]]
            sizes = [part["variables"], part["paper_variables"], part["papers_state"], part["nbytes"]]
            rows.append([source.title, label, 100 * part["distinct"], *fast, *sizes, *errors])
        labels = list(parts)
        share = [100 * part["distinct"] for part in parts.values()]
        for mode, name in (("default", "AOMG (default)"), ("paper", PAPER)):
            speed = [by_mode[mode][label] for label in labels]
            speeds.append(Series(f"{source.title}, {name}", share, speed, [f"digits: {label}" for label in labels]))
        for kind, name in (("variables", "AOMG (default)"), ("papers_state", "the paper's state")):
            numbers = [part[kind] for part in parts.values()]
            space.append(Series(f"{source.title}, {name}", share, numbers, [f"digits: {label}" for label in labels]))
        few, many = labels[0], labels[-1]
        gain = {mode: by_mode[mode][few] / by_mode[mode][many] for mode in ("default", "paper")}
        findings.append(
            f"{source.title}: from {100 * parts[many]['distinct']:.2f} % distinct values to "
            f"{100 * parts[few]['distinct']:.2f} % paper mode becomes {gain['paper']:.1f} times as fast, and the "
            f"paper's state shrinks from {parts[many]['papers_state']:,} variables to {parts[few]['papers_state']:,} "
            f"(the default's from {parts[many]['variables']:,} to {parts[few]['variables']:,}); the default, "
            f"which cuts the digits itself, is {gain['default']:.1f} times as fast with one digit as with raw values, "
            "of which "
            f"{by_mode['default']['3'] / by_mode['default']['4']:.1f} times between four digits, which are sorted, and "
            "three, which are counted in an array."
        )
        if own is None:
            claims.append(
                Claim(
                    f"redundancy: fewer distinct values, higher throughput, {source.title}",
                    "higher (no number is printed)",
                    f"{gain['paper']:.1f} times in paper mode, {gain['default']:.1f} times by default",
                    gain["paper"] > 1,
                    "" if gain["paper"] > 1 else "our paper mode sorts a sub-window at its end and has no tree",
                )
            )
    size, period = _sources(own)[0].window(SIZE, PERIOD)
    note = (
        "Distinct values are those of a sub-window. The default runs with this many digits; paper mode stores raw "
        "values and gets truncated ones. Space is that just before a sub-window closes. The paper's state is two "
        "variables per distinct value and one per quantile of a live sub-window; our paper mode stores values unsorted."
    )
    x = "distinct values in a sub-window (%)"
    return Outcome(
        [Table(f"AOMG and redundancy, {size:,} by {period:,}", columns, rows, note)],
        [
            Plot("Throughput against distinct values", x, "M events/s", speeds, log_x=True, log_y=True),
            Plot("Space against distinct values", x, "variables", space, log_x=True, log_y=True),
        ],
        findings,
        claims,
    )


EXPERIMENT = Experiment(
    "redundancy",
    "Throughput and space by redundancy",
    "How much does AOMG gain from repeated values?",
    "Section 4.2, Time complexity",
    _pieces,
    _outcome,
)
