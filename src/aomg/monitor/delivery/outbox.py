"""What is still to be told to whom, on disk: a file for each batch that has alerts, and how far each receiver is.

`0000000012.json` holds alerts in their order; a file for each receiver (queue_names.py says how it is called) tells
which of them comes next for it. A file of alerts goes when all receivers are past it, but for the last few: by them a
batch that is repeated after a crash is recognised, and nothing of it is told twice that is known to be delivered.
"""

import json
import logging
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aomg.errors import StateError
from aomg.monitor.atomic import SinkError, locked, put, reason
from aomg.monitor.delivery.queue_names import moved

_ENTRY = re.compile(r"(\d{10,})\.json")
_QUEUE = re.compile(r"([a-zA-Z].*?)(?<!\.firing)\.json")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """An alert, and its place in the order."""

    number: int
    index: int
    alert: dict[str, Any]


class Outbox:
    """A queue for each receiver over the same alerts; all of it survives the process.

    receivers
        Their names, and whether what is firing is remembered for them (see Receiver.repeat_every).
    most
        So many alerts may wait for a receiver; beyond, `put` drops the oldest.
    """

    def __init__(self, folder: Path, receivers: Mapping[str, bool], most: int = 10_000, keep: int = 20) -> None:
        self._folder = folder
        self._most = most
        self._keep = keep
        self._change = threading.RLock()
        self._open = ExitStack()
        self._open.enter_context(
            locked(folder / ".lock", f"another process uses {folder}; stop it, or give this one its own state folder")
        )
        try:
            self._load(receivers)
        except BaseException:
            self._open.close()
            raise

    def _load(self, receivers: Mapping[str, bool]) -> None:
        for old, new in moved(receivers, self._queues()).items():
            _LOG.warning("%s takes over what waited for %s", new, old)
            for name in (f"{old}.firing.json", f"{old}.json"):  # the place last: until then it is done again
                if (self._folder / name).exists():
                    (self._folder / name).replace(self._folder / name.replace(old, new, 1))
        found = (_ENTRY.fullmatch(path.name) for path in self._folder.iterdir())
        self._entries: dict[int, list[dict[str, Any]]] = {}
        for number in sorted(int(match[1]) for match in found if match):
            self._entries[number] = self._read(f"{number:010d}.json", list)
        self._next = max(self._entries, default=-1) + 1
        self._at: dict[str, tuple[int, int]] = {}
        self._firing: dict[str, dict[str, dict[str, Any]]] = {}
        for name, remembers in receivers.items():
            if (self._folder / f"{name}.json").exists():
                progress = self._read(f"{name}.json", dict)
                self._at[name] = (int(progress["number"]), int(progress["index"]))
                self._next = max(self._next, self._at[name][0])
            else:  # somebody new is not told of the past
                self._at[name] = (self._next, 0)
                self._save(name)
            if remembers:
                there = (self._folder / f"{name}.firing.json").exists()
                self._firing[name] = self._read(f"{name}.firing.json", dict) if there else {}
                number, index = self._at[name]
                for alert in self._entries.get(number, [])[:index]:
                    _follow(self._firing[name], alert)

    def remember(self, firing: Sequence[dict[str, Any]], judged: int | None) -> None:
        """Let all who are told again hear of what fires after batch `judged`, whether or not they were told of it.

        Alerts of later batches are here already if the process died before their state was written: they count, too,
        as their batch will be repeated and they are not taken again. What still waits for a receiver comes by itself.
        """
        with self._change:
            told = [alert for entry in self._entries.values() for alert in entry]
            known = {alert["id"]: alert for alert in told} | self._remembered()
            now: dict[str, dict[str, Any]] = {}
            for alert in firing:
                _follow(now, known.get(alert["id"], alert))  # what was told then says more
            for alert in told:
                if judged is None or alert.get("batch", -1) > judged:
                    _follow(now, alert)
            for name, mine in self._firing.items():
                will_be = dict(mine)
                for alert in self._from(self._at[name]):
                    _follow(will_be, alert)
                mine |= {key: alert for key, alert in now.items() if key not in will_be}

    def _remembered(self) -> dict[str, dict[str, Any]]:
        """Everything that fires as any receiver knows it, by its id; also those that are no longer there."""
        found = {alert["id"]: alert for firing in self._firing.values() for alert in firing.values()}
        for name in self._queues():
            if name not in self._at and (self._folder / f"{name}.firing.json").exists():
                found |= {alert["id"]: alert for alert in self._read(f"{name}.firing.json", dict).values()}
        return found

    def _from(self, place: tuple[int, int]) -> list[dict[str, Any]]:
        """All alerts that are here from a place in the order on."""
        there = ((at, alert) for at, entry in self._entries.items() for alert in enumerate(entry))
        return [alert for at, (index, alert) in there if (at, index) >= place]

    def _queues(self) -> list[str]:
        """The names of all receivers that have a place here, also of those that are no longer there."""
        found = (_QUEUE.fullmatch(path.name) for path in self._folder.iterdir())
        return sorted(match[1] for match in found if match)

    def abandoned(self) -> dict[str, list[dict[str, Any]]]:
        """What waits for receivers that are no longer there, by their names."""
        with self._change:
            found = {}
            for name in self._queues():
                if name not in self._at:
                    place = self._read(f"{name}.json", dict)
                    found[name] = self._from((place["number"], place["index"]))
            return found

    def forget(self, name: str) -> None:
        """Drop the place of a receiver that is no longer there."""
        with self._change:
            for file in (self._folder / f"{name}.firing.json", self._folder / f"{name}.json"):
                try:
                    file.unlink(missing_ok=True)
                except OSError as error:
                    raise SinkError(reason(error, file)) from error

    def _read(self, name: str, kind: type) -> Any:
        file = self._folder / name
        try:
            told = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise _damaged(file) from error
        fits = isinstance(told, kind)
        if fits and kind is list:
            fits = all(isinstance(alert, dict) and {"id", "transition"} <= alert.keys() for alert in told)
        elif fits and name.endswith(".firing.json"):
            fits = all(isinstance(alert, dict) and "id" in alert for alert in told.values())
        elif fits:
            fits = isinstance(told.get("number"), int) and isinstance(told.get("index"), int)
        if not fits:
            raise _damaged(file)
        return told

    def put(self, alerts: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        """Take alerts that are new; those whose ids are here already are repeats. They are on the disk at return.

        Gives what was dropped, by receiver, because too many waited.
        """
        with self._change:
            known = {alert["id"] for entry in self._entries.values() for alert in entry}
            new = [alert for alert in alerts if alert["id"] not in known]
            if not new:
                return {}
            put(self._folder / f"{self._next:010d}.json", json.dumps(new, allow_nan=False).encode())
            self._entries[self._next] = new
            self._next += 1
            return {name: dropped for name in self._at if (dropped := self._drop(name))}

    def _drop(self, name: str) -> list[dict[str, Any]]:
        dropped = []
        for _ in range(self.waiting(name) - self._most):
            entry = self.head(name)
            if entry is not None:
                dropped.append(entry.alert)
                self.done(name, entry, save=False)
        if dropped:
            self._save(name)
        return dropped

    def head(self, name: str) -> Entry | None:
        """What comes next for a receiver, or None."""
        with self._change:
            number, index = self._at[name]
            while number < self._next:
                entry = self._entries.get(number, [])
                if index < len(entry):
                    return Entry(number, index, entry[index])
                number, index = number + 1, 0
            return None

    def done(self, name: str, entry: Entry, save: bool = True) -> None:
        """Say that a receiver is past an alert. Does nothing if it is further already."""
        with self._change:
            if (entry.number, entry.index) < self._at[name]:
                return
            is_last = entry.index + 1 >= len(self._entries[entry.number])
            if name in self._firing:
                _follow(self._firing[name], entry.alert)
                if is_last:
                    put(self._folder / f"{name}.firing.json", json.dumps(self._firing[name]).encode())
            self._at[name] = (entry.number + 1, 0) if is_last else (entry.number, entry.index + 1)
            if save:
                self._save(name)
            if is_last:
                self._trim()

    def waiting(self, name: str) -> int:
        """How many alerts a receiver is still to be told."""
        with self._change:
            number, index = self._at[name]
            return sum(len(entry) for at, entry in self._entries.items() if at >= number) - index

    def firing(self, name: str) -> list[dict[str, Any]]:
        """What is firing, as far as a receiver was told."""
        with self._change:
            return list(self._firing.get(name, {}).values())

    def close(self) -> None:
        """Let another process use the folder."""
        with self._change:
            self._open.close()

    def _save(self, name: str) -> None:
        number, index = self._at[name]
        put(self._folder / f"{name}.json", json.dumps({"number": number, "index": index}).encode())

    def _trim(self) -> None:
        needed = min((number for number, _ in self._at.values()), default=self._next)
        for number in list(self._entries)[: -self._keep]:
            if number < needed:
                del self._entries[number]
                file = self._folder / f"{number:010d}.json"
                try:
                    file.unlink(missing_ok=True)
                except OSError as error:
                    raise SinkError(reason(error, file)) from error


def _follow(firing: dict[str, dict[str, Any]], alert: dict[str, Any]) -> None:
    """Remember an alert while it is firing."""
    key = json.dumps([alert.get("group"), alert.get("rule"), alert.get("labels")], sort_keys=True)
    if alert["transition"] == "firing":
        firing[key] = alert
    elif alert["transition"] == "resolved":
        firing.pop(key, None)


def _damaged(file: Path) -> StateError:
    return StateError(f"{file} is damaged; remove it (alerts in it that were not delivered are lost) and start again")
