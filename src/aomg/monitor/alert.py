"""What is told when an alert changes its state: one record, equal however often it is made."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from aomg.errors import StateError
from aomg.times import time_of, time_text

Transition = Literal["pending", "firing", "resolved", "inactive"]
Certainty = Literal["certain", "possible", "no", "no data"]
"""How the condition holds at this window end; "no data" where there was no row to judge."""

NOTIFIED = ("firing", "resolved")
"""The transitions that receivers are told of."""


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_text = json.encoder.encode_basestring_ascii


@dataclass(frozen=True)
class FleetReport:
    """Who violates: how many members of how many, and the first of them by name."""

    violating: int
    total: int
    members: tuple[str, ...]
    silent: int = 0
    suspect: str | None = None


@dataclass(frozen=True)
class Alert:
    """One transition of one alert. Times are microseconds, in UTC.

    id
        32 hexadecimal digits, from group, rule, labels, transition and window end alone.
    labels
        Of the key and of the rule. None where the key is null.
    start, end
        The window at whose end the transition was seen; for rules on several queries, the longest.
    quantities
        Low, value, high of everything that the condition reads ("inbound.p99"); of a fleet its "share" of violating
        members. Empty where there are no data.
    count
        Events in the window: of several queries' rows the fewest, of a fleet all members together; None without data.
    started, fired
        The window ends at which the condition came to hold, and at which the alert fired, if it has.
    """

    id: str
    rule: str
    group: str
    transition: Transition
    labels: Mapping[str, str | None]
    annotations: Mapping[str, str]
    start: int
    end: int
    certainty: Certainty
    quantities: Mapping[str, tuple[float, float, float]]
    count: int | None
    started: int
    fired: int | None
    batch: int
    fleet: FleetReport | None = None
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def notified(self) -> bool:
        """Whether receivers are told: of firing and resolved, not of pending and what went away before it fired."""
        return self.transition in NOTIFIED

    def to_json(self) -> dict[str, Any]:
        """All of it in JSON's own types: times as text, null for a bound that is not known. Some microseconds."""
        told: dict[str, Any] = {
            "id": self.id,
            "rule": self.rule,
            "group": self.group,
            "transition": self.transition,
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
            "start": time_text(self.start),
            "end": time_text(self.end),
            "certainty": self.certainty,
            "quantities": {
                name: [float(part) if math.isfinite(part) else None for part in parts]
                for name, parts in self.quantities.items()
            },
            "count": None if self.count is None else int(self.count),
            "started": time_text(self.started),
            "fired": None if self.fired is None else time_text(self.fired),
            "batch": int(self.batch),
        }
        if self.fleet is not None:
            told["fleet"] = {
                "violating": int(self.fleet.violating),
                "total": int(self.fleet.total),
                "members": list(self.fleet.members),
                "silent": int(self.fleet.silent),
                "suspect": self.fleet.suspect,
            }
        told["units"] = dict(self.units)
        return told

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "Alert":
        """Return the alert of which `to_json` told. Raises StateError for anything else."""
        try:
            parts = dict(told)
            for name in ("start", "end", "started", "fired"):
                parts[name] = None if parts[name] is None else time_of(parts[name])
            parts["quantities"] = {name: _bounds(*three) for name, three in parts["quantities"].items()}
            if (fleet := parts.get("fleet")) is not None:
                parts["fleet"] = FleetReport(**{**fleet, "members": tuple(fleet["members"])})
            return cls(**parts)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"this is no alert of this version: {error}") from error

    def for_alertmanager(self, ends: int | None = None) -> dict[str, Any]:
        """What Alertmanager's POST /api/v2/alerts takes: labels, annotations, startsAt and endsAt.

        A resolved alert ends at its window's end. One that fires has no end, and Alertmanager takes it as resolved
        some minutes (resolve_timeout) after it last heard of it: tell it again, or give `ends`, in microseconds.
        `ends` also serves where event times are not those of the clock. Names that Alertmanager would refuse are
        written with _, and labels without a value left out.
        """
        last = ends if ends is not None else self.end if self.transition == "resolved" else None
        first = self.fired if self.fired is not None else self.started
        labels = {"alertname": self.rule, "alertgroup": self.group, **self.labels}
        told: dict[str, Any] = {
            "labels": {_plain(name): value for name, value in labels.items() if value},
            "annotations": {_plain(name): text for name, text in self.annotations.items()},
            "startsAt": time_text(first if last is None else min(first, last)),
        }
        if last is not None:
            told["endsAt"] = time_text(last)
        return told


def alert_id(group: str, rule: str, labels: Mapping[str, str | None], transition: str, end: int) -> str:
    """The same in every process for the same transition, and another for every other."""
    # what `canonical` makes of [group, rule, labels, transition, end], in a fifth of the time
    named = ",".join(f"{_text(name)}:{_text_or_null(labels[name])}" for name in sorted(labels))
    told = f"[{_text(group)},{_text(rule)},{{{named}}},{_text(transition)},{end}]"
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


def _text_or_null(text: str | None) -> str:
    return "null" if text is None else _text(text)


def canonical(told: Any) -> str:
    """JSON that is the same for the same content: keys sorted, no spaces, ASCII."""
    return _ENCODER.encode(told)


def _bounds(low: float | None, value: float | None, high: float | None) -> tuple[float, float, float]:
    return (
        -math.inf if low is None else float(low),
        math.nan if value is None else float(value),
        math.inf if high is None else float(high),
    )


def _plain(name: str) -> str:
    plain = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    return f"_{plain}" if plain[:1].isdigit() or not plain else plain
