"""Selects the columns that the queries of a scan read, in native Spark expressions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.spark.arguments import quoted
from aomg.spark.intake import Source, is_weight, key_column, microseconds_of, value_column
from aomg.spark.level1 import ScannedQuery
from aomg.spark.parquet_files import ParquetFiles
from aomg.spark.time_policy import TimePolicy
from aomg.tables.row_faults import RowFaults


@dataclass(frozen=True)
class Marks:
    """What is known about events before they are read.

    excluded
        Queries, by their names, that may have to refuse an event for another reason than its value, time or weight; and
        when they have to.
    refused, reasons
        The rows to hand on as refused (aomg.spark.refused), null for the others; and the texts of the reasons.
    faults
        The same for workers that read files. None: if there are refused rows, Spark has to read the files.
    """

    excluded: Mapping[str, Column]
    refused: Column | None = None
    reasons: tuple[str, ...] = ()
    faults: RowFaults | None = None

    @property
    def only_spark(self) -> bool:
        """Whether only Spark can find out what is known."""
        return self.faults is None and (bool(self.excluded) or self.refused is not None)


NO_MARKS = Marks({})


@dataclass(frozen=True)
class ScanColumns:
    """The columns that the queries of a scan read, each once.

    key0, key1...
        The by columns; strings as bytes.
    time
        Times; of a stream, in microseconds and marked by the time policy where they are in the future.
    value0..., weight0...
        Values and weights, null where they cannot be used.
    excluded, refused
        Bits of the queries that must refuse an event, and refused rows (aomg.spark.refused), if there are `Marks`.
    """

    sources: tuple[Source, ...]
    keys: tuple[t.StructField, ...]
    values: tuple[str, ...]
    weights: tuple[str, ...]

    @classmethod
    def of(cls, sources: Sequence[Source]) -> "ScanColumns":
        """The columns of these sources, which have the same events and times."""
        keys = {key.name: key for source in sources for key in source.keys}
        values = dict.fromkeys(source.value for source in sources)
        weights = dict.fromkeys(source.weight for source in sources if source.weight is not None)
        return cls(tuple(sources), tuple(keys.values()), tuple(values), tuple(weights))

    @property
    def texts(self) -> tuple[bool, ...]:
        """Which key columns are strings: they are moved as bytes."""
        return tuple(isinstance(key.dataType, t.StringType) for key in self.keys)

    def scanned(self, source: Source, policy: TimePolicy, epoch: int) -> ScannedQuery:
        """A query of this scan, with the places of its columns."""
        names = [key.name for key in self.keys]
        return ScannedQuery(
            source.query,
            tuple(names.index(name) for name in source.by),
            self.values.index(source.value),
            None if source.weight is None else self.weights.index(source.weight),
            policy.on_workers(),
            epoch,
        )

    def select(self, policy: TimePolicy, names: Sequence[str], marks: Marks = NO_MARKS) -> DataFrame:
        """Select the columns in the plan; `names` are those of the queries. Files are read by Spark."""
        first = self.sources[0]
        events = first.events.dataframe() if isinstance(first.events, ParquetFiles) else first.events
        time = quoted(first.time)
        if events.isStreaming:
            time = policy.event_time(microseconds_of(time, first.time_type))
        columns = [key_column(key).alias(f"key{i}") for i, key in enumerate(self.keys)]
        columns.append(time.alias("time"))
        columns += [value_column(events, name).alias(f"value{i}") for i, name in enumerate(self.values)]
        columns += [_weight(name).alias(f"weight{i}") for i, name in enumerate(self.weights)]
        if marks.excluded:
            places = {name: place for place, name in enumerate(names)}
            bits = [f.when(holds, f.lit(1 << places[name])).otherwise(0) for name, holds in marks.excluded.items()]
            columns.append(reduce(Column.bitwiseOR, bits).cast("long").alias("excluded"))
        if marks.refused is not None:
            columns.append(marks.refused.alias("refused"))
        return events.select(*columns)


def _weight(name: str) -> Column:
    """Weights, null where they cannot be used."""
    weight = quoted(name)
    return f.when(is_weight(weight), weight).cast("int")
