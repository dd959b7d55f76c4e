"""Which estimate of a query is looked at: the one that was asked for, or the usual one."""

from collections.abc import Sequence

from aomg.names import quantile_of
from aomg.suggestions import there_are
from aomg.web.memory.history import QueryHistory
from aomg.web.parameters import BadRequest, shown


def quantiles_of(history: QueryHistory) -> list[str]:
    """The names of a query's quantiles, ascending: p50, p99, p99_9."""
    by_quantile = {name: quantile_of(name) for name in history.estimates}
    return sorted(
        (name for name, one in by_quantile.items() if one is not None), key=lambda name: by_quantile[name] or 0
    )


def usual_estimate(history: QueryHistory, asked: str | None = None) -> str | None:
    """What is looked at unless something else is asked: p99, or the highest quantile, or the first estimate.

    `asked` may write p99.9 for p99_9. Raises BadRequest for an estimate that the query does not have.
    """
    if asked:
        name = asked if asked in history.estimates else asked.replace(".", "_")
        if name in history.estimates:
            return name
        raise unknown_estimate(asked, history.estimates, history.name)
    quantiles = quantiles_of(history)
    if quantiles:
        return "p99" if "p99" in quantiles else quantiles[-1]
    return history.estimates[0] if history.estimates else None


def unknown_estimate(asked: str, known: Sequence[str], query: str) -> BadRequest:
    """What is said where a query has no such estimate: what it has, and what is nearest."""
    there = there_are(asked, known) if known else "it has no estimates"
    return BadRequest(f"query {query} has no {shown(asked)} to look at", there)
