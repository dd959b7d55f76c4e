"""Keeps the alerts to deliver: one queue over the alerts of all batches, and each receiver's position in it.

The alerts themselves are in the journal. A file for each receiver (queue_names.py names it) has its position, the batch
and the index of its next alert; another one has the alerts that fire, for receivers that get them repeatedly. Both have
digests. A position that is lost or damaged is replaced by the one in the journal, which is never later: some alerts are
then delivered again, and none is left out.
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

from aomg.monitor.atomic_files import SinkError, locked, put, reason
from aomg.monitor.delivery.queue_names import moved
from aomg.monitor.journal.digests import digest_of

_QUEUE = re.compile(r"([a-zA-Z].*?)(?<!\.firing)\.json")
_KEEP = 20  # batches whose alerts stay in memory
_LOG = logging.getLogger(__name__)

Position = tuple[int, int]
"""The batch of an alert, and its index among the batch's alerts."""


@dataclass(frozen=True)
class QueuedAlert:
    """An alert and its position: its batch, and its index there."""

    batch: int
    index: int
    alert: dict[str, Any]


class Outbox:
    """A queue for each receiver over the same alerts.

    receivers
        Their names, and whether the outbox remembers firing alerts for them (see Receiver.repeat_every).
    queue
        The alerts of past batches, from the journal.
    positions
        The position of each receiver that the journal knows.
    following
        The number of the next batch.
    most
        How many alerts may wait for a receiver; `put` drops the oldest beyond that.
    """

    def __init__(
        self,
        folder: Path,
        receivers: Mapping[str, bool],
        queue: Mapping[int, Sequence[dict[str, Any]]] | None = None,
        positions: Mapping[str, Position] | None = None,
        following: int = 0,
        most: int = 10_000,
    ) -> None:
        self._folder = folder
        self._most = most
        self._change = threading.RLock()
        self._batches = {batch: list(alerts) for batch, alerts in sorted((queue or {}).items())}
        self._next = max([following, *(batch + 1 for batch in self._batches)])
        self._open = ExitStack()
        self._open.enter_context(
            locked(folder / ".lock", f"another process uses {folder}; stop it, or configure another state folder")
        )
        try:
            self._load(receivers, positions or {})
        except BaseException:
            self._open.close()
            raise

    def _load(self, receivers: Mapping[str, bool], known: Mapping[str, Position]) -> None:
        renamed = moved(receivers, self._queues())
        for old, new in renamed.items():
            _LOG.warning("%s takes over the waiting alerts of %s", new, old)
            for name in (f"{old}.firing.json", f"{old}.json"):  # the position last: until then a crash repeats this
                if (self._folder / name).exists():
                    (self._folder / name).replace(self._folder / name.replace(old, new, 1))
        known = {**known, **{new: known[old] for old, new in renamed.items() if old in known}}
        self._positions: dict[str, Position] = {}
        self._firing: dict[str, dict[str, dict[str, Any]]] = {}
        for name, remembers in receivers.items():
            self._positions[name] = self._loaded_position(name, known.get(name))
            self._save(name)
            if remembers:
                self._firing[name] = self._loaded_firing(name)
                batch, index = self._positions[name]
                for alert in self._batches.get(batch, [])[:index]:
                    _follow(self._firing[name], alert)

    def _loaded_position(self, name: str, known: Position | None) -> Position:
        """The stored position of a receiver, or that of the journal; for a new receiver, the end."""
        file = self._folder / f"{name}.json"
        stored = _read(file)
        position = self._position(stored)
        if position is not None:
            return position if known is None else max(position, known)
        if known is None and not file.exists():
            return (self._next, 0)  # a new receiver gets no past alerts
        # a damaged file of a receiver that the journal does not know: it is newer than the last entry
        fallback = known if known is not None else (min(self._batches, default=self._next), 0)
        _LOG.warning(
            "%s is %s; alerts from batch %d on are delivered again",
            file,
            "damaged" if file.exists() else "gone",
            fallback[0],
        )
        return fallback

    def _position(self, stored: Any) -> Position | None:
        """A stored position that can be right; None for anything else."""
        if not isinstance(stored, dict):
            return None
        batch, index = stored.get("batch"), stored.get("index")
        if type(batch) is not int or type(index) is not int or not 0 <= batch <= self._next:
            return None
        return (batch, index) if 0 <= index <= len(self._batches.get(batch, [])) else None

    def _loaded_firing(self, name: str) -> dict[str, dict[str, Any]]:
        """The stored firing alerts of a receiver; none if they are damaged: `remember` adds what fires."""
        file = self._folder / f"{name}.firing.json"
        stored = _read(file)
        if isinstance(stored, dict) and all(isinstance(one, dict) and "id" in one for one in stored.values()):
            return dict(stored)
        if file.exists():
            _LOG.warning("%s is damaged; it is written anew from the alert state", file)
        return {}

    def remember(self, firing: Sequence[dict[str, Any]]) -> None:
        """Remember the alerts that fire after the last batch, for all receivers that get them repeatedly.

        Alerts in a receiver's queue need nothing.
        """
        with self._change:
            queued = [alert for alerts in self._batches.values() for alert in alerts]
            known = {alert["id"]: alert for alert in queued} | self._all_firing()
            now: dict[str, dict[str, Any]] = {}
            for alert in firing:
                _follow(now, known.get(alert["id"], alert))  # the stored alert has its quantities
            for name, firing_here in self._firing.items():
                will_be = dict(firing_here)
                for alert in self._from(self._positions[name]):
                    _follow(will_be, alert)
                firing_here |= {key: alert for key, alert in now.items() if key not in will_be}

    def _all_firing(self) -> dict[str, dict[str, Any]]:
        """The firing alerts of all receivers by id, with those of receivers that are no longer configured."""
        by_id = {alert["id"]: alert for firing in self._firing.values() for alert in firing.values()}
        for name in self._queues():
            if name not in self._positions:
                by_id |= {alert["id"]: alert for alert in self._loaded_firing(name).values()}
        return by_id

    def _from(self, position: Position) -> list[dict[str, Any]]:
        """All alerts from a position on."""
        return [
            alert
            for batch, alerts in self._batches.items()
            for index, alert in enumerate(alerts)
            if (batch, index) >= position
        ]

    def _queues(self) -> list[str]:
        """The names of all stored queues, with those of receivers that are no longer configured."""
        matches = (_QUEUE.fullmatch(path.name) for path in self._folder.iterdir())
        return sorted(match[1] for match in matches if match)

    @property
    def positions(self) -> dict[str, Position]:
        """The position of every receiver, for the journal."""
        with self._change:
            return dict(self._positions)

    def abandoned(self) -> dict[str, list[dict[str, Any]]]:
        """The waiting alerts of receivers that are no longer configured, by their names."""
        with self._change:
            waiting = {}
            for name in self._queues():
                if name not in self._positions:
                    position = self._position(_read(self._folder / f"{name}.json"))
                    waiting[name] = self._from(position or (0, 0))
            return waiting

    def remove(self, name: str) -> None:
        """Remove the queue of a receiver that is no longer configured."""
        with self._change:
            for file in (self._folder / f"{name}.firing.json", self._folder / f"{name}.json"):
                try:
                    file.unlink(missing_ok=True)
                except OSError as error:
                    raise SinkError(reason(error, file)) from error

    def put(self, batch: int, alerts: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        """Queue the alerts of a batch, once they are in the journal; those whose ids are known are repeats.

        Returns the alerts that were dropped because too many waited, by receiver.
        """
        with self._change:
            known = {alert["id"] for queued in self._batches.values() for alert in queued}
            new = [alert for alert in alerts if alert["id"] not in known]
            if new:
                self._batches.setdefault(batch, []).extend(new)
            caught_up = [name for name, position in self._positions.items() if position == (self._next, 0)]
            self._next = max(self._next, batch + 1)
            if not new:
                for name in caught_up:
                    self._positions[name] = (self._next, 0)
            self._trim()
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
            position = self._positions[name]
            for batch, alerts in self._batches.items():
                index = position[1] if batch == position[0] else 0
                if batch >= position[0] and index < len(alerts):
                    return QueuedAlert(batch, index, alerts[index])
            return None

    def done(self, name: str, queued: QueuedAlert, save: bool = True) -> None:
        """Move a receiver past an alert. Does nothing if it is past it already."""
        with self._change:
            if (queued.batch, queued.index) < self._positions[name]:
                return
            is_last = queued.index + 1 >= len(self._batches[queued.batch])
            if name in self._firing:
                _follow(self._firing[name], queued.alert)
                if is_last:
                    put(self._folder / f"{name}.firing.json", _sealed(self._firing[name]))
            self._positions[name] = (queued.batch + 1, 0) if is_last else (queued.batch, queued.index + 1)
            if save:
                self._save(name)
            if is_last:
                self._trim()

    def waiting(self, name: str) -> int:
        """How many alerts wait for a receiver."""
        with self._change:
            first, index = self._positions[name]
            waiting = sum(len(alerts) for batch, alerts in self._batches.items() if batch >= first)
            return waiting - (index if first in self._batches else 0)

    def firing(self, name: str) -> list[dict[str, Any]]:
        """The firing alerts that were delivered to a receiver."""
        with self._change:
            return list(self._firing.get(name, {}).values())

    def close(self) -> None:
        """Release the folder for other processes."""
        with self._change:
            self._open.close()

    def _save(self, name: str) -> None:
        put(self._folder / f"{name}.json", sealed_position(self._positions[name]))

    def _trim(self) -> None:
        """Forget the alerts that all receivers have passed, except those of the last few batches."""
        needed = min((batch for batch, _ in self._positions.values()), default=self._next)
        for batch in list(self._batches)[:-_KEEP]:
            if batch < needed:
                del self._batches[batch]


def sealed_position(position: Position) -> bytes:
    """The content of a receiver's file of its position."""
    return _sealed({"batch": position[0], "index": position[1]})


def _sealed(content: Mapping[str, Any]) -> bytes:
    """JSON with the digest of its content."""
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return f'{{"digest": "{digest_of(text)}", "content": {text}}}\n'.encode()


def stored_position(file: Path) -> Position | None:
    """The position in a receiver's file; None if it is missing or damaged."""
    content = _read(file)
    try:
        return None if content is None else (int(content["batch"]), int(content["index"]))
    except (KeyError, TypeError, ValueError):
        return None


def _read(file: Path) -> Any | None:
    """The content of a file that `_sealed` wrote; None if it is missing or damaged."""
    try:
        record = json.loads(file.read_bytes())
        content = record["content"]
        return content if record["digest"] == digest_of(json.dumps(content, sort_keys=True)) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _follow(firing: dict[str, dict[str, Any]], alert: dict[str, Any]) -> None:
    """Add an alert that fires, or remove one that is resolved."""
    key = json.dumps([alert.get("group"), alert.get("rule"), alert.get("labels")], sort_keys=True)
    if alert["transition"] == "firing":
        firing[key] = alert
    elif alert["transition"] == "resolved":
        firing.pop(key, None)
