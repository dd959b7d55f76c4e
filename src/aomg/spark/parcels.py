"""Defines the parcel: the row that Spark moves to a shard. No other module repeats the schema.

A parcel carries tallies or summaries of many keys of one shard: Spark moves few rows, and keys keep their Arrow types.
Its `content` is the bytes of a content table (aomg.tables.rows).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.spark.keys import shard_indexes
from aomg.tables.rows import NEVER, pack, unpack

Integers = npt.NDArray[np.int64]

NOTICE = -(1 << 63)
"""The epoch of parcels without content. They sort before the others of their shard and query."""

REFUSED = -1
"""The query of parcels with refused rows."""

_BATCH_ROWS = 1 << 16


class Parcel(NamedTuple):
    """One row for Spark to move: content for a shard, or a notice of how far time has come and what was counted.

    query is the place of its query in the scan; `REFUSED` for rows that were refused (aomg.spark.refused). epoch orders
    the parcels of a shard and query in a batch. latest is the latest sub-window number, clock the latest time that
    moves the watermark, both over the events of one partition. came, refused, future and weightless count events; those
    of weight 0 are used as soon as they come.
    """

    shard: int
    query: int = 0
    epoch: int = 0
    latest: int = NEVER
    clock: int = NEVER
    came: int = 0
    refused: int = 0
    future: int = 0
    weightless: int = 0
    content: Any = None

    def batch(self) -> pa.RecordBatch:
        """The parcel as a record batch of one row."""
        arrays = [pa.array([value], kind) for value, kind in zip(self, _ARROW.types, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


_TYPES: dict[str, tuple[t.DataType, pa.DataType]] = {name: (t.LongType(), pa.int64()) for name in Parcel._fields}
_TYPES |= {name: (t.IntegerType(), pa.int32()) for name in ("shard", "query")}
_TYPES |= {"content": (t.BinaryType(), pa.binary())}
_ARROW = pa.schema([(name, arrow) for name, (_, arrow) in _TYPES.items()])

PARCELS = t.StructType([t.StructField(name, spark) for name, (spark, _) in _TYPES.items()])
"""The schema of parcels."""


def parcel_columns(**columns: Column) -> list[Column]:
    """The columns of PARCELS; those that are not passed have the defaults of `Parcel`."""
    defaults = Parcel._field_defaults
    return [
        (columns[name] if name in columns else f.lit(defaults[name])).cast(kind).alias(name)
        for name, (kind, _) in _TYPES.items()
    ]


# -- reading parcels --------------------------------------------------------------------------------------------------


def by_shard(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, int, Iterator[Parcel]]]:
    """Group parcels that are sorted by shard and query: the shard, the query, and their parcels."""
    for (shard, query), parcels in groupby(_parcels(batches), key=lambda parcel: (parcel.shard, parcel.query)):
        yield shard, query, parcels


def by_epoch(parcels: Iterable[Parcel]) -> tuple[int, Iterator[tuple[int, list[pa.Table]]]]:
    """Group the parcels of a shard and query by epoch: the latest sub-window of all partitions, each epoch's tables."""
    epochs = groupby(parcels, key=lambda parcel: parcel.epoch)
    _, notices = next(epochs)  # every partition that packs content sends each shard a notice
    latest = max(notice.latest for notice in notices)
    return latest, ((epoch, [unpack(parcel.content) for parcel in members]) for epoch, members in epochs)


def _parcels(batches: Iterable[pa.RecordBatch]) -> Iterator[Parcel]:
    *scalars, content = Parcel._fields
    for batch in batches:
        columns = [batch[name].to_pylist() for name in scalars]
        contents = (value.as_buffer() for value in batch[content])
        yield from map(Parcel._make, zip(*columns, contents, strict=True))


# -- packing tables ---------------------------------------------------------------------------------------------------


def pack_by_shard(
    table: pa.Table, values: Sequence[pa.Array], ids: Integers, shards: Sequence[int], epochs: Integers, query: int = 0
) -> Iterator[pa.RecordBatch]:
    """Pack the rows of a content table into a parcel for each shard and epoch.

    values, ids
        The by columns of each key, and the key of each row.
    shards
        Ids of the shards.
    epochs
        The epoch of each row.
    query
        The place of the query in the scan.
    """
    indexes = shard_indexes(values, ids, len(shards))
    order = np.lexsort((epochs, indexes))
    indexes, epochs = indexes[order], epochs[order]
    changes = (indexes[1:] != indexes[:-1]) | (epochs[1:] != epochs[:-1])
    starts = np.flatnonzero(np.concatenate([[True], changes]))
    if starts.size > 1:
        table = table.take(pa.array(order))
    for start, end in zip(starts, np.append(starts[1:], indexes.size), strict=True):
        content = pack(table.slice(start, end - start))
        yield Parcel(shards[indexes[start]], query, int(epochs[start]), content=content).batch()


def batches_of(tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Tables in the batches that are handed to Spark."""
    for table in tables:
        yield from table.to_batches(max_chunksize=_BATCH_ROWS)
