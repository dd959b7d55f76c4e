"""Tells receivers of alerts: at least once, in order, in the background, and again until they have them.

What is to be told is on disk (outbox.py) before `send` returns. Each receiver has its own thread and its own place in
the order, so one that is down holds up neither the others nor the stream.
"""

import logging
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aomg.monitor.alert import Alert
from aomg.monitor.atomic import SinkError
from aomg.monitor.delivery.base import NotDelivered, Receiver
from aomg.monitor.delivery.outbox import Entry, Outbox
from aomg.monitor.delivery.queue_names import names_of
from aomg.monitor.delivery.undelivered import Undelivered

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Backoff:
    """Seconds between attempts: doubled each time up to `most`, of which a random half to whole is waited."""

    first: float = 0.5
    most: float = 60.0

    def delay(self, attempt: int, asked: float | None = None) -> float:
        """How long to wait after attempt 0, 1, ...; at least what the receiver asked for, but never beyond `most`."""
        wait = min(self.most, self.first * 2.0 ** min(attempt, 60)) * random.uniform(0.5, 1)
        return max(wait, min(asked or 0.0, self.most))


@dataclass(frozen=True)
class ReceiverStatus:
    """How a receiver fares: counts since the start, and why the last attempt failed, if it did."""

    name: str
    shown: str
    waiting: int
    delivered: int
    given_up: int
    failing: str | None


class Notifier:
    """Takes the alerts of each batch and sees to it that every receiver gets them.

    Every alert reaches every receiver at least once, unless the receiver refuses what it says (400, 413, 422), or it
    cannot be delivered for the receiver's patience (a day), or too many wait: then it is a line in
    `undelivered.jsonl`, of which the last 10 to 20 MB are kept. An alert has the same id however often it comes, after
    a crash too.
    """

    def __init__(
        self,
        folder: Path,
        receivers: Sequence[Receiver],
        backoff: Backoff | None = None,
        most: int = 10_000,
        firing: Sequence[Alert] = (),
        judged: int | None = None,
    ) -> None:
        """Begin to tell what waits.

        firing
            What fires now: a receiver that is told again and again hears of it, also if it is new or has moved.
        judged
            The batch after which it fires; None before the first.
        """
        self._undelivered = Undelivered(folder / "undelivered.jsonl")
        names = names_of(receivers)
        self._outbox = Outbox(folder, {name: r.repeat_every is not None for name, r in names.items()}, most)
        self._outbox.remember([alert.to_json() for alert in firing], judged)
        self._forget_abandoned()
        self._change = threading.Condition()
        self._stopped = threading.Event()
        self._senders = [_Sender(self, name, receiver, backoff or Backoff()) for name, receiver in names.items()]
        for sender in self._senders:
            sender.start()

    def _forget_abandoned(self) -> None:
        """Record what waits for receivers that the configuration has no longer."""
        for name, alerts in self._outbox.abandoned().items():
            if alerts:
                _LOG.warning("%s is gone; %d alerts that waited for it are in undelivered.jsonl", name, len(alerts))
            self._undelivered.add(name, alerts, "the receiver is no longer in the configuration")
            self._outbox.forget(name)

    def send(self, batch: int, alerts: Sequence[Alert]) -> None:
        """Take the alerts of a batch; returns when they are on the disk, and does not wait for any receiver.

        Raises SinkError where they cannot be kept: then the batch is not done.
        """
        wanted = {transition for sender in self._senders for transition in sender.notified}
        told = [{**alert.to_json(), "batch": batch} for alert in alerts if alert.transition in wanted]
        dropped = self._outbox.put(told)
        for sender in self._senders:
            sender.give_up(dropped.get(sender.name, ()), "too many alerts were waiting")
        with self._change:
            self._change.notify_all()

    def status(self) -> list[ReceiverStatus]:
        """How each receiver fares, in the order of the configuration."""
        return [sender.status() for sender in self._senders]

    def close(self, timeout: float) -> dict[str, int]:
        """Wait until all is delivered, at most so many seconds, and end; say how many still wait for whom.

        They stay on disk and are told after the next start.
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
            sender.join(max(0.0, until - time.monotonic()) + 0.1)  # one that hangs in an attempt is left to itself
        remaining = {sender.name: self._outbox.waiting(sender.name) for sender in self._senders}
        self._outbox.close()
        return {name: count for name, count in remaining.items() if count}


class _Sender(threading.Thread):
    """Works through the queue of one receiver."""

    def __init__(self, notifier: Notifier, name: str, receiver: Receiver, backoff: Backoff) -> None:
        super().__init__(name=name, daemon=True)
        self.notified = receiver.notified
        self._receiver = receiver
        self._backoff = backoff
        self._outbox, self._change, self._stopped = notifier._outbox, notifier._change, notifier._stopped
        self._undelivered = notifier._undelivered
        self._delivered = self._given_up = 0
        self._failing: str | None = None
        self._logged: str | None = None
        self._repeat_at = time.monotonic()  # at once: a receiver may have forgotten while we were away

    def status(self) -> ReceiverStatus:
        waiting = self._outbox.waiting(self.name)
        return ReceiverStatus(self.name, repr(self._receiver), waiting, self._delivered, self._given_up, self._failing)

    def run(self) -> None:
        while not self._stopped.is_set():
            self._repeat()
            entry = self._outbox.head(self.name)
            if entry is not None:
                self._deliver(entry)
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
                self._tell(error)
            except Exception as error:
                self._tell(self._fault(error))
            else:
                self._works()

    def _deliver(self, entry: Entry) -> None:
        """Try until it is delivered, given up, dropped meanwhile, or time to stop."""
        if entry.alert["transition"] not in self.notified:
            self._past(entry)
            return
        since, attempt = time.monotonic(), 0
        while not self._stopped.is_set() and self._outbox.head(self.name) == entry:
            try:
                self._receiver.deliver(entry.alert)
            except NotDelivered as error:
                failure = error
                if error.final or time.monotonic() - since > self._receiver.patience:
                    self._tell(error)
                    self.give_up([entry.alert], str(error))
                    self._past(entry)
                    return
            except Exception as error:  # a fault of ours must not end the thread, nor the alert
                failure = self._fault(error)
            else:
                self._works()
                self._delivered += 1
                self._past(entry)
                return
            self._tell(failure)
            self._stopped.wait(self._backoff.delay(attempt, failure.wait))
            attempt += 1

    def _past(self, entry: Entry) -> None:
        if self._stopped.is_set():
            return  # too late: another process may use the folder already, and will tell this alert again
        try:
            self._outbox.done(self.name, entry)
        except SinkError as error:
            _LOG.warning("%s; alerts may be told twice after the next start", error)

    def _fault(self, error: Exception) -> NotDelivered:
        return NotDelivered(f"{self._receiver!r} failed ({type(error).__name__})")

    def _works(self) -> None:
        if self._failing is not None:
            _LOG.warning("%r takes alerts again", self._receiver)
        self._failing = self._logged = None

    def _tell(self, failure: NotDelivered) -> None:
        """Log a failure once, not at every attempt: as an error if somebody has to mend something."""
        if failure.about != self._logged:
            level = logging.ERROR if failure.mend else logging.WARNING
            _LOG.log(level, "an alert was not delivered: %s", failure)
        self._failing, self._logged = str(failure), failure.about

    def give_up(self, alerts: Sequence[Mapping[str, Any]], why: str) -> None:
        """Record alerts that this receiver will not get."""
        self._given_up += len(alerts)
        self._undelivered.add(self.name, alerts, why)
