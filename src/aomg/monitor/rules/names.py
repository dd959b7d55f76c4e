"""Resolves names in conditions and annotations: `p99` and `inbound.p99` are columns of a query's results."""

from collections.abc import Mapping
from decimal import Decimal

from aomg.monitor.config.model import QueryConfig
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.conditions import Column, Flag
from aomg.names import quantile_name, quantile_of, threshold_name, threshold_of
from aomg.suggestions import did_you_mean, there_are


def own_query(name: str | None, queries: Mapping[str, QueryConfig]) -> str | None:
    """The query that names without a prefix belong to: the rule's, or the only one there is."""
    return name if name is not None else next(iter(queries)) if len(queries) == 1 else None


def columns_of(config: QueryConfig) -> dict[str, Column | Flag]:
    """The columns of a query's results, by name."""
    columns: dict[str, Column | Flag] = {}
    for name in (*(quantile_name(q) for q in config.query.quantiles), "min", "max"):
        columns[name] = Column(config.name, name, config.unit)
    for name in (*(threshold_name(limit) for limit in config.query.thresholds), "count", "sub_windows"):
        columns[name] = Column(config.name, name, None, is_value=False)
    columns["burst"] = Flag(config.name, "burst")
    return columns


def resolve(text: str, queries: Mapping[str, QueryConfig], own: str | None, place: str = "") -> Column | Flag:
    """Return the column of `p99` (of the query `own`) or `inbound.p99`. Errors end with `place`: " at character 5"."""
    first, *parts = text.split(".")
    if first not in queries:
        if len(parts) == 1 and parts[0].isdigit() and first.startswith("p"):
            raise ConfigError(f"unknown name {text!r}{place}; write {first}_{parts[0]}")
        if parts:
            raise ConfigError(f"unknown query {first!r}{place}; {there_are(first, queries)}")
        if own is None:
            known = [name for name, config in queries.items() if first in columns_of(config)] or list(queries)
            raise ConfigError(
                f"{first!r}{place} needs a query; write {known[0]}.{first}, or add query: {known[0]} to the rule"
            )
        return _column(first, first, queries[own], place)
    if not parts:
        columns = ", ".join(columns_of(queries[first]))
        raise ConfigError(f"{first!r}{place} is a query; write one of its quantities, {first}.NAME: {columns}")
    if len(parts) == 2 and parts[1].isdigit():
        raise ConfigError(f"unknown name {text!r}{place}; write {first}.{parts[0]}_{parts[1]}")
    return _column(".".join(parts), text, queries[first], place)


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
