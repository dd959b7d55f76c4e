"""Defines the parcel: the row that Spark moves to a shard, and the table inside it. No other module repeats the schema.

A parcel carries tallies or summaries of many keys of one shard: Spark moves few rows, and keys keep their Arrow types.
Its `content` is the bytes of an Arrow table with one row for each key and sub-window:

==============  ====================================================================
by0, by1, ...   the key
number          number of the sub-window
kind            LIVE, TALLY or SUMMARY (aomg.core.keyed)
flag            of a live summary: what the burst detector said; 0 otherwise
seen            of a tally: number of its events; 0 otherwise
bytes           the tally or the summary
==============  ====================================================================

Checkpoints contain such tables: these column names must not change. Stored summaries have further columns until Level 2
has recast them (aomg.spark.summary_store).
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

from aomg.core.keyed import KeyRows
from aomg.spark.keys import key_ids, shard_indexes

Integers = npt.NDArray[np.int64]

NEVER = -(1 << 62)
"""A time or a sub-window number before all others: nothing has arrived yet."""

NOTICE = -(1 << 63)
"""The epoch of parcels without content. They sort before the others of their shard."""

_BATCH_ROWS = 1 << 16


class Parcel(NamedTuple):
    """One row for Spark to move: content for a shard, or a notice of how far time has come and what was counted.

    epoch orders the parcels of a shard in a batch. latest is the latest sub-window number, clock the latest time that
    moves the watermark, both over the events of one partition. came, refused and future count events.
    """

    shard: int
    epoch: int = 0
    latest: int = NEVER
    clock: int = NEVER
    came: int = 0
    refused: int = 0
    future: int = 0
    content: Any = None

    def batch(self) -> pa.RecordBatch:
        """The parcel as a record batch of one row."""
        arrays = [pa.array([value], kind) for value, kind in zip(self, _ARROW.types, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


_TYPES: dict[str, tuple[t.DataType, pa.DataType]] = {name: (t.LongType(), pa.int64()) for name in Parcel._fields}
_TYPES |= {"shard": (t.IntegerType(), pa.int32()), "content": (t.BinaryType(), pa.binary())}
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


def by_shard(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[Parcel]]]:
    """Group parcels that are sorted by shard."""
    return groupby(_parcels(batches), key=lambda parcel: parcel.shard)


def by_epoch(parcels: Iterable[Parcel]) -> tuple[int, Iterator[tuple[int, list[pa.Table]]]]:
    """Group one shard's parcels, sorted by epoch: the latest sub-window of all partitions, and each epoch's tables."""
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


def pack(table: pa.Table, compression: str | None = None) -> bytes:
    """The bytes of a table."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def unpack(content: Any) -> pa.Table:
    """The table of these bytes. Nothing is copied."""
    return pa.ipc.open_stream(pa.py_buffer(content)).read_all()


def pack_by_shard(
    table: pa.Table, values: Sequence[pa.Array], ids: Integers, shards: Sequence[int], epochs: Integers
) -> Iterator[pa.RecordBatch]:
    """Pack the rows of a content table into a parcel for each shard and epoch.

    values, ids
        The by columns of each key, and the key of each row.
    shards
        Ids of the shards.
    epochs
        The epoch of each row.
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
        yield Parcel(shards[indexes[start]], int(epochs[start]), content=content).batch()


def tables_of(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Join batches into tables of at least this many rows; the last may have fewer. Nothing is copied."""
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            pending.append(batch)
            size += batch.num_rows
        if size >= rows:
            yield pa.Table.from_batches(pending)
            pending, size = [], 0
    if pending:
        yield pa.Table.from_batches(pending)


def batches_of(table: pa.Table | None) -> list[pa.RecordBatch]:
    """A table in the batches that are handed to Spark; None is no batch."""
    return [] if table is None else table.to_batches(max_chunksize=_BATCH_ROWS)


# -- the table inside -------------------------------------------------------------------------------------------------


def content_table(
    values: Sequence[pa.Array],
    ids: Integers,
    numbers: Integers,
    kind: int,
    offsets: Integers,
    data: npt.NDArray[np.uint8],
    *,
    flags: Any = None,
    events: Any = None,
) -> pa.Table:
    """The table of a parcel's content.

    values, ids
        The by columns of each key, and the key of each row.
    offsets, data
        The bytes of row i are data[offsets[i] : offsets[i + 1]].
    """
    size, rows = len(numbers), pa.array(ids)
    columns = {f"by{i}": column.take(rows) for i, column in enumerate(values)}
    columns["number"] = pa.array(numbers, pa.int64())
    columns["kind"] = pa.array(np.full(size, kind, np.int8))
    columns["flag"] = pa.array(np.zeros(size, np.int8) if flags is None else np.asarray(flags, np.int8))
    columns["seen"] = pa.array(np.zeros(size, np.int64) if events is None else events, pa.int64())
    columns["bytes"] = binary_array(offsets, data)
    return pa.table(columns)


def by_columns(table: pa.Table) -> list[pa.ChunkedArray]:
    """The by columns of a content table."""
    return [table[name] for name in table.column_names if name.startswith("by") and name != "bytes"]


def sorted_rows(table: pa.Table) -> tuple[KeyRows, list[pa.Array], Integers]:
    """The rows of a content table as core.keyed takes them, the by columns of each key, and the events of each row."""
    ids, values = key_ids(by_columns(table), table.num_rows)
    numbers, kinds = np.asarray(table["number"]), np.asarray(table["kind"]).astype(np.int64)
    order = np.lexsort((numbers, kinds, ids))
    offsets, data = binary_buffers(_whole(table["bytes"]).take(pa.array(order)))
    flags = np.asarray(table["flag"]).astype(np.int64)[order]
    data = data[: int(offsets[-1])].copy() if offsets.size else data.copy()
    rows = KeyRows(ids[order], numbers[order], kinds[order], flags, offsets.copy(), data)
    return rows, values, np.asarray(table["seen"])[order]


def binary_array(offsets: Integers, data: npt.NDArray[np.uint8]) -> pa.Array:
    """The pieces data[offsets[i] : offsets[i + 1]] as an Arrow array."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.large_binary(), offsets.size - 1, buffers)


def binary_buffers(column: pa.ChunkedArray | pa.Array) -> tuple[Integers, npt.NDArray[np.uint8]]:
    """The offsets and the data of a column of large_binary: the reverse of `binary_array`."""
    array = _whole(column)
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return bounds, np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], pa.large_binary())
    return array
