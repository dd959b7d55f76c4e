"""Lists every measured case in which a rival does better than AOMG: more accurate, smaller or faster on a stream.

More accurate means a smaller mean error at a quantile, by value or by rank, or a smaller value error in the worst
window.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aomg.evaluation import experiment
from aomg.evaluation.experiment import Measurements
from aomg.evaluation.experiments import frontier, policy_comparison, table2
from aomg.evaluation.measure.accuracy import QUANTILES
from aomg.evaluation.measure.contenders import PAPERS_RIVALS, TITLES
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.outcome import Cell, Outcome, Table, TableColumn
from aomg.evaluation.run import EvaluationError, Run, Watch

OURS = (frontier.DEFAULT, frontier.PAPER)
WORST, BYTES, SPEED = "worst window (%)", "bytes", "M events/s"
EXPERIMENTS = ("frontier", "table2", "taxi", "host")


@dataclass(frozen=True)
class Loss:
    """A rival that does better than a mode of AOMG, and both numbers."""

    experiment: str
    stream: str
    quantity: str
    """An error, by value or rank at a quantile or in the worst window; bytes; or speed."""
    ours: str
    rival: str
    own: float
    theirs: float


@dataclass(frozen=True)
class _Standing:
    """One quantity of all policies on a stream."""

    experiment: str
    stream: str
    quantity: str
    by_policy: Mapping[str, float]


def losses(run: Run, watch: Watch | None = None) -> list[Loss]:
    """Return all losses on the paper's streams. Measures missing pieces.

    If two experiments measured a case, the first of EXPERIMENTS counts. The zero errors of exact policies are not
    losses. Raises EvaluationError with the user's data.
    """
    if run.source is not None:
        raise EvaluationError("rivals are compared on the paper's streams: remove --data")
    by_case: dict[tuple[str, ...], Loss] = {}
    for standing in _standings(run, watch):
        for loss in _lost(standing):
            by_case.setdefault((loss.stream, loss.quantity, loss.ours, loss.rival), loss)
    return list(by_case.values())


def _lost(standing: _Standing) -> Iterator[Loss]:
    for ours in OURS:
        own = standing.by_policy[ours]
        for rival, theirs in standing.by_policy.items():
            better = theirs > own if standing.quantity == SPEED else theirs < own
            trivial = rival.startswith("Exact") and standing.quantity not in (BYTES, SPEED)
            if better and not trivial and not rival.startswith("AOMG"):
                yield Loss(standing.experiment, standing.stream, standing.quantity, ours, rival, own, theirs)


def _standings(run: Run, watch: Watch | None) -> Iterator[_Standing]:
    measurements = {name: _measurements_of(run, name, watch) for name in EXPERIMENTS}
    for source in frontier.sources(None):
        by_policy = {
            policy: measurement
            for policy, measurement in measurements["frontier"][source.name].items()
            if "refused" not in measurement
        }
        yield from _standings_of("frontier", source, QUANTILES, by_policy)
    names = {table2.AOMG: frontier.PAPER, table2.DEFAULT: frontier.DEFAULT, table2.LIFTED: "CMQS, as published"}
    names |= {policy: TITLES[policy] for policy in PAPERS_RIVALS}
    for source, quantiles in ((of_stream("pingmesh"), QUANTILES), (of_stream("search"), ("0.95", "0.999"))):
        by_policy = {title: measurements["table2"][f"{source.name}-fine-{name}"] for name, title in names.items()}
        yield from _standings_of("table2", source, quantiles, by_policy)
    memory, cpu = (of_stream("host_resources", resource=resource) for resource in ("memory", "cpu"))
    # memory is the default of the stream, so it is the one in the frontier
    titles = {memory.title: of_stream("host_resources").title}
    for name, source in (("taxi", of_stream("taxi")), ("host", memory), ("host", cpu)):
        known = replace(source, title=titles.get(source.title, source.title))
        yield from _standings_of(name, known, QUANTILES, policy_comparison.measured(measurements[name], source))


def _standings_of(
    name: str, source: ValueSource, quantiles: Sequence[str], measurements: Mapping[str, Mapping[str, Any]]
) -> Iterator[_Standing]:
    """Yield all quantities that were measured for every mode of AOMG; rank errors only in some experiments."""
    by_quantity: dict[str, dict[str, float | None]] = {}
    for policy, measurement in measurements.items():
        ranks = measurement.get("rank_error") or [None] * len(quantiles)
        for index, quantile in enumerate(quantiles):
            by_quantity.setdefault(f"value error at Q{quantile} (%)", {})[policy] = measurement["value_error"][index]
            by_quantity.setdefault(f"rank error at Q{quantile}", {})[policy] = ranks[index]
        worst = [error for error in measurement["worst_value_error"] if error is not None]
        by_quantity.setdefault(WORST, {})[policy] = max(worst, default=None)
        by_quantity.setdefault(BYTES, {})[policy] = measurement["nbytes"]
        by_quantity.setdefault(SPEED, {})[policy] = measurement.get("speed")
    for quantity in sorted(by_quantity, key=_kind):
        there = {policy: number for policy, number in by_quantity[quantity].items() if number is not None}
        if there.keys() >= set(OURS):
            yield _Standing(name, source.title, quantity, there)


def _kind(quantity: str) -> int:
    """Return the order of a quantity: value errors, worst window, rank errors, bytes, speed."""
    return [
        quantity.startswith("value"),
        quantity == WORST,
        quantity.startswith("rank"),
        quantity == BYTES,
        quantity == SPEED,
    ].index(True)


def _measurements_of(run: Run, name: str, watch: Watch | None) -> dict[str, Any]:
    """Return the measurements of an experiment."""
    measurements: dict[str, Any] = {}
    requested = experiment(name)

    def store(by_piece: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
        measurements.update(by_piece)
        return requested.outcome(by_piece, scale, own)

    run.outcome(replace(requested, outcome=store), watch)
    return measurements


def tables(cases: Sequence[Loss]) -> list[Table]:
    """Return a summary of who does better where, then every case for each mode of AOMG."""
    return [_summary(cases), *(_cases(cases, ours) for ours in OURS)]


def _summary(cases: Sequence[Loss]) -> Table:
    rows: list[list[Cell]] = []
    for ours in OURS:
        for rival in dict.fromkeys(loss.rival for loss in cases if loss.ours == ours):
            own_cases = [loss for loss in cases if (loss.ours, loss.rival) == (ours, rival)]
            where = [[loss.stream for loss in own_cases if _kind(loss.quantity) == kind] for kind in range(5)]
            rows.append([ours, rival, *(", ".join(dict.fromkeys(streams)) for streams in where)])
    columns = (
        "better than",
        "rival",
        "smaller error at some quantile on",
        "smaller error in the worst window on",
        "smaller rank error at some quantile on",
        "fewer bytes on",
        "faster on",
    )
    return Table("Rivals that do better", [TableColumn(name) for name in columns], rows)


def _cases(cases: Sequence[Loss], ours: str) -> Table:
    groups: dict[tuple[str, str], list[Loss]] = {}
    for loss in cases:
        if loss.ours == ours:
            groups.setdefault((loss.stream, loss.quantity), []).append(loss)
    rows: list[list[Cell]] = []
    for (stream, quantity), group in groups.items():
        better = [f"{loss.rival} {_number(loss.theirs, quantity)}" for loss in group]
        rows.append([stream, quantity, _number(group[0].own, quantity), "; ".join(better)])
    columns = [TableColumn("stream"), TableColumn("what"), TableColumn(ours), TableColumn("better")]
    return Table(f"Every case in which a rival does better than {ours}", columns, rows)


def _number(number: float, quantity: str) -> str:
    return f"{number:,.0f}" if quantity == BYTES else f"{number:.3g}"
