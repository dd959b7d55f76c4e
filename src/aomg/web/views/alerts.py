"""The alerts of one moment, and what of them is asked: by state, text, query and key, a page at a time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

STATES = ("firing", "pending", "resolved")
Key = Mapping[str, str | None]


@dataclass(frozen=True)
class AlertsAsked:
    """Which alerts: those of a state, with a text in them, that read a query, whose labels have these values."""

    state: Literal["any", "firing", "pending", "resolved"] = "any"
    search: str = ""
    query: str | None = None
    key: Key = field(default_factory=dict)
    offset: int = 0
    limit: int = 100


@dataclass(frozen=True, eq=False)
class Alerts:
    """All alerts of one moment, as JSON objects: those that fire, then the pending ones, then those that are over.

    Never changed once it is made, so that any thread may read it. `texts` are what a search looks in.
    """

    all: tuple[dict[str, Any], ...] = ()
    texts: tuple[str, ...] = ()
    damaged: int = 0
    """Lines that could not be read."""

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each state."""
        found = dict.fromkeys(STATES, 0)
        for alert in self.all:
            found[alert["state"]] += 1
        return found

    @property
    def active(self) -> tuple[dict[str, Any], ...]:
        """Those that fire or are pending."""
        return tuple(alert for alert in self.all if alert["state"] != "resolved")

    def asked(self, asked: AlertsAsked) -> dict[str, Any]:
        """The JSON object of /api/alerts, but for its version. Costs some milliseconds for 10,000 alerts."""
        search = asked.search.casefold()
        found = [
            alert
            for alert, text in zip(self.all, self.texts, strict=True)
            if asked.state in ("any", alert["state"])
            and search in text
            and (asked.query is None or asked.query in alert["queries"])
            and asked.key.items() <= alert["labels"].items()
        ]
        page = found[asked.offset : asked.offset + asked.limit]
        return {"counts": self.counts, "total": len(self.all), "matching": len(found), "alerts": page}

    def of_key(self, query: str, key: Key) -> list[dict[str, Any]]:
        """The alerts of one key of a query, in the order of `all`."""
        return [alert for alert in self.all if query in alert["queries"] and key.items() <= alert["labels"].items()]

    def transitions(self, query: str, key: Key) -> list[dict[str, Any]]:
        """What /api/key marks: each transition of the key's alerts, the earliest first."""
        found = [
            {"rule": alert["rule"], "started": alert["started"], **transition}
            for alert in self.of_key(query, key)
            for transition in alert["transitions"]
        ]
        return sorted(found, key=lambda told: (len(told["end"]), told["end"]))
