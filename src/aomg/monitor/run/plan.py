"""Builds the monitor's streaming query: the rows of all configured queries, and the refused rows, in one table.

One streaming query with one checkpoint: a micro-batch has all rows of a window end, of every query, so a rule can span
queries and a restart repeats whole batches. So all queries share one watermark: every event advances it, even without
a value, and the longest lateness applies to all.

==============================  =====================================================================================
query                           the name of the query; empty for refused rows
labels                          the key, in the order of the query's labels; of a refused row: reason, text and file
start, end                      of the window
count                           events in the window; of a refused row, how many rows it counts for
min, max, sub_windows, burst    see `aomg.tables.columns`
estimates                       name, value, low, high, method of each quantile and each threshold
summary, written_by             of a sub-window, if summaries are stored; start, end, count, min and max are its own
==============================  =====================================================================================
"""

from datetime import timedelta
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.monitor.config.model import Config, QueryConfig
from aomg.monitor.rules.rows import NO_QUERY
from aomg.monitor.source.events import events_of
from aomg.query import Query
from aomg.spark import quantiles, summaries
from aomg.spark.arguments import quoted
from aomg.tables.columns import FIXED, names_of

_ESTIMATE = "struct<name: string, value: double, low: double, high: double, method: string>"


def planned(spark: SparkSession, config: Config) -> DataFrame:
    """Return the streaming DataFrame. Reads the source once for each query, and once for refused rows."""
    events = events_of(spark, config)
    parts = [_answers(events.of(query), config, query) for query in config.queries.values()]
    if config.sinks.summaries:
        parts += [_summaries(events.of(query), config, query) for query in config.queries.values()]
    return reduce(_with, [*parts, _refused(events.refused)])


def _with(rows: DataFrame, more: DataFrame) -> DataFrame:
    """The union, with nulls in missing columns."""
    return rows.unionByName(more, allowMissingColumns=True)


def _answers(events: DataFrame, config: Config, query: QueryConfig) -> DataFrame:
    answers = quantiles(events, _patient(config, query), **_arguments(config, query))
    names = names_of(query.query)[len(FIXED) :]
    estimates = f.array(*(_estimate(name, answers.schema[name].dataType) for name in names))
    return answers.select(
        *_head(query, "window"),
        "sub_windows",
        "burst",
        estimates.cast(f"array<{_ESTIMATE}>").alias("estimates"),
        f.lit(None).cast("binary").alias("summary"),
    )


def _head(query: QueryConfig, span: str) -> list[Column]:
    """The first columns of every row of a query; `span` is the column of its start and end."""
    return [
        f.lit(query.name).alias("query"),
        _strings([quoted(name) for name in query.by.values()]).alias("labels"),
        f.col(f"{span}.start").alias("start"),
        f.col(f"{span}.end").alias("end"),
        *(f.col(name) for name in ("count", "min", "max")),
    ]


def _patient(config: Config, query: QueryConfig) -> Query:
    """The query, with the longest lateness of all queries."""
    lateness = max(part.query.lateness for part in config.queries.values())
    return query.query.replace(lateness=timedelta(microseconds=lateness))


def _arguments(config: Config, query: QueryConfig) -> dict[str, Any]:
    return {
        "value": query.value,
        "weight": query.weight,
        "time": config.source.time,
        "by": list(query.by.values()),
        "clock": config.clock,
        "max_clock_skew": timedelta(microseconds=config.max_clock_skew),
        "time_by": "events",
    }


def _summaries(events: DataFrame, config: Config, query: QueryConfig) -> DataFrame:
    """The summaries to store, with a state of their own. They share the reading and counting of their query."""
    stored = summaries(events, _patient(config, query), **_arguments(config, query))
    return stored.select(*_head(query, "sub_window"), "summary", stored["query"].alias("written_by"))


def _estimate(name: str, kind: t.DataType) -> Column:
    """A quantile or a share, with its name; shares have no method.

    Every part has an alias: an array takes structs only if their fields have the same names.
    """
    method = quoted(name)["method"] if "method" in kind.fieldNames() else f.lit(None).cast("string")  # type: ignore[attr-defined]
    numbers = (quoted(name)[part].alias(part) for part in ("value", "low", "high"))
    return f.struct(f.lit(name).alias("name"), *numbers, method.alias("method"))


def _strings(columns: list[Column]) -> Column:
    return f.array(*(column.cast("string") for column in columns)).cast("array<string>")


def _refused(refused: DataFrame) -> DataFrame:
    return refused.select(f.lit(NO_QUERY).alias("query"), f.array("reason", "text", "file").alias("labels"), "count")
