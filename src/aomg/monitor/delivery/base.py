"""What a receiver of alerts is, and what may become of an attempt to tell it one."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from aomg.errors import AomgError


class NotDelivered(AomgError, RuntimeError):  # noqa: N818  it is an outcome that is expected
    """An attempt that failed. The message names the receiver without its secrets.

    final
        A further attempt would fail as well: the receiver refuses this alert.
    wait
        Seconds that the receiver asked to wait, if it did.
    mend
        Somebody has to mend the receiver, or what the configuration says of it: time alone does not help.
    about
        The same for all attempts that fail alike, where the message is not; by it a failure is logged once.
    """

    def __init__(
        self,
        message: str,
        final: bool = False,
        wait: float | None = None,
        mend: bool = False,
        about: str | None = None,
    ) -> None:
        super().__init__(message)
        self.final = final
        self.wait = wait
        self.mend = mend
        self.about = message if about is None else about


class Receiver(Protocol):
    """Somebody who is told of alerts, one after the other.

    An alert may come twice, with the same id: after a crash, or when only the answer was lost.
    """

    kind: str
    """alertmanager, webhook, command or log."""

    identity: str
    """What it is, without secrets: by this its alerts that wait are found again after a restart."""

    notified: frozenset[str]
    """The transitions that it wants to hear of."""

    repeat_every: float | None
    """Seconds after which it has to be told again of what is still firing; None for once."""

    patience: float
    """Seconds after which an alert that cannot be delivered is given up, so that later ones can be."""

    def deliver(self, alert: Mapping[str, Any]) -> None:
        """Return when the receiver has the alert; raises NotDelivered. Never takes much longer than its timeout."""

    def repeat(self, alerts: Sequence[Mapping[str, Any]]) -> None:
        """Tell again of what is still firing."""
