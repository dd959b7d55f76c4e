"""Stores the alerts to deliver: a file for each batch that has alerts, and each receiver's position.

`0000000012.json` has alerts in their order; a file for each receiver (queue_names.py names it) has the position of its
next alert. A file of alerts is removed when all receivers have passed it, except the last few: they identify a batch
that is repeated after a crash, so that alerts known to be delivered are not delivered again.
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
from aomg.monitor.atomic_files import SinkError, locked, put, reason
from aomg.monitor.delivery.queue_names import moved

_ENTRY = re.compile(r"(\d{10,})\.json")
_QUEUE = re.compile(r"([a-zA-Z].*?)(?<!\.firing)\.json")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class QueuedAlert:
    """An alert and its position: the number of its file, and its index there."""

    number: int
    index: int
    alert: dict[str, Any]


class Outbox:
    """A queue for each receiver over the same alerts, on disk.

    receivers
        Their names, and whether the outbox remembers firing alerts for them (see Receiver.repeat_every).
    most
        How many alerts may wait for a receiver; `put` drops the oldest beyond that.
    """

    def __init__(self, folder: Path, receivers: Mapping[str, bool], most: int = 10_000, keep: int = 20) -> None:
        self._folder = folder
        self._most = most
        self._keep = keep
        self._change = threading.RLock()
        self._open = ExitStack()
        self._open.enter_context(
            locked(folder / ".lock", f"another process uses {folder}; stop it, or configure another state folder")
        )
        try:
            self._load(receivers)
        except BaseException:
            self._open.close()
            raise

    def _load(self, receivers: Mapping[str, bool]) -> None:
        for old, new in moved(receivers, self._queues()).items():
            _LOG.warning("%s takes over the waiting alerts of %s", new, old)
            for name in (f"{old}.firing.json", f"{old}.json"):  # the position last: until then a crash repeats this
                if (self._folder / name).exists():
                    (self._folder / name).replace(self._folder / name.replace(old, new, 1))
        matches = (_ENTRY.fullmatch(path.name) for path in self._folder.iterdir())
        self._files: dict[int, list[dict[str, Any]]] = {}
        for number in sorted(int(match[1]) for match in matches if match):
            self._files[number] = self._read(f"{number:010d}.json", list)
        self._next = max(self._files, default=-1) + 1
        self._positions: dict[str, tuple[int, int]] = {}
        self._firing: dict[str, dict[str, dict[str, Any]]] = {}
        for name, remembers in receivers.items():
            if (self._folder / f"{name}.json").exists():
                progress = self._read(f"{name}.json", dict)
                self._positions[name] = (int(progress["number"]), int(progress["index"]))
                self._next = max(self._next, self._positions[name][0])
            else:  # a new receiver gets no past alerts
                self._positions[name] = (self._next, 0)
                self._save(name)
            if remembers:
                exists = (self._folder / f"{name}.firing.json").exists()
                self._firing[name] = self._read(f"{name}.firing.json", dict) if exists else {}
                number, index = self._positions[name]
                for alert in self._files.get(number, [])[:index]:
                    _follow(self._firing[name], alert)

    def remember(self, firing: Sequence[dict[str, Any]], evaluated: int | None) -> None:
        """Remember the alerts that fire after batch `evaluated`, for all receivers that get them repeatedly.

        Alerts of later batches are here already if the process died before their state was written: they count too,
        because their batch will be repeated, and `put` ignores repeats. Alerts in a receiver's queue need nothing.
        """
        with self._change:
            queued = [alert for alerts in self._files.values() for alert in alerts]
            known = {alert["id"]: alert for alert in queued} | self._all_firing()
            now: dict[str, dict[str, Any]] = {}
            for alert in firing:
                _follow(now, known.get(alert["id"], alert))  # the stored alert has its quantities
            for alert in queued:
                if evaluated is None or alert.get("batch", -1) > evaluated:
                    _follow(now, alert)
            for name, firing_here in self._firing.items():
                will_be = dict(firing_here)
                for alert in self._from(self._positions[name]):
                    _follow(will_be, alert)
                firing_here |= {key: alert for key, alert in now.items() if key not in will_be}

    def _all_firing(self) -> dict[str, dict[str, Any]]:
        """The firing alerts of all receivers by id, with those of receivers that are no longer configured."""
        by_id = {alert["id"]: alert for firing in self._firing.values() for alert in firing.values()}
        for name in self._queues():
            if name not in self._positions and (self._folder / f"{name}.firing.json").exists():
                by_id |= {alert["id"]: alert for alert in self._read(f"{name}.firing.json", dict).values()}
        return by_id

    def _from(self, position: tuple[int, int]) -> list[dict[str, Any]]:
        """All alerts from a position on."""
        return [
            alert
            for number, alerts in self._files.items()
            for index, alert in enumerate(alerts)
            if (number, index) >= position
        ]

    def _queues(self) -> list[str]:
        """The names of all stored queues, with those of receivers that are no longer configured."""
        matches = (_QUEUE.fullmatch(path.name) for path in self._folder.iterdir())
        return sorted(match[1] for match in matches if match)

    def abandoned(self) -> dict[str, list[dict[str, Any]]]:
        """The waiting alerts of receivers that are no longer configured, by their names."""
        with self._change:
            waiting = {}
            for name in self._queues():
                if name not in self._positions:
                    position = self._read(f"{name}.json", dict)
                    waiting[name] = self._from((position["number"], position["index"]))
            return waiting

    def remove(self, name: str) -> None:
        """Remove the queue of a receiver that is no longer configured."""
        with self._change:
            for file in (self._folder / f"{name}.firing.json", self._folder / f"{name}.json"):
                try:
                    file.unlink(missing_ok=True)
                except OSError as error:
                    raise SinkError(reason(error, file)) from error

    def _read(self, name: str, kind: type) -> Any:
        file = self._folder / name
        try:
            content = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise _damaged(file) from error
        fits = isinstance(content, kind)
        if fits and kind is list:
            fits = all(isinstance(alert, dict) and {"id", "transition"} <= alert.keys() for alert in content)
        elif fits and name.endswith(".firing.json"):
            fits = all(isinstance(alert, dict) and "id" in alert for alert in content.values())
        elif fits:
            fits = isinstance(content.get("number"), int) and isinstance(content.get("index"), int)
        if not fits:
            raise _damaged(file)
        return content

    def put(self, alerts: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        """Queue new alerts; those whose ids are known are repeats. They are on the disk when this returns.

        Returns the alerts that were dropped because too many waited, by receiver.
        """
        with self._change:
            known = {alert["id"] for queued in self._files.values() for alert in queued}
            new = [alert for alert in alerts if alert["id"] not in known]
            if not new:
                return {}
            put(self._folder / f"{self._next:010d}.json", json.dumps(new, allow_nan=False).encode())
            self._files[self._next] = new
            self._next += 1
            return {name: dropped for name in self._positions if (dropped := self._drop(name))}

    def _drop(self, name: str) -> list[dict[str, Any]]:
        dropped = []
        for _ in range(self.waiting(name) - self._most):
            queued = self.head(name)
            if queued is not None:
                dropped.append(queued.alert)
                self.done(name, queued, save=False)
        if dropped:
            self._save(name)
        return dropped

    def head(self, name: str) -> QueuedAlert | None:
        """The next alert for a receiver, or None."""
        with self._change:
            number, index = self._positions[name]
            while number < self._next:
                alerts = self._files.get(number, [])
                if index < len(alerts):
                    return QueuedAlert(number, index, alerts[index])
                number, index = number + 1, 0
            return None

    def done(self, name: str, queued: QueuedAlert, save: bool = True) -> None:
        """Move a receiver past an alert. Does nothing if it is past it already."""
        with self._change:
            if (queued.number, queued.index) < self._positions[name]:
                return
            is_last = queued.index + 1 >= len(self._files[queued.number])
            if name in self._firing:
                _follow(self._firing[name], queued.alert)
                if is_last:
                    put(self._folder / f"{name}.firing.json", json.dumps(self._firing[name]).encode())
            self._positions[name] = (queued.number + 1, 0) if is_last else (queued.number, queued.index + 1)
            if save:
                self._save(name)
            if is_last:
                self._trim()

    def waiting(self, name: str) -> int:
        """How many alerts wait for a receiver."""
        with self._change:
            first, index = self._positions[name]
            return sum(len(alerts) for number, alerts in self._files.items() if number >= first) - index

    def firing(self, name: str) -> list[dict[str, Any]]:
        """The firing alerts that were delivered to a receiver."""
        with self._change:
            return list(self._firing.get(name, {}).values())

    def close(self) -> None:
        """Release the folder for other processes."""
        with self._change:
            self._open.close()

    def _save(self, name: str) -> None:
        number, index = self._positions[name]
        put(self._folder / f"{name}.json", json.dumps({"number": number, "index": index}).encode())

    def _trim(self) -> None:
        needed = min((number for number, _ in self._positions.values()), default=self._next)
        for number in list(self._files)[: -self._keep]:
            if number < needed:
                del self._files[number]
                file = self._folder / f"{number:010d}.json"
                try:
                    file.unlink(missing_ok=True)
                except OSError as error:
                    raise SinkError(reason(error, file)) from error


def _follow(firing: dict[str, dict[str, Any]], alert: dict[str, Any]) -> None:
    """Add an alert that fires, or remove one that is resolved."""
    key = json.dumps([alert.get("group"), alert.get("rule"), alert.get("labels")], sort_keys=True)
    if alert["transition"] == "firing":
        firing[key] = alert
    elif alert["transition"] == "resolved":
        firing.pop(key, None)


def _damaged(file: Path) -> StateError:
    return StateError(f"{file} is damaged; remove it (its waiting alerts are lost) and start again")
