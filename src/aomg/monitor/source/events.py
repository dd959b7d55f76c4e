"""Reads the events of a configuration as a streaming DataFrame, and the refused rows with their reasons.

Text files are read as text and cast column by column, so that every refused row has a reason. A row with an unreadable
column stays, with null there: queries refuse and count it if they need its time, its value or that label. Its text goes
to the quarantine in any case, with bytes that are not text as escapes. Lines that are too long are not read at all:
`long_lines` finds them.

Parquet files are read by Python workers where they can read what the queries need (`aomg.spark.file_events` decides),
and by Spark where they cannot: both refuse the same rows for the same reasons.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.monitor.config.model import Config, KafkaConfig, QueryConfig, SourceConfig
from aomg.monitor.config.secret import revealed
from aomg.monitor.source import reasons as why
from aomg.monitor.source.files import spark_path
from aomg.monitor.source.long_lines import MAX_LENGTH, reason_of
from aomg.monitor.source.parquet import counted_files, faults_of
from aomg.monitor.source.times import time_of_event
from aomg.spark.arguments import quoted
from aomg.spark.intake import is_weight
from aomg.spark.parquet_files import ParquetFiles
from aomg.spark.refused import refused_row
from aomg.spark.scan_columns import Marks
from aomg.tables.row_faults import RowFaults

_TYPES: dict[str, t.DataType] = {
    "string": t.StringType(),
    "int": t.IntegerType(),
    "long": t.LongType(),
    "double": t.DoubleType(),
    "boolean": t.BooleanType(),
    "timestamp": t.TimestampType(),
}
_TEXTS = (t.StringType, t.BinaryType)
_NAMES = {
    "int": "a whole number",
    "long": "a whole number",
    "double": "a number",
    "boolean": "true or false",
    "timestamp": "a time",
}
_CORRUPT, _FILE, _LONG, _REFUSED, _UNREADABLE = "__corrupt", "__file", "__long", "__refused", "__unreadable_"
_UNNAMED = "__unnamed"
_QUOTING = frozenset(("quote", "escape", "chartoescapequoteescaping"))
"""Options of CSV that say how quotes are written."""
_OWN = (_CORRUPT, _FILE, _LONG)
_HEAD = 1_000  # bytes of a message that is too long
_REPLACEMENT = "\ufffd"
"""What Java's decoders put in place of bytes that are not text."""


@dataclass(frozen=True)
class Events:
    """Typed events, with what is known about each row before a query reads it.

    all
        The columns of the source, a flag column for each label that may be unreadable, and the refused rows.
    reasons
        The texts of the reasons of refused rows.
    longest_key
        Characters that the labels of a key may have together.
    files
        The files that have these events, if they are Parquet: workers may read them.
    faults
        What workers refuse then.
    """

    all: DataFrame
    reasons: tuple[str, ...]
    longest_key: int
    files: ParquetFiles | None = None
    faults: RowFaults | None = None

    @property
    def counted(self) -> DataFrame | ParquetFiles:
        """What queries count."""
        return self.all if self.files is None else self.files

    def marks(self, queries: Iterable[QueryConfig]) -> Marks:
        """Which events a query must refuse because of their labels, and the refused rows."""
        excluded = {query.name: self._unreadable(query) for query in queries}
        known = {name: holds for name, holds in excluded.items() if holds is not None}
        return Marks(known, f.col(_REFUSED), self.reasons, self.faults)

    def _unreadable(self, query: QueryConfig) -> Column | None:
        """Whether a label of a query is unreadable, or its key too long; None if that cannot be."""
        flags = [quoted(_UNREADABLE + name) for name in query.by.values() if _UNREADABLE + name in self.all.columns]
        texts = [quoted(name) for name in query.by.values() if isinstance(self.all.schema[name].dataType, _TEXTS)]
        if texts:
            flags.append(_is_long(texts, self.longest_key))
        return reduce(lambda known, more: known | more, flags) if flags else None


def events_of(spark: SparkSession, config: Config) -> Events:
    """Read the source as a stream."""
    files = _files(spark, config)
    raw = _reader(spark, config) if files is None else files.dataframe().select("*", _file_path())
    columns, unreadable, faults = _columns(raw, config)
    labels = {name for query in config.queries.values() for name in query.by.values()}
    flags = {_UNREADABLE + name: flag for name, flag in unreadable.items() if name in labels}
    text = f.to_json(f.struct(*(quoted(name) for name in raw.columns if name not in _OWN)))
    if _CORRUPT in raw.columns:
        text = f.coalesce(f.col(_CORRUPT), text)
    conditions, reasons = zip(*faults, strict=True)
    refused = {_REFUSED: refused_row(conditions, f.col(_FILE), text)}
    typed = raw.select(*(column.alias(name) for name, column in {**columns, **flags, **refused}.items()))
    longest_key = config.source.longest_key
    if files is None:
        return Events(typed, reasons, longest_key)
    return Events(typed, reasons, longest_key, counted_files(files, typed, config.source), faults_of(files, config))


