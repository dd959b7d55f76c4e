"""Every case that was measured in which a rival does better than AOMG: nearer, smaller or faster on a stream.

Nearer is by value or by rank, the mean over windows at a quantile, or by value in the worst window of all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aomg.evaluation import experiment
from aomg.evaluation.experiment import Found
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
    """A rival that does better than a form of AOMG, and both numbers."""

    experiment: str
    stream: str
    what: str
    """An error at a quantile, by value or by rank, or in the worst window, or `bytes`: less is better; or speed."""
    ours: str
    rival: str
    own: float
    theirs: float


@dataclass(frozen=True)
class _Standing:
    """One quantity of all policies on a stream."""

    experiment: str
    stream: str
    what: str
    by_policy: Mapping[str, float]


def losses(run: Run, watch: Watch | None = None) -> list[Loss]:
    """All of them, over the paper's streams. Measures what the run does not have yet.

    A case that two experiments measured is told once, by the first of EXPERIMENTS. That an exact policy has no error is
    no case. Raises EvaluationError on a source of one's own.
    """
    if run.source is not None:
        raise EvaluationError("rivals are compared on the paper's streams: leave out --data")
    told: dict[tuple[str, ...], Loss] = {}
    for standing in _standings(run, watch):
        for loss in _lost(standing):
            told.setdefault((loss.stream, loss.what, loss.ours, loss.rival), loss)
    return list(told.values())


def _lost(standing: _Standing) -> Iterator[Loss]:
    for ours in OURS:
        own = standing.by_policy[ours]
        for rival, theirs in standing.by_policy.items():
            better = theirs > own if standing.what == SPEED else theirs < own
            trivial = rival.startswith("Exact") and standing.what not in (BYTES, SPEED)
            if better and not trivial and not rival.startswith("AOMG"):
                yield Loss(standing.experiment, standing.stream, standing.what, ours, rival, own, theirs)


def _standings(run: Run, watch: Watch | None) -> Iterator[_Standing]:
    found = {name: _found(run, name, watch) for name in EXPERIMENTS}
    for source in frontier.sources(None):
        told = {policy: one for policy, one in found["frontier"][source.name].items() if "refused" not in one}
        yield from _standings_of("frontier", source, QUANTILES, told)
    names = {table2.AOMG: frontier.PAPER, table2.DEFAULT: frontier.DEFAULT, table2.LIFTED: "CMQS, as published"}
    names |= {policy: TITLES[policy] for policy in PAPERS_RIVALS}
    for source, quantiles in ((of_stream("pingmesh"), QUANTILES), (of_stream("search"), ("0.95", "0.999"))):
        told = {title: found["table2"][f"{source.name}-fine-{name}"] for name, title in names.items()}
        yield from _standings_of("table2", source, quantiles, told)
    memory, cpu = (of_stream("host_resources", resource=resource) for resource in ("memory", "cpu"))
    # memory is what the stream has unless told, so it is the one of the frontier
    titles = {memory.title: of_stream("host_resources").title}
    for name, source in (("taxi", of_stream("taxi")), ("host", memory), ("host", cpu)):
        known = replace(source, title=titles.get(source.title, source.title))
        yield from _standings_of(name, known, QUANTILES, policy_comparison.measured(found[name], source))


def _standings_of(
    name: str, source: ValueSource, quantiles: Sequence[str], told: Mapping[str, Mapping[str, Any]]
) -> Iterator[_Standing]:
    """All quantities that were measured of every form of AOMG: of errors by rank, only some experiments have any."""
    by_what: dict[str, dict[str, float | None]] = {}
    for policy, one in told.items():
        ranks = one.get("rank_error") or [None] * len(quantiles)
        for at, quantile in enumerate(quantiles):
            by_what.setdefault(f"value error at Q{quantile} (%)", {})[policy] = one["value_error"][at]
            by_what.setdefault(f"rank error at Q{quantile}", {})[policy] = ranks[at]
        worst = [error for error in one["worst_value_error"] if error is not None]
        by_what.setdefault(WORST, {})[policy] = max(worst, default=None)
        by_what.setdefault(BYTES, {})[policy] = one["nbytes"]
        by_what.setdefault(SPEED, {})[policy] = one.get("speed")
    for what in sorted(by_what, key=_kind):
        there = {policy: number for policy, number in by_what[what].items() if number is not None}
        if there.keys() >= set(OURS):
            yield _Standing(name, source.title, what, there)


def _kind(what: str) -> int:
    """The place of a quantity in the tables: errors by value, the worst window, errors by rank, bytes, speed."""
    return [what.startswith("value"), what == WORST, what.startswith("rank"), what == BYTES, what == SPEED].index(True)


def _found(run: Run, name: str, watch: Watch | None) -> dict[str, Any]:
    """What the pieces of an experiment found."""
    kept: dict[str, Any] = {}
    asked = experiment(name)

    def keep(found: Found, scale: Scale, own: ValueSource | None) -> Outcome:
        kept.update(found)
        return asked.outcome(found, scale, own)

    run.outcome(replace(asked, outcome=keep), watch)
    return kept


def tables(told: Sequence[Loss]) -> list[Table]:
    """Who does better in what, on how many streams; then every case, for each form of AOMG."""
    return [_summary(told), *(_cases(told, ours) for ours in OURS)]


def _summary(told: Sequence[Loss]) -> Table:
    rows: list[list[Cell]] = []
    for ours in OURS:
        for rival in dict.fromkeys(loss.rival for loss in told if loss.ours == ours):
            cases = [one for one in told if (one.ours, one.rival) == (ours, rival)]
            where = [[one.stream for one in cases if _kind(one.what) == kind] for kind in range(5)]
            rows.append([ours, rival, *(", ".join(dict.fromkeys(streams)) for streams in where)])
    columns = (
        "than",
        "rival",
        "is nearer, at a quantile at least, on",
        "is nearer in the worst window on",
        "is nearer by rank, at a quantile at least, on",
        "is smaller on",
        "is faster on",
    )
    return Table("Rivals that do better", [TableColumn(name) for name in columns], rows)


def _cases(told: Sequence[Loss], ours: str) -> Table:
    groups: dict[tuple[str, str], list[Loss]] = {}
    for loss in told:
        if loss.ours == ours:
            groups.setdefault((loss.stream, loss.what), []).append(loss)
    rows: list[list[Cell]] = []
    for (stream, what), group in groups.items():
        better = [f"{one.rival} {_number(one.theirs, what)}" for one in group]
        rows.append([stream, what, _number(group[0].own, what), "; ".join(better)])
    columns = [TableColumn("stream"), TableColumn("what"), TableColumn(ours), TableColumn("better")]
    return Table(f"Every case in which a rival does better than {ours}", columns, rows)


def _number(number: float, what: str) -> str:
    return f"{number:,.0f}" if what == BYTES else f"{number:.3g}"
