"""The Alertmanager receiver: POSTs alerts to its API, and repeats firing ones."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aomg.errors import StateError
from aomg.monitor.alert import Alert
from aomg.monitor.config.model import Options, ReceiverConfig
from aomg.monitor.config.schema import key
from aomg.monitor.config.secret import Secret
from aomg.monitor.config.values import table
from aomg.monitor.delivery.base import TIMEOUT_HELP, NotDelivered, Receiver, attempt_timeout
from aomg.monitor.delivery.http import HttpPost, header, http_address

_MOST_PER_REQUEST = 100
_AHEAD = 300_000_000


@dataclass(frozen=True, kw_only=True)
class AlertmanagerConfig(ReceiverConfig):
    """An Alertmanager as configured. The timeout is in microseconds."""

    kind = "alertmanager"

    url: Secret = key(http_address, name="alertmanager", help="the address of an Alertmanager")
    headers: Options = key(table(header), {}, help="HTTP headers")
    timeout: int = key(attempt_timeout, 5_000_000, help=TIMEOUT_HELP)

    def build(self) -> "Alertmanager":
        """Return the receiver."""
        return Alertmanager(self.url, self.headers, self.timeout / 1e6)


class Alertmanager(Receiver):
    """POSTs to Alertmanager's /api/v2/alerts.

    Alertmanager treats an alert as resolved when it has not been sent for a while. So a firing alert is sent with an
    end five minutes ahead, and again every minute until it is resolved, as Prometheus does.
    """

    kind = "alertmanager"
    repeat_every = 60.0

    def __init__(
        self, url: str | Secret, headers: Mapping[str, str | Secret] | None = None, timeout: float = 5.0
    ) -> None:
        plain = (url.reveal() if isinstance(url, Secret) else url).rstrip("/")
        if "?" not in plain and not plain.endswith("/api/v2/alerts"):
            plain += "/api/v2/alerts"
        self._post = HttpPost(Secret(plain, repr(url)) if isinstance(url, Secret) else plain, headers or {}, timeout)
        self.identity = self._post.visible.rstrip("/")

    def __repr__(self) -> str:
        return f"alertmanager {self._post.visible}"

    def deliver(self, alert: Mapping[str, Any]) -> None:
        """POST one alert."""
        self._post.send(json.dumps([self._body(alert)]).encode(), str(alert["id"]))

    def repeat(self, alerts: Sequence[Mapping[str, Any]]) -> None:
        """POST all firing alerts, some per request."""
        for start in range(0, len(alerts), _MOST_PER_REQUEST):
            bodies = [self._body(alert) for alert in alerts[start : start + _MOST_PER_REQUEST]]
            self._post.send(json.dumps(bodies).encode())

    def _body(self, record: Mapping[str, Any]) -> dict[str, Any]:
        try:
            alert = Alert.from_json(record)
        except StateError as error:
            raise NotDelivered(f"{self!r}: {error}", final=True) from error
        now = int(time.time()) * 1_000_000
        # Event time may run ahead of the clock; an end that is later than now would not resolve the alert.
        ends = now + _AHEAD if alert.transition == "firing" else min(alert.end, now)
        body = alert.for_alertmanager(ends)
        return {**body, "annotations": {**body["annotations"], "aomg_id": alert.id}}
