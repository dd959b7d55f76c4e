"""Defines the state between batches: alerts that are pending or firing, and members of fleets.

It is small: alerts are removed when they resolve, members after the rule's `remember`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aomg.errors import StateError
from aomg.monitor.rules.rows import Labels

_VERSION = 1


class Instance(NamedTuple):
    """An alert that is pending or firing. Window ends, in microseconds."""

    since: int
    """Since which the condition holds."""
    fired: int | None
    """At which it fired; None while it is pending."""
    last_true: int
    """At which the condition last held."""


@dataclass(frozen=True)
class RuleState:
    """The state of a rule, with what is needed to resolve its alerts when the rule is removed.

    last_seen
        Of fleets: the last window end at which each member had a row.
    key_names
        The names of the labels of these members; None in states of a version that did not write it.
    """

    group: str
    rule: str
    labels: Mapping[str, str]
    label_names: tuple[str, ...]
    size: int
    instances: Mapping[Labels, Instance] = field(default_factory=dict)
    last_seen: Mapping[Labels, int] = field(default_factory=dict)
    key_names: tuple[str, ...] | None = None

    def members(self, names: tuple[str, ...]) -> Mapping[Labels, int]:
        """The members with their labels in the order of `names`; none if they have other labels, of another query.

        If the names were not written, the members with as many labels.
        """
        stored = self.key_names
        if stored is None:
            return {member: end for member, end in self.last_seen.items() if len(member) == len(names)}
        if stored == names:
            return self.last_seen
        if sorted(stored) != sorted(names):
            return {}
        places = [stored.index(name) for name in names]
        return {tuple(member[place] for place in places): end for member, end in self.last_seen.items()}


@dataclass(frozen=True)
class State:
    """The state of all rules. `judged` is the newest window end that was evaluated.

    The default is the state of a monitor that has not run yet.
    """

    batch: int | None = None
    judged: int | None = None
    rules: Mapping[str, RuleState] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object, in an order that depends on the content alone."""
        return {
            "version": _VERSION,
            "batch": self.batch,
            "judged": self.judged,
            "rules": {key: _record(self.rules[key]) for key in sorted(self.rules)},
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any] | None) -> "State":
        """Return the state that `to_json` wrote; the empty one for None. Raises StateError for anything else."""
        if record is None:
            return cls()
        try:
            version = record["version"]
            if version == _VERSION:
                rules = {key: _rule_state(part) for key, part in record["rules"].items()}
                return cls(_number(record["batch"]), _number(record["judged"]), rules)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(
                f"this is not an alert state: {error!r}; restore it from a backup, or remove it"
            ) from error
        raise StateError(f"the alert state has version {version!r}, but this program reads version {_VERSION}")


def by_labels(labels: Labels) -> list[tuple[bool, str]]:
    """A sort key: missing labels first, then by text."""
    return [(label is not None, label or "") for label in labels]


def _record(state: RuleState) -> dict[str, Any]:
    members: dict[int, list[Labels]] = {}
    for member, end in state.last_seen.items():
        members.setdefault(end, []).append(member)
    return {
        "group": state.group,
        "rule": state.rule,
        "labels": dict(state.labels),
        "label_names": list(state.label_names),
        "key_names": None if state.key_names is None else list(state.key_names),
        "size": state.size,
        "instances": [[list(labels), *state.instances[labels]] for labels in sorted(state.instances, key=by_labels)],
        "seen": [[end, [list(member) for member in sorted(members[end], key=by_labels)]] for end in sorted(members)],
    }


def _rule_state(record: Mapping[str, Any]) -> RuleState:
    instances = {
        tuple(labels): Instance(_end(since), _number(fired), _end(last))
        for labels, since, fired, last in record["instances"]
    }
    last_seen = {tuple(member): _end(end) for end, members in record["seen"] for member in members}
    return RuleState(
        record["group"],
        record["rule"],
        dict(record["labels"]),
        tuple(record["label_names"]),
        _end(record["size"]),
        instances,
        last_seen,
        None if (names := record.get("key_names")) is None else tuple(names),
    )


def _end(number: Any) -> int:
    if type(number) is not int:
        raise TypeError(f"{number!r} is not a whole number")
    return number


def _number(number: Any) -> int | None:
    return None if number is None else _end(number)
