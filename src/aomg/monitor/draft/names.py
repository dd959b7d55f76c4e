"""What the name of a column says about it: words, units, and the names of labels and queries."""

import re

UNITS = {
    **dict.fromkeys(("us", "usec", "usecs", "micros", "microsec", "microsecs", "microseconds", "µs"), "us"),
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "millisec", "millisecs", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "seconds"), "s"),
}
"""Words at the end of a name, and the units that the configuration knows."""
OTHER_UNITS = {
    **dict.fromkeys(("ns", "nsec", "nanos", "nanosec", "nanoseconds"), "nanoseconds"),
    **dict.fromkeys(("min", "mins", "minutes"), "minutes"),
    **dict.fromkeys(("h", "hours"), "hours"),
}
"""Words that are units too, but not of the configuration."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TIMES = _words("ts time timestamp datetime date when at created received started start ended end event epoch")
BEST_TIMES = _words("ts time timestamp datetime event_time eventtime @timestamp _time")
VALUES = _words(
    "latency duration rtt elapsed took response value delay wait runtime lag cost size bytes length load usage cpu "
    "memory price amount distance airtime cycles temperature"
)
IDENTITIES = _words(
    "id uuid guid pid tid port code status year month day hour week line index idx seq sequence offset lat lon "
    "latitude longitude version src dst row zip zone level"
)
KEYS = _words(
    "service host hostname server endpoint route path url method region zone dc datacenter cluster podset pod node app "
    "application customer tenant user status type name key source src dst device sensor instance carrier city "
    "operation op job queue topic shard rack machine model category kind group"
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESULT = re.compile(r"(?i)window|count|min|max|sub_windows|burst|p[0-9][0-9_]*|below_.*")
_RESERVED = re.compile(rf"{_RESULT.pattern}|and|or|not|true|false|alertname|__.*")


def words(name: str) -> list[str]:
    """The words of a name, in lower case.

    >>> words("responseTime_ms"), words("HTTP-Status")
    (['response', 'time', 'ms'], ['http', 'status'])
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [word.lower() for word in re.split(r"[^A-Za-z0-9µ]+", spaced) if word]


def unit_of(name: str) -> tuple[str | None, str]:
    """The unit that a name ends in, and the word that says so. Units that the configuration lacks are None.

    >>> unit_of("latency_ms"), unit_of("duration_ns"), unit_of("load")
    (('ms', 'ms'), (None, 'nanoseconds'), (None, ''))
    >>> unit_of("ms"), unit_of("s")
    (('ms', 'ms'), (None, ''))
    """
    parts = words(name)
    if not parts or (len(parts) == 1 and len(parts[0]) == 1):
        return None, ""  # a column called s or h may be anything
    last = parts[-1]
    return UNITS.get(last), last if last in UNITS else OTHER_UNITS.get(last, "")


def is_writable(name: str) -> bool:
    """Whether a configuration can name a column."""
    return bool(name.strip()) and name.isprintable() and "${" not in name and not name.startswith("__")


def can_be_label(name: str) -> bool:
    """Whether a column can be part of a key; those with the name of a result column cannot."""
    return is_writable(name) and not _RESULT.fullmatch(name)


def label_of(column: str) -> str:
    """The name of a column's label: the column itself, if rules can use it.

    >>> label_of("service"), label_of("http.status"), label_of("and")
    ('service', 'http_status', 'and_label')
    """
    return _identifier(column, "label")


def query_of(column: str) -> str:
    """The name of the query of a value: that of the column, without its unit.

    >>> query_of("latency_ms"), query_of("2xx rate"), query_of("count")
    ('latency', 'query_2xx_rate', 'count_query')
    """
    unit = unit_of(column)[1]
    parts = re.split(r"[^A-Za-z0-9]+", column)
    if unit and len(parts) > 1 and parts[-1].lower() in (*UNITS, *OTHER_UNITS):
        parts = parts[:-1]
    return _identifier("_".join(part for part in parts if part), "query")


def _identifier(name: str, noun: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:60] or noun
    if not _IDENTIFIER.fullmatch(plain):
        plain = f"{noun}_{plain}"
    return f"{plain}_{noun}" if _RESERVED.fullmatch(plain) else plain
