"""Gives each key of a table an id, and assigns keys to shards."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.int64]

_SPREAD = 57_600  # 2^8 * 3^2 * 5^2: shards spread evenly over any number of partitions that divides it
_CANDIDATES = 1 << 20


def key_ids(columns: Sequence[pa.ChunkedArray], size: int) -> tuple[Integers, list[pa.Array]]:
    """Number the keys from 0: the id of each row, and for each by column the value of each id.

    Values are equal where a groupBy treats them as equal; null is a value. O(rows) without a Python loop, but arrays,
    structs and other nested types are compared by their text, one by one.
    """
    if not columns:
        return np.zeros(size, np.int64), []
    if size == 0:
        return np.zeros(0, np.int64), [pa.array([], column.type) for column in columns]
    ids = np.zeros(size, np.int64)
    values: list[pa.Array] = []
    for column in columns:
        codes, distinct = _encoded(column)
        ids, pairs = _renumbered(ids * len(distinct) + codes)
        values = [previous.take(pa.array(pairs // len(distinct))) for previous in values]
        values.append(distinct.take(pa.array(pairs % len(distinct))))
    return ids, values


def _renumbered(ids: Integers) -> tuple[Integers, Integers]:
    """Ids without gaps, and the old id of each new one."""
    highest = int(ids.max()) + 1
    if highest > 4 * ids.size + 1024:
        old_ids, renumbered = np.unique(ids, return_inverse=True)
        return renumbered.astype(np.int64, copy=False), old_ids
    present = np.zeros(highest, bool)
    present[ids] = True
    old_ids = np.flatnonzero(present)
    if old_ids.size == highest:
        return ids, old_ids
    new_ids = np.cumsum(present, dtype=np.int64) - 1
    return new_ids[ids], old_ids


def _encoded(column: pa.ChunkedArray) -> tuple[Integers, pa.Array]:
    """A code for each row, and the distinct values of the column by their codes."""
    if pa.types.is_nested(column.type):
        values = [_with_one_zero(value) for value in column.to_pylist()]
        known: dict[str, int] = {}
        codes = np.array([known.setdefault(repr(value), len(known)) for value in values], np.int64)
        firsts = np.full(len(known), -1, np.int64)
        firsts[codes[::-1]] = np.arange(codes.size)[::-1]
        return codes, pa.array([values[first] for first in firsts], column.type)
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return np.asarray(encoded.indices).astype(np.int64), encoded.dictionary


def _with_one_zero(value: Any) -> Any:
    """A nested value with 0.0 for each -0.0: a groupBy does not tell them apart."""
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, list):
        return [_with_one_zero(part) for part in value]
    if isinstance(value, dict):
        return {name: _with_one_zero(part) for name, part in value.items()}
    return value


def shard_indexes(values: Sequence[pa.Array], ids: Integers, shards: int) -> Integers:
    """The shard of each row, from 0 to `shards` - 1: a function of its key alone, the same in every process.

    `values` are the by columns of each key, `ids` the key of each row.
    """
    if not values:
        return np.zeros(ids.size, np.int64)
    texts = zip(*(_canonical(column).to_pylist() for column in values), strict=True)
    digests = b"".join(hashlib.blake2b(repr(text).encode(), digest_size=8).digest() for text in texts)
    indexes: Integers = (np.frombuffer(digests, "<u8") % np.uint64(shards)).astype(np.int64)
    return indexes[ids]


def _canonical(column: pa.Array) -> pa.Array:
    """A column whose texts are the same in every session: timestamps as integers."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp(column.type.unit)).cast(pa.int64())
    return column


@lru_cache(maxsize=4)
def shard_ids(shards: int) -> tuple[int, ...]:
    """Ids of shards that Spark's hash partitioning spreads evenly."""
    candidates = np.arange(_CANDIDATES, dtype=np.uint32)
    partitions = _murmur3(candidates).astype(np.int32).astype(np.int64) % _SPREAD
    return tuple(int(np.argmax(partitions == shard)) for shard in range(shards))


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
