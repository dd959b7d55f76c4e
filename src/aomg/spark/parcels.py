"""What Spark moves between the stages: parcels, each with the rows of many keys of one shard.

A parcel is a row of `PARCELS`. Its content is the bytes of an Arrow table with the columns `by0`, `by1`..., `number`
(of a sub-window), `kind`, `flag`, `seen` (events) and `bytes` (a tally or a summary). Spark moves few parcels, not
many rows, and keys keep their Arrow types on the whole way.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import types as t

from aomg.core.keyed import KeyRows
from aomg.spark.keys import key_ids

Integers = npt.NDArray[np.int64]

NEVER = -(1 << 62)
FIRST = -(1 << 63)  # the epoch of rows that every other one of their shard waits for

_FIELDS: tuple[tuple[str, t.DataType, pa.DataType], ...] = (
    ("shard", t.IntegerType(), pa.int32()),
    ("epoch", t.LongType(), pa.int64()),
    ("latest", t.LongType(), pa.int64()),  # the latest sub-window number that was seen
    ("clock", t.LongType(), pa.int64()),  # the latest time that was seen and is believed
    ("came", t.LongType(), pa.int64()),
    ("refused", t.LongType(), pa.int64()),
    ("future", t.LongType(), pa.int64()),
    ("content", t.BinaryType(), pa.binary()),
)
PARCELS = t.StructType([t.StructField(name, kind) for name, kind, _ in _FIELDS])
_ARROW = pa.schema([(name, kind) for name, _, kind in _FIELDS])


def parcel(
    shard: int,
    epoch: int,
    latest: int = NEVER,
    clock: int = NEVER,
    came: int = 0,
    refused: int = 0,
    future: int = 0,
    content: bytes | None = None,
) -> pa.RecordBatch:
    """One row for Spark to move: a notice, or content for a shard."""
    row = (shard, epoch, latest, clock, came, refused, future, content)
    return pa.RecordBatch.from_arrays(
        [pa.array([entry], kind) for entry, kind in zip(row, _ARROW.types, strict=True)], schema=_ARROW
    )


def pack(table: pa.Table, compression: str | None = None) -> bytes:
    """The bytes of a table."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def unpack(parcel: Any) -> pa.Table:
    """The table of these bytes; nothing is copied."""
    return pa.ipc.open_stream(pa.py_buffer(parcel)).read_all()


def in_tables(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """The batches that are not empty in tables of at least so many rows; the last may have fewer. Nothing is copied."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            size += batch.num_rows
        if size >= rows:
            yield pa.Table.from_batches(waiting)
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def rows_table(
    keys: Sequence[pa.Array],
    number: Any,
    kind: int,
    flag: Any,
    seen: Any,
    offsets: Integers,
    data: npt.NDArray[np.uint8],
) -> pa.Table:
    """A table of rows; `keys` are the by columns of each."""
    size = len(number)
    columns = {f"by{i}": column for i, column in enumerate(keys)}
    columns["number"] = pa.array(number, pa.int64())
    columns["kind"] = pa.array(np.full(size, kind, np.int8))
    columns["flag"] = pa.array(np.asarray(flag, np.int8))
    columns["seen"] = pa.array(seen, pa.int64())
    columns["bytes"] = binaries(offsets, data)
    return pa.table(columns)


def binaries(offsets: Integers, data: npt.NDArray[np.uint8]) -> pa.Array:
    """The entries data[offsets[i] : offsets[i + 1]] as an Arrow array."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.large_binary(), offsets.size - 1, buffers)


def by_columns(table: pa.Table) -> list[pa.ChunkedArray]:
    """The by columns of a table of rows."""
    return [table[name] for name in table.column_names if name.startswith("by") and name != "bytes"]


def sorted_rows(table: pa.Table) -> tuple[KeyRows, list[pa.Array], Integers]:
    """The rows of a table in the order that a fleet takes, the by values of each key, and the events of each row."""
    ids, values = key_ids(by_columns(table), table.num_rows)
    numbers, kinds = np.asarray(table["number"]), np.asarray(table["kind"]).astype(np.int64)
    order = np.lexsort((numbers, kinds, ids))
    content = table["bytes"].combine_chunks()
    if isinstance(content, pa.ChunkedArray):
        content = pa.concat_arrays(content.chunks) if content.num_chunks else pa.array([], pa.large_binary())
    content = content.take(pa.array(order))
    _, offsets, data = content.buffers()
    offsets = np.frombuffer(offsets, np.int64)[content.offset : content.offset + len(content) + 1].copy()
    data = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    data = data[: int(offsets[-1])].copy() if offsets.size else data.copy()
    rows = KeyRows(
        ids[order], numbers[order], kinds[order], np.asarray(table["flag"]).astype(np.int64)[order], offsets, data
    )
    return rows, values, np.asarray(table["seen"])[order]
