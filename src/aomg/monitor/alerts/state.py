"""What the judge remembers from one batch to the next: alerts that are pending or fire, and members of fleets.

It is small: alerts vanish when they resolve, members when they have not been seen for as long as their rule says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aomg.errors import StateError
from aomg.monitor.rules.rows import Labels

_VERSION = 1


class Instance(NamedTuple):
    """An alert that is pending, or fires. Window ends, in microseconds."""

    since: int
    """At which the condition came to hold."""
    fired: int | None
    """At which it fired; None while it is pending."""
    last_true: int
    """At which the condition held last."""


@dataclass(frozen=True)
class RuleState:
    """What is remembered of a rule, with what is needed to resolve its alerts when the rule has gone.

    seen
        Of fleets: the members, and the window end at which each was seen last.
    key_names
        What the labels of these members are called; None in states of a version that did not write it.
    """

    group: str
    rule: str
    labels: Mapping[str, str]
    label_names: tuple[str, ...]
    size: int
    instances: Mapping[Labels, Instance] = field(default_factory=dict)
    seen: Mapping[Labels, int] = field(default_factory=dict)
    key_names: tuple[str, ...] | None = None

    def members(self, names: tuple[str, ...]) -> Mapping[Labels, int]:
        """The members with their labels in the order of `names`; none if they have other labels, of another query.

        Where the names were not written, members that have as many labels are taken.
        """
        called = self.key_names
        if called is None:
            return {member: end for member, end in self.seen.items() if len(member) == len(names)}
        if called == names:
            return self.seen
        if sorted(called) != sorted(names):
            return {}
        places = [called.index(name) for name in names]
        return {tuple(member[place] for place in places): end for member, end in self.seen.items()}


@dataclass(frozen=True)
class State:
    """Everything that the judge remembers. `judged` is the newest window end that was judged.

    The empty state is that of a monitor that has not run yet.
    """

    batch: int | None = None
    judged: int | None = None
    rules: Mapping[str, RuleState] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All of it in JSON's types, in an order that depends on the content alone."""
        return {
            "version": _VERSION,
            "batch": self.batch,
            "judged": self.judged,
            "rules": {key: _told(self.rules[key]) for key in sorted(self.rules)},
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any] | None) -> "State":
        """Return the state of which `to_json` told; the empty one for None. Raises StateError for anything else."""
        if told is None:
            return cls()
        try:
            version = told["version"]
            if version == _VERSION:
                rules = {key: _rule_state(part) for key, part in told["rules"].items()}
                return cls(_number(told["batch"]), _number(told["judged"]), rules)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"this is no state of alerts: {error!r}; put it back from a copy, or remove it") from error
        raise StateError(f"the state of alerts is of version {version!r}, and this program reads version {_VERSION}")


def by_labels(labels: Labels) -> list[tuple[bool, str]]:
    """For sorting: nothing first, then by text."""
    return [(label is not None, label or "") for label in labels]


def _told(state: RuleState) -> dict[str, Any]:
    seen: dict[int, list[Labels]] = {}
    for member, end in state.seen.items():
        seen.setdefault(end, []).append(member)
    return {
        "group": state.group,
        "rule": state.rule,
        "labels": dict(state.labels),
        "label_names": list(state.label_names),
        "key_names": None if state.key_names is None else list(state.key_names),
        "size": state.size,
        "instances": [[list(labels), *state.instances[labels]] for labels in sorted(state.instances, key=by_labels)],
        "seen": [[end, [list(member) for member in sorted(seen[end], key=by_labels)]] for end in sorted(seen)],
    }


def _rule_state(told: Mapping[str, Any]) -> RuleState:
    instances = {
        tuple(labels): Instance(_end(since), _number(fired), _end(last))
        for labels, since, fired, last in told["instances"]
    }
    seen = {tuple(member): _end(end) for end, members in told["seen"] for member in members}
    return RuleState(
        told["group"],
        told["rule"],
        dict(told["labels"]),
        tuple(told["label_names"]),
        _end(told["size"]),
        instances,
        seen,
        None if (called := told.get("key_names")) is None else tuple(called),
    )


def _end(number: Any) -> int:
    if type(number) is not int:
        raise TypeError(f"{number!r} is no whole number")
    return number


def _number(number: Any) -> int | None:
    return None if number is None else _end(number)
