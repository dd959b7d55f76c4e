"""Delivers alerts to receivers in the background: at least once, in order, with retries.

Alerts are in the journal before `send` takes them. Each receiver has its own thread and its own queue, so one that is
down delays neither the others nor the stream.
"""

import logging
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aomg.monitor.alert import NOTIFIED, Alert
from aomg.monitor.atomic_files import SinkError
from aomg.monitor.delivery.base import NotDelivered, Receiver
from aomg.monitor.delivery.outbox import Outbox, QueuedAlert
from aomg.monitor.delivery.queue_files import Position
from aomg.monitor.delivery.queue_names import names_of
from aomg.monitor.delivery.undelivered_alerts import UndeliveredAlerts
from aomg.monitor.journal.journal import Journal

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Backoff:
    """Seconds between attempts: doubled each time up to `most`, times a random factor from 0.5 to 1."""

    first: float = 0.5
    most: float = 60.0

    def delay(self, attempt: int, retry_after: float | None = None) -> float:
        """Seconds to wait after attempt 0, 1, ...; at least `retry_after`, but never more than `most`."""
        wait = min(self.most, self.first * 2.0 ** min(attempt, 60)) * random.uniform(0.5, 1)
        return max(wait, min(retry_after or 0.0, self.most))


@dataclass(frozen=True)
class ReceiverStatus:
    """The status of a receiver: counts since the start, and why the last attempt failed, if it did."""

    name: str
    waiting: int
    delivered: int
    given_up: int
    failing: str | None


class Notifier:
    """Delivers the alerts of each batch to every receiver.

    Every alert is delivered to every receiver at least once, unless the receiver refuses it (400, 413, 422), it cannot
    be delivered within the receiver's patience (a day), or too many are waiting: then it is a line in
    `undelivered.jsonl`, of which the last 10 to 20 MB are kept. An alert keeps its id when it is delivered again, even
    after a crash.
    """

    def __init__(
        self,
        folder: Path,
        receivers: Sequence[Receiver],
        backoff: Backoff | None = None,
        most: int = 10_000,
        firing: Sequence[Alert] = (),
        journal: Journal | None = None,
    ) -> None:
        """Start to deliver the waiting alerts.

        firing
            The alerts that are firing now: receivers with `repeat_every` get them, even if they are new.
        journal
            Has the alerts of past batches, and the positions of the receivers.
        """
        self._undelivered = UndeliveredAlerts(folder / "undelivered.jsonl")
        names = names_of(receivers)
        last = None if journal is None else journal.last
        self._outbox = Outbox(
            folder,
            {name: r.repeat_every is not None for name, r in names.items()},
            {} if journal is None else journal.queue,
            {} if last is None else last.positions,
            0 if journal is None else journal.next,
            most,
        )
        self._outbox.remember([alert.to_json() for alert in firing])
        self._drop_abandoned()
        self._change = threading.Condition()
        self._stopped = threading.Event()
        self._senders = [_Sender(self, name, receiver, backoff or Backoff()) for name, receiver in names.items()]
        for sender in self._senders:
            sender.start()

    def _drop_abandoned(self) -> None:
        """Record the alerts that wait for receivers that are no longer configured."""
        for name, alerts in self._outbox.abandoned().items():
            if alerts:
                _LOG.warning(
                    "%s is no longer configured; its %d waiting alerts are in undelivered.jsonl", name, len(alerts)
                )
            self._undelivered.add(name, alerts, "the receiver is no longer configured")
            self._outbox.remove(name)

    @property
    def positions(self) -> dict[str, Position]:
        """The batch and the index of each receiver's next alert."""
        return self._outbox.positions

    def queue_of(self, batch: int, alerts: Sequence[Alert]) -> list[dict[str, Any]]:
        """The alerts of a batch that receivers get, as the journal keeps them."""
        wanted = NOTIFIED if self._senders else ()
        return [{**alert.to_json(), "batch": batch} for alert in alerts if alert.transition in wanted]

    def send(self, batch: int, queue: Sequence[dict[str, Any]]) -> None:
        """Deliver the alerts of a batch, once the journal has them. Does not wait for any receiver."""
        dropped = self._outbox.put(batch, queue)
        for sender in self._senders:
            sender.give_up(dropped.get(sender.name, ()), "too many alerts were waiting")
        with self._change:
            self._change.notify_all()

    def status(self) -> list[ReceiverStatus]:
        """The status of each receiver, in the order of the configuration."""
        return [sender.status() for sender in self._senders]

    def close(self, timeout: float) -> dict[str, int]:
        """Wait until all is delivered, `timeout` seconds at most, and end. Returns how many alerts wait, by receiver.

        They stay on disk, and the next start delivers them.
        """
        until = time.monotonic() + timeout
        with self._change:
            while any(self._outbox.waiting(sender.name) for sender in self._senders):
                left = until - time.monotonic()
                if left <= 0:
                    break
                self._change.wait(left)
        self._stopped.set()
        with self._change:
            self._change.notify_all()
        for sender in self._senders:
            sender.join(max(0.0, until - time.monotonic()) + 0.1)  # do not wait for one that hangs in an attempt
        remaining = {sender.name: self._outbox.waiting(sender.name) for sender in self._senders}
        self._outbox.close()
        return {name: count for name, count in remaining.items() if count}


