"""Chooses an estimate of a query: the requested one, or the default."""

from collections.abc import Sequence

from aomg.names import quantile_of
from aomg.suggestions import there_are
from aomg.web.memory.history import QueryHistory
from aomg.web.parameters import BadRequest, quoted


def quantiles_of(history: QueryHistory) -> list[str]:
    """Return the names of a query's quantiles, ascending: p50, p99, p99_9."""
    by_quantile = {name: quantile_of(name) for name in history.estimates}
    return sorted(
        (name for name, quantile in by_quantile.items() if quantile is not None),
        key=lambda name: by_quantile[name] or 0,
    )


def default_estimate(history: QueryHistory, requested: str | None = None) -> str | None:
    """Return the requested estimate; by default p99, or the highest quantile, or the first estimate.

    `requested` may be p99.9 for p99_9. Raises BadRequest for an estimate that the query does not have.
    """
    if requested:
        name = requested if requested in history.estimates else requested.replace(".", "_")
        if name in history.estimates:
            return name
        raise unknown_estimate(requested, history.estimates, history.name)
    quantiles = quantiles_of(history)
    if quantiles:
        return "p99" if "p99" in quantiles else quantiles[-1]
    return history.estimates[0] if history.estimates else None


def unknown_estimate(requested: str, known: Sequence[str], query: str) -> BadRequest:
    """Return the error for an estimate that a query does not have: lists its estimates and suggests the nearest."""
    choices = there_are(requested, known) if known else "it has no estimates"
    return BadRequest(f"query {query} has no {quoted(requested)}", choices)
