"""JSON schemas of the API's responses; a test validates real responses with them."""

from typing import Any

Shape = dict[str, Any]


def _object(about: str = "", **parts: Shape) -> Shape:
    shape: Shape = {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}
    return {**shape, "description": about} if about else shape


def _list(part: Shape, about: str = "") -> Shape:
    return {"type": "array", "items": part, **({"description": about} if about else {})}


def _by_name(part: Shape) -> Shape:
    return {"type": "object", "additionalProperties": part}


def _or_null(part: Shape) -> Shape:
    if "type" in part and isinstance(part["type"], str) and "enum" not in part:
        return {**part, "type": [part["type"], "null"]}
    return {"anyOf": [part, {"type": "null"}]}


def _one_of(*texts: str) -> Shape:
    return {"type": "string", "enum": list(texts)}


TEXT: Shape = {"type": "string"}
WHOLE: Shape = {"type": "integer"}
NUMBER: Shape = {"type": "number"}
FLAG: Shape = {"type": "boolean"}
TIME: Shape = {"type": "string", "format": "date-time"}
LABELS = _by_name(_or_null(TEXT))
UNIT = _or_null(_one_of("us", "ms", "s"))
INTERVAL = {**_list(_or_null(NUMBER), "Low, value, high."), "minItems": 3, "maxItems": 3}
VERSION: Shape = {**WHOLE, "description": "Increases by one with each change; starts again when the server restarts."}
STALE = _or_null(_object("Set if new results are overdue.", seconds=NUMBER, because=TEXT, what_to_do=TEXT))
STARTING = _or_null(
    _object(
        "Set while the monitor starts and has no window yet: due is an estimate of when the first one comes.",
        step=_one_of("spark", "plan", "batch", "window"),
        steps=_list(TEXT, "All steps, in their order."),
        what=TEXT,
        seconds=NUMBER,
        first_window=_or_null(TEXT),
        due=_or_null(TIME),
    )
)
NOTE = _or_null({**TEXT, "description": "Why there are no new results, where none are due."})
SHARES_BURST: Shape = {**FLAG, "description": "Whether at least half of the keys have a burst at once."}
COUNTS = _or_null(_object("Null where only a folder of results is served.", firing=WHOLE, pending=WHOLE))
KEY_ALERT = _object(state=_one_of("firing", "pending"), rule=TEXT, more=WHOLE)

