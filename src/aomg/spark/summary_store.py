"""Reads stored summaries: packs them into parcels, and recasts them for another query.

A stored summary names the query that wrote it. Its key columns and its sub-window identify it: a second copy with the
same bytes is a replay and counts once, one with other bytes is an error. A roll-up drops key columns; the summaries
that then share a key and a sub-window are added up (aomg.core.recast).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.core.keyed import SUMMARY as SUMMARY_KIND
from aomg.core.recast import Recast
from aomg.errors import InputError, StateError
from aomg.query import Query
from aomg.spark.columns import SUMMARY
from aomg.spark.intake import microseconds_of, names_in, quoted, refuse_others
from aomg.spark.keys import key_ids
from aomg.spark.parcels import (
    NEVER,
    NOTICE,
    PARCELS,
    Parcel,
    binary_buffers,
    by_columns,
    content_table,
    pack_by_shard,
    tables_of,
)

_SUMMARIES = 1 << 16  # packed together


@dataclass(frozen=True)
class StoredSummaries:
    """A DataFrame of summaries with the columns by0..., dropped0... (by a roll-up), number, summary and query."""

    columns: DataFrame
    keys: tuple[t.StructField, ...]
    dropped: int
    time_type: t.DataType

    @classmethod
    def of(cls, summaries: DataFrame, query: Query, by: Sequence[str] | str | None) -> "StoredSummaries":
        """Check that these are summaries and have the key columns."""
        refuse_others(summaries, query)
        if summaries.isStreaming:
            raise InputError(
                "stored summaries must be a batch DataFrame (spark.read), not a stream; for a stream of events use "
                "quantiles(...)"
            )
        missing = [name for name in SUMMARY if name not in summaries.columns]
        if missing:
            raise InputError(
                f"this DataFrame has no column {missing[0]!r}, so it does not contain summaries; "
                "write them with aomg.spark.summaries(...)"
            )
        fields = {field.name: field for field in summaries.schema.fields}
        keys = [name for name in fields if name not in SUMMARY]
        names = keys if by is None else names_in(by)
        unknown = [name for name in names if name not in keys]
        if unknown:
            raise InputError(
                f"the summaries have no key column {unknown[0]!r}; their key columns are {', '.join(keys) or 'none'}"
            )
        time_type = fields["sub_window"].dataType["start"].dataType  # type: ignore[index]
        start = microseconds_of(f.col("sub_window.start"), time_type)
        dropped = [name for name in keys if name not in names]
        columns = summaries.select(
            *(quoted(name).alias(f"by{i}") for i, name in enumerate(names)),
            *(quoted(name).alias(f"dropped{i}") for i, name in enumerate(dropped)),
            f.call_function("div", start, f.lit(query.period)).alias("number"),  # exact: it starts at a multiple
            f.col("summary"),
            f.col("query"),
        )
        return cls(columns, tuple(fields[name] for name in names), len(dropped), time_type)

    def parcels(self, shards: tuple[int, ...], epoch: int) -> DataFrame:
        """Parcels for the shards with these ids, with `epoch` sub-windows in each."""
        return self.columns.mapInArrow(_SummaryParcels(shards, epoch, len(self.keys), self.dropped), PARCELS)


@dataclass(frozen=True)
class _SummaryParcels:
    """Packs the columns of StoredSummaries into parcels; `by` and `dropped` say how many key columns there are."""

    shards: tuple[int, ...]
    epoch: int
    by: int
    dropped: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack a partition."""
        latest = NEVER
        for summaries in tables_of(batches, _SUMMARIES):
            latest = max(latest, int(np.asarray(summaries["number"]).max()))
            yield from self._parcels(summaries)
        if latest != NEVER:
            for shard in self.shards:
                yield Parcel(shard, NOTICE, latest=latest).batch()

    def _parcels(self, summaries: pa.Table) -> Iterator[pa.RecordBatch]:
        ids, keys = key_ids([summaries[f"by{i}"] for i in range(self.by)], summaries.num_rows)
        numbers = np.asarray(summaries["number"])
        table = content_table(
            keys, ids, numbers, SUMMARY_KIND, *binary_buffers(summaries["summary"].cast(pa.large_binary()))
        )
        for i in range(self.dropped):
            table = table.append_column(f"dropped{i}", summaries[f"dropped{i}"])
        table = table.append_column("written_by", summaries["query"])
        yield from pack_by_shard(table, keys, ids, self.shards, numbers // self.epoch)


@lru_cache(maxsize=16)
def _recast(written_by: str, query: Query) -> Recast:
    return Recast(Query.parse(written_by), query)


def recast_summaries(table: pa.Table, query: Query) -> pa.Table:
    """Stored summaries as those of this query, one row for each key and sub-window; other rows unchanged."""
    if "written_by" not in table.column_names or table.num_rows == 0:
        return table
    dropped = [table[name] for name in table.column_names if name.startswith("dropped")]
    owners, _ = key_ids([*by_columns(table), *dropped], table.num_rows)
    ids, keys = key_ids(by_columns(table), table.num_rows)
    numbers = np.asarray(table["number"])
    summaries, writers = table["bytes"].to_pylist(), table["written_by"].to_pylist()
    order = np.lexsort((owners, numbers, ids))
    sums: list[tuple[int, int, bytes]] = []
    group: list[bytes] = []
    for position, row in enumerate(order):
        previous = order[position - 1] if position else None
        recast = _recast(writers[row], query)
        if previous is not None and owners[row] == owners[previous] and numbers[row] == numbers[previous]:
            if summaries[row] != summaries[previous]:
                raise StateError(
                    f"sub-window {numbers[row]} of one key has two different summaries, written from different events; "
                    "delete one of them"
                )
        else:
            recast.check(summaries[row])
            if group and writers[row] != writers[previous]:
                raise StateError(
                    f"the summaries of sub-window {numbers[row]} were written by different queries, "
                    f"{Query.parse(writers[previous])!r} and {Query.parse(writers[row])!r}; roll up each on its own"
                )
            group.append(summaries[row])
        following = order[position + 1] if position + 1 < order.size else None
        if following is None or ids[following] != ids[row] or numbers[following] != numbers[row]:
            sums.append((int(ids[row]), int(numbers[row]), recast(group)))
            group = []
    return content_table(
        keys,
        np.array([key for key, _, _ in sums], np.int64),
        np.array([number for _, number, _ in sums], np.int64),
        SUMMARY_KIND,
        np.cumsum([0, *(len(summary) for _, _, summary in sums)], dtype=np.int64),
        np.frombuffer(b"".join(summary for _, _, summary in sums), np.uint8),
    )
