"""Says how workers read the Parquet files of a source: what their times mean, and which rows are refused and why.

The same in Spark's expressions is in `aomg.monitor.source.events`, for files that Spark has to read.
"""

from pyspark.sql import DataFrame
from pyspark.sql import types as t

from aomg.monitor.config.model import Config, SourceConfig
from aomg.monitor.source import reasons as why
from aomg.monitor.source.times import MICROSECONDS, NANOSECONDS
from aomg.spark.parquet_files import ParquetFiles, arrow_schema
from aomg.tables.event_times import TimeReading
from aomg.tables.parquet_reader import Remedies
from aomg.tables.row_faults import Fault, LongKey, NoText, NoTime, NoValue, NoWeight, RowFaults, UnreadableTime

_TEXTS = (t.StringType, t.BinaryType)
_AGAIN = "start again: the micro-batch is repeated"
_REMEDIES = Remedies(
    other_reader="let Spark read the files: set options: {datetimeRebaseMode: CORRECTED} in the source",
    missing=f"put it back, or an empty file in its place, and {_AGAIN}",
    unreadable=f"change its permissions and {_AGAIN}",
    changed=(
        "it changed while it was read: write files elsewhere and move them into the source folder when they are "
        "complete. The next start repeats the batch"
    ),
    damaged=f"repair it, or put an empty file in its place to skip it, and {_AGAIN}",
    types=(
        "write the same type to all files, or set a type under columns that all of them fit. To skip the file, put an "
        f"empty one in its place, and {_AGAIN}"
    ),
)


def counted_files(files: ParquetFiles, rows: DataFrame, source: SourceConfig) -> ParquetFiles:
    """The files as queries count them; `rows` are their typed events, for Spark to read where workers cannot."""
    parts = 1_000 if source.time_format == NANOSECONDS else 1
    times = TimeReading(MICROSECONDS.get(source.time_format, 1), source.time_zone, parts)
    return files.seen_as(rows, times, _REMEDIES)


def faults_of(files: ParquetFiles, config: Config) -> RowFaults | None:
    """What workers refuse; None if a row has a type that they cannot hand to Spark, which writes its text."""
    source, queries = config.source, config.queries
    schema = arrow_schema(files.stored, "UTC")
    if schema is None:
        return None
    labels = {name for query in queries.values() for name in query.by.values()}
    labels.discard(source.time)
    texts = [column.name for column in files.stored if isinstance(column.dataType, _TEXTS) and column.name in labels]
    garbled: dict[str, Fault] = {name: NoText(name) for name in texts}
    keys = {name: [label for label in query.by.values() if label in garbled] for name, query in queries.items()}
    long = {name: LongKey(tuple(key), source.longest_key) for name, key in keys.items() if key}
    values = sorted({query.value for query in queries.values()})
    weights = sorted({query.weight for query in queries.values() if query.weight})
    reasons: list[tuple[Fault, str]] = [
        (NoTime(source.time), why.NO_TIME),
        (UnreadableTime(source.time), why.UNREADABLE_TIME),
        *((fault, why.no_text(name, "UTF-8")) for name, fault in garbled.items()),
        *((fault, why.long_key(name, source.longest_key)) for name, fault in long.items()),
        (NoValue(tuple(values)), why.no_value(values)),
        *((NoWeight(name), why.no_weight(name)) for name in weights),
    ]
    excluded = {name: (*(garbled[label] for label in keys[name]), fault) for name, fault in long.items()}
    return RowFaults(tuple(reasons), excluded, schema)
