"""Every claim of the paper, what was measured here, and whether it holds."""

from aomg.evaluation import experiment, names
from aomg.evaluation.outcome import Claim, Table, TableColumn, tally
from aomg.evaluation.run import EvaluationError, Run, Watch


def makers() -> list[str]:
    """The experiments that make claims: those of the paper. A question of ours claims nothing in its name."""
    return [name for name in names() if experiment(name).paper]


def check(run: Run, watch: Watch | None = None) -> tuple[Table, list[Claim]]:
    """Measure what is missing of the paper's experiments; return all claims, as a table and as they are.

    Raises EvaluationError on a source of one's own: the paper says nothing of it.
    """
    if run.source is not None:
        raise EvaluationError("the paper's claims are about its own streams: check them without --data")
    found = [(name, claim) for name in makers() for claim in run.outcome(experiment(name), watch).claims]
    rows = [[name, claim.name, claim.paper, claim.measured, claim.verdict, claim.reason] for name, claim in found]
    columns = [TableColumn(name) for name in ("experiment", "claim", "paper", "measured", "verdict", "reason")]
    claims = [claim for _, claim in found]
    table = Table("The paper's claims", columns, rows, f"{tally(claims)}; the scale is {run.scale.name}.")
    return table, claims
