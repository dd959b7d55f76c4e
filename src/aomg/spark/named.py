"""Several named queries over the same events, which are read once: `named_quantiles`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.errors import InputError
from aomg.query import Query
from aomg.spark.arguments import refuse_no_clock
from aomg.spark.columns import arrow_time, long_schema
from aomg.spark.intake import Source, source_of
from aomg.spark.parquet_files import ParquetFiles
from aomg.spark.refused import with_texts
from aomg.spark.scan import SHARDS, LongRows, PlannedQuery, scanned
from aomg.spark.scan_columns import NO_MARKS, Marks
from aomg.spark.stream.tables import SLOTS
from aomg.spark.time_policy import TimeBy, TimePolicy
from aomg.tables.events import names_in, refuse_no_name
from aomg.tables.long import ROW, LongAnswer


@dataclass(frozen=True)
class QueryColumns:
    """A query, and the columns of the events that it reads: see `quantiles`."""

    query: Query
    value: str
    by: Sequence[str] | str | None = None
    weight: str | None = None


def named_quantiles(
    events: DataFrame | ParquetFiles,
    queries: Mapping[str, QueryColumns],
    *,
    time: str,
    shards: int = SHARDS,
    clock: Any = "processing",
    max_clock_skew: Any = "1 hour",
    time_by: TimeBy = "values",
) -> DataFrame:
    """Compute several queries over the same events, which are read once: one row for each query, key and window.

    The rows have the numbers of `quantiles` for each query alone, in the same columns for all:

    ==================  ==========================================================================================
    query               the name of the query
    labels              map<string, string>: the by columns of the query and their values as text
    window              struct<start, end>
    count, min, max     see `quantiles`
    sub_windows, burst  the same
    estimates           array<struct<name, value, low, high, method>>: quantiles (p99) and shares (below_500)
    ==================  ==========================================================================================

    A stream has one checkpoint for all queries, and each query has its own lateness. Queries may be added to a stream
    and removed from it, when it is started again with the same checkpoint: the others go on. A query that was added
    starts with the events that arrive from then on. A query that has changed is refused, unless its name is new.

    queries
        Each query by its name, 60 at most.
    time, shards, clock, max_clock_skew, time_by
        See `quantiles`; they apply to all queries.
    """
    plan = NamedPlan.of(events, queries, time, clock, max_clock_skew, time_by)
    return plan.rows(shards).select("query", plan.labels().alias("labels"), *_NUMBERS)


_NUMBERS = ("window", "count", "min", "max", "sub_windows", "burst", "estimates")


@dataclass(frozen=True)
class NamedPlan:
    """The plan of several named queries; `keys` are the by columns of all of them."""

    sources: Mapping[str, Source]
    policies: Mapping[str, TimePolicy]
    keys: tuple[t.StructField, ...]

    @classmethod
    def of(
        cls,
        events: DataFrame | ParquetFiles,
        queries: Mapping[str, QueryColumns],
        time: str,
        clock: Any,
        max_clock_skew: Any,
        time_by: TimeBy,
        one_watermark: bool = False,
    ) -> "NamedPlan":
        """Check the queries. With `one_watermark`, the longest lateness of all applies to each."""
        _refuse_names(queries)
        refuse_no_name("time", time)
        sources = {
            name: source_of(events, one.query, one.value, time, one.by, one.weight) for name, one in queries.items()
        }
        longest = max(one.query.lateness for one in queries.values()) if one_watermark else None
        policies = {
            name: TimePolicy.of(one.query, clock, max_clock_skew, time_by, longest) for name, one in queries.items()
        }
        refuse_no_clock(events, clock)
        keys = {key.name: key for source in sources.values() for key in source.keys}
        return cls(sources, policies, tuple(keys.values()))

    def rows(self, shards: int = SHARDS, marks: Marks = NO_MARKS, summaries: bool = False) -> DataFrame:
        """The rows of a long table (aomg.tables.long), with the summaries of each sub-window if they are wanted.

        Its by columns are key0, key1 and so on.
        """
        first = next(iter(self.sources.values()))
        fields = [t.StructField(f"key{i}", key.dataType) for i, key in enumerate(self.keys)]
        keys, time = _arrow_keys(first.events, fields), arrow_time(first.time_type)
        planned = []
        for name, source in self.sources.items():
            columns = tuple(f"key{place}" for place in self._places(source))
            query = source.query.replace(lateness=timedelta(microseconds=self.policies[name].lateness))
            answer = LongAnswer(query, columns, time, name=name, keys=keys, stored=summaries)
            planned.append(PlannedQuery(source, answer, self.policies[name], name))
        schema = long_schema(fields, first.time_type)
        if marks.faults is None or not isinstance(first.events, ParquetFiles):
            return scanned(planned, schema, shards, marks=marks, long=LongRows(keys, time))
        schema = schema.add(ROW, first.events.stored)
        long = LongRows(keys, time, marks.faults.schema)
        return with_texts(scanned(planned, schema, shards, marks=marks, long=long))

    def _places(self, source: Source) -> list[int]:
        names = [key.name for key in self.keys]
        return [names.index(name) for name in source.by]

    def label_values(self, name: str) -> Column:
        """The values of a query's by columns as an array of texts."""
        keys = [f.col(f"key{place}").cast("string") for place in self._places(self.sources[name])]
        return f.array(*keys).cast("array<string>")

    def labels(self) -> Column:
        """The by columns of each row's query and their values as a map of texts."""
        maps = (
            f.when(f.col("query") == name, f.map_from_arrays(_texts(source.by), self.label_values(name)))
            for name, source in self.sources.items()
        )
        return f.coalesce(*maps)


def _texts(names: Sequence[str]) -> Column:
    return f.array(*map(f.lit, names)).cast("array<string>")


def _arrow_keys(events: DataFrame | ParquetFiles, fields: list[t.StructField]) -> pa.Schema:
    """The Arrow types of by columns, as Spark has them."""
    if not fields:
        return pa.schema([])
    return events.sparkSession.createDataFrame([], t.StructType(fields)).toArrow().schema


def _refuse_names(queries: Any) -> None:
    """Raise InputError if these are not queries by name."""
    if not isinstance(queries, Mapping) or not queries:
        raise InputError(
            "queries must be a dict of QueryColumns by name, such as {'latency': QueryColumns(query, 'ms')}"
        )
    for name, one in queries.items():
        if not isinstance(name, str) or not name:
            raise InputError(f"the name of a query must be a text that is not empty, not {name!r}")
        if not isinstance(one, QueryColumns):
            raise InputError(f"query {name!r} must be a QueryColumns, not {type(one).__name__}")
        for argument, part in (
            ("value", one.value),
            ("weight", one.weight),
            *(("by", key) for key in names_in(one.by)),
        ):
            if part is not None:
                refuse_no_name(argument, part)
    if len(queries) > SLOTS:
        raise InputError(f"there are {len(queries)} queries, but a stream has room for {SLOTS}; use several streams")
