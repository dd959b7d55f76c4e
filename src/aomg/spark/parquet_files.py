"""Events in Parquet files that Python workers read themselves: Spark only finds the files.

Spark's own file source lists them (its format `binaryFile`, of which everything but the content is selected), so a
stream sees each file once, with the options and the checkpoint that a stream of Parquet files has. Moving rows from
Spark to Python, which costs more than counting them, is not needed then (`aomg.spark.file_events`).
"""

import re
from collections.abc import Mapping, Sequence
from copy import copy
from os import PathLike, fspath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.errors import InputError
from aomg.spark.settings import value_of
from aomg.suggestions import did_you_mean
from aomg.tables.event_times import TimeReading
from aomg.tables.parquet_reader import Remedies, local_path

DISCOVERED = "path string, modificationTime timestamp, length long, content binary"
"""The columns of Spark's format `binaryFile`; those in the names of folders follow."""
_FIXED = 4
_HIDES_DISCOVERED = re.compile(r"/(path|modificationTime|length|content)=", re.IGNORECASE)  # a folder of that name
_SAMPLE = 1000  # files whose sizes are looked at
_OPTIONS = (
    "basePath",
    "cleanSource",
    "discardCachedInputRatio",
    "fileNameOnly",
    "ignoreCorruptFiles",
    "ignoreMissingFiles",
    "latestFirst",
    "maxBytesPerTrigger",
    "maxCachedFiles",
    "maxFileAge",
    "maxFilesPerTrigger",
    "mergeSchema",
    "modifiedAfter",
    "modifiedBefore",
    "pathGlobFilter",
    "recursiveFileLookup",
    "sourceArchiveDir",
    "timeZone",
)
NO_NANOSECONDS = (
    "Spark has to read these files, because workers cannot read what the queries need, but it does not read times in "
    "nanoseconds; write them in microseconds (pandas: "
    "to_parquet(..., coerce_timestamps='us', allow_truncated_timestamps=True))"
)
_ONLY_SPARK = ("datetimeRebaseMode", "int96RebaseMode")  # calendars that PyArrow does not convert
_SESSION_OPTIONS = {"ignoreCorruptFiles": "spark.sql.files.ignoreCorruptFiles"}
_SESSION_OPTIONS |= {"ignoreMissingFiles": "spark.sql.files.ignoreMissingFiles"}


class FileSizes(NamedTuple):
    """How many files there are, and how many bytes the largest and all of them have; of some if there are many."""

    number: int
    largest: int
    total: int


