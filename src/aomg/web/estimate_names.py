"""The names of estimates: p99_9 is the quantile 0.999 and reads p99.9; below_500 is the share of events up to 500."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from aomg.monitor.results import there_are
from aomg.web.history import QueryHistory
from aomg.web.parameters import BadRequest, shown


def quantile_of(name: str) -> float | None:
    """The quantile that a name stands for; None for anything else.

    >>> quantile_of("p99_9"), quantile_of("p50"), quantile_of("below_500")
    (0.999, 0.5, None)
    """
    if not name.startswith("p"):
        return None
    try:
        return float(Decimal(name[1:].replace("_", ".")) / 100)
    except InvalidOperation:
        return None


def estimate_title(name: str) -> str:
    """A name as people write it.

    >>> estimate_title("p99_9"), estimate_title("below_0_25"), estimate_title("below_minus_5")
    ('p99.9', 'below 0.25', 'below -5')
    """
    if name.startswith("below_"):
        return "below " + name.removeprefix("below_").replace("minus_", "-").replace("_", ".")
    return name.replace("_", ".") if quantile_of(name) is not None else name


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