SHAPES: dict[str, Shape] = {
    "Problem": _object("An error, and what to do about it.", error=TEXT, what_to_do=TEXT),
    "Status": _object(
        version=VERSION,
        now=TIME,
        title=TEXT,
        loading=_object("Number of result files read so far, and in total.", done=WHOLE, of=WHOLE),
        live=FLAG,
        starting=STARTING,
        stale=STALE,
        note=NOTE,
        problems=_list(TEXT),
        queries=_list(
            _object(
                name=TEXT,
                labels=_list(TEXT),
                unit=UNIT,
                estimates=_list(_object(name=TEXT, title=TEXT, quantile=_or_null(NUMBER))),
                size_seconds=_or_null(NUMBER),
                period_seconds=_or_null(NUMBER),
                keys=WHOLE,
                windows=WHOLE,
                first_end=_or_null(TIME),
                newest_end=_or_null(TIME),
            )
        ),
        alerts=COUNTS,
        histograms=FLAG,
    ),
    "Keys": _object(
        version=VERSION,
        query=TEXT,
        sort=TEXT,
        order=_one_of("asc", "desc"),
        rank=_one_of("window", "span"),
        at=_or_null(TIME),
        total={**WHOLE, "description": "Number of keys in the window; with silent=true, of silent keys."},
        silent={**WHOLE, "description": "Number of silent keys: earlier windows have them, this one does not."},
        bursts={**WHOLE, "description": "Number of keys with a burst in the window."},
        shares_burst=SHARES_BURST,
        matching=WHOLE,
        offset=WHOLE,
        columns=_list(TEXT, "Names of the estimates."),
        rows=_list(
            _object(
                key=LABELS,
                end={**TIME, "description": "End of the row's window; for a silent key, of its newest window."},
                count=WHOLE,
                burst=FLAG,
                min=_or_null(NUMBER),
                max=_or_null(NUMBER),
                sub_windows=WHOLE,
                estimates=_by_name(
                    _object(value=_or_null(NUMBER), low=_or_null(NUMBER), high=_or_null(NUMBER), method=TEXT)
                ),
                width=_or_null({**NUMBER, "description": "(high - low) / value"}),
                alert=_or_null(KEY_ALERT),
                spark=_list(_or_null(NUMBER)),
                worst=_or_null(
                    _object(
                        "The window of the sparkline in which the estimate was highest.",
                        end=TIME,
                        value=_or_null(NUMBER),
                        low=_or_null(NUMBER),
                        high=_or_null(NUMBER),
                        method=TEXT,
                    )
                ),
            )
        ),
        spark=_object(
            "What the sparklines show; low and high are of all keys, for a common scale.",
            estimate=_or_null(TEXT),
            first=_or_null(TIME),
            last=_or_null(TIME),
            windows=WHOLE,
            low=_or_null(NUMBER),
            high=_or_null(NUMBER),
        ),
    ),
    "HeatMap": _object(
        version=VERSION,
        query=TEXT,
        quantile=_or_null(TEXT),
        unit=UNIT,
        ends=_list(TIME),
        keys=_list(LABELS),
        values=_list(_list(_or_null(NUMBER)), "One list per key."),
        bursts=_list(_list(WHOLE), "Row and column of each burst."),
        shared_bursts=_list(WHOLE, "Columns in which at least half of the query's keys have a burst at once."),
        windows_per_column=WHOLE,
        matching=WHOLE,
    ),
    "Key": _object(
        version=VERSION,
        query=TEXT,
        key=LABELS,
        unit=UNIT,
        first_end=_or_null({**TIME, "description": "End of the key's oldest window in memory, whatever `from` is."}),
        newest_end=_or_null(TIME),
        silent={**FLAG, "description": "Whether the query has newer windows than this key."},
        ends=_list(TIME),
        starts_seconds=_or_null({**NUMBER, "description": "Length of a window in seconds."}),
        counts=_list(_or_null(WHOLE)),
        bursts=_list(FLAG),
        shared_bursts=_list(FLAG, "Bursts that at least half of the query's keys have at the same time."),
        estimates=_list(
            _object(
                name=TEXT,
                title=TEXT,
                values=_list(_or_null(NUMBER)),
                low=_list(_or_null(NUMBER)),
                high=_list(_or_null(NUMBER)),
                methods=_list(_or_null(TEXT)),
            )
        ),
        limits=_list(_object(estimate=TEXT, value=NUMBER, operator=TEXT, rule=TEXT, kind=_one_of("alert", "target"))),
        alerts=_list(_object(rule=TEXT, transition=TEXT, end=TIME, started=TIME, certainty=TEXT)),
        windows_per_point=WHOLE,
    ),
    "Histogram": _object(
        query=TEXT,
        key=LABELS,
        start=TIME,
        end=TIME,
        count=WHOLE,
        unit=UNIT,
        sub_windows=WHOLE,
        buckets=_list(_object(low=NUMBER, high=NUMBER, count=WHOLE)),
    ),
    "Alerts": _object(
        version=VERSION,
        counts=_object(
            "One alert is one firing of one rule for one key: fired is firing and resolved. Inactive ones never fired.",
            firing=WHOLE,
            pending=WHOLE,
            resolved=WHOLE,
            inactive=WHOLE,
            fired=WHOLE,
        ),
        total={**WHOLE, "description": "Firing, pending and resolved alerts."},
        matching=WHOLE,
        alerts=_list(
            _object(
                id=TEXT,
                rule=TEXT,
                group=TEXT,
                state=_one_of("firing", "pending", "resolved", "inactive"),
                labels=LABELS,
                annotations=_by_name(TEXT),
                certainty=_or_null(TEXT),
                quantities=_by_name(INTERVAL),
                units=_by_name(TEXT),
                count=_or_null(WHOLE),
                start=TIME,
                end=TIME,
                started=TIME,
                fired=_or_null(TIME),
                resolved=_or_null(TIME),
                seconds=_or_null(
                    {
                        **NUMBER,
                        "description": "How long it fired, up to its end or the newest window; before it fires, how "
                        "long its condition has held. Null if the time of its end is unknown.",
                    }
                ),
                condition=_or_null({**TEXT, "description": "Of the rule, as written."}),
                quantities_at_end=_by_name(INTERVAL),
                fleet=_or_null(
                    _object(violating=WHOLE, total=WHOLE, members=_list(TEXT), silent=WHOLE, suspect=_or_null(TEXT))
                ),
                reason=TEXT,
                queries=_list(TEXT, "The queries that its condition reads."),
                link=_or_null(_object(query=TEXT, key=LABELS, at=TIME)),
                transitions=_list(_object(transition=TEXT, end=TIME, certainty=TEXT)),
            )
        ),
    ),
    "Health": _object(
        version=VERSION,
        live=FLAG,
        newest_end=_or_null(TIME),
        lag_seconds=_or_null(NUMBER),
        starting=STARTING,
        stale=STALE,
        note=NOTE,
        batches=_list(
            _object(
                batch=WHOLE,
                at=TIME,
                events=_or_null(WHOLE),
                seconds=NUMBER,
                events_per_second=_or_null(NUMBER),
                rows=WHOLE,
                lag_seconds=_or_null(NUMBER),
                phases=_by_name(NUMBER),
                late=_or_null(WHOLE),
                refused=WHOLE,
                state_rows=_or_null(WHOLE),
                state_bytes=_or_null(WHOLE),
            )
        ),
        totals=_object(
            events=_or_null(WHOLE), rows=WHOLE, late=_or_null(WHOLE), refused=WHOLE, refused_by_reason=_by_name(WHOLE)
        ),
        state_bytes=_or_null(WHOLE),
        state_rows=_or_null(WHOLE),
        checkpoint_age_seconds=_or_null(NUMBER),
        undelivered=_by_name(WHOLE),
        server=_object(history_bytes=WHOLE, most_bytes=WHOLE, viewers=WHOLE),
    ),
    "Targets": _object(
        version=VERSION,
        targets=_list(_object(target=TEXT, group=TEXT, end=TIME, labels=LABELS, headroom=INTERVAL)),
    ),
    "Changed": _object("Data of a `changed` event.", version=VERSION, newest=_by_name(TIME), alerts=COUNTS),
    "Description": {"type": "object", "description": "This description, in OpenAPI 3.1."},
}
