"""Lists every claim of the paper, our measurement, and whether the claim holds."""

from aomg.evaluation import experiment, names
from aomg.evaluation.outcome import Claim, Table, TableColumn, tally
from aomg.evaluation.run import EvaluationError, Run, Watch


def makers() -> list[str]:
    """Return the experiments with claims: those of the paper, without our own questions."""
    return [name for name in names() if experiment(name).paper]


def check(run: Run, watch: Watch | None = None) -> tuple[Table, list[Claim]]:
    """Measure missing pieces of the paper's experiments; return all claims as a table and as a list.

    Raises EvaluationError with the user's data, about which the paper claims nothing.
    """
    if run.source is not None:
        raise EvaluationError("the paper's claims are about its own streams: check them without --data")
    claims_by_name = [(name, claim) for name in makers() for claim in run.outcome(experiment(name), watch).claims]
    rows = [
        [name, claim.name, claim.paper, claim.measured, claim.verdict, claim.reason] for name, claim in claims_by_name
    ]
    columns = [TableColumn(name) for name in ("experiment", "claim", "paper", "measured", "verdict", "reason")]
    claims = [claim for _, claim in claims_by_name]
    table = Table("The paper's claims", columns, rows, f"{tally(claims)}; the scale is {run.scale.name}.")
    return table, claims
