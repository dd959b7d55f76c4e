"""Plans Level 1 over events: of a DataFrame, or of Parquet files that workers read where they lie."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from aomg.spark.arguments import quoted
from aomg.spark.level1 import Level1
from aomg.spark.parcels import PARCELS
from aomg.spark.parquet_files import FileSizes, ParquetFiles, arrow_type
from aomg.spark.scan_columns import NO_MARKS, Marks, ScanColumns
from aomg.spark.settings import value_of
from aomg.spark.time_policy import TimePolicy
from aomg.tables.parquet_columns import FileColumn, Use
from aomg.tables.parquet_reader import FilePart, ParquetReader

_SPLIT = 1 << 25  # bytes of a part of a file: about four million events
_NOW, _FOLDER = "now", "folder"


def level1_parcels(
    columns: ScanColumns, level1: Level1, policy: TimePolicy, names: Sequence[str], marks: Marks = NO_MARKS
) -> DataFrame:
    """The parcels of Level 1; `names` are those of the queries."""
    files = columns.sources[0].events
    if isinstance(files, ParquetFiles):
        parcels = _tallied_where_they_lie(columns, files, level1, policy if files.isStreaming else None)
        if parcels is not None:
            return parcels
    return columns.select(policy, names, marks).mapInArrow(level1, PARCELS)


def _tallied_where_they_lie(
    scan: ScanColumns, files: ParquetFiles, level1: Level1, policy: TimePolicy | None
) -> DataFrame | None:
    """The parcels of files that workers read; None if Spark has to read them.

    policy
        That of a stream, which marks events that are too far in the future; a batch has none.
    """
    columns = _file_columns(scan, files)
    if columns is None or (policy is not None and policy.clock_is_column):
        return None
    sizes = files.sizes()
    if sizes is None:
        return None
    discovered = files.files()
    folders = [name for name in discovered.columns[2:] if any(column.source == name for column in columns)]
    reader = ParquetReader(
        columns,
        case_sensitive=value_of(files.sparkSession, "spark.sql.caseSensitive") == "true",
        ignore_missing=files.is_set("ignoreMissingFiles"),
        ignore_damaged=files.is_set("ignoreCorruptFiles"),
    )
    rows = discovered.select(
        "path",
        "length",
        (f.lit(None).cast("long") if policy is None else policy.now()).alias(_NOW),
        *(quoted(name).alias(f"{_FOLDER}{i}") for i, name in enumerate(folders)),
    )
    return _divided(rows, files, sizes).mapInArrow(FileLevel1(level1, reader, tuple(folders)), PARCELS)


def _divided(rows: DataFrame, files: ParquetFiles, sizes: FileSizes) -> DataFrame:
    """The rows of files, with `part` and `parts`: large files are divided and spread over tasks.

    Spark itself puts files together into tasks of about the same size. Spreading costs a shuffle, some 20 ms, which is
    worth it if a task would have a large file alone.
    """
    if sizes.largest <= _SPLIT:
        return rows.withColumns({"part": f.lit(0), "parts": f.lit(1)})
    rows = rows.withColumn("parts", f.ceil(f.col("length") / _SPLIT).cast("int"))
    rows = rows.withColumn("part", f.explode(f.sequence(f.lit(0), f.col("parts") - 1)))
    number, limit = -(-sizes.total // _SPLIT) + sizes.number, files.limit()
    if limit is not None:
        number = min(number, limit * -(-sizes.largest // _SPLIT))
    most = int(value_of(files.sparkSession, "spark.sql.shuffle.partitions") or 1)
    return rows.repartition(min(number, most))


def _file_columns(scan: ScanColumns, files: ParquetFiles) -> tuple[FileColumn, ...] | None:
    """The columns to read; None if one has a type that workers do not read."""
    zone = value_of(files.sparkSession, "spark.sql.session.timeZone") or "UTC"
    uses = [(key.name, f"key{i}", Use.KEY) for i, key in enumerate(scan.keys)]
    uses.append((scan.sources[0].time, "time", Use.TIME))
    uses += [(name, f"value{i}", Use.VALUE) for i, name in enumerate(scan.values)]
    uses += [(name, f"weight{i}", Use.WEIGHT) for i, name in enumerate(scan.weights)]
    kinds = [arrow_type(files.schema[name].dataType, zone) for name, _, _ in uses]
    if None in kinds:
        return None
    return tuple(FileColumn(name, kind, alias, use) for (name, alias, use), kind in zip(uses, kinds, strict=True))


@dataclass(frozen=True)
class FileLevel1:
    """Level 1 over parts of files: rows of `path`, `length`, `part`, `parts`, `now`, folders in, parcels out.

    folders
        The names of the columns in the names of folders.
    """

    level1: Level1
    reader: ParquetReader
    folders: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read and tally the parts of a partition."""
        return self.level1.tally(self._tables(batches))

    def _tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        for batch in batches:
            now = batch[_NOW][0].as_py() if batch.num_rows else None  # the same in all rows of a batch
            for events in self.reader.tables(self._parts(batch)):
                yield events if now is None else self._with_future(events, now)

    def _parts(self, batch: pa.RecordBatch) -> Iterator[FilePart]:
        columns = (batch[name].to_pylist() for name in ("path", "length", "part", "parts"))
        for row, (path, length, number, parts) in enumerate(zip(*columns, strict=True)):
            folders = {name: batch[f"{_FOLDER}{i}"][row] for i, name in enumerate(self.folders)}
            yield FilePart(path, length, number, parts, folders)

    def _with_future(self, events: pa.Table, now: int) -> pa.Table:
        """Mark the events that are too far in the future."""
        index = events.column_names.index("time")
        return events.set_column(index, "time", self.level1.queries[0].time.marked(events["time"], now))
