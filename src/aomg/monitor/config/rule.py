"""Reads `groups`: the rules as they are written. What they mean is for the package rules."""

import re
from collections.abc import Collection
from typing import Any

from aomg.monitor.config.kinds import duration, listed, one_of, share, table, text, whole
from aomg.monitor.config.model import RuleConfig
from aomg.monitor.config.query import name_of
from aomg.monitor.config.schema import Field, Kind, Section
from aomg.monitor.errors import ConfigError
from aomg.suggestions import suggestion

_FLEET = ("of", "silent", "remember")
_ALERT = ("expr", "when", "for", "keep_firing_for", "share", *_FLEET)
_CHECKED_LATER = ("expr", "labels", "annotations", "quantile", "at_most")
_TARGET = ("quantile", "at_most")


def groups(queries: Collection[str] | None) -> Kind[tuple[RuleConfig, ...]]:
    """All rules of all groups, in order. `queries` are the known names, where they could be read."""

    def read(given: Field) -> tuple[RuleConfig, ...]:
        seen: dict[str, int] = {}
        return tuple(rule for rules in listed(_group(queries, seen))(given) for rule in rules)

    return read


def _group(queries: Collection[str] | None, seen: dict[str, int]) -> Kind[tuple[RuleConfig, ...]]:
    def read(given: Field) -> tuple[RuleConfig, ...]:
        section = Section(given)
        name = section.take("name", lambda field: _fresh(field, seen, "group"))
        rules = section.take("rules", listed(_rule(queries, str(name), {})))
        section.close()
        return rules

    return read


def _fresh(given: Field, seen: dict[str, int], what: str) -> str:
    """A name that was not seen before: alerts are told apart by group and name."""
    name = text(given)
    if "\n" in name or len(name) > 200:
        given.refuse("must be a name in one line, of 200 characters at most")
    if name in seen:
        given.refuse(f"is {name!r}, as is the {what} of line {seen[name]}; rename one")
    seen[name] = given.node.line
    return name


def _rule(queries: Collection[str] | None, group: str, seen: dict[str, int]) -> Kind[RuleConfig]:
    def read(given: Field) -> RuleConfig:
        section = Section(given)
        which = section.choose(("alert", "target"))
        named = section.take(which, lambda field: _fresh(field, seen, "rule"))
        if named is not None:  # name it in the complaints that follow
            section.field = Field(given.node, f"{group}.{named}", given.problems, given.environment)
        found: dict[str, Any] = {
            "query": section.take("query", _query_name(queries), None),
            "min_count": section.take("min_count", whole(0), 0),
            "labels": section.take("labels", table(_label), {}),
        }
        kind: Any = "target" if which == "target" else "fleet" if "share" in section else "alert"
        if kind == "target":
            found |= {key: section.take(key, text) for key in _TARGET}
            section.close(why=dict.fromkeys((*_ALERT, "annotations"), "is for alerts; a target has no state"))
        else:
            found |= _alert(section, kind == "fleet")
        lines = {key: section.line_of(key) for key in _CHECKED_LATER if key in section}
        return RuleConfig(kind, named, group, given.node.line, lines=lines, **found)

    return read


def _alert(section: Section, fleet: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "annotations": section.take("annotations", table(_annotation), {}),
        "expr": section.take("expr", text),
        "when": section.take("when", one_of("certain", "possible"), "certain"),
        "for_": section.take("for", duration, 0),
        "keep_firing_for": section.take("keep_firing_for", duration, 0),
    }
    why = dict.fromkeys(_TARGET, "is for targets (target: name)")
    if fleet:
        found["share"] = section.take("share", share)
        found["of"] = section.take("of", listed(text), ())
        found["silent"] = section.take("silent", one_of("ignore", "violating", "healthy"), "ignore")
        found["remember"] = section.take("remember", duration, None)
        if isinstance(found["of"], tuple) and len(set(found["of"])) < len(found["of"]):
            twice = ConfigError(f"{section.field.name}.of names a label twice; remove one", section.line_of("of"))
            section.complain(twice)
    else:
        why |= dict.fromkeys(_FLEET, "is for rules over a fleet; add a share, such as share: 10%")
    section.close(why=why, also=["share"])
    return found


def _query_name(queries: Collection[str] | None) -> Kind[str]:
    def read(given: Field) -> str:
        name = text(given)
        if queries is not None and name not in queries:
            hint = suggestion(name, queries, f"there are {', '.join(queries)}")
            given.refuse(f"is {given.shown()}, which is no query; {hint}")
        return name

    return read


def _label(given: Field) -> str:
    if given.key == "alertname":
        given.refuse("is set by the rule's name; use another label")
    name_of(given, given.key, "label")
    return text(given)


def _annotation(given: Field) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", given.key):
        given.refuse("is no name of an annotation; use letters, digits and _, and begin with a letter")
    return text(given)
