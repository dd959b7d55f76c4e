"""Reads `groups`: the rules as written, each of one of the registered kinds."""

from collections.abc import Collection, Sequence
from typing import Any

from aomg.monitor.config.model import RuleConfig
from aomg.monitor.config.query import name_of
from aomg.monitor.config.schema import Field, Parser, Section, keys_of
from aomg.monitor.config.values import listed, table, text, whole
from aomg.suggestions import suggestion

Kinds = Sequence[type[RuleConfig]]


def groups(kinds: Kinds, queries: Collection[str] | None) -> Parser[tuple[RuleConfig, ...]]:
    """All rules of all groups, in order. `queries` are the known names; None if they could not be read."""

    def parse(field: Field) -> tuple[RuleConfig, ...]:
        lines: dict[str, int] = {}
        return tuple(rule for rules in listed(_group(kinds, queries, lines))(field) for rule in rules)

    return parse


def _group(kinds: Kinds, queries: Collection[str] | None, lines: dict[str, int]) -> Parser[tuple[RuleConfig, ...]]:
    def parse(field: Field) -> tuple[RuleConfig, ...]:
        section = Section(field)
        name = section.take("name", lambda value: _unique_name(value, lines, "group"))
        rules = section.take("rules", listed(_rule(kinds, queries, str(name), {})))
        section.close()
        return rules

    return parse


def _unique_name(field: Field, lines: dict[str, int], owner: str) -> str:
    """A name that is not in use: an alert is identified by group and name."""
    name = text(field)
    if "\n" in name or len(name) > 200:
        field.refuse("must be a name in one line, of 200 characters at most")
    if name in lines:
        field.refuse(f"is {name!r}, like the {owner} in line {lines[name]}; rename one")
    lines[name] = field.node.line
    return name


def _rule(kinds: Kinds, queries: Collection[str] | None, group: str, lines: dict[str, int]) -> Parser[RuleConfig]:
    def parse(field: Field) -> RuleConfig:
        section = Section(field)
        name_key = section.choose(dict.fromkeys(kind.name_key for kind in kinds))
        name = section.take(name_key, lambda value: _unique_name(value, lines, "rule"))
        if name is not None:  # errors that follow name the rule
            section.field = Field(field.node, f"{group}.{name}", field.problems, field.environment, field.folder)
        named = [kind for kind in kinds if kind.name_key == name_key]
        marked = [kind for kind in named if kind.marker and kind.marker in section]
        kind = (marked or [kind for kind in named if kind.marker is None])[0]
        common: dict[str, Any] = {
            "query": section.take("query", _query_name(queries), None),
            "min_count": section.take("min_count", whole(0), 0),
            "labels": section.take("labels", table(_label), {}),
        }
        own = section.take_all(kind)
        markers = [other.marker for other in named if other.marker]
        section.close(why=_elsewhere(kind, kinds), also=markers)
        rule = kind(name=name, group=group, line=field.node.line, lines=section.lines(), **common, **own)
        rule.check()
        return rule

    return parse


def _elsewhere(kind: type[RuleConfig], kinds: Kinds) -> dict[str, str]:
    """What to say about keys that only other kinds of rules have."""
    messages: dict[str, str] = {}
    for other in kinds:
        same_key = other.name_key == kind.name_key and other.marker
        remedy = f"; add '{other.marker}' to make it one" if same_key else f" ({other.name_key}: NAME)"
        for declaration in keys_of(other).values():
            messages.setdefault(declaration.name, f"is only for rules of kind {other.kind}{remedy}")
    return messages


def _query_name(queries: Collection[str] | None) -> Parser[str]:
    def parse(field: Field) -> str:
        name = text(field)
        if queries is not None and name not in queries:
            hint = suggestion(name, queries, f"the queries are {', '.join(queries)}")
            field.refuse(f"is {field.excerpt()}, which is not a query; {hint}")
        return name

    return parse


def _label(field: Field) -> str:
    if field.key == "alertname":
        field.refuse("is set by the rule's name; use another label")
    name_of(field, field.key, "label")
    return text(field)
