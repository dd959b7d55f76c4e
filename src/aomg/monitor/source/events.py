"""Reads the events of a configuration as a streaming DataFrame, and the refused rows with their reasons.

Text files are read as text and cast column by column, so that every refused row has a reason. A row with an unreadable
column stays, with null there: queries refuse and count it if they need its time, its value or that label. Its text goes
to the quarantine in any case.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.core.weights import LARGEST_WEIGHT
from aomg.monitor.config.model import Config, KafkaConfig, QueryConfig, SourceConfig
from aomg.monitor.config.secret import revealed
from aomg.monitor.source.times import time_of_event
from aomg.spark.intake import is_weight, quoted

MOST_SAMPLES = 100  # refused rows of one reason that a task returns; the others are counted
LONGEST_TEXT = 4096
REFUSED = t.StructType(
    [
        t.StructField("reason", t.StringType()),
        t.StructField("text", t.StringType()),
        t.StructField("file", t.StringType()),
        t.StructField("count", t.LongType()),
    ]
)
_TYPES: dict[str, t.DataType] = {
    "string": t.StringType(),
    "int": t.IntegerType(),
    "long": t.LongType(),
    "double": t.DoubleType(),
    "boolean": t.BooleanType(),
    "timestamp": t.TimestampType(),
}
_NAMES = {
    "int": "a whole number",
    "long": "a whole number",
    "double": "a number",
    "boolean": "true or false",
    "timestamp": "a time",
}
_CORRUPT, _FILE, _UNREADABLE = "__corrupt", "__file", "__unreadable_"


@dataclass(frozen=True)
class Events:
    """Typed events, and the refused rows among them: (reason, text, file, count), a bounded number for each reason.

    all
        The columns of the source, and a flag column for each label that may be unreadable.
    """

    all: DataFrame
    refused: DataFrame

    @property
    def good(self) -> DataFrame:
        """The columns of the source, null where a value is missing or unreadable."""
        return self.all.drop(*(name for name in self.all.columns if name.startswith(_UNREADABLE)))

    def of(self, query: QueryConfig) -> DataFrame:
        """The events for one query: without the value if one of its labels is unreadable, so that it is refused."""
        flags = [_UNREADABLE + name for name in query.by.values() if _UNREADABLE + name in self.all.columns]
        if not flags:
            return self.good
        readable = ~reduce(lambda known, more: known | more, map(quoted, flags))
        return Events(self.all.withColumn(query.value, f.when(readable, quoted(query.value))), self.refused).good


def events_of(spark: SparkSession, config: Config) -> Events:
    """Read the source as a stream."""
    raw = _reader(spark, config)
    columns, unreadable, faults = _columns(raw, config)
    labels = {name for query in config.queries.values() for name in query.by.values()}
    flags = {_UNREADABLE + name: flag for name, flag in unreadable.items() if name in labels}
    typed = raw.select(*(column.alias(name) for name, column in {**columns, **flags}.items()))
    reasons = f.coalesce(*faults)
    text = f.to_json(f.struct(*(quoted(name) for name in raw.columns if name not in (_CORRUPT, _FILE))))
    if _CORRUPT in raw.columns:
        text = f.coalesce(f.col(_CORRUPT), text)
    file = f.col(_FILE) if _FILE in raw.columns else f.lit(None).cast("string")
    refused = raw.select(reasons.alias("reason"), f.left(text, f.lit(LONGEST_TEXT)).alias("text"), file.alias("file"))
    return Events(typed, refused.where("reason is not null").mapInArrow(_sampled, REFUSED))


def folder_of(config: Config) -> Path | None:
    """The folder of a source's files; None if it has none. Generated events are in the state folder."""
    return config.state / "generated" if config.source.kind == "generate" else config.source.path


def _reader(spark: SparkSession, config: Config) -> DataFrame:
    """The rows as stored in the files or the topic, with their file and, for text, the malformed line."""
    source = config.source
    if source.kafka is not None:
        return _kafka(spark, source, source.kafka)
    reader = spark.readStream.options(**revealed(source.options))
    reader = reader.option("maxFilesPerTrigger", source.files_per_batch)
    folder = str(folder_of(config))
    if source.kind in ("parquet", "generate"):
        rows = reader.schema(_parquet_schema(spark, source, folder)).parquet(folder)
    elif source.kind == "csv":
        # everything as text: an unreadable number then differs from a missing one
        fields = [t.StructField(name, t.StringType()) for name in source.columns]
        reader = reader.schema(t.StructType([*fields, t.StructField(_CORRUPT, t.StringType())]))
        reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", _CORRUPT)
        rows = reader.option("enforceSchema", False).csv(folder)  # a header in another order is an error
    else:
        # as lines: Spark's JSON reader turns an empty list into no row, and a longer one into several
        lines = reader.text(folder).where(f.trim("value") != "")
        return lines.select(_object(f.col("value"), source).alias("row"), _file_path()).select("row.*", _FILE)
    return rows.select("*", _file_path())


