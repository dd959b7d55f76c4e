"""Checks, before anything runs, whether a DataFrame holds stored summaries and whether they can answer a query."""

from pyspark.sql import DataFrame
from pyspark.sql import types as t

from aomg.core.layout import keeps_fine
from aomg.core.recast import refuse_conversion, refuse_unlike
from aomg.errors import InputError
from aomg.query import Query
from aomg.tables.stored import refuse_no_summaries

_NUMBERS = (t.IntegralType, t.FractionalType)
_TYPES: dict[str, tuple[str, tuple[type[t.DataType], ...]]] = {
    "count": ("bigint", (t.IntegralType,)),
    "min": ("double", _NUMBERS),
    "max": ("double", _NUMBERS),
    "summary": ("binary", (t.BinaryType,)),
    "query": ("string", (t.StringType,)),
}


def time_type_of(summaries: DataFrame) -> t.DataType:
    """The type of the times of stored summaries. Raises InputError if their columns are not those of summaries."""
    if summaries.isStreaming:
        raise InputError(
            "stored summaries must be a batch DataFrame (spark.read), not a stream; for a stream of events use "
            "quantiles(...)"
        )
    refuse_no_summaries(summaries.columns, "aomg.spark.summaries(...)")
    fields = {field.name: field.dataType for field in summaries.schema.fields}
    for name, (expected, kinds) in _TYPES.items():
        if not isinstance(fields[name], kinds):
            raise InputError(
                f"column {name!r} is {fields[name].simpleString()}, but summaries have {expected} there; store the "
                "rows of summaries(...) as they are, for example as Parquet"
            )
    span = fields["sub_window"]
    times = [part.dataType for part in span.fields] if isinstance(span, t.StructType) else []
    is_span = isinstance(span, t.StructType) and span.names == ["start", "end"] and times[0] == times[1]
    if not is_span or not isinstance(times[0], t.TimestampType | t.TimestampNTZType | t.IntegralType):
        raise InputError(
            f"column 'sub_window' is {span.simpleString()}, but summaries have a struct of start and end there; store "
            "the rows of summaries(...) as they are, for example as Parquet"
        )
    return times[0]


def refuse_unanswerable(summaries: DataFrame, query: Query) -> None:
    """Raise StateError if the query that wrote the summaries cannot answer this one: another period, no threshold...

    Reads the column `query`: of one row, or, if the requested query has a fine part, of all rows, because such a query
    is answered only by the summaries that were written for it. Workers check every row.
    """
    writers = summaries.select("query").where("query IS NOT NULL")
    for row in writers.distinct().collect() if keeps_fine(query) else writers.head(1):
        stored = Query.parse(row.query)
        refuse_unlike(stored, query)
        refuse_conversion(query, stored)
