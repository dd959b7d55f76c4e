"""Numbers the keys of a table, and says which shard each key belongs to."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.int64]

_SPREAD = 57_600  # 2^8 * 3^2 * 5^2: shards fall evenly on any number of partitions that divides it
_TRIED = 1 << 20


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
