"""Plans Level 1 over events: of a DataFrame, or of Parquet files that workers read where they lie."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from aomg.errors import InputError
from aomg.spark.arguments import quoted
from aomg.spark.level1 import Level1
from aomg.spark.parcels import PARCELS
from aomg.spark.parquet_files import NO_NANOSECONDS, FileSizes, ParquetFiles, arrow_type
from aomg.spark.refused import LONGEST_TEXT, MOST_SAMPLES, refused_parcels
from aomg.spark.scan_columns import NO_MARKS, Marks, ScanColumns
from aomg.spark.settings import value_of
from aomg.spark.time_policy import TimePolicy
from aomg.tables.parquet_columns import FileColumn, Use
from aomg.tables.parquet_reader import FilePart, ParquetReader
from aomg.tables.row_faults import FaultChecker, RowFaults

_SPLIT = 1 << 25  # bytes of a part of a file: about four million events
_NOW, _FOLDER = "now", "folder"


def level1_parcels(
    columns: ScanColumns, level1: Level1, policy: TimePolicy, names: Sequence[str], marks: Marks = NO_MARKS
) -> DataFrame:
    """The parcels of Level 1; `names` are those of the queries."""
    files = columns.sources[0].events
    if isinstance(files, ParquetFiles):
        plan = _worker_plan(columns, files, policy, marks)
        if plan is not None:
            return _tallied_where_they_lie(plan, files, level1, policy, names, marks)
        if files.has_nanoseconds:
            raise InputError(NO_NANOSECONDS)
    return columns.select(policy, names, marks).mapInArrow(level1, PARCELS)


class _WorkerPlan(NamedTuple):
    """What workers need to read files."""

    columns: tuple[FileColumn, ...]
    sizes: FileSizes


def _worker_plan(scan: ScanColumns, files: ParquetFiles, policy: TimePolicy, marks: Marks) -> _WorkerPlan | None:
    """The only place that decides who reads files: what workers need, or None if Spark has to read them."""
    columns = None if marks.only_spark else _file_columns(scan, files, marks)
    if columns is None or (files.isStreaming and policy.clock_is_column):
        return None
    sizes = files.sizes()
    return None if sizes is None else _WorkerPlan(columns, sizes)


def _tallied_where_they_lie(
    plan: _WorkerPlan, files: ParquetFiles, level1: Level1, policy: TimePolicy, names: Sequence[str], marks: Marks
) -> DataFrame:
    """The parcels of files that workers read."""
    discovered = files.files()
    needed = {column.source for column in plan.columns} | set(marks.faults.schema.names if marks.faults else ())
    folders = [name for name in discovered.columns[2:] if name in needed]
    reader = ParquetReader(
        plan.columns,
        case_sensitive=value_of(files.sparkSession, "spark.sql.caseSensitive") == "true",
        ignore_missing=files.is_set("ignoreMissingFiles"),
        ignore_damaged=files.is_set("ignoreCorruptFiles"),
        remedies=files.remedies,
    )
    rows = discovered.select(
        "path",
        "length",
        f.col("_metadata.file_path").alias("address"),
        (policy.now() if files.isStreaming else f.lit(None).cast("long")).alias(_NOW),
        *(quoted(name).alias(f"{_FOLDER}{i}") for i, name in enumerate(folders)),
    )
    worker = FileLevel1(replace(level1, reasons=()), reader, tuple(folders), tuple(names), marks.faults)
    return _divided(rows, files, plan.sizes).mapInArrow(worker, PARCELS)


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


def _file_columns(scan: ScanColumns, files: ParquetFiles, marks: Marks) -> tuple[FileColumn, ...] | None:
    """The columns to read; None if one has a type that workers do not read."""
    time = scan.sources[0].time
    zone = value_of(files.sparkSession, "spark.sql.session.timeZone") or "UTC"
    uses = [(key.name, f"key{i}", Use.KEY) for i, key in enumerate(scan.keys)]
    uses.append((time, "time", Use.TIME))
    if marks.faults is not None:
        uses.append((time, "presence", Use.PRESENCE))
    uses += [(name, f"value{i}", Use.VALUE) for i, name in enumerate(scan.values)]
    uses += [(name, f"weight{i}", Use.WEIGHT) for i, name in enumerate(scan.weights)]
    kinds = [arrow_type(files.stored[name].dataType, zone) for name, _, _ in uses]
    if None in kinds or not _is_time(kinds[len(scan.keys)]):
        return None
    return tuple(
        FileColumn(name, kind, alias, use, files.times) for (name, alias, use), kind in zip(uses, kinds, strict=True)
    )


def _is_time(kind: pa.DataType) -> bool:
    """Whether workers know what a time of this type means: a timestamp or a number, but no text."""
    types = pa.types
    return any(same(kind) for same in (types.is_timestamp, types.is_integer, types.is_floating, types.is_decimal))


@dataclass(frozen=True)
class FileLevel1:
    """Level 1 over parts of files: rows of `path`, `length`, `part`, `parts`, `now`, folders in, parcels out.

    folders
        The names of the columns in the names of folders.
    queries
        The names of the queries.
    faults
        What to look for in the rows of files, if refused rows are wanted.
    """

    level1: Level1
    reader: ParquetReader
    folders: tuple[str, ...]
    queries: tuple[str, ...] = ()
    faults: RowFaults | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read and tally the parts of a partition; the refused rows follow."""
        checker = None
        if self.faults is not None:
            checker = FaultChecker(self.faults, self.reader, self.queries, MOST_SAMPLES, LONGEST_TEXT)
        yield from self.level1.tally(self._tables(batches, checker))
        if checker is not None:
            yield from refused_parcels(checker, self.level1.shards[0])

    def _tables(self, batches: Iterable[pa.RecordBatch], checker: FaultChecker | None) -> Iterator[pa.Table]:
        for batch in batches:
            now = batch[_NOW][0].as_py() if batch.num_rows else None  # the same in all rows of a batch
            for events in self.reader.tables(self._parts(batch), checker):
                yield events if now is None else self._with_future(events, now)

    def _parts(self, batch: pa.RecordBatch) -> Iterator[FilePart]:
        columns = (batch[name].to_pylist() for name in ("path", "length", "part", "parts", "address"))
        for row, (path, length, number, parts, address) in enumerate(zip(*columns, strict=True)):
            folders = {name: batch[f"{_FOLDER}{i}"][row] for i, name in enumerate(self.folders)}
            yield FilePart(path, length, number, parts, folders, address)

    def _with_future(self, events: pa.Table, now: int) -> pa.Table:
        """Mark the events that are too far in the future."""
        index = events.column_names.index("time")
        return events.set_column(index, "time", self.level1.queries[0].time.marked(events["time"], now))
