"""What can be asked: every address of the API with its parameters. Requests are checked, and described, by these."""

from dataclasses import dataclass

from aomg.web.parameters import Parameter

ALERT_FILTERS = ("any", "alerting", "firing", "pending", "none")
ALERT_STATES = ("any", "firing", "pending", "resolved")

_QUERY = Parameter(
    "query", "text", "The query, as the configuration calls it; unless told, the first.", example="inbound"
)
_KEY = Parameter("key", "labels", "The key: a value for each label of it.", example="6")
_AT = Parameter("at", "time", "The end of a window; unless told, the newest.", example="2024-05-01T09:15:00Z")
_FROM = Parameter("from", "time", "Only windows that end at this time or later.", asked_as="since")
_TO = Parameter("to", "time", "Only windows that end at this time or earlier.", asked_as="until")
_SORT = Parameter(
    "sort", "text", "What is compared: an estimate such as p99, or count, width, key, alert.", example="p99", most=100
)
_ORDER = Parameter("order", "choice", "The greatest or the least first.", "desc", choices=("desc", "asc"))
_SEARCH = Parameter("search", "text", "Only what has this text in a label, in either case.", "", most=200)
_OFFSET = Parameter("offset", "whole", "How many to pass over.", 0, most=100_000_000)
_LIMIT = Parameter("limit", "whole", "How many at most.", 100, least=1, most=500)
_FILTERS = (
    _SORT,
    _ORDER,
    _SEARCH,
    Parameter("where", "labels", "Only keys with this value of a label.", example="6"),
    Parameter("alert", "choice", "Only keys that alert so.", "any", choices=ALERT_FILTERS),
    Parameter("burst", "flag", "Only keys with, or without, a burst in the window."),
    Parameter("silent", "flag", "Instead of the keys of the window those that it lacks and an earlier one has.", False),
)
_HEAT_MAP = (
    _QUERY,
    Parameter("quantile", "text", "Which estimate; unless told, p99.", example="p99", most=100),
    Parameter("rows", "whole", "How many keys at most.", 60, least=1, most=500),
    Parameter("columns", "whole", "How many columns at most.", 240, least=1, most=2_000),
    _FROM,
    _TO,
    *_FILTERS,
)
_ALERTS = (
    Parameter("state", "choice", "Only alerts in this state.", "any", choices=ALERT_STATES),
    Parameter("search", "text", "Only alerts with this text in their rule, labels or reason.", "", most=200),
    Parameter("query", "text", "Only alerts on this query.", example="inbound"),
    _KEY,
)


@dataclass(frozen=True)
class Endpoint:
    """One address.

    answer
        The name of the shape of what comes back, in the description; none for what is not JSON.
    lasting
        Whether the answer is the same as long as the version is, and has a tag.
    """

    path: str
    about: str
    parameters: tuple[Parameter, ...] = ()
    answer: str = ""
    media: str = "application/json"
    lasting: bool = False


ENDPOINTS = (
    Endpoint("/api/status", "What there is, how new it is, and what is wrong.", (), "Status"),
    Endpoint(
        "/api/keys",
        "Every key of a query as a row: sorted, filtered, a page at a time.",
        (
            _QUERY,
            *_FILTERS,
            _AT,
            _OFFSET,
            _LIMIT,
            Parameter("spark", "whole", "How many windows the small curves have.", 60, most=500),
        ),
        "Keys",
        lasting=True,
    ),
    Endpoint(
        "/api/heatmap",
        "Keys by windows: one quantile of the keys that come first.",
        _HEAT_MAP,
        "HeatMap",
        lasting=True,
    ),
    Endpoint(
        "/api/key",
        "One key over time: every estimate with its interval, its method, limits and alerts.",
        (
            _QUERY,
            _KEY,
            _FROM,
            _TO,
            Parameter("points", "whole", "How many points at most.", 3_000, least=10, most=20_000),
        ),
        "Key",
        lasting=True,
    ),
    Endpoint(
        "/api/histogram", "How the values of a window are spread.", (_QUERY, _KEY, _AT), "Histogram", lasting=True
    ),
    Endpoint(
        "/api/alerts",
        "Alerts: those that fire, those that may, then the past.",
        (*_ALERTS, _OFFSET, _LIMIT),
        "Alerts",
        lasting=True,
    ),
    Endpoint("/api/health", "How the monitor fares: batches, lag, refused rows, its state.", (), "Health"),
    Endpoint("/api/targets", "How far each target is from its limit.", (), "Targets", lasting=True),
    Endpoint("/api/openapi.json", "This description.", (), "Description", lasting=True),
    Endpoint("/api/events", "Server-sent events: `changed` at each change.", (), "", "text/event-stream"),
    Endpoint("/api/keys.csv", "All keys that match, as CSV.", (_QUERY, *_FILTERS, _AT), "", "text/csv"),
    Endpoint("/api/key.csv", "One key over time, as CSV.", (_QUERY, _KEY, _FROM, _TO), "", "text/csv"),
    Endpoint("/api/heatmap.csv", "Keys by windows, a line for each cell, as CSV.", _HEAT_MAP, "", "text/csv"),
    Endpoint(
        "/api/histogram.csv", "How the values of a window are spread, as CSV.", (_QUERY, _KEY, _AT), "", "text/csv"
    ),
    Endpoint("/api/alerts.csv", "All alerts that match, as CSV.", _ALERTS, "", "text/csv"),
    Endpoint("/api/health.csv", "The newest batches, as CSV.", (), "", "text/csv"),
    Endpoint("/metrics", "All of it for Prometheus, in OpenMetrics.", (), "", "application/openmetrics-text"),
)
BY_PATH = {endpoint.path: endpoint for endpoint in ENDPOINTS}