class _Sender(threading.Thread):
    """Delivers the queue of one receiver."""

    def __init__(self, notifier: Notifier, name: str, receiver: Receiver, backoff: Backoff) -> None:
        super().__init__(name=name, daemon=True)
        self._receiver = receiver
        self._backoff = backoff
        self._outbox, self._change, self._stopped = notifier._outbox, notifier._change, notifier._stopped
        self._undelivered = notifier._undelivered
        self._delivered = self._given_up = 0
        self._failing: str | None = None
        self._logged: str | None = None
        self._repeat_at = time.monotonic()  # at once: the receiver may have forgotten them while the monitor was down

    def status(self) -> ReceiverStatus:
        waiting = self._outbox.waiting(self.name)
        return ReceiverStatus(self.name, waiting, self._delivered, self._given_up, self._failing)

    def run(self) -> None:
        while not self._stopped.is_set():
            self._repeat()
            queued = self._outbox.head(self.name)
            if queued is not None:
                self._deliver(queued)
                with self._change:
                    self._change.notify_all()  # close may wait for this
                continue
            with self._change:
                if self._outbox.head(self.name) is None and not self._stopped.is_set():
                    self._change.wait(self._until_repeat())

    def _until_repeat(self) -> float | None:
        if self._receiver.repeat_every is None or not self._outbox.firing(self.name):
            return None
        return max(0.0, self._repeat_at - time.monotonic())

    def _repeat(self) -> None:
        every = self._receiver.repeat_every
        if every is None or time.monotonic() < self._repeat_at:
            return
        self._repeat_at = time.monotonic() + every
        firing = self._outbox.firing(self.name)
        if firing:
            try:
                self._receiver.repeat(firing)
            except NotDelivered as error:
                self._log(error)
            except Exception as error:
                self._log(self._fault(error))
            else:
                self._works()

    def _deliver(self, queued: QueuedAlert) -> None:
        """Try until it is delivered, given up or dropped, or the notifier closes."""
        since, attempt = time.monotonic(), 0
        while not self._stopped.is_set() and self._outbox.head(self.name) == queued:
            try:
                self._receiver.deliver(queued.alert)
            except NotDelivered as error:
                failure = error
                if error.final or time.monotonic() - since > self._receiver.patience:
                    self._log(error)
                    self.give_up([queued.alert], str(error))
                    self._advance(queued)
                    return
            except Exception as error:  # a bug must neither end the thread nor lose the alert
                failure = self._fault(error)
            else:
                self._works()
                self._delivered += 1
                self._advance(queued)
                return
            self._log(failure)
            self._stopped.wait(self._backoff.delay(attempt, failure.wait))
            attempt += 1

    def _advance(self, queued: QueuedAlert) -> None:
        if self._stopped.is_set():
            return  # another process may use the folder already, and will deliver this alert again
        try:
            self._outbox.done(self.name, queued)
        except SinkError as error:
            _LOG.warning("%s; alerts may be delivered twice after the next start", error)

    def _fault(self, error: Exception) -> NotDelivered:
        return NotDelivered(f"{self._receiver!r} failed ({type(error).__name__})")

    def _works(self) -> None:
        if self._failing is not None:
            _LOG.warning("%r accepts alerts again", self._receiver)
        self._failing = self._logged = None

    def _log(self, failure: NotDelivered) -> None:
        """Log a failure once, not at every attempt: as an error if somebody has to fix something."""
        if failure.cause != self._logged:
            level = logging.ERROR if failure.needs_fix else logging.WARNING
            _LOG.log(level, "an alert was not delivered: %s", failure)
        self._failing, self._logged = str(failure), failure.cause

    def give_up(self, alerts: Sequence[Mapping[str, Any]], why: str) -> None:
        """Record alerts that are not delivered to this receiver."""
        self._given_up += len(alerts)
        self._undelivered.add(self.name, alerts, why)
