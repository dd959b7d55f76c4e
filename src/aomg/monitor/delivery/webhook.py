"""The webhook receiver: POSTs each alert as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aomg.monitor.config.model import Options, ReceiverConfig
from aomg.monitor.config.schema import key
from aomg.monitor.config.secret import Secret
from aomg.monitor.config.values import table
from aomg.monitor.delivery.base import TIMEOUT_HELP, Receiver, attempt_timeout, json_text
from aomg.monitor.delivery.http import HttpPost, header, http_address


@dataclass(frozen=True, kw_only=True)
class WebhookConfig(ReceiverConfig):
    """A webhook as configured. The timeout is in microseconds."""

    kind = "webhook"

    url: Secret = key(http_address, name="webhook", help="an address that gets each alert as JSON")
    headers: Options = key(table(header), {}, help="HTTP headers")
    timeout: int = key(attempt_timeout, 5_000_000, help=TIMEOUT_HELP)

    def build(self) -> "Webhook":
        """Return the receiver."""
        return Webhook(self.url, self.headers, self.timeout / 1e6)


class Webhook(Receiver):
    """POSTs each alert as a JSON object, with its `id` in the body and as the header Idempotency-Key."""

    kind = "webhook"

    def __init__(
        self, url: str | Secret, headers: Mapping[str, str | Secret] | None = None, timeout: float = 5.0
    ) -> None:
        self._post = HttpPost(url, headers or {}, timeout)
        self.identity = self._post.visible.rstrip("/")

    def __repr__(self) -> str:
        return f"webhook {self._post.visible}"

    def deliver(self, alert: Mapping[str, Any]) -> None:
        """POST one alert."""
        self._post.send(json_text(alert).encode("utf-8", "backslashreplace"), str(alert["id"]))
