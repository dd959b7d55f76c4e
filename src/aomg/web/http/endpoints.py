"""Declares every endpoint of the API with its parameters: requests are validated and described by these."""

from dataclasses import dataclass

from aomg.web.memory.span import PERIODS
from aomg.web.parameters import Parameter

ALERT_FILTERS = ("any", "alerting", "firing", "pending", "none")
ALERT_STATES = ("any", "firing", "pending", "resolved", "inactive")

_QUERY = Parameter("query", "text", "Name of the query in the configuration (default: the first).", example="inbound")
_KEY = Parameter("key", "labels", "The key, by the value of each of its labels.", example="6")
_TIME = Parameter("at", "time", "End of the window (default: the newest).", example="2024-05-01T09:15:00Z")
_FROM = Parameter("from", "time", "Only windows that end at this time or later.", argument="since")
_TO = Parameter("to", "time", "Only windows that end at this time or earlier.", argument="until")
_SORT = Parameter(
    "sort",
    "text",
    "Sort by an estimate such as p99, or by count, width, key or alert (default: p99, or the highest quantile).",
    example="p99",
    most=100,
)
_RANK = Parameter(
    "rank",
    "choice",
    "Sort by an estimate in the window, or by its highest value in the span of the sparklines.",
    "window",
    choices=("window", "span"),
)
_SPARK = Parameter("spark", "whole", "Number of periods in each sparkline.", PERIODS, most=500)
_ORDER = Parameter("order", "choice", "Highest first (desc) or lowest first (asc).", "desc", choices=("desc", "asc"))
_SEARCH = Parameter("search", "text", "Only keys with this text in a label; ignores case.", "", most=200)
_OFFSET = Parameter("offset", "whole", "Number of rows to skip.", 0, most=100_000_000)
_LIMIT = Parameter("limit", "whole", "Maximum number of rows.", 100, least=1, most=500)
_FILTERS = (
    _SORT,
    _ORDER,
    _RANK,
    _SPARK,
    _SEARCH,
    Parameter("where", "labels", "Only keys whose label has this value.", example="6"),
    Parameter("alert", "choice", "Only keys with an active alert in this state.", "any", choices=ALERT_FILTERS),
    Parameter("burst", "flag", "Only keys with (true) or without (false) a burst in the window."),
    Parameter("silent", "flag", "List silent keys instead: earlier windows have them, this window does not.", False),
)
_HEAT_MAP = (
    _QUERY,
    Parameter(
        "quantile",
        "text",
        "The estimate that the colours show (default: p99, or the highest quantile).",
        example="p99",
        most=100,
    ),
    Parameter("rows", "whole", "Maximum number of keys.", 60, least=1, most=500),
    Parameter("columns", "whole", "Maximum number of columns.", 240, least=1, most=2_000),
    _FROM,
    _TO,
    *_FILTERS,
)
_ALERTS = (
    Parameter(
        "state",
        "choice",
        "Only alerts in this state; any is all but inactive ones, which never fired.",
        "any",
        choices=ALERT_STATES,
    ),
    Parameter("search", "text", "Only alerts with this text in rule, labels or reason; ignores case.", "", most=200),
    Parameter("query", "text", "Only alerts whose rule reads this query.", example="inbound"),
    _KEY,
)


@dataclass(frozen=True)
class Endpoint:
    """One endpoint.

    answer
        The name of the response's JSON schema; empty where the response is not JSON.
    cached
        Whether the response depends only on the data's version; it then has an ETag.
    """

    path: str
    about: str
    parameters: tuple[Parameter, ...] = ()
    answer: str = ""
    media: str = "application/json"
    cached: bool = False


ENDPOINTS = (
    Endpoint("/api/status", "Queries, how fresh their results are, and current problems.", (), "Status"),
    Endpoint(
        "/api/keys",
        "The keys of a query with their estimates: sorted, filtered, one page at a time.",
        (
            _QUERY,
            *_FILTERS,
            _TIME,
            _OFFSET,
            _LIMIT,
        ),
        "Keys",
        cached=True,
    ),
    Endpoint(
        "/api/heatmap",
        "One quantile of the first keys over time.",
        _HEAT_MAP,
        "HeatMap",
        cached=True,
    ),
    Endpoint(
        "/api/key",
        "One key over time: every estimate with its interval and method, plus limits and alerts.",
        (
            _QUERY,
            _KEY,
            _FROM,
            _TO,
            Parameter("points", "whole", "Maximum number of points.", 3_000, least=10, most=20_000),
        ),
        "Key",
        cached=True,
    ),
    Endpoint(
        "/api/histogram", "Histogram of a key's values in one window.", (_QUERY, _KEY, _TIME), "Histogram", cached=True
    ),
    Endpoint(
        "/api/alerts",
        "Alerts: firing, then pending, then resolved; on request those that never fired.",
        (*_ALERTS, _OFFSET, _LIMIT),
        "Alerts",
        cached=True,
    ),
    Endpoint("/api/health", "Monitor health: micro-batches, lag, refused rows, state size.", (), "Health"),
    Endpoint("/api/targets", "Headroom of every target: how far it is from its limit.", (), "Targets", cached=True),
    Endpoint("/api/openapi.json", "This description.", (), "Description", cached=True),
    Endpoint(
        "/api/events", "Server-sent events: a `changed` event for every new version.", (), "", "text/event-stream"
    ),
    Endpoint("/api/keys.csv", "All matching keys, as CSV.", (_QUERY, *_FILTERS, _TIME), "", "text/csv"),
    Endpoint("/api/key.csv", "One key over time, as CSV.", (_QUERY, _KEY, _FROM, _TO), "", "text/csv"),
    Endpoint("/api/heatmap.csv", "The heat map as CSV: one line per key and column.", _HEAT_MAP, "", "text/csv"),
    Endpoint(
        "/api/histogram.csv",
        "Histogram of a key's values in one window, as CSV.",
        (_QUERY, _KEY, _TIME),
        "",
        "text/csv",
    ),
    Endpoint("/api/alerts.csv", "All matching alerts, as CSV.", _ALERTS, "", "text/csv"),
    Endpoint("/api/health.csv", "The newest micro-batches, as CSV.", (), "", "text/csv"),
    Endpoint("/metrics", "All metrics, for Prometheus (OpenMetrics).", (), "", "application/openmetrics-text"),
)
BY_PATH = {endpoint.path: endpoint for endpoint in ENDPOINTS}
