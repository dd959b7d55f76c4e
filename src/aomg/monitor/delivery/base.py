"""Defines what a receiver of alerts is, and how an attempt to deliver one can fail."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from aomg.errors import AomgError
from aomg.monitor.config.schema import Field
from aomg.monitor.config.values import duration

DAY_SECONDS = 86_400.0
TIMEOUT_HELP = "how long one attempt may take, 1ms to 1h"


class NotDelivered(AomgError, RuntimeError):  # noqa: N818 (an expected outcome)
    """An attempt that failed. The message names the receiver without its secrets.

    final
        A further attempt would fail too: the receiver refuses this alert.
    wait
        Seconds that the receiver asked to wait, if it did.
    needs_fix
        Somebody has to fix the receiver or the configuration: waiting does not help.
    cause
        The same for all attempts that fail alike, where the message is not; a failure is logged once per cause.
    """

    def __init__(
        self,
        message: str,
        final: bool = False,
        wait: float | None = None,
        needs_fix: bool = False,
        cause: str | None = None,
    ) -> None:
        super().__init__(message)
        self.final = final
        self.wait = wait
        self.needs_fix = needs_fix
        self.cause = message if cause is None else cause


class Receiver:
    """A receiver of alerts, which are delivered one after the other when they fire and when they are resolved.

    The same alert may be delivered twice, with the same id: after a crash, or when only the response was lost.
    """

    kind: str
    """Its key in the configuration."""

    identity: str
    """Identifies the receiver, without secrets: after a restart, its waiting alerts are found by it."""

    repeat_every: float | None = None
    """Seconds after which firing alerts are sent again; None for never."""

    patience: float = DAY_SECONDS
    """Seconds after which an alert that cannot be delivered is given up, so that later ones can be."""

    def deliver(self, alert: Mapping[str, Any]) -> None:
        """Return when the receiver has the alert; raises NotDelivered. Takes hardly longer than its timeout."""
        raise NotImplementedError

    def repeat(self, alerts: Sequence[Mapping[str, Any]]) -> None:
        """Send firing alerts again. Called only with `repeat_every`."""


def attempt_timeout(field: Field) -> int:
    """Parse the timeout of a receiver: a duration from 1ms to 1h, in microseconds."""
    length = duration(field)
    if not 1_000 <= length <= 3_600_000_000:
        field.refuse(f"must be 1ms to 1h, but is {field.excerpt()}")
    return length


def json_text(alert: Mapping[str, Any]) -> str:
    """An alert as one line of JSON."""
    return json.dumps(alert, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
