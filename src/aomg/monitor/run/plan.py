"""Builds the monitor's streaming query: the rows of all configured queries, and the refused rows, in one table.

One streaming query with one checkpoint: a micro-batch has all rows of a window end, of every query, so a rule can span
queries and a restart repeats whole batches. So all queries share one watermark: every event advances it, even without
a value, and the longest lateness applies to all.

==============================  =====================================================================================
query                           the name of the query; empty for refused rows
labels                          the key, in the order of the query's labels; of a refused row: reason, text and file
                                (without a reason: the row has the number of all events that were read)
start, end                      of the window
count                           events in the window; of a refused row, how many rows it counts for
min, max, sub_windows, burst    see `aomg.tables.columns`
estimates                       name, value, low, high, method of each quantile and each threshold
summary, written_by             of a sub-window, if summaries are stored; start, end, count, min and max are its own
==============================  =====================================================================================
"""

from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from aomg.monitor.config.model import Config
from aomg.monitor.rules.rows import NO_QUERY
from aomg.monitor.source.events import events_of
from aomg.spark.named import NamedPlan, QueryColumns


def planned(spark: SparkSession, config: Config) -> DataFrame:
    """Return the streaming DataFrame. Every event is read once, for all queries and for the refused rows."""
    events = events_of(spark, config)
    queries = {
        name: QueryColumns(query.query, query.value, list(query.by.values()), query.weight)
        for name, query in config.queries.items()
    }
    skew = timedelta(microseconds=config.max_clock_skew)
    plan = NamedPlan.of(events.counted, queries, config.source.time, config.clock, skew, "events", one_watermark=True)
    rows = plan.rows(marks=events.marks(config.queries.values()), summaries=bool(config.sinks.summaries))
    labels = [
        f.when(f.col("query") == NO_QUERY, f.col("refused")),
        *(f.when(f.col("query") == name, plan.label_values(name)) for name in queries),
    ]
    return rows.select(
        "query",
        f.coalesce(*labels).alias("labels"),
        f.col("window.start").alias("start"),
        f.col("window.end").alias("end"),
        *("count", "min", "max", "sub_windows", "burst", "estimates", "summary", "written_by"),
    )
