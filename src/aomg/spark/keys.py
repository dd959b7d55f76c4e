"""Assigns keys to shards."""

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


def shard_indexes(values: Sequence[pa.Array], ids: Integers, shards: int) -> Integers:
    """The shard of each row, from 0 to `shards` - 1: a function of its key alone, the same in every process.

    `values` are the by columns of each key, `ids` the key of each row.
    """
    if not values:
        return np.zeros(ids.size, np.int64)
    texts = zip(*(_listed(_canonical(column)) for column in values), strict=True)
    digests = b"".join(hashlib.blake2b(repr(text).encode(), digest_size=8).digest() for text in texts)
    indexes: Integers = (np.frombuffer(digests, "<u8") % np.uint64(shards)).astype(np.int64)
    return indexes[ids]


def _canonical(column: pa.Array) -> pa.Array:
    """A column whose texts are the same in every session: timestamps as integers."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp(column.type.unit)).cast(pa.int64())
    return column


def _listed(column: pa.Array) -> list[Any]:
    """The values of a column; bytes of texts that are not UTF-8 as surrogates."""
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        texts = column.view(pa.binary()).to_pylist()
        return [None if text is None else text.decode("utf-8", "surrogateescape") for text in texts]


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
