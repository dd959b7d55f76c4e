"""What the quantities of a query are called in conditions and annotations, and what to do about a name that is not."""

from collections.abc import Mapping
from decimal import Decimal

from aomg.monitor.config.model import QueryConfig
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.conditions import Column, Flag
from aomg.names import quantile_name, quantile_of, threshold_name, threshold_of
from aomg.suggestions import did_you_mean


def columns_of(config: QueryConfig) -> dict[str, Column | Flag]:
    """Everything that can be read of a query, by name."""
    found: dict[str, Column | Flag] = {}
    for name in (*(quantile_name(q) for q in config.query.quantiles), "min", "max"):
        found[name] = Column(config.name, name, config.unit)
    for name in (*(threshold_name(limit) for limit in config.query.thresholds), "count", "sub_windows"):
        found[name] = Column(config.name, name, None, is_value=False)
    found["burst"] = Flag(config.name, "burst")
    return found


def resolve(text: str, queries: Mapping[str, QueryConfig], own: str | None, place: str = "") -> Column | Flag:
    """Return what `p99` (of the rule's own query) or `inbound.p99` means; errors tell the place: " at character 5"."""
    first, *rest = text.split(".")
    if first not in queries:
        if len(rest) == 1 and rest[0].isdigit() and first.startswith("p"):
            raise ConfigError(f"unknown name {text!r}{place}; write {first}_{rest[0]}")
        if rest:
            raise ConfigError(f"unknown query {first!r}{place}; {_there_are(queries, first)}")
        if own is None:
            known = [name for name, config in queries.items() if first in columns_of(config)] or list(queries)
            raise ConfigError(
                f"{first!r}{place} may be of any query; write {known[0]}.{first}, or give the rule query: {known[0]}"
            )
        return _column(first, first, queries[own], place)
    if not rest:
        raise ConfigError(f"{first!r}{place} is a query; write what of it: {', '.join(columns_of(queries[first]))}")
    if len(rest) == 2 and rest[1].isdigit():
        raise ConfigError(f"unknown name {text!r}{place}; write {first}.{rest[0]}_{rest[1]}")
    return _column(".".join(rest), text, queries[first], place)


def _column(name: str, text: str, config: QueryConfig, place: str) -> Column | Flag:
    known = columns_of(config)
    if name in known:
        return known[name]
    raise ConfigError(
        f"unknown name {text!r}{place}; {config.name} has {', '.join(known)}{_remedy(name, known, config)}"
    )


def _remedy(name: str, known: Mapping[str, Column | Flag], config: QueryConfig) -> str:
    """What to add to the query, or which name was meant."""
    quantile = quantile_of(name)
    if quantile is not None:
        if 0 < quantile <= 1 and quantile_name(quantile) == name:
            return f"; add {quantile:f} to quantiles of {config.name}"
        if quantile > 1 and "_" not in name:  # p999 is how some write p99.9
            meant = Decimal(f"0.{name[1:]}").normalize()
            added = "" if quantile_name(meant) in known else f", and add {meant:f} to quantiles of {config.name}"
            return f"; write {quantile_name(meant)}{added}"
        return f"; did you mean {quantile_name(quantile)}?" if quantile_name(quantile) in known else ""
    threshold = threshold_of(name)
    if threshold is not None:
        return f"; add {threshold:f} to thresholds of {config.name}"
    return did_you_mean(name, known)


def _there_are(queries: Mapping[str, QueryConfig], name: str) -> str:
    return f"there are {', '.join(queries)}{did_you_mean(name, queries)}"
