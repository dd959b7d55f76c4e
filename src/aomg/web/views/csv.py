"""Writes responses as CSV: RFC 4180, UTF-8, a header first; times are ISO 8601 in UTC, null is an empty cell.

Spreadsheets run a cell that begins with = + - @ as a formula, and labels come from whoever sends events: such texts get
a ' in front.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from aomg.times import time_text
from aomg.web.memory.history import QueryHistory
from aomg.web.memory.silent_keys import row_selection
from aomg.web.memory.span import ranking_span
from aomg.web.views.key_order import AlertMarks, marks_by_key, matching_rows, sort_of
from aomg.web.views.overview import KeysRequest, key_rows, window_at

_ROWS_AT_ONCE = 500
# some spreadsheets also accept the full-width forms of = + - @, and skip white space
_DANGEROUS = re.compile("[\\s\\x00]*[=+\\-@\uff1d\uff0b\uff0d\uff20]|[\\t\\r\\n\\x00]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_OF_A_ROW = ("start", "end", "count", "min", "max", "sub_windows", "burst")
_WHAT = ("state", "rule", "group", "labels", "certainty", "reason", "count", "quantities", "units")
_WHEN = ("start", "end", "started", "fired", "resolved", "seconds")
_ALERT = (*_WHAT, *_WHEN, "annotations", "fleet", "id")


def cell(value: Any) -> str:
    """Return a value as a cell: true or false, empty for None, and texts that no spreadsheet runs as a formula.

    >>> [cell(value) for value in (True, None, -1.5, "-1.5", "-1+1", "=1+1", "podset")]
    ['true', '', '-1.5', '-1.5', "'-1+1", "'=1+1", 'podset']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    return f"'{text}" if _DANGEROUS.match(text) and not _NUMBER.fullmatch(text) else text


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield CSV in pieces of a few hundred lines."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow([cell(name) for name in header])
    for number, row in enumerate(rows, 1):
        writer.writerow([cell(value) for value in row])
        if number % _ROWS_AT_ONCE == 0:
            yield written.getvalue()
            written.seek(0)
            written.truncate()
    yield written.getvalue()


def keys_csv(history: QueryHistory, request: KeysRequest, marks: AlertMarks | None) -> Iterator[str]:
    """Yield all matching keys, sorted; ignores the page. Raises BadRequest at once, not while lines are read."""
    sort, window = sort_of(history, request.sort), window_at(history, request.time)
    labels = history.keys.names
    parts = [f"{name}{part}" for name in history.estimates for part in ("", "_low", "_high", "_method")]
    fixed = [*_OF_A_ROW, *parts, "width", "alert_state", "alert_rule", "alerts"]
    header = [*_label_columns(labels, fixed), *fixed]
    if window is None:
        return csv_lines(header, ())
    by_key = marks_by_key(marks, history.keys)
    selection = row_selection(history, window, request.filter.silent)
    span = ranking_span(history, selection.rows, request.rank, sort, request.spark)
    rows = matching_rows(history, selection.rows, request.filter, sort, request.order, by_key, span)

    def table_rows() -> Iterator[list[Any]]:
        for begin in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[begin : begin + _ROWS_AT_ONCE]
            starts = selection.starts[part].tolist()
            for start, row in zip(starts, key_rows(history, selection, part, sort, by_key), strict=True):
                alert = row["alert"] or {}
                yield [
                    *row["key"].values(),
                    time_text(start),
                    *(row[name] for name in _OF_A_ROW[1:]),
                    *(value for estimate in row["estimates"].values() for value in estimate.values()),
                    row["width"],
                    alert.get("state"),
                    alert.get("rule"),
                    alert["more"] + 1 if alert else 0,
                ]

    return csv_lines(header, table_rows())


def key_csv(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield one key over time: a line for each window of a `key_answer`; gaps have none."""
    estimates, labels = answer["estimates"], answer["key"]
    parts = [f"{estimate['name']}{part}" for estimate in estimates for part in ("", "_low", "_high", "_method")]
    fixed = ["end", "count", "burst", *parts]
    columns = [answer["ends"], answer["counts"], answer["bursts"]]
    columns += [estimate[part] for estimate in estimates for part in ("values", "low", "high", "methods")]
    rows = ([*labels.values(), *row] for row in zip(*columns, strict=True) if row[1] is not None)
    return csv_lines([*_label_columns(tuple(labels), fixed), *fixed], rows)


def heat_map_csv(answer: Mapping[str, Any], labels: Sequence[str]) -> Iterator[str]:
    """Yield a heat map: a line for each cell of a `heat_map_answer` that has a value.

    labels
        The label names of the keys, for the header where there is no key.
    """
    bursts = {tuple(place) for place in answer["bursts"]}
    fixed = ["end", answer["quantile"] or "value", "burst"]
    rows = (
        [*key.values(), end, value, (row, column) in bursts]
        for row, (key, values) in enumerate(zip(answer["keys"], answer["values"], strict=True))
        for column, (end, value) in enumerate(zip(answer["ends"], values, strict=True))
        if value is not None
    )
    return csv_lines([*_label_columns(labels, fixed), *fixed], rows)


def histogram_csv(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield a histogram: a line for each bucket of a response of /api/histogram."""
    fixed = ["start", "end", "low", "high", "count"]
    before = [*answer["key"].values(), answer["start"], answer["end"]]
    rows = ([*before, bucket["low"], bucket["high"], bucket["count"]] for bucket in answer["buckets"])
    return csv_lines([*_label_columns(tuple(answer["key"]), fixed), *fixed], rows)


def alerts_csv(alerts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield alerts of /api/alerts; one column for each label, quantity and annotation that any of them has."""
    flat = [_flat({name: alert.get(name) for name in _ALERT if alert.get(name) or name != "fleet"}) for alert in alerts]
    return _records_csv(flat, _ALERT)


def health_csv(batches: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield micro-batches of /api/health; one column for each phase."""
    names = list(dict.fromkeys(name for batch in batches for name in batch)) or ["batch"]
    return _records_csv([_flat(batch) for batch in batches], names)


def _records_csv(records: Sequence[Mapping[str, Any]], order: Sequence[str]) -> Iterator[str]:
    names = dict.fromkeys(name for record in records for name in record)
    rank = {name: index for index, name in enumerate(order)}
    header = sorted(names, key=lambda name: rank.get(name, rank.get(name.partition(".")[0], len(rank)))) or order
    return csv_lines(list(header), ([record.get(name) for name in header] for record in records))


def _flat(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return nested parts under names with dots; the three numbers of an interval as low, value and high."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}.")
        elif isinstance(value, list | tuple) and before == "quantities.":
            flat |= {
                f"{before}{name}.{part}": item for part, item in zip(("low", "value", "high"), value, strict=False)
            }
        elif isinstance(value, list | tuple):
            flat[before + name] = ", ".join(str(item) for item in value)
        else:
            flat[before + name] = value
    return flat


def _label_columns(labels: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return label names as columns, with the prefix key. where a column has that name already."""
    return [f"key.{name}" if name in columns else name for name in labels]
