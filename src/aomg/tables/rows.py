"""Defines the content table: rows of tallies, of stored summaries or of live summaries, with their keys.

One row for each key and sub-window:

==============  ====================================================================
by0, by1, ...   the key
number          number of the sub-window
kind            LIVE, TALLY or SUMMARY (aomg.core.keyed)
flag            of a live summary: what the burst detector said; 0 otherwise
seen            of a tally: number of its events; 0 otherwise
bytes           the tally or the summary
==============  ====================================================================

Checkpoints of Spark contain such tables: these column names must not change. Stored summaries have further columns
until they have been recast (aomg.tables.summary_store).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aomg.core.keyed import KeyRows
from aomg.tables.keys import key_ids

Integers = npt.NDArray[np.int64]

_COLUMNS = {
    "number": pa.int64(),
    "kind": pa.int8(),
    "flag": pa.int8(),
    "seen": pa.int64(),
    "bytes": pa.large_binary(),
}

NEVER = -(1 << 62)
"""A time or a sub-window number before all others: nothing has arrived yet."""


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


def pack(table: pa.Table, compression: str | None = None) -> bytes:
    """The bytes of a table."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def unpack(content: Any) -> pa.Table:
    """The table of these bytes. Nothing is copied."""
    return pa.ipc.open_stream(pa.py_buffer(content)).read_all()


def unpack_checked(content: bytes, keys: int) -> pa.Table:
    """The content table of bytes that may be forged, with so many by columns. Raises ValueError, or errors of Arrow."""
    with pa.ipc.open_stream(pa.py_buffer(content)) as stream:
        names = [f"by{i}" for i in range(keys)]
        schema = pa.schema([*((name, stream.schema.field(name).type) for name in names), *_COLUMNS.items()])
        if not stream.schema.equals(schema):
            raise ValueError("the table has other columns")
        table = stream.read_all()
    table.validate(full=True)
    if any(table[name].null_count for name in _COLUMNS):
        raise ValueError("the table has nulls")
    return table