class ParquetFiles:
    """Parquet files whose events `quantiles` and `summaries` count where the files lie, instead of a DataFrame.

    The rows are those of ``spark.read.parquet(path)`` or ``spark.readStream.parquet(path)``, faster. Python workers
    open the files themselves: local ones, or on a file system that is mounted on every machine. Where they cannot (s3a,
    hdfs, nested by columns, clocks that are columns), Spark's own reader is used.

    path
        A folder, a file or a pattern, as for Spark; for a batch also several.
    streaming
        Whether to read the files as a stream.
    schema
        The columns, as for Spark: a StructType or a text such as "ts timestamp, rtt_us long". None: Spark infers it
        from the files. A stream whose folder is empty needs it.
    options
        Options of Spark's file source, such as maxFilesPerTrigger, pathGlobFilter or recursiveFileLookup.
    """

    def __init__(
        self,
        spark: SparkSession,
        path: str | PathLike[str] | Sequence[str | PathLike[str]],
        *,
        streaming: bool = False,
        schema: t.StructType | str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.sparkSession = spark
        self.isStreaming = bool(streaming)
        self.paths = _paths(path, self.isStreaming)
        self.options = _checked_options(options or {})
        self.has_nanoseconds = False
        self.times, self.remedies = TimeReading(), Remedies()
        self._declared = self._inferred() if schema is None else schema
        self._rows = self._load("parquet", self.isStreaming, self._declared)
        self.schema = self.stored = self._rows.schema

    def seen_as(self, rows: DataFrame, times: TimeReading, remedies: Remedies) -> "ParquetFiles":
        """The same files, with other columns and errors.

        rows
            The events as Spark reads them: columns of the files, and computed ones. `stored` still has the columns of
            the files, which workers read.
        times
            What the times mean, so that workers read the times that Spark computes.
        remedies
            What errors of files say.
        """
        files = copy(self)
        files._rows, files.schema = rows, rows.schema
        files.times, files.remedies = times, remedies
        return files

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def dataframe(self) -> DataFrame:
        """The events as Spark's own reader reads them."""
        return self._rows

    def files(self) -> DataFrame:
        """The files: their `path` and `length`, and the columns in the names of their folders."""
        names = self.folder_columns()
        if not names and not self.isStreaming:
            discovered = self._load("binaryFile", False, None)
        else:
            fixed = self._load("binaryFile", False, DISCOVERED).schema.fields[:_FIXED]
            schema = t.StructType([*fixed, *(self.stored[name] for name in names)])
            discovered = self._load("binaryFile", self.isStreaming, schema)
        return discovered.drop("modificationTime", "content")

    def folder_columns(self) -> list[str]:
        """The columns in the names of folders, such as day=2024-05-01."""
        names = self._load("binaryFile", False, None).columns[_FIXED:]
        known = {name.lower(): name for name in self.stored.names}
        return [known[name.lower()] for name in names if name.lower() in known]

    def is_set(self, option: str) -> bool:
        """Whether an option is true, or if it was not passed, the setting of the session that has its meaning."""
        value = next((value for name, value in self.options.items() if name.lower() == option.lower()), None)
        if value is None and option in _SESSION_OPTIONS:
            value = value_of(self.sparkSession, _SESSION_OPTIONS[option])
        return (value or "").lower() == "true"

    def limit(self) -> int | None:
        """How many files a micro-batch has at most, if that is an option."""
        text = next((value for name, value in self.options.items() if name.lower() == "maxfilespertrigger"), "")
        return int(text) if text.isdecimal() else None

    def sizes(self) -> "FileSizes | None":
        """The sizes of files that are there now. None if Python workers cannot read the files.

        They can if the files are local, and in no calendar that only Spark knows. Runs a small Spark job.
        """
        if any(name.lower() in map(str.lower, _ONLY_SPARK) for name in self.options):
            return None
        if not {urlsplit(path).scheme for path in self.paths if ":/" in path} <= {"file"}:
            return None
        some = self._load("binaryFile", False, None).select("path", "length").limit(_SAMPLE)
        (row,) = some.agg(f.count("path"), f.max("length"), f.sum("length"), f.min("path")).collect()
        path = row[3] or "file:"  # without a scheme, it may be of any file system
        if not path.startswith("file:") or _HIDES_DISCOVERED.search(path):
            return None
        return FileSizes(row[0], row[1] or 0, row[2] or 0)

    def _load(self, form: str, streaming: bool, schema: t.StructType | str | None) -> DataFrame:
        spark = self.sparkSession
        reader: Any = (spark.readStream if streaming else spark.read).format(form).options(**self.options)
        reader = reader if schema is None else reader.schema(schema)
        frame: DataFrame = reader.load(self.paths[0] if len(self.paths) == 1 else self.paths)
        return frame

    def _inferred(self) -> t.StructType:
        """The schema of the files, as Spark infers it; times in nanoseconds, which Spark refuses, as timestamps."""
        try:
            return self._load("parquet", False, None).schema
        except AnalysisException as error:
            place = ", ".join(self.paths)
            condition = error.getCondition()
            if condition == "PATH_NOT_FOUND":
                raise InputError(f"there is no {place}; create the folder, or correct the path") from error
            if condition == "UNABLE_TO_INFER_SCHEMA":
                raise InputError(
                    f"{place} has no Parquet files yet, so their columns are not known; pass them: "
                    "schema='ts timestamp, rtt_us long'"
                ) from error
            if condition == "PARQUET_TYPE_ILLEGAL" and "NANOS" in str(error):
                if self.sizes() is None:
                    raise InputError(NO_NANOSECONDS) from error
                return self._schema_with_nanoseconds()
            raise

    def _schema_with_nanoseconds(self) -> t.StructType:
        """The columns of the first file whose types are known, and those of folders."""
        self.has_nanoseconds = True
        discovered = self._load("binaryFile", False, None)
        schema = pq.read_schema(local_path(discovered.select("path").head(1)[0].path))
        types = {field.name: spark_type(field.type) for field in schema}
        fields = [t.StructField(name, kind) for name, kind in types.items() if kind is not None]
        return t.StructType([*fields, *discovered.schema.fields[_FIXED:]])


def _paths(path: Any, streaming: bool) -> list[str]:
    several = [path] if isinstance(path, (str, PathLike)) else path
    if not isinstance(several, Sequence) or not several or not all(isinstance(p, (str, PathLike)) for p in several):
        raise InputError(f"path must be the path of a folder, a file or several, not {path!r}")
    if streaming and len(several) > 1:
        raise InputError(
            f"a stream reads one path, not {len(several)}; pass the folder above, with pathGlobFilter or "
            "recursiveFileLookup in options"
        )
    return [str(fspath(each)) for each in several]


def _checked_options(options: Mapping[str, Any]) -> dict[str, str]:
    known = {name.lower() for name in (*_OPTIONS, *_ONLY_SPARK)}
    for name in options:
        if name.lower() not in known:
            raise InputError(
                f"{name!r} is not an option of files{did_you_mean(name, _OPTIONS)}; there are {', '.join(_OPTIONS)}"
            )
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}


