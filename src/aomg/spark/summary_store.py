"""Reads stored summaries from a DataFrame and packs them into parcels. Level 2 recasts them (aomg.tables.level2)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.core.keyed import SUMMARY as SUMMARY_KIND
from aomg.core.recast import refuse_conversion
from aomg.query import Query
from aomg.spark.arguments import quoted, refuse_others
from aomg.spark.intake import microseconds_of
from aomg.spark.parcels import NOTICE, PARCELS, Parcel, pack_by_shard
from aomg.spark.summary_check import refuse_unanswerable, time_type_of
from aomg.spark.versions import check_version
from aomg.spark.worker_errors import message_first
from aomg.tables.checksums import COLUMNS, verified
from aomg.tables.columns import SUMMARY
from aomg.tables.keys import key_ids
from aomg.tables.rows import NEVER, content_table
from aomg.tables.source import tables_of
from aomg.tables.stored import chosen_keys, refuse_other_windows

_SUMMARIES = 1 << 16  # packed together


@dataclass(frozen=True)
class StoredSummaries:
    """A DataFrame of summaries with the columns by0..., dropped0... (by a roll-up), and those that are verified."""

    columns: DataFrame
    keys: tuple[t.StructField, ...]
    dropped: tuple[str, ...]
    time_type: t.DataType

    @classmethod
    def of(
        cls, summaries: DataFrame, query: Query, by: Sequence[str] | str | None, argument: str = "the first argument"
    ) -> "StoredSummaries":
        """Check that these are summaries, have the key columns, and can answer the query.

        Reads the text of the query that wrote them (aomg.spark.summary_check).
        """
        refuse_others(summaries, query, argument)
        check_version(summaries.sparkSession)
        time_type = time_type_of(summaries)
        fields = {field.name: field for field in summaries.schema.fields}
        keys = [name for name in fields if name not in SUMMARY]
        names = chosen_keys(keys, by)
        refuse_other_windows(isinstance(time_type, t.IntegralType), query)
        spans = [microseconds_of(f.col(f"sub_window.{end}"), time_type).alias(end) for end in ("start", "end")]
        dropped = [name for name in keys if name not in names]
        if dropped:
            refuse_conversion(query)
        refuse_unanswerable(summaries, query)
        columns = summaries.select(
            *(quoted(name).alias(f"by{i}") for i, name in enumerate(names)),
            *(quoted(name).alias(f"dropped{i}") for i, name in enumerate(dropped)),
            *spans,
            *(f.col(name) for name in COLUMNS if name not in ("start", "end")),
        )
        return cls(columns, tuple(fields[name] for name in names), tuple(dropped), time_type)

    def parcels(self, shards: tuple[int, ...], epoch: int) -> DataFrame:
        """Parcels for the shards with these ids, with `epoch` sub-windows in each."""
        names = tuple(key.name for key in self.keys)
        return self.columns.mapInArrow(_SummaryParcels(shards, epoch, names, self.dropped), PARCELS)


@dataclass(frozen=True)
class _SummaryParcels:
    """Verifies the summaries of StoredSummaries and packs them into parcels.

    by, dropped
        The names of the key columns, and of those that a roll-up drops.
    """

    shards: tuple[int, ...]
    epoch: int
    by: tuple[str, ...]
    dropped: tuple[str, ...]

    @message_first
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack a partition."""
        latest = NEVER
        for summaries in tables_of(batches, _SUMMARIES):
            columns = {name: summaries[f"by{i}"] for i, name in enumerate(self.by)}
            dropped = {name: summaries[f"dropped{i}"] for i, name in enumerate(self.dropped)}
            numbers, offsets, data = verified(summaries, {**columns, **dropped})
            latest = max(latest, int(numbers.max()))
            ids, keys = key_ids(list(columns.values()), summaries.num_rows)
            table = content_table(keys, ids, numbers, SUMMARY_KIND, offsets, data)
            for i, column in enumerate(dropped.values()):
                table = table.append_column(f"dropped{i}", column)
            table = table.append_column("written_by", summaries["query"])
            yield from pack_by_shard(table, keys, ids, self.shards, numbers // self.epoch)
        if latest != NEVER:
            for shard in self.shards:
                yield Parcel(shard, epoch=NOTICE, latest=latest).batch()
