"""An alert as a JSON object of /api/alerts: its state and times, what was seen, why, and where to look."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aomg.monitor.alert import Alert, alert_id
from aomg.monitor.alerts.state import Instance
from aomg.times import time_text
from aomg.web.views.limits import KnownRule
from aomg.web.views.reasons import active_reason, bare_reason, ended_reason

Whose = tuple[str, str, tuple[tuple[str, str | None], ...]]
"""Group, rule and labels: what an alert is told by, however often it comes and goes."""
_SEEN = ("annotations", "certainty", "quantities", "units", "count", "fleet")


class Shown(NamedTuple):
    """The object, the time to sort it by, and what a search looks in."""

    told: dict[str, Any]
    time: int
    text: str


@dataclass
class AlertObjects:
    """Makes the objects. `rules` are by group and name, `names` are the label names of each query."""

    rules: Mapping[tuple[str, str], KnownRule] = field(default_factory=dict)
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def active(self, whose: Whose, now: Instance, why: Alert, transitions: Iterable[Alert]) -> Shown:
        """An alert that is pending or fires; `why` is the line that tells what was seen."""
        reason = active_reason(why, self.rules.get(whose[:2]), now.last_true - now.since, now.fired is not None)
        return self._shown(whose, now.since, now.fired, None, why, reason, transitions, "pending")

    def ended(
        self, whose: Whose, started: int, why: Alert, ending: Alert | None, transitions: Iterable[Alert]
    ) -> Shown:
        """An alert that is over; without an `ending` nobody told when."""
        reason = ended_reason(why, ending, self.rules.get(whose[:2]))
        return self._shown(whose, started, (ending or why).fired, ending, why, reason, transitions, "resolved")

    def bare(self, whose: Whose, now: Instance, size: int) -> Shown:
        """An alert that is pending or fires, of which only the state is known; its windows have this size."""
        group, name, labels = whose
        rule = self.rules.get((group, name))
        told = _head(whose, _state(now.fired), now.last_true - size, now.last_true, now.since, now.fired, None)
        told |= {"annotations": {}, "certainty": None, "quantities": {}, "units": {}, "count": None, "fleet": None}
        queries = rule.queries if rule is not None else ()
        told |= {"reason": bare_reason(rule, now.last_true - now.since), "queries": list(queries)}
        told |= {"link": self._link(queries, dict(labels), now.last_true), "transitions": []}
        return Shown(told, now.fired or now.since, _text(told))

    def _shown(
        self,
        whose: Whose,
        started: int,
        fired: int | None,
        ending: Alert | None,
        why: Alert,
        reason: str,
        transitions: Iterable[Alert],
        state: str,
    ) -> Shown:
        over = None if ending is None else ending.end
        state = state if state == "resolved" else _state(fired)
        told = _head(whose, state, why.start, why.end, started, fired, over)
        seen = why.to_json()
        told |= {name: seen.get(name) for name in _SEEN} | {"reason": reason}
        rule = self.rules.get(whose[:2])
        read = dict.fromkeys(name.partition(".")[0] for name in why.quantities if "." in name)
        queries = tuple(read) or (rule.queries if rule is not None else ())
        told |= {"queries": list(queries), "link": self._link(queries, why.labels, why.end)}
        told["transitions"] = [
            {"transition": one.transition, "end": time_text(one.end), "certainty": one.certainty}
            for one in sorted(transitions, key=lambda one: one.end)
        ]
        return Shown(told, over or fired or started, _text(told))

    def _link(self, queries: Sequence[str], labels: Mapping[str, str | None], end: int) -> dict[str, Any] | None:
        """The key of the first query; None where the alert is not of one key, as that of a fleet."""
        names = self.names.get(queries[0]) if queries else None
        if names is None or any(name not in labels for name in names):
            return None
        return {"query": queries[0], "key": {name: labels[name] for name in names}, "at": time_text(end)}


def _head(
    whose: Whose, state: str, start: int, end: int, started: int, fired: int | None, resolved: int | None
) -> dict[str, Any]:
    group, rule, labels = whose
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
    }


def _state(fired: int | None) -> str:
    return "pending" if fired is None else "firing"


def _text(told: Mapping[str, Any]) -> str:
    labels = (f"{name}={value}" for name, value in told["labels"].items())
    return "\n".join((told["rule"], told["group"], *labels, *told["annotations"].values(), told["reason"])).casefold()
