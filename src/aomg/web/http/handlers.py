"""Which part of the room answers what: of a version of everything and a checked request, to JSON or CSV."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import aomg
from aomg.suggestions import there_are
from aomg.web.follow.live import Live, Now
from aomg.web.http.openapi import description
from aomg.web.http.status import health_told, query_names, status, unit_of
from aomg.web.memory.history import QueryHistory
from aomg.web.memory.keys import Keys
from aomg.web.metrics.exposition import Metrics, exposition
from aomg.web.parameters import NotFound, shown
from aomg.web.views.alerts import Alerts, AlertsAsked
from aomg.web.views.csv import alerts_csv, health_csv, heat_map_csv, histogram_csv, key_csv, keys_csv
from aomg.web.views.heat_map import HeatMapAsked, heat_map_answer
from aomg.web.views.key import KeyAsked, key_answer, key_number
from aomg.web.views.key_order import AlertMarks, Filter
from aomg.web.views.overview import KeysAsked, keys_answer, window_at

Ask = Mapping[str, Any]


class Answers:
    """Every answer of the API. Safe to ask from many threads: what they read does not change."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self.timely: dict[str, Callable[[Now, Ask], Any]] = {
            "/api/status": lambda now, ask: status(live, now),
            "/api/health": lambda now, ask: health_told(live, now),
        }
        """What depends on the clock."""
        self.lasting: dict[str, Callable[[Now, Ask], Any]] = {
            "/api/keys": self._keys,
            "/api/heatmap": self._heat_map,
            "/api/key": self._key,
            "/api/histogram": self._histogram,
            "/api/alerts": self._alerts,
            "/api/targets": lambda now, ask: {"version": now.version, "targets": now.targets},
            "/api/openapi.json": lambda now, ask: description(aomg.__version__),
        }
        """What is the same as long as the version is."""
        self.tables: dict[str, Callable[[Now, Ask], Iterator[str]]] = {
            "/api/keys.csv": self._keys_csv,
            "/api/key.csv": self._key_csv,
            "/api/heatmap.csv": self._heat_map_csv,
            "/api/histogram.csv": lambda now, ask: histogram_csv(self._histogram(now, ask)),
            "/api/alerts.csv": self._alerts_csv,
            "/api/health.csv": lambda now, ask: health_csv(live.health().batches),
        }
        """What goes out as CSV."""

    def _keys(self, now: Now, ask: Ask) -> dict[str, Any]:
        history = self._history(now, ask["query"])
        return keys_answer(history, _keys_asked(ask), _marks(now, history.name), now.version)

    def _keys_csv(self, now: Now, ask: Ask) -> Iterator[str]:
        history = self._history(now, ask["query"])
        return keys_csv(history, _keys_asked(ask), _marks(now, history.name))

    def _heat_map(self, now: Now, ask: Ask) -> dict[str, Any]:
        history = self._history(now, ask["query"])
        wanted = HeatMapAsked(
            ask["quantile"] or None,
            ask["rows"],
            ask["columns"],
            ask["since"],
            ask["until"],
            _filter(ask),
            ask["sort"] or None,
            ask["order"],
        )
        return heat_map_answer(
            history, wanted, _marks(now, history.name), unit_of(self._live, history.name), now.version
        )

    def _heat_map_csv(self, now: Now, ask: Ask) -> Iterator[str]:
        return heat_map_csv(self._heat_map(now, ask), self._history(now, ask["query"]).keys.names)

    def _key(self, now: Now, ask: Ask) -> dict[str, Any]:
        history = self._history(now, ask["query"])
        wanted = KeyAsked(ask["key"], ask["since"], ask["until"], ask.get("points"))
        limits = [
            {"estimate": one.estimate, "value": one.value, "operator": one.operator, "rule": one.rule}
            for one in self._live.limits
            if one.query == history.name
        ]
        labels = history.keys.labels(key_number(history, ask["key"]))
        alerts = [] if now.alerts is None else now.alerts.transitions(history.name, labels)
        return key_answer(history, wanted, unit_of(self._live, history.name), limits, alerts, now.version)

    def _key_csv(self, now: Now, ask: Ask) -> Iterator[str]:
        return key_csv(self._key(now, ask))

    def _histogram(self, now: Now, ask: Ask) -> dict[str, Any]:
        history = self._history(now, ask["query"])
        number, window = key_number(history, ask["key"]), window_at(history, ask["at"])
        row = window.row(number) if window is not None else None
        if window is None or row is None:
            raise NotFound("this key has no such window", "look at another time, or leave out at= for the newest")
        labels = history.keys.labels(number)
        told = self._live.histograms.of(history.name, labels, window.start, window.end, int(window.count[row]))
        return {**told, "unit": unit_of(self._live, history.name)}

    def _alerts(self, now: Now, ask: Ask) -> dict[str, Any]:
        return {"version": now.version, **_known(now).asked(AlertsAsked(**{**ask, "query": ask["query"] or None}))}

    def _alerts_csv(self, now: Now, ask: Ask) -> Iterator[str]:
        alerts = _known(now)
        wanted = AlertsAsked(**{**ask, "query": ask["query"] or None}, limit=len(alerts.all))
        return alerts_csv(alerts.asked(wanted)["alerts"])

    def metrics(self, now: Now, accept: str) -> tuple[bytes, str]:
        """What Prometheus gets, and of which kind it is."""
        told = Metrics(
            now.queries,
            {name: unit_of(self._live, name) for name in now.queries},
            None if now.alerts is None else now.alerts.active,
            now.targets,
            health_told(self._live, now),
            self._live.most_series,
            {follower.name: follower.failing for follower in now.followers},
        )
        return exposition(told, accept)

    def _history(self, now: Now, name: str | None) -> QueryHistory:
        """The query of that name, or the first. One that has no results yet is empty."""
        names = query_names(self._live, now)
        if not names:
            raise NotFound("there are no results yet", "wait for the first window, or look at /api/status")
        name = name or names[0]
        if name not in names:
            raise NotFound(f"there is no query {shown(name)}", there_are(name, names))
        if name in now.queries:
            return now.queries[name]
        config = self._live.places.config
        labels = config.queries[name].labels if config is not None else ()
        return QueryHistory(name, Keys(labels, [], {}, 0), (), (), ())


def _filter(ask: Ask) -> Filter:
    return Filter(ask["search"], ask["where"], ask["alert"], ask["burst"], bool(ask["silent"]))


def _keys_asked(ask: Ask) -> KeysAsked:
    paging = {name: ask[name] for name in ("offset", "limit", "spark") if name in ask}
    return KeysAsked(ask["sort"] or None, ask["order"], _filter(ask), ask["at"], **paging)


def _known(now: Now) -> Alerts:
    if now.alerts is None:
        raise NotFound("alerts are not known here", "serve the configuration (.yaml) instead of the folder of results")
    return now.alerts


def _marks(now: Now, query: str) -> AlertMarks | None:
    """Rule and state of what is active on a query, by the labels of the alert."""
    if now.alerts is None:
        return None
    found: dict[tuple[tuple[str, str | None], ...], list[tuple[str, str]]] = {}
    for alert in now.alerts.active:
        if query in alert["queries"]:
            labels = tuple(sorted(alert["labels"].items()))
            found.setdefault(labels, []).append((alert["rule"], alert["state"]))
    return found
