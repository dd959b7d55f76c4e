"""Follows the alerts of a monitor: what is pending or fires now, and what is over.

The lines of `alerts.jsonl` tell what was seen at each transition. What is active now is told by the newest of the
states that the monitor keeps (`state/alerts`), where there is one: a line that was lost changes nothing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aomg.errors import AomgError
from aomg.monitor.alert import Alert
from aomg.monitor.alerts.state import Instance, State
from aomg.monitor.alerts.state_files import StateFiles
from aomg.monitor.config.model import Config
from aomg.web.follow.lines import Appended
from aomg.web.views.alert import AlertObjects, Shown, Whose
from aomg.web.views.alerts import STATES, Alerts
from aomg.web.views.limits import KnownRule, known_rules

_NEWEST = 1 << 62
_TRANSITIONS = ("pending", "firing", "resolved", "inactive")


@dataclass(eq=False)
class _Episode:
    """One time that an alert came, and perhaps went, as the lines tell."""

    cause: Alert | None = None
    ending: Alert | None = None
    stream: str | None = None
    batch: int = -1
    transitions: dict[str, Alert] = field(default_factory=dict)
    shown: Shown | None = None
    """As it is shown when it is over: then it changes no more."""

    def take(self, alert: Alert, stream: str | None) -> None:
        if alert.transition in ("resolved", "inactive"):
            self.ending = alert
        elif alert.transition == "firing" or self.cause is None:
            self.cause = alert
        self.transitions[alert.transition] = alert
        self.stream, self.batch, self.shown = stream, alert.batch, None

    @property
    def why(self) -> Alert:
        """The line that tells most of what was seen while it was active."""
        told = self.cause or self.ending
        assert told is not None
        return told


class AlertLog:
    """Alerts from a file of JSON lines and a state folder; either may be None, or not there yet.

    most
        So many alerts are remembered; of more, those that are over go first, the oldest first. Those that the state
        says are active are all shown.
    rules
        What the configuration says of each rule, by group and name (`known_rules`); for the reasons.
    names
        The label names of each query; for the links to keys.

    `step` and `name_labels` are for one thread, and cost little while nothing changes; all the rest is for any.
    """

    def __init__(
        self,
        alerts_file: Path | None,
        state_folder: Path | None,
        most: int = 10_000,
        rules: Mapping[tuple[str, str], KnownRule] | None = None,
        names: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._lines = Appended(alerts_file) if alerts_file is not None else None
        self._state_folder = state_folder
        self._most = most
        self._objects = AlertObjects(rules or {}, dict(names or {}))
        self._episodes: dict[tuple[Whose, int], _Episode] = {}
        self._damaged = 0
        self._stream: str | None = None
        self._state: State | None = None
        self._state_file: tuple[str, int, int] | None = None
        self._changed = False  # something was read, or named, that is not shown yet
        self._shown = Alerts()
        self.problem: str | None = None
        """What cannot be read, and what to do; None while all is well."""

    @classmethod
    def of(cls, config: Config) -> "AlertLog":
        """The log of a configuration's alerts."""
        file = next((sink.path for sink in config.sinks.alerts if sink.kind == "jsonl"), None)
        names = {name: query.labels for name, query in config.queries.items()}
        return cls(file, config.state, rules=known_rules(config), names=names)

    @property
    def known(self) -> bool:
        """Whether there is anything to know alerts from."""
        return self._lines is not None or self._state_folder is not None

    def name_labels(self, names: Mapping[str, Sequence[str]]) -> None:
        """Say how the labels are called of queries that were not known before."""
        new = {query: tuple(labels) for query, labels in names.items() if query not in self._objects.names}
        if new:
            self._objects = AlertObjects(self._objects.rules, {**self._objects.names, **new})
            self._changed = True
            for episode in self._episodes.values():
                episode.shown = None

    def step(self) -> bool:
        """Read what is new; True if alerts changed. What cannot be read is said in `problem`, and tried again."""
        self.problem = None
        for read in (self._read_lines, self._read_state):
            self._changed |= read()
        if not self._changed:
            return False
        self._prune()
        self._shown = self._made()
        self._changed = False
        return True

    def snapshot(self) -> Alerts:
        """All alerts at this moment."""
        return self._shown

    def alerts(self) -> tuple[dict[str, Any], ...]:
        """The objects of /api/alerts: what fires, what is pending, what is over; the newest first in each."""
        return self._shown.all

    def active(self) -> tuple[dict[str, Any], ...]:
        """Those that fire or are pending."""
        return self._shown.active

    @property
    def counts(self) -> dict[str, int]:
        """How many fire, are pending, are over."""
        return self._shown.counts

    def _read_lines(self) -> bool:
        if self._lines is None:
            return False
        try:
            again, lines = self._lines.read()
        except OSError as error:
            self.problem = f"{self._lines.file} cannot be read ({error.strerror}); look at its permissions"
            return False
        if again:
            self._episodes, self._damaged = {}, 0
        for line in lines:
            if not self._took(line):
                self._damaged += bool(line.strip())
        return again or bool(lines)

    def _took(self, line: bytes) -> bool:
        """Take a line; False if it is none of an alert."""
        try:
            told = json.loads(line)
            stream = told.pop("stream", None)
            alert = Alert.from_json(told)
            whose = (alert.group, alert.rule, tuple(sorted(alert.labels.items())))
            texts = [alert.group, alert.rule, *alert.labels, *alert.annotations, *alert.annotations.values()]
            numbers = [alert.batch, alert.start, alert.end, alert.started]
        except Exception:  # whatever is wrong with a line: those after it are read all the same
            return False
        sound = all(isinstance(text, str) for text in texts) and all(isinstance(number, int) for number in numbers)
        if not sound or alert.transition not in _TRANSITIONS:
            return False
        episode = self._episodes.pop((whose, alert.started), None) or _Episode()
        episode.take(alert, stream)
        self._episodes[whose, alert.started] = episode  # the one that was told of last is last
        return True

    def _read_state(self) -> bool:
        """Take the newest state; True if it may change what is shown."""
        if self._state_folder is None:
            return False
        folder = self._state_folder / "alerts"
        before = self._state
        try:
            newest = max((path for path in folder.glob("*.json") if path.stem.isdecimal()), key=_number, default=None)
            told = newest.stat() if newest is not None else None
            seen = None if newest is None or told is None else (newest.name, told.st_ino, told.st_mtime_ns)
            if seen == self._state_file:
                return False
            loaded = StateFiles(folder).load_below(_NEWEST)
            self._state = None if loaded is None else State.from_json(loaded)
            mark = self._state_folder / "stream"
            self._stream = mark.read_text("utf-8", "replace").strip() if mark.exists() else None
        except FileNotFoundError:
            return False  # a newer one is there by now: next time
        except (OSError, AomgError) as error:
            self.problem = str(error)
            return False
        self._state_file = seen
        open_ended = any(episode.ending is None for episode in self._episodes.values())
        return before is None or open_ended or bool(_active(before)) or bool(_active(self._state))

    def _prune(self) -> None:
        """Forget what is over, then what is oldest, beyond what may be remembered."""
        for only_ended in (True, False):
            surplus = len(self._episodes) - self._most
            for key in list(self._episodes) if surplus > 0 else ():
                if surplus > 0 and (self._episodes[key].ending is not None or not only_ended):
                    del self._episodes[key]
                    surplus -= 1

    def _made(self) -> Alerts:
        """Everything as it is shown."""
        active = _active(self._state)
        bare = dict(active)
        found = []
        for (whose, started), episode in self._episodes.items():
            now = self._now(whose, started, episode, active)
            transitions = episode.transitions.values()
            if now is not None:
                bare.pop(whose, None)
                found.append(self._objects.active(whose, now, episode.why, transitions))
                continue
            if episode.shown is None:
                episode.shown = self._objects.ended(whose, started, episode.why, episode.ending, transitions)
            found.append(episode.shown)
        found += [self._objects.bare(whose, now, size) for whose, (now, size) in bare.items()]
        found.sort(key=lambda shown: (STATES.index(shown.told["state"]), -shown.time))
        return Alerts(tuple(one.told for one in found), tuple(one.text for one in found), self._damaged)

    def _now(
        self, whose: Whose, started: int, episode: _Episode, active: Mapping[Whose, tuple[Instance, int]]
    ) -> Instance | None:
        """How the alert stands if it is active: as the state says, unless the lines are newer or all there is."""
        state = self._state
        ours = self._stream is None or episode.stream is None or episode.stream == self._stream
        if state is not None and not ours:
            return None
        if state is None or state.batch is None or episode.batch > state.batch:
            return None if episode.ending is not None else Instance(started, episode.why.fired, episode.why.end)
        now, _ = active.get(whose, (None, 0))
        return now if now is not None and now.since == started else None


def _active(state: State | None) -> dict[Whose, tuple[Instance, int]]:
    """What a state says is active, and the size of its windows."""
    found: dict[Whose, tuple[Instance, int]] = {}
    for rule in state.rules.values() if state is not None else ():
        for labels, instance in rule.instances.items():
            named = {**dict(zip(rule.label_names, labels, strict=True)), **rule.labels}
            found[rule.group, rule.rule, tuple(sorted(named.items()))] = (instance, rule.size)
    return found


def _number(path: Path) -> int:
    return int(path.stem)
