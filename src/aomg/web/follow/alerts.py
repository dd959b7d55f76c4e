"""Follows the alerts of a monitor: firing, pending and resolved ones, and those that never fired.

The lines of `alerts.jsonl` have the values at each transition. The newest alert state in the monitor's journal, where
there is one, decides which alerts are active: a lost line changes nothing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aomg.errors import AomgError
from aomg.monitor.alert import Alert
from aomg.monitor.alerts.state import Instance, State
from aomg.monitor.config.model import Config
from aomg.monitor.journal.journal import FOLDER, newest_entry
from aomg.monitor.journal.stream import stored_stream
from aomg.web.follow.lines import LineReader
from aomg.web.views.alert import AlertFormatter, AlertIdentity, FormattedAlert
from aomg.web.views.alerts import STATES, Alerts
from aomg.web.views.limits import KnownRule, known_rules

_TRANSITIONS = ("pending", "firing", "resolved", "inactive")


@dataclass(eq=False)
class _Episode:
    """One alert from its start to its end, if it has ended, as its lines report it."""

    cause: Alert | None = None
    ending: Alert | None = None
    stream: str | None = None
    batch: int = -1
    transitions: dict[str, Alert] = field(default_factory=dict)
    formatted: FormattedAlert | None = None
    """Its JSON object once it is resolved: it does not change any more."""

    def take(self, alert: Alert, stream: str | None) -> None:
        if alert.transition in ("resolved", "inactive"):
            self.ending = alert
        elif alert.transition == "firing" or self.cause is None:
            self.cause = alert
        self.transitions[alert.transition] = alert
        self.stream, self.batch, self.formatted = stream, alert.batch, None

    @property
    def why(self) -> Alert:
        """The line with the values that made it active."""
        line = self.cause or self.ending
        assert line is not None
        return line


class AlertLog:
    """Alerts from a file of JSON lines and a state folder; either may be None, or not exist yet.

    most
        Maximum number of alerts in memory. Beyond it, resolved alerts are dropped first, oldest first. Alerts that are
        active in the state are never dropped.
    rules
        Conditions and limits of the configuration by group and name (`known_rules`); for the reasons.
    names
        The label names of each query; for the links to keys.

    Call `step` from one thread only; `snapshot` is safe from any.
    """

    def __init__(
        self,
        alerts_file: Path | None,
        state_folder: Path | None,
        most: int = 10_000,
        rules: Mapping[tuple[str, str], KnownRule] | None = None,
        names: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._lines = LineReader(alerts_file) if alerts_file is not None else None
        self._state_folder = state_folder
        self._most = most
        self._formatter = AlertFormatter(rules or {}, dict(names or {}))
        self._episodes: dict[tuple[AlertIdentity, int], _Episode] = {}
        self._damaged = 0
        self._stream: str | None = None
        self._state: State | None = None
        self._state_file: tuple[str, int, int] | None = None
        self._changed = False  # something was read that the snapshot does not have yet
        self._snapshot = Alerts()
        self.problem: str | None = None
        """What cannot be read, and what to do; None without a problem."""

    @classmethod
    def of(cls, config: Config) -> "AlertLog":
        """Return the log of a configuration's alerts."""
        file = next((sink.path for sink in config.sinks.alerts if sink.kind == "jsonl"), None)
        names = {name: query.labels for name, query in config.queries.items()}
        return cls(file, config.state, rules=known_rules(config), names=names)

    def step(self) -> bool:
        """Read new lines and states; True if alerts changed. On failure, sets `problem`; the next step retries."""
        self.problem = None
        for read in (self._read_lines, self._read_state):
            self._changed |= read()
        if not self._changed:
            return False
        self._prune()
        self._snapshot = self._collect()
        self._changed = False
        return True

    def snapshot(self) -> Alerts:
        """Return all alerts as of the last step."""
        return self._snapshot

    def _read_lines(self) -> bool:
        if self._lines is None:
            return False
        try:
            again, lines = self._lines.read()
        except OSError as error:
            self.problem = f"{self._lines.file} cannot be read ({error.strerror}); check its permissions"
            return False
        if again:
            self._episodes, self._damaged = {}, 0
        for line in lines:
            if not self._parse(line):
                self._damaged += bool(line.strip())
        return again or bool(lines)

    def _parse(self, line: bytes) -> bool:
        """Parse and store a line; False if it is not an alert."""
        try:
            fields = json.loads(line)
            stream = fields.pop("stream", None)
            alert = Alert.from_json(fields)
            identity = (alert.group, alert.rule, tuple(sorted(alert.labels.items())))
            texts = [alert.group, alert.rule, *alert.labels, *alert.annotations, *alert.annotations.values()]
            numbers = [alert.batch, alert.start, alert.end, alert.started]
        except Exception:  # a damaged line must not stop those after it
            return False
        is_valid = all(isinstance(text, str) for text in texts) and all(isinstance(number, int) for number in numbers)
        if not is_valid or alert.transition not in _TRANSITIONS:
            return False
        episode = self._episodes.pop((identity, alert.started), None) or _Episode()
        episode.take(alert, stream)
        self._episodes[identity, alert.started] = episode  # moved to the end: most recently reported
        return True

    def _read_state(self) -> bool:
        """Read the newest state; True if it may change the alerts."""
        if self._state_folder is None:
            return False
        before = self._state
        try:
            identity = _newest_file(self._state_folder)
            if identity == self._state_file:
                return False
            entry = newest_entry(self._state_folder)
            self._state = None if entry is None else State.from_json(entry.state)
            self._stream = stored_stream(self._state_folder)
        except FileNotFoundError:
            return False  # a newer one has replaced it: read that in the next step
        except (OSError, AomgError) as error:
            self.problem = str(error)
            return False
        self._state_file = identity
        open_ended = any(episode.ending is None for episode in self._episodes.values())
        return before is None or open_ended or bool(_active(before)) or bool(_active(self._state))

    def _prune(self) -> None:
        """Drop alerts beyond the maximum: resolved ones first, then the oldest."""
        for only_ended in (True, False):
            surplus = len(self._episodes) - self._most
            for key in list(self._episodes) if surplus > 0 else ():
                if surplus > 0 and (self._episodes[key].ending is not None or not only_ended):
                    del self._episodes[key]
                    surplus -= 1

    def _collect(self) -> Alerts:
        """Build the snapshot."""
        active = _active(self._state)
        judged = self._state.judged if self._state is not None else None
        unreported = dict(active)
        alerts = []
        for (identity, started), episode in self._episodes.items():
            now = self._now(identity, started, episode, active)
            transitions = episode.transitions.values()
            if now is not None:
                unreported.pop(identity, None)
                until = max(judged or now.last_true, now.last_true)
                alerts.append(self._formatter.active(identity, now, episode.why, transitions, until))
                continue
            if episode.formatted is None:
                episode.formatted = self._formatter.ended(identity, started, episode.why, episode.ending, transitions)
            alerts.append(episode.formatted)
        for identity, (now, size) in unreported.items():
            alerts.append(self._formatter.state_only(identity, now, size, max(judged or now.last_true, now.last_true)))
        alerts.sort(key=lambda alert: (STATES.index(alert.json["state"]), -alert.time))
        return Alerts(tuple(alert.json for alert in alerts), tuple(alert.text for alert in alerts), self._damaged)

    def _now(
        self,
        identity: AlertIdentity,
        started: int,
        episode: _Episode,
        active: Mapping[AlertIdentity, tuple[Instance, int]],
    ) -> Instance | None:
        """Return the alert's state if it is active: from the state files, unless lines are newer or the only source."""
        state = self._state
        ours = self._stream is None or episode.stream is None or episode.stream == self._stream
        if state is not None and not ours:
            return None
        if state is None or state.batch is None or episode.batch > state.batch:
            return None if episode.ending is not None else Instance(started, episode.why.fired, episode.why.end)
        now, _ = active.get(identity, (None, 0))
        return now if now is not None and now.since == started else None


def _active(state: State | None) -> dict[AlertIdentity, tuple[Instance, int]]:
    """Return the active alerts of a state, with the size of their windows."""
    active: dict[AlertIdentity, tuple[Instance, int]] = {}
    for rule in state.rules.values() if state is not None else ():
        for labels, instance in rule.instances.items():
            named = {**dict(zip(rule.label_names, labels, strict=True)), **rule.labels}
            active[rule.group, rule.rule, tuple(sorted(named.items()))] = (instance, rule.size)
    return active


def _newest_file(state_folder: Path) -> tuple[str, int, int] | None:
    """Identify the newest entry of the journal."""
    files = [path for path in (state_folder / FOLDER).glob("*.json") if path.stem.isdecimal()]
    if not files:
        return None
    newest = max(files, key=lambda path: int(path.stem))
    status = newest.stat()
    return str(newest), status.st_ino, status.st_mtime_ns
