"""What travels between the stages: the rows of many keys, packed by shard.

A parcel is the bytes of an Arrow table with the columns `by0`, `by1`..., `number` (of a sub-window), `kind`, `flag`,
`seen` (events) and `bytes` (a tally or a summary). Spark moves few parcels instead of many rows, and keys keep their
Arrow types on the whole way.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aomg.core.keyed import Rows

Integers = npt.NDArray[np.int64]

_SPREAD = 57_600  # 2^8 * 3^2 * 5^2: shards fall evenly on any number of partitions that divides it
_TRIED = 1 << 20


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


def key_ids(columns: Sequence[pa.ChunkedArray], size: int) -> tuple[Integers, list[pa.Array]]:
    """Number the keys: the id of each row, and for each by column the value of each id. O(rows), without a Python loop.

    Equal are values that a groupBy puts together; null is a value. Arrays, structs and other nested types are
    compared by their text, one by one.
    """
    if not columns:
        return np.zeros(size, np.int64), []
    if size == 0:
        return np.zeros(0, np.int64), [pa.array([], column.type) for column in columns]
    ids = np.zeros(size, np.int64)
    values: list[pa.Array] = []
    for column in columns:
        own, distinct = _encoded(column)
        ids, firsts = _renumbered(ids * len(distinct) + own)
        values = [previous.take(pa.array(firsts // len(distinct))) for previous in values]
        values.append(distinct.take(pa.array(firsts % len(distinct))))
    return ids, values


def _renumbered(ids: Integers) -> tuple[Integers, Integers]:
    """Ids without gaps, and what each was before."""
    highest = int(ids.max()) + 1
    if highest > 4 * ids.size + 1024:
        before, renumbered = np.unique(ids, return_inverse=True)
        return renumbered.astype(np.int64, copy=False), before
    present = np.zeros(highest, bool)
    present[ids] = True
    before = np.flatnonzero(present)
    if before.size == highest:
        return ids, before
    places = np.cumsum(present, dtype=np.int64) - 1
    return places[ids], before


def _encoded(column: pa.ChunkedArray) -> tuple[Integers, pa.Array]:
    """The distinct values of a column, and which of them each row has."""
    if pa.types.is_nested(column.type):
        entries = [_with_one_zero(entry) for entry in column.to_pylist()]
        seen: dict[str, int] = {}
        own = np.array([seen.setdefault(repr(entry), len(seen)) for entry in entries], np.int64)
        firsts = np.full(len(seen), -1, np.int64)
        firsts[own[::-1]] = np.arange(own.size)[::-1]
        return own, pa.array([entries[first] for first in firsts], column.type)
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return np.asarray(encoded.indices).astype(np.int64), encoded.dictionary


def _with_one_zero(entry: Any) -> Any:
    """A nested value without -0.0, which a groupBy takes for 0.0."""
    if isinstance(entry, float):
        return entry + 0.0
    if isinstance(entry, list):
        return [_with_one_zero(part) for part in entry]
    if isinstance(entry, dict):
        return {name: _with_one_zero(part) for name, part in entry.items()}
    return entry


def shard_numbers(keys: Sequence[pa.Array], size: int, shards: int) -> Integers:
    """Which shard each key belongs to, from 0: the same in every process."""
    if not keys:
        return np.zeros(size, np.int64)
    texts = zip(*(_canonical(column).to_pylist() for column in keys), strict=True)
    digests = b"".join(hashlib.blake2b(repr(text).encode(), digest_size=8).digest() for text in texts)
    return (np.frombuffer(digests, "<u8") % np.uint64(shards)).astype(np.int64)


def _canonical(column: pa.Array) -> pa.Array:
    """A column whose values read the same in every session."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp(column.type.unit)).cast(pa.int64())
    return column


def sorted_rows(table: pa.Table) -> tuple[Rows, list[pa.Array], Integers]:
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
    rows = Rows(
        ids[order], numbers[order], kinds[order], np.asarray(table["flag"]).astype(np.int64)[order], offsets, data
    )
    return rows, values, np.asarray(table["seen"])[order]


@lru_cache(maxsize=4)
def shard_ids(shards: int) -> tuple[int, ...]:
    """Ids of shards which Spark's hash partitioning spreads evenly."""
    numbers = np.arange(_TRIED, dtype=np.uint32)
    places = _murmur3(numbers).astype(np.int32).astype(np.int64) % _SPREAD
    return tuple(int(np.argmax(places == shard)) for shard in range(shards))


def _murmur3(numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Spark's `hash` of an integer column: 32-bit Murmur3 with seed 42."""
    with np.errstate(over="ignore"):
        mixed = numbers * np.uint32(0xCC9E2D51)
        mixed = ((mixed << np.uint32(15)) | (mixed >> np.uint32(17))) * np.uint32(0x1B873593)
        hashed = np.uint32(42) ^ mixed
        hashed = ((hashed << np.uint32(13)) | (hashed >> np.uint32(19))) * np.uint32(5) + np.uint32(0xE6546B64)
        hashed ^= np.uint32(4)
        hashed = (hashed ^ (hashed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        hashed = (hashed ^ (hashed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        return hashed ^ (hashed >> np.uint32(16))
