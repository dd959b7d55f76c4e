"""Keeps the alerts to deliver: one queue over the alerts of all batches, and each receiver's position in it.

The alerts themselves are in the journal. A file for each receiver (queue_names.py names it) has its position, the batch
and the index of its next alert; another one has the alerts that fire, for receivers that get them repeatedly. Both have
digests (queue_files.py). A position that is lost or damaged is replaced by the one in the journal, which is never
later: some alerts are then delivered again, and none is left out.
"""

import json
import logging
import re
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aomg.monitor.atomic_files import SinkError, locked, put, reason
from aomg.monitor.delivery.queue_files import (
    FIRING,
    POSITION,
    Position,
    known_positions,
    moved_receivers,
    put_moved,
    read,
    rename,
    sealed,
    sealed_position,
    stored_firing,
)
from aomg.monitor.delivery.queue_names import moved
from aomg.monitor.journal.remedies import numbered

_QUEUE = re.compile(r"([a-zA-Z].*?)(?<!\.firing)\.json")
_KEEP = 20  # batches whose alerts stay in memory
_LOG = logging.getLogger(__name__)


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
        for old, new in moved_receivers(self._folder, self._next).items():
            if new is not None:
                rename(self._folder, old, new)  # a crash may have left it undone
        known = known_positions(self._folder, known, self._next)
        renamed = moved(receivers, self._queues(), known)
        if not known.keys().isdisjoint(renamed):
            self._note(renamed)
        for old, new in renamed.items():
            _LOG.warning("%s takes over the waiting alerts of %s", new, old)
            rename(self._folder, old, new)
        self._known = {renamed.get(name, name): position for name, position in known.items()}
        self._positions: dict[str, Position] = {}
        self._firing: dict[str, dict[str, dict[str, Any]]] = {}
        for name, remembers in receivers.items():
            self._positions[name] = self._loaded_position(name, self._known.get(name))
            self._save(name)
            if remembers:
                self._firing[name] = self._loaded_firing(name)
                batch, index = self._positions[name]
                for alert in self._batches.get(batch, [])[:index]:
                    _follow(self._firing[name], alert)

    def _note(self, renamed: Mapping[str, str | None]) -> None:
        """Record what becomes of receivers that the newest entry of the journal has, before anything is done."""
        before = moved_receivers(self._folder, self._next)
        now = {old: renamed.get(new, new) if new is not None else None for old, new in before.items()}
        put_moved(self._folder, self._next, {**renamed, **now})

    def _loaded_position(self, name: str, known: Position | None) -> Position:
        """The stored position of a receiver, or that of the journal; for a new receiver, the end."""
        file = self._folder / f"{name}{POSITION}"
        position = self._position(read(file, [name]))
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
        file, stored = self._folder / f"{name}{FIRING}", stored_firing(self._folder, name)
        if stored is None and file.exists():
            _LOG.warning("%s is damaged; it is written anew from the alert state", file)
        return stored or {}

    def remember(self, firing: Sequence[dict[str, Any]]) -> None:
        """Remember the alerts that fire after the last batch, and no others, for all receivers that repeat them.

        Alerts in a receiver's queue need nothing. What a receiver's file has and the alert state has not is dropped: an
        older file may have been put in its place.
        """
        with self._change:
            queued = [alert for alerts in self._batches.values() for alert in alerts]
            known = {alert["id"]: alert for alert in queued} | self._all_firing()
            now: dict[str, dict[str, Any]] = {}
            for alert in firing:
                _follow(now, known.get(alert["id"], alert))  # the stored alert has its quantities
            for name, firing_here in self._firing.items():
                waiting = self._from(self._positions[name])
                ended = no_longer_firing(firing_here, waiting, {alert["id"] for alert in firing})
                for key in ended:
                    del firing_here[key]
                if ended:
                    file = self._folder / f"{name}{FIRING}"
                    alerts = numbered(len(ended), "alert that is", "alerts that are")
                    _LOG.warning("%s has %s not firing; not sent again", file, alerts)
                    put(file, sealed(name, firing_here))
                will_be = dict(firing_here)
                for alert in waiting:
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
            for name in sorted({*self._queues(), *self._known}):
                if name not in self._positions:
                    position = self._position(read(self._folder / f"{name}{POSITION}", [name]))
                    waiting[name] = self._from(max(position or (0, 0), self._known.get(name, (0, 0))))
            return waiting

    def remove(self, name: str) -> None:
        """Remove the queue of a receiver that is no longer configured."""
        with self._change:
            if name in self._known:
                self._note({name: None})
            for file in (self._folder / f"{name}{FIRING}", self._folder / f"{name}{POSITION}"):
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
                    put(self._folder / f"{name}{FIRING}", sealed(name, self._firing[name]))
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
        put(self._folder / f"{name}{POSITION}", sealed_position(name, self._positions[name]))

    def _trim(self) -> None:
        """Forget the alerts that all receivers have passed, except those of the last few batches."""
        needed = min((batch for batch, _ in self._positions.values()), default=self._next)
        for batch in list(self._batches)[:-_KEEP]:
            if batch < needed:
                del self._batches[batch]


def _follow(firing: dict[str, dict[str, Any]], alert: dict[str, Any]) -> None:
    """Add an alert that fires, or remove one that is resolved."""
    key = firing_key(alert)
    if alert["transition"] == "firing":
        firing[key] = alert
    elif alert["transition"] == "resolved":
        firing.pop(key, None)


def firing_key(alert: Mapping[str, Any]) -> str:
    """The rule and the labels of an alert."""
    return json.dumps([alert.get("group"), alert.get("rule"), alert.get("labels")], sort_keys=True)


def no_longer_firing(
    delivered: Mapping[str, Mapping[str, Any]], waiting: Sequence[Mapping[str, Any]], firing: Collection[str]
) -> list[str]:
    """The keys of delivered alerts that cannot fire, by what the journal says: those of an older file.

    waiting
        The alerts that the receiver has yet to get.
    firing
        The ids of all alerts that fire after the newest batch.
    """
    first: dict[str, str] = {}
    for alert in waiting:
        first.setdefault(firing_key(alert), alert["transition"])
    return [
        key
        for key, alert in delivered.items()
        if first.get(key) != "resolved" and (key in first or alert["id"] not in firing)
    ]
