"""Evaluates the rules window by window, and follows the state of every alert: inactive, pending, firing, resolved.

The result depends only on the state before and the rows of a batch: a repeated batch gives the same state and the same
alerts with the same ids. The judge reads no clock and writes nothing.

Every rule is evaluated at each multiple of its queries' periods, in order. For a key without a row the condition does
not hold.

=========  =========================================================================================
inactive   condition holds: pending; firing at once if `for` is 0
pending    has held for `for`: firing; does not hold: inactive
firing     has not held for `keep_firing_for`: resolved (at once if that is 0), and inactive again
=========  =========================================================================================
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aomg.durations import duration_text
from aomg.errors import AomgError
from aomg.monitor.alert import Alert, Certainty, Transition, alert_id
from aomg.monitor.alerts.state import Instance, RuleState, State, by_labels
from aomg.monitor.config.model import QueryConfig
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.alert import Rule
from aomg.monitor.rules.intervals import CERTAIN, POSSIBLE
from aomg.monitor.rules.rows import Labels, WindowRows
from aomg.monitor.rules.target import Headroom, Target
from aomg.monitor.rules.verdicts import Evidence, Verdict
from aomg.times import time_text

Windows = Mapping[str, WindowRows]
"""The rows of one window end, by query."""


class OrderError(AomgError, RuntimeError):
    """Windows or batches that were evaluated before, or are out of order. Nothing was evaluated."""


@dataclass(frozen=True)
class Active:
    """An alert that is pending or firing."""

    rule: str
    group: str
    labels: Mapping[str, str | None]
    firing: bool
    since: int
    fired: int | None


class Judge:
    """Evaluates the rules of a configuration. It has no state: `step` takes one and returns the next."""

    def __init__(self, rules: Sequence[Rule | Target], queries: Mapping[str, QueryConfig]) -> None:
        self.rules = [rule for rule in rules if isinstance(rule, Rule)]
        self.targets = [rule for rule in rules if isinstance(rule, Target)]
        self.queries = queries
        keys = [rule.key for rule in self.rules]
        duplicates = [rule for index, rule in enumerate(self.rules) if rule.key in keys[:index]]
        if duplicates:
            first = duplicates[0]
            raise ConfigError(f"group {first.group} has two rules {first.name} with the same labels; rename one")

    def step(self, state: State, rows: Mapping[str, Sequence[WindowRows]], batch: int) -> tuple[State, list[Alert]]:
        """Evaluate a batch: all its window ends after the last evaluated one, and those between without rows.

        Returns the state after it, and the transitions, in the order of their ends. Raises OrderError if the batch or
        one of its windows was already evaluated. Takes some array operations for each rule and window end, and some
        microseconds for each alert that is pending or firing.
        """
        if state.batch is not None and batch <= state.batch:
            raise OrderError(f"batch {batch} follows batch {state.batch}; start from an earlier state")
        windows = self._by_end(state, rows)
        if not windows:
            return replace(state, batch=batch), []
        alerts = self._removed(state, min(windows), batch)
        after: dict[str, RuleState] = {}
        for rule in self.rules:
            run = _Run(rule, state.rules.get(rule.key), batch)
            run.judge(windows, min(windows) if state.judged is None else state.judged + 1)
            if run.live:
                after[rule.key] = run.state()
            alerts += run.alerts
        places = {rule.key: index for index, rule in enumerate(self.rules)}
        alerts.sort(key=lambda change: (change[0].end, places.get(change[1], -1), by_labels(change[2])))
        return State(batch, max(windows), after), [alert for alert, _, _ in alerts]

    def headrooms(self, rows: Mapping[str, Sequence[WindowRows]]) -> list[Headroom]:
        """Return the headroom of every target, at each of its window ends in a batch."""
        return [room for target in self.targets for room in target.headrooms(rows)]

    def active(self, state: State) -> list[Active]:
        """Return the alerts that are pending or firing, in the order of rules and labels."""
        return [
            Active(
                rule.name,
                rule.group,
                _named(rule.label_names, labels, rule.labels),
                fired is not None,
                since,
                fired,
            )
            for rule, labels, since, fired in self._instances(state)
        ]

    def firing(self, state: State) -> list[Alert]:
        """Return the firing alerts, each as it fired, with the same id but without the quantities of that window."""
        return [
            _as_fired(rule, labels, since, fired, state.batch or 0)
            for rule, labels, since, fired in self._instances(state)
            if fired is not None
        ]

    def _instances(self, state: State) -> Iterator[tuple[Rule, Labels, int, int | None]]:
        """The alerts that are pending or firing, since when, and when they fired: in the order of rules and labels."""
        for rule in self.rules:
            instances = state.rules[rule.key].instances if rule.key in state.rules else {}
            for labels in sorted(instances, key=by_labels):
                since, fired, _ = instances[labels]
                yield rule, labels, since, fired

    def _by_end(self, state: State, rows: Mapping[str, Sequence[WindowRows]]) -> dict[int, dict[str, WindowRows]]:
        by_end: dict[int, dict[str, WindowRows]] = {}
        for query, windows in rows.items():
            if query not in self.queries:
                raise OrderError(f"there are rows of {query!r}, which no rule uses")
            period = self.queries[query].query.period
            for window in windows:
                if state.judged is not None and window.end <= state.judged:
                    raise OrderError(
                        f"a window of {query} ends at {time_text(window.end)}; "
                        f"{time_text(state.judged)} was already evaluated"
                    )
                if window.end % period:
                    raise OrderError(
                        f"a window of {query} ends at {time_text(window.end)}, "
                        f"which is not a multiple of its period {duration_text(period)}"
                    )
                if query in by_end.setdefault(window.end, {}):
                    raise OrderError(f"two windows of {query} end at {time_text(window.end)}; join their rows")
                by_end[window.end][query] = window
        return by_end

    def _removed(self, state: State, end: int, batch: int) -> list["_Change"]:
        """Resolve the alerts of rules that are no longer configured."""
        known = {rule.key for rule in self.rules}
        changes: list[_Change] = []
        for key, part in state.rules.items():
            for labels, was in part.instances.items() if key not in known else ():
                named = _named(part.label_names, labels, part.labels)
                transition: Transition = "inactive" if was.fired is None else "resolved"
                alert = Alert(
                    id=alert_id(part.group, part.rule, named, transition, end),
                    rule=part.rule,
                    group=part.group,
                    transition=transition,
                    labels=named,
                    annotations={"summary": "the rule was removed"},
                    start=end - part.size,
                    end=end,
                    certainty="no data",
                    quantities={},
                    count=None,
                    started=was.since,
                    fired=was.fired,
                    batch=batch,
                )
                changes.append((alert, key, labels))
        return changes


_Change = tuple[Alert, str, Labels]
"""A transition, the key of its rule, and the labels of its key."""


class _Run:
    """Evaluates one rule on a batch."""

    def __init__(self, rule: Rule, before: RuleState | None, batch: int) -> None:
        self.rule = rule
        self.batch = batch
        self.instances = dict(before.instances) if before else {}
        self.last_seen = before.members(rule.key_names) if before and rule.remembers else {}
        self.alerts: list[_Change] = []

    @property
    def live(self) -> bool:
        """Whether there is any state; if not, ends without rows need not be evaluated."""
        return bool(self.instances or self.last_seen)

    def state(self) -> RuleState:
        """The state after what was evaluated so far."""
        rule = self.rule
        return RuleState(
            rule.group,
            rule.name,
            rule.labels,
            rule.label_names,
            rule.size,
            self.instances,
            dict(self.last_seen),
            rule.key_names,
        )

    def judge(self, windows: Mapping[int, Windows], first: int) -> None:
        """Evaluate every multiple of the period from `first` to the newest window end, with rows or without."""
        period, newest = self.rule.period, max(windows)
        with_rows = sorted(end for end, part in windows.items() if end % period == 0 and part.keys() & self.rule.orders)
        end = -(-first // period) * period
        while end <= newest:
            if not self.live:
                index = bisect_left(with_rows, end)
                if index == len(with_rows):
                    return
                end = with_rows[index]
            self._judge(end, windows.get(end, {}))
            end += period

    def _judge(self, end: int, windows: Windows) -> None:
        rule, instances = self.rule, self.instances
        verdict = rule.judge(end, rule.joined(windows), self.last_seen)
        self.last_seen = verdict.last_seen
        holds = verdict.holds[CERTAIN if rule.when == "certain" else POSSIBLE]
        true = {verdict.labels[row]: row for row in np.flatnonzero(holds).tolist()}
        for labels, row in true.items():
            was = instances.get(labels)
            since = end if was is None else was.since
            fired = None if was is None else was.fired
            fires_now = fired is None and end - since >= rule.for_
            instances[labels] = Instance(since, end if fires_now else fired, end)
            if fires_now or was is None:
                self._add("firing" if fires_now else "pending", labels, instances[labels], verdict, row, end)
        for labels in [labels for labels in instances if labels not in true]:
            was = instances[labels]
            if was.fired is None or end - was.last_true >= rule.keep_firing_for:
                del instances[labels]
                transition: Transition = "inactive" if was.fired is None else "resolved"
                self._add(transition, labels, was, verdict, verdict.row_of(labels), end)

    def _add(
        self, transition: Transition, labels: Labels, instance: Instance, verdict: Verdict, row: int | None, end: int
    ) -> None:
        rule = self.rule
        evidence = Evidence() if row is None else verdict.evidence(row)
        named = _named(rule.label_names, labels, rule.labels)
        annotations: dict[str, str] = {}
        alert = Alert(
            id=alert_id(rule.group, rule.name, named, transition, end),
            rule=rule.name,
            group=rule.group,
            transition=transition,
            labels=named,
            annotations=annotations,
            start=end - rule.size,
            end=end,
            certainty=_certainty(verdict, row),
            quantities=evidence.quantities,
            count=evidence.count,
            started=instance.since,
            fired=instance.fired,
            batch=self.batch,
            fleet=evidence.fleet,
            units={name: unit for name, unit in rule.units.items() if name in evidence.quantities},
        )
        annotations |= rule.annotations_of(alert, evidence)  # last: they may use all the other fields
        self.alerts.append((alert, rule.key, labels))


def firing_ids(state: State) -> set[str]:
    """The ids of the firing alerts of a state, as `Judge.firing` returns them, without a configuration."""
    return {
        alert_id(part.group, part.rule, _named(part.label_names, labels, part.labels), "firing", instance.fired)
        for part in state.rules.values()
        for labels, instance in part.instances.items()
        if instance.fired is not None
    }


def _as_fired(rule: Rule, labels: Labels, since: int, fired: int, batch: int) -> Alert:
    named = _named(rule.label_names, labels, rule.labels)
    annotations: dict[str, str] = {}
    alert = Alert(
        id=alert_id(rule.group, rule.name, named, "firing", fired),
        rule=rule.name,
        group=rule.group,
        transition="firing",
        labels=named,
        annotations=annotations,
        start=fired - rule.size,
        end=fired,
        certainty="no data",
        quantities={},
        count=None,
        started=since,
        fired=fired,
        batch=batch,
    )
    annotations |= rule.annotations_of(alert, Evidence())
    return alert


def _certainty(verdict: Verdict, row: int | None) -> Certainty:
    if row is None or not verdict.has_data[row]:
        return "no data"
    if verdict.holds[CERTAIN, row]:
        return "certain"
    return "possible" if verdict.holds[POSSIBLE, row] else "no"


def _named(names: Sequence[str], labels: Labels, fixed: Mapping[str, str]) -> dict[str, str | None]:
    """The labels of an alert: those of its key and those of its rule."""
    return {**dict(zip(names, labels, strict=True)), **fixed}
