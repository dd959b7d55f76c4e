"""Maps each API endpoint to its handler: from a snapshot and validated parameters to JSON or CSV."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import aomg
from aomg.suggestions import there_are
from aomg.web.follow.live import LiveData, Snapshot
from aomg.web.http.openapi import description
from aomg.web.http.status import health_json, query_names, status, unit_of
from aomg.web.memory.history import QueryHistory
from aomg.web.memory.keys import Keys
from aomg.web.metrics.exposition import Metrics, exposition
from aomg.web.parameters import NotFound, quoted
from aomg.web.views.alerts import Alerts, AlertsRequest
from aomg.web.views.csv import alerts_csv, health_csv, heat_map_csv, histogram_csv, key_csv, keys_csv
from aomg.web.views.decimals import rounded_interval
from aomg.web.views.heat_map import HeatMapRequest, heat_map_answer
from aomg.web.views.key import KeyRequest, key_answer, key_number
from aomg.web.views.key_order import AlertMarks, Filter
from aomg.web.views.overview import KeysRequest, keys_answer, window_at

Params = Mapping[str, Any]


class Handlers:
    """The handlers of the API. Thread-safe: they read immutable snapshots."""

    def __init__(self, live: LiveData) -> None:
        self._live = live
        self.timely: dict[str, Callable[[Snapshot, Params], Any]] = {
            "/api/status": lambda snapshot, params: status(live, snapshot),
            "/api/health": lambda snapshot, params: health_json(live, snapshot),
        }
        """JSON that depends on the clock."""
        self.cached: dict[str, Callable[[Snapshot, Params], Any]] = {
            "/api/keys": self._keys,
            "/api/heatmap": self._heat_map,
            "/api/key": self._key,
            "/api/histogram": self._histogram,
            "/api/alerts": self._alerts,
            "/api/targets": lambda snapshot, params: {"version": snapshot.version, "targets": _targets(snapshot)},
            "/api/openapi.json": lambda snapshot, params: description(aomg.__version__),
        }
        """JSON that depends only on the version."""
        self.tables: dict[str, Callable[[Snapshot, Params], Iterator[str]]] = {
            "/api/keys.csv": self._keys_csv,
            "/api/key.csv": self._key_csv,
            "/api/heatmap.csv": self._heat_map_csv,
            "/api/histogram.csv": lambda snapshot, params: histogram_csv(self._histogram(snapshot, params)),
            "/api/alerts.csv": self._alerts_csv,
            "/api/health.csv": lambda snapshot, params: health_csv(live.health().batches),
        }
        """CSV."""

    def _keys(self, snapshot: Snapshot, params: Params) -> dict[str, Any]:
        history = self._history(snapshot, params["query"])
        return keys_answer(history, _keys_request(params), _marks(snapshot, history.name), snapshot.version)

    def _keys_csv(self, snapshot: Snapshot, params: Params) -> Iterator[str]:
        history = self._history(snapshot, params["query"])
        return keys_csv(history, _keys_request(params), _marks(snapshot, history.name))

    def _heat_map(self, snapshot: Snapshot, params: Params) -> dict[str, Any]:
        history = self._history(snapshot, params["query"])
        request = HeatMapRequest(
            params["quantile"] or None,
            params["rows"],
            params["columns"],
            params["since"],
            params["until"],
            _filter(params),
            params["sort"] or None,
            params["order"],
            params["rank"],
            params["spark"],
        )
        return heat_map_answer(
            history, request, _marks(snapshot, history.name), unit_of(self._live, history.name), snapshot.version
        )

    def _heat_map_csv(self, snapshot: Snapshot, params: Params) -> Iterator[str]:
        return heat_map_csv(self._heat_map(snapshot, params), self._history(snapshot, params["query"]).keys.names)

    def _key(self, snapshot: Snapshot, params: Params) -> dict[str, Any]:
        history = self._history(snapshot, params["query"])
        request = KeyRequest(params["key"], params["since"], params["until"], params.get("points"))
        limits = [
            {
                "estimate": limit.estimate,
                "value": limit.value,
                "operator": limit.operator,
                "rule": limit.rule,
                "kind": limit.kind,
            }
            for limit in self._live.limits
            if limit.query == history.name
        ]
        labels = history.keys.labels(key_number(history, params["key"]))
        alerts = [] if snapshot.alerts is None else snapshot.alerts.transitions(history.name, labels)
        return key_answer(history, request, unit_of(self._live, history.name), limits, alerts, snapshot.version)

    def _key_csv(self, snapshot: Snapshot, params: Params) -> Iterator[str]:
        return key_csv(self._key(snapshot, params))

    def _histogram(self, snapshot: Snapshot, params: Params) -> dict[str, Any]:
        history = self._history(snapshot, params["query"])
        number, window = key_number(history, params["key"]), window_at(history, params["at"])
        row = window.row(number) if window is not None else None
        if window is None or row is None:
            raise NotFound(
                "this key has no window at this time", "choose another time, or leave out at= for the newest"
            )
        labels = history.keys.labels(number)
        answer = self._live.histograms.of(history.name, labels, window.start, window.end, int(window.count[row]))
        return {**answer, "unit": unit_of(self._live, history.name)}

    def _alerts(self, snapshot: Snapshot, params: Params) -> dict[str, Any]:
        return {
            "version": snapshot.version,
            **_known_alerts(snapshot).page(AlertsRequest(**{**params, "query": params["query"] or None})),
        }

    def _alerts_csv(self, snapshot: Snapshot, params: Params) -> Iterator[str]:
        alerts = _known_alerts(snapshot)
        request = AlertsRequest(**{**params, "query": params["query"] or None}, limit=len(alerts.all))
        return alerts_csv(alerts.page(request)["alerts"])

    def metrics(self, snapshot: Snapshot, accept: str) -> tuple[bytes, str]:
        """Return the metrics for Prometheus, and their content type."""
        metrics = Metrics(
            snapshot.queries,
            {name: unit_of(self._live, name) for name in snapshot.queries},
            None if snapshot.alerts is None else snapshot.alerts.active,
            snapshot.targets,
            health_json(self._live, snapshot),
            self._live.most_series,
            {follower.name: follower.failing for follower in snapshot.followers},
        )
        return exposition(metrics, accept)

    def _history(self, snapshot: Snapshot, name: str | None) -> QueryHistory:
        """Return the history of a query, or of the first one; empty where the query has no results yet."""
        names = query_names(self._live, snapshot)
        if not names:
            raise NotFound("there are no results yet", "wait for the first window; /api/status lists problems")
        name = name or names[0]
        if name not in names:
            raise NotFound(f"there is no query {quoted(name)}", there_are(name, names))
        if name in snapshot.queries:
            return snapshot.queries[name]
        config = self._live.places.config
        labels = config.queries[name].labels if config is not None else ()
        return QueryHistory(name, Keys(labels, [], {}, 0), (), (), ())


def _targets(snapshot: Snapshot) -> list[dict[str, Any]]:
    unknown = float("nan")
    return [
        {**target, "headroom": rounded_interval(*(unknown if part is None else part for part in target["headroom"]))}
        for target in snapshot.targets
    ]


def _filter(params: Params) -> Filter:
    return Filter(params["search"], params["where"], params["alert"], params["burst"], bool(params["silent"]))


def _keys_request(params: Params) -> KeysRequest:
    paging = {name: params[name] for name in ("offset", "limit", "spark", "rank") if name in params}
    return KeysRequest(params["sort"] or None, params["order"], _filter(params), params["at"], **paging)


def _known_alerts(snapshot: Snapshot) -> Alerts:
    if snapshot.alerts is None:
        raise NotFound(
            "alerts are not available: only a folder of results is served", "serve the configuration (.yaml) instead"
        )
    return snapshot.alerts


def _marks(snapshot: Snapshot, query: str) -> AlertMarks | None:
    """Return rule and state of the active alerts on a query, by the labels of the alert."""
    if snapshot.alerts is None:
        return None
    marks: dict[tuple[tuple[str, str | None], ...], list[tuple[str, str]]] = {}
    for alert in snapshot.alerts.active:
        if query in alert["queries"]:
            labels = tuple(sorted(alert["labels"].items()))
            marks.setdefault(labels, []).append((alert["rule"], alert["state"]))
    return marks
