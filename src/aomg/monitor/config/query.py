"""Reads `queries`: each is an aomg.Query with the column it reads and the labels of its keys."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from aomg.core.weights import refuse_weights
from aomg.errors import InputError, QueryError
from aomg.monitor.config.model import QueryConfig
from aomg.monitor.config.schema import Field, Parser, Section
from aomg.monitor.config.source import NUMERIC
from aomg.monitor.config.values import boolean, duration, listed, one_of, optional, table, text
from aomg.monitor.errors import ConfigError
from aomg.query import FewK, Query
from aomg.suggestions import suggestion

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESULT = re.compile(r"(?i)window|count|min|max|sub_windows|burst|p[0-9][0-9_]*|below_.*")
_TAKEN = re.compile(rf"{_RESULT.pattern}|and|or|not|true|false|alertname|__.*")
_WINDOW = ("size", "period", "lateness")


def queries(columns: Mapping[str, str] | None) -> Parser[dict[str, QueryConfig]]:
    """All queries by name; at least one. `columns` are those of the source, if they are known."""

    def parse(field: Field) -> dict[str, QueryConfig]:
        by_name = table(_query(columns))(field)
        if not by_name:
            field.refuse("is empty; add a query")
        return by_name

    return parse


def name_of(field: Field, name: str, noun: str) -> str:
    """Check a name that rules will use. Names of result columns and words of conditions are reserved."""
    if not _NAME.fullmatch(name) or len(name) > 100:
        field.refuse(f"is not a valid {noun} name; use letters, digits and _, and begin with a letter")
    if _TAKEN.fullmatch(name):
        field.refuse(f"is a reserved name; try {name.strip('_')}_{noun}")
    return name


def _query(columns: Mapping[str, str] | None) -> Parser[QueryConfig]:
    def parse(field: Field) -> QueryConfig:
        name = name_of(field, field.key, "query")
        section = Section(field)
        value = section.take("value", _column(columns, numeric=True))
        by = section.take("by", optional(_labels(columns)), None) or {}
        weight = section.take("weight", optional(_column(columns, numeric=True)), None)
        unit: Any = section.take("unit", one_of("us", "ms", "s", "none"), "none")
        arguments: dict[str, Any] = {key: section.take(key, duration) for key in ("size", "period")}
        for key, parser in _ARGUMENTS.items():
            if key in section:
                arguments[key] = section.take(key, parser)
        section.close(also=_ARGUMENTS)
        query = _built(section, arguments)
        if weight is not None:
            try:
                refuse_weights(query)
            except InputError as error:
                raise ConfigError(f"{section.field.name}: {error}", section.line_of("weight")) from None
        return QueryConfig(name, query, value, by, None if unit == "none" else unit, field.node.line, weight)

    return parse


def _built(section: Section, arguments: dict[str, Any]) -> Query:
    """Build the query. An error gets the line of the argument that its message begins with."""
    spans = {key: timedelta(microseconds=arguments[key]) for key in _WINDOW if key in arguments}
    try:
        return Query(**{**arguments, **spans})
    except QueryError as error:
        message = str(error)
        about = [key for key in arguments if message.startswith((key, key.removesuffix("s")))]
        raise ConfigError(f"{section.field.name}: {message}", section.line_of((about or ["size"])[0])) from None


def _column(columns: Mapping[str, str] | None, numeric: bool = False) -> Parser[str]:
    def parse(field: Field) -> str:
        name = text(field)
        if columns is not None:
            if name not in columns:
                hint = suggestion(name, columns, f"the columns are {', '.join(columns)}")
                field.refuse(f"is {field.excerpt()}, which is not a column of the source; {hint}")
            if numeric and columns[name] not in NUMERIC:
                needs = "weights must be whole numbers" if field.key == "weight" else "quantiles need numbers"
                field.refuse(f"is {field.excerpt()}, a column of type {columns[name]}; {needs}")
        return name

    return parse


def _labels(columns: Mapping[str, str] | None) -> Parser[dict[str, str]]:
    """Label -> column, from a mapping, a list of columns or one column."""
    column = _column(columns)

    def label(field: Field) -> str:
        name_of(field, field.key, "label")
        return column(field)

    def parse(field: Field) -> dict[str, str]:
        if isinstance(field.node.value, dict):
            by = table(label)(field)
        else:
            alone = not isinstance(field.node.value, list)
            names = (column(field),) if alone else listed(column)(field)
            by = {}
            for name in names:
                if not _NAME.fullmatch(name) or _TAKEN.fullmatch(name):
                    field.refuse(
                        f"has the column {name[:60]!r}, which cannot name a label; write by: {{label: '{name[:60]}'}}"
                    )
                if name in by:
                    field.refuse(f"has the column {name!r} twice; remove one")
                by[name] = name
        if len({name.lower() for name in by}) < len(by):
            field.refuse("has two labels that differ in capitals only; rename one")
        for name in by.values():
            if _RESULT.fullmatch(name):
                field.refuse(
                    f"has the column {name!r}, which is also the name of a result column; rename it in the source"
                )
        if len(set(by.values())) < len(by):
            field.refuse("has two labels of the same column; remove one")
        return by

    return parse


def _few_k(field: Field) -> FewK | None:
    if field.node.value is False or field.node.value is None:
        return None
    section = Section(field)
    settings = {key: section.take(key, parser) for key, parser in _FEW_K.items() if key in section}
    section.close(also=_FEW_K)
    try:
        return FewK(**settings)
    except QueryError as error:
        message = str(error)
        about = [key for key in settings if message.startswith(f"few_k.{key}=")]
        raise ConfigError(
            f"{field.name.removesuffix('few_k')}{message}", section.line_of(about[0] if about else "")
        ) from None


def _plain(field: Field) -> Any:
    """A number, false or none as written; FewK and Query check it."""
    value = None if field.node.text.lower() == "none" else field.node.value
    if isinstance(value, (dict, list, str)):
        field.refuse(f"must be a number, but is {field.excerpt()}")
    return value


def _number(field: Field) -> str:
    """A number as written: quantiles are exact decimals."""
    if isinstance(field.node.value, bool) or not isinstance(field.node.value, (int, float)):
        field.refuse(f"must be a number such as 0.99, but is {field.excerpt()}")
    return field.node.text


def _quantile(field: Field) -> str:
    written = _number(field)
    if not 0 < float(written) <= 1:
        field.refuse(f"must be above 0 and at most 1, but is {written}; write 99 % as 0.99")
    return written


def _several(parser: Parser[str]) -> Parser[tuple[str, ...]]:
    """A list, or a single value."""
    return lambda field: listed(parser)(field) if isinstance(field.node.value, list) else (parser(field),)


_FEW_K: dict[str, Parser[Any]] = {
    **dict.fromkeys(("fraction", "budget", "high", "threshold", "burst"), _plain),
    "offset": one_of("rotate", "paper"),
    "always": boolean,
}
_ARGUMENTS: dict[str, Parser[Any]] = {
    "quantiles": _several(_quantile),
    "thresholds": _several(_number),
    "digits": _plain,
    "guarantee": _plain,
    "few_k": _few_k,
    "lateness": duration,
    "partial": boolean,
}