def _file_path() -> Column:
    return f.col("_metadata.file_path").alias(_FILE)


def _parquet_schema(spark: SparkSession, source: SourceConfig, folder: str) -> t.StructType:
    """The schema of the files; a stream needs it before it starts."""
    if source.columns:
        return t.StructType([t.StructField(name, _TYPES[kind]) for name, kind in source.columns.items()])
    return spark.read.options(**revealed(source.options)).parquet(folder).schema


def _kafka(spark: SparkSession, source: SourceConfig, kafka: KafkaConfig) -> DataFrame:
    options = {"kafka.bootstrap.servers": kafka.servers, "subscribe": kafka.topic, **kafka.options, **source.options}
    read = spark.readStream.format("kafka").options(**revealed(options)).load()
    place = f.concat_ws("/", "topic", "partition", "offset").alias(_FILE)
    return read.select(_object(f.col("value").cast("string"), source).alias("row"), place).select("row.*", _FILE)


def _object(text: Column, source: SourceConfig) -> Column:
    """The columns of a JSON object, as text; of anything else, only the malformed text."""
    fields = [t.StructField(name, t.StringType()) for name in (*source.columns, _CORRUPT)]
    options = {"columnNameOfCorruptRecord": _CORRUPT, **revealed(source.options)}
    parsed = f.from_json(text, t.StructType(fields), options)
    damaged = f.struct(*(f.lit(None).cast("string").alias(name) for name in source.columns), text.alias(_CORRUPT))
    return f.when(f.ltrim(text).startswith("{"), parsed).otherwise(damaged)


def _columns(raw: DataFrame, config: Config) -> tuple[dict[str, Column], dict[str, Column], list[Column]]:
    """Each column cast to its type, null if unreadable; flags of unreadable values; reasons to refuse a row."""
    source = config.source
    text = source.kind in ("csv", "jsonl", "kafka")
    whole = f.col(_CORRUPT).isNull() if _CORRUPT in raw.columns else f.lit(True)
    columns: dict[str, Column] = {}
    unreadable: dict[str, Column] = {}
    for name in raw.columns:
        if name in (_CORRUPT, _FILE) or name == source.time or (text and name not in source.columns):
            continue  # a column of text that is not configured comes from a folder such as day=2024-05-01
        kind = _TYPES[source.columns[name]] if text else raw.schema[name].dataType
        raw_value = quoted(name)
        typed = raw_value.try_cast(kind) if text else raw_value
        columns[name] = f.when(whole, typed)
        if text and not isinstance(kind, t.StringType):
            unreadable[name] = raw_value.isNotNull() & typed.isNull()
    time = time_of_event(raw, source)
    columns[source.time] = f.when(whole, time)
    values = sorted({query.value for query in config.queries.values()})
    unusable = reduce(lambda known, more: known & more, [~_finite(columns[name], raw, name) for name in values])
    faults = [
        f.when(~whole, f.lit("the line cannot be read")),
        f.when(quoted(source.time).isNull(), f.lit("the time is missing")),
        f.when(time.isNull(), f.lit("the time cannot be read")),
        *(f.when(bad, f.lit(f"{name} is not {_NAMES[source.columns[name]]}")) for name, bad in unreadable.items()),
        f.when(unusable, f.lit(f"no finite value in {', '.join(values)}")),
        *(
            f.when(~is_weight(columns[name]), f.lit(f"{name} is not a whole number from 0 to {LARGEST_WEIGHT}"))
            for name in sorted({query.weight for query in config.queries.values() if query.weight})
        ),
    ]
    return columns, unreadable, faults


def _finite(value: Column, raw: DataFrame, name: str) -> Column:
    known = value.isNotNull()
    if isinstance(raw.schema[name].dataType, (t.FloatType, t.DoubleType, t.StringType)):
        real = value.cast("double")
        known = known & ~f.isnan(real) & (f.abs(real) < f.lit(float("inf")))
    return f.coalesce(known, f.lit(False))


def _sampled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the first rows of each reason, then only the number of the others."""
    counts: dict[str, int] = {}
    for batch in batches:
        for reason in batch["reason"].unique().to_pylist():
            rows = batch.filter(pc.equal(batch["reason"], reason))
            free = max(MOST_SAMPLES - counts.get(reason, 0), 0)
            counts[reason] = counts.get(reason, 0) + rows.num_rows
            if free and rows.num_rows:
                samples = rows.slice(0, free)
                yield _counted(samples.columns, [1] * samples.num_rows)
    more = {reason: number - MOST_SAMPLES for reason, number in counts.items() if number > MOST_SAMPLES}
    if more:
        nothing = pa.nulls(len(more), pa.string())
        yield _counted([pa.array(list(more)), nothing, nothing], list(more.values()))


def _counted(columns: list[Any], counts: list[int]) -> pa.RecordBatch:
    return pa.record_batch([*columns, pa.array(counts, pa.int64())], names=REFUSED.names)