# -- types -----------------------------------------------------------------------------------------------------------

_TYPES: dict[t.DataType, pa.DataType] = {
    t.BooleanType(): pa.bool_(),
    t.ByteType(): pa.int8(),
    t.ShortType(): pa.int16(),
    t.IntegerType(): pa.int32(),
    t.LongType(): pa.int64(),
    t.FloatType(): pa.float32(),
    t.DoubleType(): pa.float64(),
    t.StringType(): pa.string(),
    t.BinaryType(): pa.binary(),
    t.DateType(): pa.date32(),
    t.TimestampNTZType(): pa.timestamp("us"),
}
_SPARK_TYPES = {arrow: spark for spark, arrow in _TYPES.items()}
_SPARK_TYPES |= {pa.large_string(): t.StringType(), pa.large_binary(): t.BinaryType()}
_SPARK_TYPES |= {pa.uint8(): t.ShortType(), pa.uint16(): t.IntegerType(), pa.uint32(): t.LongType()}
_SPARK_TYPES |= {pa.uint64(): t.DecimalType(20, 0)}


def arrow_type(kind: t.DataType, zone: str) -> pa.DataType | None:
    """The Arrow type of a column that workers can read, with timestamps in this zone; None for other types."""
    if isinstance(kind, t.TimestampType):
        return pa.timestamp("us", tz=zone)
    if isinstance(kind, t.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    return _TYPES.get(kind)


def arrow_schema(columns: t.StructType, zone: str) -> pa.Schema | None:
    """The Arrow types of columns whose rows workers can read again, also of several parts; None if one has another."""
    fields = [(column.name, _arrow_parts(column.dataType, zone)) for column in columns]
    return None if any(kind is None for _, kind in fields) else pa.schema(fields)


def _arrow_parts(kind: t.DataType, zone: str) -> pa.DataType | None:
    if isinstance(kind, t.StructType):
        schema = arrow_schema(kind, zone)
        return None if schema is None else pa.struct(list(schema))
    if isinstance(kind, t.ArrayType):
        items = _arrow_parts(kind.elementType, zone)
        return None if items is None else pa.list_(items)
    if isinstance(kind, t.MapType):
        keys, items = _arrow_parts(kind.keyType, zone), _arrow_parts(kind.valueType, zone)
        return None if keys is None or items is None else pa.map_(keys, items)
    return arrow_type(kind, zone)


def spark_type(kind: pa.DataType) -> t.DataType | None:
    """The type that Spark would infer for a column of a file; None for types that are not known here."""
    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return t.TimestampNTZType() if kind.tz is None else t.TimestampType()
    if pa.types.is_decimal(kind):
        return t.DecimalType(kind.precision, kind.scale)
    return _SPARK_TYPES.get(kind)
