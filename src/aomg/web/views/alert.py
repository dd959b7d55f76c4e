"""Formats an alert as a JSON object of /api/alerts: state, times, values, reason, and a link to its key."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aomg.monitor.alert import Alert, alert_id
from aomg.monitor.alerts.state import Instance
from aomg.times import time_text
from aomg.web.views.decimals import rounded_interval
from aomg.web.views.limits import KnownRule
from aomg.web.views.reasons import active_reason, ended_reason, state_only_reason

AlertIdentity = tuple[str, str, tuple[tuple[str, str | None], ...]]
"""Group, rule and labels: they identify an alert, however often it starts and ends."""
_MEASURED = ("annotations", "certainty", "quantities", "units", "count", "fleet")


class FormattedAlert(NamedTuple):
    """The JSON object, the time to sort it by, and the text to search."""

    json: dict[str, Any]
    time: int
    text: str


@dataclass
class AlertFormatter:
    """Formats alerts. `rules` are by group and name, `names` are the label names of each query."""

    rules: Mapping[tuple[str, str], KnownRule] = field(default_factory=dict)
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def active(
        self, identity: AlertIdentity, now: Instance, why: Alert, transitions: Iterable[Alert], until: int
    ) -> FormattedAlert:
        """Format a pending or firing alert; `why` is the line with its values, `until` the newest evaluated window."""
        reason = active_reason(why, self.rules.get(identity[:2]), now.fired is not None)
        state = "pending" if now.fired is None else "firing"
        return self._format(identity, state, now.since, now.fired, None, until, why, reason, transitions)

    def ended(
        self, identity: AlertIdentity, started: int, why: Alert, ending: Alert | None, transitions: Iterable[Alert]
    ) -> FormattedAlert:
        """Format an alert that ended: resolved if it fired, else inactive. Without an `ending` the time is unknown."""
        reason, fired = ended_reason(why, ending, self.rules.get(identity[:2])), (ending or why).fired
        state, until = "inactive" if fired is None else "resolved", None if ending is None else ending.end
        return self._format(identity, state, started, fired, ending, until, why, reason, transitions)

    def state_only(self, identity: AlertIdentity, now: Instance, size: int, until: int) -> FormattedAlert:
        """Format a pending or firing alert without lines, from the state alone; `size` is its windows' size."""
        group, name, labels = identity
        rule = self.rules.get((group, name))
        state = "pending" if now.fired is None else "firing"
        fields = _head(identity, state, now.last_true - size, now.last_true, now.since, now.fired, None, until)
        fields |= {"annotations": {}, "certainty": None, "quantities": {}, "units": {}, "count": None, "fleet": None}
        queries = rule.queries if rule is not None else ()
        fields |= {"reason": state_only_reason(rule), "queries": list(queries), "quantities_at_end": {}}
        fields |= {"condition": None if rule is None else rule.condition}
        fields |= {"link": self._link(queries, dict(labels), now.last_true), "transitions": []}
        return FormattedAlert(fields, now.fired or now.since, _text(fields))

    def _format(
        self,
        identity: AlertIdentity,
        state: str,
        started: int,
        fired: int | None,
        ending: Alert | None,
        until: int | None,
        why: Alert,
        reason: str,
        transitions: Iterable[Alert],
    ) -> FormattedAlert:
        resolved = None if ending is None else ending.end
        fields = _head(identity, state, why.start, why.end, started, fired, resolved, until)
        line = why.to_json()
        fields |= {name: line.get(name) for name in _MEASURED} | {"reason": reason}
        fields["quantities"] = _rounded(why)
        fields["quantities_at_end"] = {} if ending is None or ending is why else _rounded(ending)
        rule = self.rules.get(identity[:2])
        names = dict.fromkeys(name.partition(".")[0] for name in why.quantities if "." in name)
        queries = tuple(names) or (rule.queries if rule is not None else ())
        fields["condition"] = None if rule is None else rule.condition
        fields |= {"queries": list(queries), "link": self._link(queries, why.labels, why.end)}
        fields["transitions"] = [
            {"transition": transition.transition, "end": time_text(transition.end), "certainty": transition.certainty}
            for transition in sorted(transitions, key=lambda transition: transition.end)
        ]
        return FormattedAlert(fields, resolved or fired or started, _text(fields))

    def _link(self, queries: Sequence[str], labels: Mapping[str, str | None], end: int) -> dict[str, Any] | None:
        """Return the key of the first query; None where the alert is not on one key, such as a fleet's."""
        names = self.names.get(queries[0]) if queries else None
        if names is None or any(name not in labels for name in names):
            return None
        return {"query": queries[0], "key": {name: labels[name] for name in names}, "at": time_text(end)}


def _head(
    identity: AlertIdentity,
    state: str,
    start: int,
    end: int,
    started: int,
    fired: int | None,
    resolved: int | None,
    until: int | None,
) -> dict[str, Any]:
    group, rule, labels = identity
    since = started if fired is None else fired
    return {
        "id": alert_id(group, rule, dict(labels), "started", started),
        "rule": rule,
        "group": group,
        "state": state,
        "labels": dict(labels),
        "start": time_text(start),
        "end": time_text(end),
        "started": time_text(started),
        "fired": None if fired is None else time_text(fired),
        "resolved": None if resolved is None else time_text(resolved),
        "seconds": None if until is None else max(until - since, 0) / 1e6,
    }


def _rounded(alert: Alert) -> dict[str, list[float | None]]:
    """Return low, value and high of each quantity with seven digits: low rounded down and high up."""
    return {name: rounded_interval(*bounds) for name, bounds in alert.quantities.items()}


def _text(fields: Mapping[str, Any]) -> str:
    labels = (f"{name}={value}" for name, value in fields["labels"].items())
    texts = (fields["rule"], fields["group"], *labels, *fields["annotations"].values(), fields["reason"])
    return "\n".join(texts).casefold()