def folder_of(config: Config) -> Path | None:
    """The folder of a source's files; None if it has none. Generated events are in the state folder."""
    if config.source.kind == "generate" and config.source.path is None:
        return config.state / "generated"
    return config.source.path


def _spark_folder(config: Config) -> str:
    """The path of a source's files for Spark; a single file is a pattern that fits no other one."""
    path = folder_of(config)
    return "" if path is None else spark_path(path)


def _reader(spark: SparkSession, config: Config) -> DataFrame:
    """The rows as stored in the files or the topic, with their file and, for text, the malformed line."""
    source = config.source
    if source.kafka is not None:
        return _kafka(spark, source, source.kafka)
    reader = spark.readStream.options(**revealed(source.options))
    reader = reader.option("maxFilesPerTrigger", source.files_per_batch)
    folder = _spark_folder(config)
    if source.kind == "csv":
        # everything as text: an unreadable number then differs from a missing one
        fields = [t.StructField(name, t.StringType()) for name in source.columns]
        reader = reader.schema(t.StructType([*fields, t.StructField(_CORRUPT, t.StringType())]))
        reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", _CORRUPT)
        if has_lines(source):
            reader = reader.option(MAX_LENGTH, source.longest_line + 1)
        elif "maxcharspercolumn" not in {name.lower() for name in source.options}:
            reader = reader.option("maxCharsPerColumn", source.longest_line)
        if not _QUOTING.intersection(name.lower() for name in source.options):
            reader = reader.option("escape", '"')  # as in RFC 4180: a quote inside quotes is doubled
        rows = reader.option("enforceSchema", False).csv(folder)  # a header in another order is an error
        if "" in source.columns:  # pandas writes its index without a name, which Spark cannot select
            place = _file_path()
            return rows.select("*", place).toDF(*(name or _UNNAMED for name in rows.columns), _FILE)
    else:
        # as lines: Spark's JSON reader turns an empty list into no row, and a longer one into several
        lines = reader.option(MAX_LENGTH, source.longest_line + 1).text(folder).where(f.trim("value") != "")
        return lines.select(_object(f.col("value"), source).alias("row"), _file_path()).select("row.*", _FILE)
    return rows.select("*", _file_path())


def has_lines(source: SourceConfig) -> bool:
    """Whether the files of a source have lines that are read one by one."""
    options = {name.lower(): value for name, value in revealed(source.options).items()}
    return source.kind == "jsonl" or (source.kind == "csv" and options.get("multiline", "false").lower() != "true")


def _file_path() -> Column:
    return f.col("_metadata.file_path").alias(_FILE)


def _files(spark: SparkSession, config: Config) -> ParquetFiles | None:
    """The files of a source of Parquet; None for other sources. The schema is needed before the stream starts."""
    source = config.source
    if source.kind not in ("parquet", "generate"):
        return None
    declared = t.StructType([t.StructField(name, _TYPES[kind]) for name, kind in source.columns.items()])
    options = {**revealed(source.options), "maxFilesPerTrigger": source.files_per_batch}
    folder = _spark_folder(config)
    return ParquetFiles(spark, folder, streaming=True, schema=declared if source.columns else None, options=options)


def _kafka(spark: SparkSession, source: SourceConfig, kafka: KafkaConfig) -> DataFrame:
    options = {"kafka.bootstrap.servers": kafka.servers, "subscribe": kafka.topic, **kafka.options, **source.options}
    read = spark.readStream.format("kafka").options(**revealed(options)).load()
    place = f.concat_ws("/", "topic", "partition", "offset").alias(_FILE)
    is_long = f.coalesce(f.octet_length("value") > source.longest_line, f.lit(False))
    text = f.when(is_long, f.substring("value", 1, _HEAD)).otherwise(f.col("value")).cast("string")
    row = _object(text, source, ~is_long).alias("row")
    return read.select(row, place, is_long.alias(_LONG)).select("row.*", _FILE, _LONG)


def _object(text: Column, source: SourceConfig, is_whole: Column | None = None) -> Column:
    """The columns of a JSON object, as text; of anything else, only the malformed text."""
    fields = [t.StructField(name, t.StringType()) for name in (*source.columns, _CORRUPT)]
    options = {"columnNameOfCorruptRecord": _CORRUPT, **revealed(source.options)}
    parsed = f.from_json(text, t.StructType(fields), options)
    damaged = f.struct(*(f.lit(None).cast("string").alias(name) for name in source.columns), text.alias(_CORRUPT))
    is_object = f.ltrim(text).startswith("{") & f.is_valid_utf8(text)
    return f.when(is_object if is_whole is None else is_object & is_whole, parsed).otherwise(damaged)


