"""Answers as CSV: RFC 4180, in UTF-8, a header first; times as ISO 8601 in UTC, nothing for what is null.

Spreadsheets take a cell that begins with = + - @ for a formula, and labels come from whoever sends events: texts that
could be taken so get a ' in front.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from aomg.times import time_text
from aomg.web.memory.history import QueryHistory
from aomg.web.memory.silent import shown_rows
from aomg.web.views.key_order import AlertMarks, marks_by_key, matching_rows, sort_of
from aomg.web.views.overview import KeysAsked, key_rows, window_at

_ROWS_AT_ONCE = 500
# some spreadsheets take the wide forms of = + - @ as well, and look past white space
_DANGEROUS = re.compile("[\\s\\x00]*[=+\\-@\uff1d\uff0b\uff0d\uff20]|[\\t\\r\\n\\x00]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_OF_A_ROW = ("start", "end", "count", "min", "max", "sub_windows", "burst")
_WHAT = ("state", "rule", "group", "labels", "certainty", "reason", "count", "quantities", "units")
_WHEN = ("start", "end", "started", "fired", "resolved")
_ALERT = (*_WHAT, *_WHEN, "annotations", "fleet", "id")


def cell(value: Any) -> str:
    """A value as a cell has it: true and false, nothing for None, texts such that no spreadsheet computes them.

    >>> [cell(one) for one in (True, None, -1.5, "-1.5", "-1+1", "=1+1", "podset")]
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
    """CSV in pieces of some hundred lines, made while they are read."""
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


def keys_csv(history: QueryHistory, asked: KeysAsked, marks: AlertMarks | None) -> Iterator[str]:
    """All keys that match, sorted as asked, whatever page is asked. Raises BadRequest at once, not on the way."""
    sort, window = sort_of(history, asked.sort), window_at(history, asked.at)
    labels = history.keys.names
    parts = [f"{name}{part}" for name in history.estimates for part in ("", "_low", "_high", "_method")]
    fixed = [*_OF_A_ROW, *parts, "width", "alert_state", "alert_rule", "alerts"]
    header = [*_label_columns(labels, fixed), *fixed]
    if window is None:
        return csv_lines(header, ())
    by_key = marks_by_key(marks, history.keys)
    shown = shown_rows(history, window, asked.filter.silent)
    rows = matching_rows(history, shown.rows, asked.filter, sort, asked.order, by_key)

    def told() -> Iterator[list[Any]]:
        for begin in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[begin : begin + _ROWS_AT_ONCE]
            starts = shown.starts[part].tolist()
            for start, row in zip(starts, key_rows(history, shown, part, sort, by_key), strict=True):
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

    return csv_lines(header, told())


def key_csv(answer: Mapping[str, Any]) -> Iterator[str]:
    """One key over time: a line for each window of what `key_answer` told; gaps have none."""
    estimates, labels = answer["estimates"], answer["key"]
    parts = [f"{one['name']}{part}" for one in estimates for part in ("", "_low", "_high", "_method")]
    fixed = ["end", "count", "burst", *parts]
    columns = [answer["ends"], answer["counts"], answer["bursts"]]
    columns += [one[part] for one in estimates for part in ("values", "low", "high", "methods")]
    rows = ([*labels.values(), *row] for row in zip(*columns, strict=True) if row[1] is not None)
    return csv_lines([*_label_columns(tuple(labels), fixed), *fixed], rows)


def heat_map_csv(answer: Mapping[str, Any], labels: Sequence[str]) -> Iterator[str]:
    """A heat map: a line for each cell of what `heat_map_answer` told; none where a key has no value.

    labels
        The names of the labels that keys have, for the header where there is no key.
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
    """A histogram: a line for each bucket of what /api/histogram told."""
    fixed = ["start", "end", "low", "high", "count"]
    before = [*answer["key"].values(), answer["start"], answer["end"]]
    rows = ([*before, bucket["low"], bucket["high"], bucket["count"]] for bucket in answer["buckets"])
    return csv_lines([*_label_columns(tuple(answer["key"]), fixed), *fixed], rows)


def alerts_csv(alerts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Alerts as /api/alerts tells them: labels, quantities and the like in a column for each that any of them has."""
    flat = [_flat({name: alert.get(name) for name in _ALERT if alert.get(name) or name != "fleet"}) for alert in alerts]
    return _records_csv(flat, _ALERT)


def health_csv(batches: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Micro-batches as /api/health tells them; a column for each phase."""
    names = list(dict.fromkeys(name for batch in batches for name in batch)) or ["batch"]
    return _records_csv([_flat(batch) for batch in batches], names)


def _records_csv(records: Sequence[Mapping[str, Any]], order: Sequence[str]) -> Iterator[str]:
    found = dict.fromkeys(name for record in records for name in record)
    place = {name: at for at, name in enumerate(order)}
    header = sorted(found, key=lambda name: place.get(name, place.get(name.partition(".")[0], len(place)))) or order
    return csv_lines(list(header), ([record.get(name) for name in header] for record in records))


def _flat(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested parts by names with dots; the three numbers of an interval as low, value and high."""
    told: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            told |= _flat(value, f"{before}{name}.")
        elif isinstance(value, list | tuple) and before == "quantities.":
            told |= {f"{before}{name}.{part}": one for part, one in zip(("low", "value", "high"), value, strict=False)}
        elif isinstance(value, list | tuple):
            told[before + name] = ", ".join(str(one) for one in value)
        else:
            told[before + name] = value
    return told


def _label_columns(labels: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Labels by their names, with key. in front of those that are columns already."""
    return [f"key.{name}" if name in taken else name for name in labels]
