"""Gives rules their meaning: checks a RuleConfig against the queries, and builds what judges the rows of a window end.

An alert rule (alert.py) judges every key for itself. A fleet rule (fleet.py) judges the share of members that
violate, and a target (target.py) tells how much is left to a limit.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import lcm

from aomg.monitor.config.model import Config, QueryConfig, RuleConfig
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.alert import Rule
from aomg.monitor.rules.conditions import Column, Flag
from aomg.monitor.rules.fleet import fleet_of
from aomg.monitor.rules.language import Expression, parse
from aomg.monitor.rules.names import resolve
from aomg.monitor.rules.target import Target, target_of
from aomg.monitor.rules.templates import FIELDS, FLEET_FIELDS, split_part
from aomg.monitor.rules.templates import parse as parse_template

RESERVED = ("alertname", "alertgroup")


def build(rule: RuleConfig, queries: Mapping[str, QueryConfig]) -> Rule | Target:
    """Return the rule of a configuration, checked. Raises ConfigError with its line and what to do."""
    try:
        if rule.query is not None and rule.query not in queries:
            raise ConfigError(f"there is no query {rule.query!r}; there are {', '.join(queries)}")
        if rule.kind == "target":
            return target_of(rule, queries)
        plain = _plain(rule, queries)
        return plain if rule.kind == "alert" else fleet_of(rule, plain)
    except ConfigError as problem:
        raise ConfigError(f"rule {rule.name}: {problem.message}", problem.line or rule.line) from None


@contextmanager
def _in(rule: RuleConfig, key: str) -> Iterator[None]:
    """Let complaints have the line of a key of the rule."""
    try:
        yield
    except ConfigError as problem:
        raise problem.placed(rule.lines.get(key)) from None


def _plain(rule: RuleConfig, queries: Mapping[str, QueryConfig]) -> Rule:
    if rule.expr is None:
        raise ConfigError("it has no expr; write a condition such as p99 > 4ms")
    own = rule.query if rule.query is not None else next(iter(queries)) if len(queries) == 1 else None
    with _in(rule, "expr"):
        expression = parse(rule.expr, queries, own)
    read = [queries[name] for name in expression.queries]
    for config in read:
        if config.query.counted:
            raise ConfigError(f"query {config.name} counts elements; rules need windows of time, such as size: 1 hour")
        if set(config.labels) != set(read[0].labels):
            raise _cannot_join(read[0], config)
    key_names = read[0].labels
    with _in(rule, "labels"):
        for name in rule.labels:
            if name in key_names or name in RESERVED:
                raise ConfigError(f"the label {name!r} is taken; call it something else")
            if "{{" in rule.labels[name]:
                raise ConfigError(
                    f"the label {name!r} has a template; labels are fixed, annotations may have templates"
                )
    further: dict[Column, None] = {}

    def check(name: str) -> str:
        return _template_name(name, rule, key_names, {c.name: c for c in read}, expression, further)

    with _in(rule, "annotations"):
        annotations = {name: parse_template(text, check) for name, text in rule.annotations.items()}
    columns = [leaf for leaf in (*expression.reads, *further) if isinstance(leaf, Column)]
    return Rule(
        name=rule.name,
        group=rule.group,
        labels=dict(rule.labels),
        expression=expression,
        when=rule.when,
        for_=rule.for_,
        keep_firing_for=rule.keep_firing_for,
        min_count=rule.min_count,
        period=lcm(*(config.query.period for config in read)),
        size=max(config.query.size for config in read),
        key_names=key_names,
        orders={config.name: config.labels for config in read},
        annotations=annotations,
        further=tuple(further),
        units={str(column): column.unit for column in columns if column.unit},
    )


def _template_name(
    name: str,
    rule: RuleConfig,
    key_names: tuple[str, ...],
    read: Mapping[str, QueryConfig],
    expression: Expression,
    further: dict[Column, None],
) -> str:
    """Check a name in an annotation and return it in full; what the condition does not read goes to `further`."""
    fleet = rule.kind == "fleet"
    place = f" in {{{{ {name} }}}}"
    if name.startswith("$labels."):
        known = [*(rule.of if fleet else key_names), *rule.labels]
        if name.removeprefix("$labels.") not in known:
            raise ConfigError(f"there is no such label{place}; there are {', '.join(known) or 'none'}")
        return name
    if name.startswith("$"):
        fields = (*FIELDS, *FLEET_FIELDS) if fleet else FIELDS
        if name[1:] not in fields:
            raise ConfigError(f"there is no such value{place}; there are ${', $'.join(fields)} and $labels.NAME")
        return name
    if fleet:
        raise ConfigError(f"a fleet has no single quantity{place}; it has ${', $'.join(FLEET_FIELDS)} and $value")
    quantity, part = split_part(name)
    own = rule.query if rule.query in read else next(iter(read)) if len(read) == 1 else None
    column = resolve(quantity, read, own, place)
    if isinstance(column, Flag):
        raise ConfigError(f"burst is no quantity{place}; leave it out")
    if column not in expression.reads:
        further[column] = None
    return str(column) + part


def _cannot_join(first: QueryConfig, other: QueryConfig) -> ConfigError:
    mine, theirs = ", ".join(first.labels) or "none", ", ".join(other.labels) or "none"
    label = next(iter(first.labels), "label")
    return ConfigError(
        f"queries {first.name} (labels {mine}) and {other.name} (labels {theirs}) cannot be joined; give both the same "
        f"label names with by: {{label: column}}, such as by: {{{label}: its column}} in {other.name}"
    )


def check_rules(config: Config) -> tuple[Rule | Target, ...]:
    """Return the configuration's rules, built. Raises ConfigError for up to ten that cannot be."""
    built, problems = [], []
    for rule in config.rules:
        try:
            built.append(build(rule, config.queries))
        except ConfigError as problem:
            problems.append(problem.placed(rule.line, config.file))
    if problems:
        raise ConfigError.together(problems)
    return tuple(built)
