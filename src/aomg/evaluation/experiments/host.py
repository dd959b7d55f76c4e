"""Every policy on what hosts have left of memory and CPU: a stream on which all answers are near."""

from aomg.evaluation.experiment import Experiment, Found, Piece
from aomg.evaluation.experiments import policy_comparison as policies
from aomg.evaluation.experiments.policy_comparison import DEFAULT, PAPER, PAPERS_TITLES, Measured
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.outcome import Claim, Outcome

WITHIN = 5


def _sources() -> list[ValueSource]:
    return [of_stream("host_resources", resource=resource) for resource in ("memory", "cpu")]


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    return policies.pieces(scale, _sources())


def _outcome(found: Found, scale: Scale, own: ValueSource | None) -> Outcome:
    told = {source.title: policies.measured(found, source) for source in _sources()}
    sources = {source.title: source for source in _sources()}
    return Outcome(
        [policies.table(one, sources[title], {}) for title, one in told.items()],
        [plot for title, one in told.items() for plot in policies.plots(one, sources[title])],
        [sentence for title, one in told.items() for sentence in policies.findings(one, sources[title])],
        [claim for title, one in told.items() for claim in _claims(title, one)],
    )


def _claims(stream: str, told: Measured) -> list[Claim]:
    """Both sentences of the paper, over AOMG in paper mode and the rivals that it compares with."""
    errors = {title: policies.error(told, title, "0.999") for title in (PAPER, *PAPERS_TITLES)}
    worst = max(errors, key=errors.__getitem__)
    fastest = max(PAPERS_TITLES, key=lambda title: float(told[title]["speed"]))
    ours, theirs = told[PAPER]["speed"], told[fastest]["speed"]
    return [
        Claim(
            f"host: all Q0.999 estimates, {stream}",
            f"within {WITHIN} %",
            f"at most {errors[worst]:.2f} % ({worst})",
            errors[worst] <= WITHIN,
        ),
        Claim(
            f"host: AOMG's throughput above the other methods', {stream}",
            "higher",
            f"{ours:.1f} M events/s in paper mode, {told[DEFAULT]['speed']:.1f} by default; {fastest} has {theirs:.1f}",
            ours > theirs,
            "" if ours > theirs else f"{fastest} is faster than paper mode",
        ),
    ]


EXPERIMENT = Experiment(
    "host",
    "Every policy on hosts' resources",
    "What is left of AOMG's advantage where every policy is near?",
    "Section 7, Applicability",
    _pieces,
    _outcome,
    own_data=False,
)