def _columns(raw: DataFrame, config: Config) -> tuple[dict[str, Column], dict[str, Column], list[tuple[Column, str]]]:
    """Each column cast to its type, null if unreadable; flags of unreadable values; when and why to refuse a row."""
    source = config.source
    is_text = source.kind in ("csv", "jsonl", "kafka")
    whole = f.col(_CORRUPT).isNull() if _CORRUPT in raw.columns else f.lit(True)
    labels = {name for query in config.queries.values() for name in query.by.values()}
    columns: dict[str, Column] = {}
    texts: dict[str, Column] = {}
    unreadable: dict[str, tuple[Column, str]] = {}
    for name in raw.columns:
        if name in _OWN or name == source.time or (is_text and name not in source.columns):
            continue  # a column of text that is not configured comes from a folder such as day=2024-05-01
        kind = _TYPES[source.columns[name]] if is_text else raw.schema[name].dataType
        raw_value = quoted(name)
        typed = raw_value.try_cast(kind) if is_text else raw_value
        columns[name] = f.when(whole, typed)
        if isinstance(kind, _TEXTS):
            if name in labels:
                texts[name] = columns[name]
            if name in labels and source.kind not in ("jsonl", "kafka"):  # their lines are checked as a whole
                unreadable[name] = _is_garbled(raw_value, source), why.no_text(name, _encoding(source))
        elif is_text:
            unreadable[name] = raw_value.isNotNull() & typed.isNull(), f"{name} is not {_NAMES[source.columns[name]]}"
    rounded = {
        name: _is_rounded(quoted(name))
        for name, kind in source.columns.items()
        if source.from_header and kind == "double"
    }
    for name, is_rounded in rounded.items():
        columns[name] = f.when(~is_rounded, columns[name])
    time = time_of_event(raw, source)
    columns[source.time] = f.when(whole, time)
    values = sorted({query.value for query in config.queries.values()})
    unusable = reduce(lambda known, more: known & more, [~_finite(columns[name], raw, name) for name in values])
    keys = {
        query.name: [texts[name] for name in query.by.values() if name in texts] for query in config.queries.values()
    }
    faults = [
        *([(f.col(_LONG), reason_of(source))] if _LONG in raw.columns else []),
        *([(_is_garbled(f.col(_CORRUPT), source), f"not {_encoding(source)}")] if is_text else []),
        (~whole, "the line cannot be read"),
        (quoted(source.time).isNull(), why.NO_TIME),
        (time.isNull(), why.UNREADABLE_TIME),
        *unreadable.values(),
        *(
            (is_rounded, f"a double would round {name}; list the columns, with long")
            for name, is_rounded in rounded.items()
        ),
        *(
            (_is_long(key, source.longest_key), why.long_key(query, source.longest_key))
            for query, key in keys.items()
            if key
        ),
        (unusable, why.no_value(values)),
        *(
            (~is_weight(columns[name]), why.no_weight(name))
            for name in sorted({query.weight for query in config.queries.values() if query.weight})
        ),
    ]
    return columns, {name: bad for name, (bad, _) in unreadable.items()}, faults


def _is_rounded(text: Column) -> Column:
    """Whether a text is a whole number that a double would round."""
    whole = text.try_cast("long")
    return f.coalesce(whole.cast("double").try_cast("long") != whole, f.lit(False))


def _encoding(source: SourceConfig) -> str:
    """The encoding of text, as people write it."""
    options = {name.lower(): value for name, value in revealed(source.options).items()}
    return options.get("encoding", "UTF-8").upper()


def _is_garbled(text: Column, source: SourceConfig) -> Column:
    """Whether a text was not in the encoding of the source. Spark's CSV reader has put a character in its place."""
    if source.kind == "csv":
        return f.coalesce(text.contains(_REPLACEMENT), f.lit(False))
    return f.coalesce(~f.is_valid_utf8(text.cast("string")), f.lit(False))


def _is_long(texts: Sequence[Column], longest: int) -> Column:
    """Whether texts have more characters than that; most have not even as many bytes, which costs less to find out."""
    sizes = (
        reduce(lambda total, more: total + more, (f.coalesce(count(text.cast("string")), f.lit(0)) for text in texts))
        for count in (f.octet_length, f.char_length)
    )
    return reduce(lambda known, more: known & more, (size > longest for size in sizes))


def _finite(value: Column, raw: DataFrame, name: str) -> Column:
    known = value.isNotNull()
    if isinstance(raw.schema[name].dataType, (t.FloatType, t.DoubleType, t.StringType)):
        real = value.cast("double")
        known = known & ~f.isnan(real) & (f.abs(real) < f.lit(float("inf")))
    return f.coalesce(known, f.lit(False))
