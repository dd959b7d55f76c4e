"""Reads `queries`: each an aomg.Query with the column it reads and the labels of its keys."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from aomg.errors import QueryError
from aomg.monitor.config.kinds import boolean, duration, listed, one_of, optional, table, text
from aomg.monitor.config.model import QueryConfig
from aomg.monitor.config.schema import Field, Kind, Section
from aomg.monitor.config.source import NUMERIC
from aomg.monitor.errors import ConfigError
from aomg.query import FewK, Query
from aomg.suggestions import suggestion

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESULT = re.compile(r"(?i)window|count|min|max|sub_windows|burst|p[0-9][0-9_]*|below_.*")
_TAKEN = re.compile(rf"{_RESULT.pattern}|and|or|not|true|false|alertname|__.*")
_WINDOW = ("size", "period", "lateness")


def queries(columns: Mapping[str, str] | None) -> Kind[dict[str, QueryConfig]]:
    """All queries by name; at least one. `columns` are those of the source, where they are known."""

    def read(given: Field) -> dict[str, QueryConfig]:
        found = table(_query(columns))(given)
        if not found:
            given.refuse("is empty; give one query at least")
        return found

    return read


def name_of(given: Field, name: str, what: str) -> str:
    """Check a name that rules will use. Those of results' columns and of words of the rules are taken."""
    if not _NAME.fullmatch(name) or len(name) > 100:
        given.refuse(f"is no name of a {what}; use letters, digits and _, and begin with a letter")
    if _TAKEN.fullmatch(name):
        given.refuse(f"cannot be the name of a {what}, it has a meaning already; try {name.strip('_')}_{what}")
    return name


def _query(columns: Mapping[str, str] | None) -> Kind[QueryConfig]:
    def read(given: Field) -> QueryConfig:
        name = name_of(given, given.key, "query")
        section = Section(given)
        value = section.take("value", _column(columns, numeric=True))
        by = section.take("by", optional(_labels(columns)), None) or {}
        unit: Any = section.take("unit", one_of("us", "ms", "s", "none"), "none")
        asked: dict[str, Any] = {key: section.take(key, duration) for key in ("size", "period")}
        for key, kind in _ARGUMENTS.items():
            if key in section:
                asked[key] = section.take(key, kind)
        section.close(also=_ARGUMENTS)
        query = _built(section, asked)
        return QueryConfig(name, query, value, by, None if unit == "none" else unit, given.node.line)

    return read


def _built(section: Section, asked: dict[str, Any]) -> Query:
    """Build the query; what it refuses is told at the line of the argument that the message begins with."""
    spans = {key: timedelta(microseconds=asked[key]) for key in _WINDOW if key in asked}
    try:
        return Query(**{**asked, **spans})
    except QueryError as error:
        message = str(error)
        about = [key for key in asked if message.startswith((key, key.removesuffix("s")))]
        raise ConfigError(f"{section.field.name}: {message}", section.line_of((about or ["size"])[0])) from None


def _column(columns: Mapping[str, str] | None, numeric: bool = False) -> Kind[str]:
    def read(given: Field) -> str:
        name = text(given)
        if columns is not None:
            if name not in columns:
                hint = suggestion(name, columns, f"there are {', '.join(columns)}")
                given.refuse(f"is {given.shown()}, which is no column of the source; {hint}")
            if numeric and columns[name] not in NUMERIC:
                given.refuse(f"is {given.shown()}, a column of {columns[name]}s; a quantile is of numbers")
        return name

    return read


def _labels(columns: Mapping[str, str] | None) -> Kind[dict[str, str]]:
    """Label -> column, from a mapping, a list of columns or one column."""
    column = _column(columns)

    def label(given: Field) -> str:
        name_of(given, given.key, "label")
        return column(given)

    def read(given: Field) -> dict[str, str]:
        if isinstance(given.node.value, dict):
            by = table(label)(given)
        else:
            one = not isinstance(given.node.value, list)
            named = (column(given),) if one else listed(column)(given)
            by = {}
            for name in named:
                if not _NAME.fullmatch(name) or _TAKEN.fullmatch(name):
                    given.refuse(
                        f"has the column {name[:60]!r}, which cannot be a label; write by: {{label: '{name[:60]}'}}"
                    )
                if name in by:
                    given.refuse(f"has the column {name!r} twice; remove one")
                by[name] = name
        if len({name.lower() for name in by}) < len(by):
            given.refuse("has two labels that differ in capitals only; rename one")
        for name in by.values():
            if _RESULT.fullmatch(name):
                given.refuse(f"has the column {name!r}, called as one of the results; rename it in the source")
        if len(set(by.values())) < len(by):
            given.refuse("has two labels of the same column; remove one")
        return by

    return read


def _few_k(given: Field) -> FewK | None:
    if given.node.value is False or given.node.value is None:
        return None
    section = Section(given)
    settings = {key: section.take(key, kind) for key, kind in _FEW_K.items() if key in section}
    section.close(also=_FEW_K)
    try:
        return FewK(**settings)
    except QueryError as error:
        message = str(error)
        about = [key for key in settings if message.startswith(f"few_k.{key}=")]
        raise ConfigError(
            f"{given.name.removesuffix('few_k')}{message}", section.line_of(about[0] if about else "")
        ) from None


def _plain(given: Field) -> Any:
    """A number, false or none as it is; FewK and Query look at it."""
    value = None if given.node.text.lower() == "none" else given.node.value
    if isinstance(value, (dict, list, str)):
        given.refuse(f"must be a number, and is {given.shown()}")
    return value


def _number(given: Field) -> str:
    """A number as it was written: quantiles are exact decimals."""
    if isinstance(given.node.value, bool) or not isinstance(given.node.value, (int, float)):
        given.refuse(f"must be a number such as 0.99, and is {given.shown()}")
    return given.node.text


def _quantile(given: Field) -> str:
    written = _number(given)
    if not 0 < float(written) <= 1:
        given.refuse(f"must be above 0 and at most 1, and is {written}; 99 % is 0.99")
    return written


def _several(kind: Kind[str]) -> Kind[tuple[str, ...]]:
    """A list, or one alone."""
    return lambda given: listed(kind)(given) if isinstance(given.node.value, list) else (kind(given),)


_FEW_K: dict[str, Kind[Any]] = {
    **dict.fromkeys(("fraction", "budget", "high", "threshold", "burst"), _plain),
    "offset": one_of("rotate", "paper"),
    "always": boolean,
}
_ARGUMENTS: dict[str, Kind[Any]] = {
    "quantiles": _several(_quantile),
    "thresholds": _several(_number),
    "digits": _plain,
    "guarantee": _plain,
    "few_k": _few_k,
    "lateness": duration,
    "partial": boolean,
}
