"""Every policy on the available memory and CPU of hosts: streams on which all errors are small."""

from aomg.evaluation.experiment import Experiment, Measurements, Piece
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


def _outcome(measurements: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
    by_stream = {source.title: policies.measured(measurements, source) for source in _sources()}
    sources = {source.title: source for source in _sources()}
    return Outcome(
        [policies.table(measured, sources[title], {}) for title, measured in by_stream.items()],
        [plot for title, measured in by_stream.items() for plot in policies.plots(measured, sources[title])],
        [sentence for title, measured in by_stream.items() for sentence in policies.findings(measured, sources[title])],
        [claim for title, measured in by_stream.items() for claim in _claims(title, measured)],
    )


def _claims(stream: str, measured: Measured) -> list[Claim]:
    """Return both claims of the paper, for AOMG in paper mode and the paper's rivals."""
    errors = {title: policies.error(measured, title, "0.999") for title in (PAPER, *PAPERS_TITLES)}
    worst = max(errors, key=errors.__getitem__)
    fastest = max(PAPERS_TITLES, key=lambda title: float(measured[title]["speed"]))
    ours, theirs = measured[PAPER]["speed"], measured[fastest]["speed"]
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
            f"{ours:.1f} M events/s in paper mode, {measured[DEFAULT]['speed']:.1f} by default; "
            f"{fastest} has {theirs:.1f}",
            ours > theirs,
            "" if ours > theirs else f"{fastest} is faster than paper mode",
        ),
    ]


EXPERIMENT = Experiment(
    "host",
    "Every policy on hosts' resources",
    "Does AOMG have an advantage if the errors of all policies are small?",
    "Section 7, Applicability",
    _pieces,
    _outcome,
    own_data=False,
)
