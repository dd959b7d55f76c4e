"""Defines an alert's change of state. The same change always gives the same JSON object, with the same id."""

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
"""Whether the condition holds at this window end; "no data" if there was no row."""

NOTIFIED = ("firing", "resolved")
"""The transitions that receivers get."""

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_text = json.encoder.encode_basestring_ascii


@dataclass(frozen=True)
class FleetReport:
    """The members of a fleet that violate: how many of how many, and the first by name."""

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
        The window at whose end the state changed; of rules on several queries, the longest.
    quantities
        Low, value, high of every quantity in the condition ("inbound.p99"); of a fleet its "share" of violating
        members. Empty without data.
    count
        Events in the window: the fewest of several queries, the total of a fleet; None without data.
    started, fired
        The window ends since which the condition holds, and at which the alert fired, if it has.
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

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object: times as text, null for an unknown bound. Takes some microseconds."""
        record: dict[str, Any] = {
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
            record["fleet"] = {
                "violating": int(self.fleet.violating),
                "total": int(self.fleet.total),
                "members": list(self.fleet.members),
                "silent": int(self.fleet.silent),
                "suspect": self.fleet.suspect,
            }
        record["units"] = dict(self.units)
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Alert":
        """Return the alert that `to_json` wrote. Raises StateError for anything else."""
        try:
            parts = dict(record)
            for name in ("start", "end", "started", "fired"):
                parts[name] = None if parts[name] is None else time_of(parts[name])
            parts["quantities"] = {name: _bounds(*three) for name, three in parts["quantities"].items()}
            if (fleet := parts.get("fleet")) is not None:
                parts["fleet"] = FleetReport(**{**fleet, "members": tuple(fleet["members"])})
            return cls(**parts)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"this is not an alert of this version: {error}") from error

    def for_alertmanager(self, ends: int | None = None) -> dict[str, Any]:
        """Return the body for Alertmanager's POST /api/v2/alerts: labels, annotations, startsAt and endsAt.

        A resolved alert ends at its window's end. A firing one has no end, and Alertmanager resolves it some minutes
        (resolve_timeout) after it was last sent: repeat it, or set `ends`, in microseconds. Set `ends` too if event
        time is not the clock's. Characters that Alertmanager refuses in names become _; labels without a value are
        left out.
        """
        last = ends if ends is not None else self.end if self.transition == "resolved" else None
        first = self.fired if self.fired is not None else self.started
        labels = {"alertname": self.rule, "alertgroup": self.group, **self.labels}
        body: dict[str, Any] = {
            "labels": {_plain(name): value for name, value in labels.items() if value},
            "annotations": {_plain(name): text for name, text in self.annotations.items()},
            "startsAt": time_text(first if last is None else min(first, last)),
        }
        if last is not None:
            body["endsAt"] = time_text(last)
        return body


def alert_id(group: str, rule: str, labels: Mapping[str, str | None], transition: str, end: int) -> str:
    """Return the id of a transition: the same in every process, and different for every other transition."""
    # the same text as canonical([group, rule, labels, transition, end]), in a fifth of the time
    pairs = ",".join(f"{_text(name)}:{_text_or_null(labels[name])}" for name in sorted(labels))
    content = f"[{_text(group)},{_text(rule)},{{{pairs}}},{_text(transition)},{end}]"
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def _text_or_null(text: str | None) -> str:
    return "null" if text is None else _text(text)


def canonical(content: Any) -> str:
    """Return JSON that is the same for the same content: sorted keys, no spaces, ASCII."""
    return _ENCODER.encode(content)


def _bounds(low: float | None, value: float | None, high: float | None) -> tuple[float, float, float]:
    return (
        -math.inf if low is None else float(low),
        math.nan if value is None else float(value),
        math.inf if high is None else float(high),
    )


def _plain(name: str) -> str:
    plain = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    return f"_{plain}" if plain[:1].isdigit() or not plain else plain
