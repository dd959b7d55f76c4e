"""Saves the state of many keys as bytes and loads it: with version, checksum and the query's fingerprint; no pickle.

==============  =================================================================
magic           "AOMK", version (2 bytes), flags (2 bytes, zero)
fingerprint     16 bytes of the query's
checksum        16 bytes: BLAKE2b of all that follows
header          its length (8 bytes), then JSON: columns, times, counts
tables          each one's length (8 bytes) and bytes: content tables with the
                by columns of their keys (aomg.tables.rows), in Arrow's format
==============  =================================================================
"""

import hashlib
import json
import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from aomg.errors import StateError
from aomg.query import Query
from aomg.tables.keys import KeyIndex, key_ids
from aomg.tables.rows import by_columns, pack, unpack

MAGIC, VERSION = b"AOMK", 1
_HEAD = struct.Struct("<4sHH16s16s")
_LENGTH = struct.Struct("<q")


def with_keys(table: pa.Table, keys: KeyIndex) -> pa.Table:
    """A content table with by columns, from one whose key is an id."""
    ids, rest = table["by0"], table.drop_columns(["by0"])
    for i, column in enumerate(keys.values):
        rest = rest.add_column(i, f"by{i}", column.take(ids.combine_chunks()))
    return rest


def with_ids(table: pa.Table, keys: KeyIndex) -> pa.Table:
    """A content table whose key is an id, from one with by columns; new keys get an id."""
    columns = by_columns(table)
    rest = table.drop_columns([f"by{i}" for i in range(len(columns))])
    ids, values = key_ids(columns, table.num_rows)
    return rest.add_column(0, "by0", pa.array(keys.ids_of(values)[ids] if table.num_rows else ids))


def pack_keys(query: Query, header: dict[str, Any], tables: Sequence[pa.Table]) -> bytes:
    """Write a header and tables."""
    parts = [json.dumps(header).encode(), *map(pack, tables)]
    content = b"".join(_LENGTH.pack(len(part)) + part for part in parts)
    return _HEAD.pack(MAGIC, VERSION, 0, bytes.fromhex(query.fingerprint), _checksum(content)) + content


def unpack_keys(query: Query, data: bytes) -> tuple[dict[str, Any], list[pa.Table]]:
    """Read a header and tables. Raises StateError for damaged or foreign bytes."""
    if len(data) < _HEAD.size or data[:4] != MAGIC:
        raise StateError("this is not the saved state of a KeyedOperator; pass what save() returned")
    _, version, _, fingerprint, checksum = _HEAD.unpack_from(data)
    if version != VERSION:
        raise StateError(f"the state has version {version}, this package reads version {VERSION}; replay the events")
    if fingerprint.hex() != query.fingerprint:
        raise StateError("the state was saved by another query; load it with the query that it was saved with")
    content = memoryview(data)[_HEAD.size :]
    if _checksum(content) != checksum:
        raise StateError("the saved state is damaged; save again, or replay the events")
    parts: list[memoryview] = []
    while content:
        (length,) = _LENGTH.unpack_from(content)
        parts.append(content[_LENGTH.size : _LENGTH.size + length])
        content = content[_LENGTH.size + length :]
    header, *tables = parts
    return json.loads(bytes(header)), [unpack(bytes(table)) for table in tables]


def _checksum(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
