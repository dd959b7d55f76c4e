"""Digests of texts and of tables: equal content has equal digests, however it is chunked."""

import hashlib
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_BYTES = 16


def digest_of(*parts: str | bytes) -> str:
    """Return the digest of texts; where one ends and the next begins counts."""
    digest = hashlib.blake2b(digest_size=_BYTES)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "little") + raw)
    return digest.hexdigest()


def table_digest(table: pa.Table) -> str:
    """Return the digest of the rows of a table, in their order; it depends on names, types and values alone."""
    digest = hashlib.blake2b(digest_size=_BYTES)
    digest.update(len(table).to_bytes(8, "little"))
    for name, column in zip(table.column_names, table.columns, strict=True):
        digest.update(f"{name}\0{column.type}\0".encode())
        _add(digest, column.combine_chunks())
    return digest.hexdigest()


def _add(digest: Any, array: pa.Array | pa.ChunkedArray) -> None:
    """Add the nulls of an array, then its values."""
    if isinstance(array, pa.ChunkedArray):  # as combine_chunks returns it if there are no rows, or too many
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    kind = array.type
    digest.update(b"\1" + array.is_null().cast(pa.uint8()).to_numpy().tobytes() if array.null_count else b"\0")
    if pa.types.is_struct(kind):
        for number in range(kind.num_fields):
            _add(digest, pc.struct_field(array, number))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lengths = pc.fill_null(pc.list_value_length(array), 0)
        digest.update(lengths.cast(pa.int64()).to_numpy().tobytes())
        _add(digest, array.flatten())
    elif pa.types.is_dictionary(kind):
        _add(digest, array.dictionary_decode())
    elif pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind):
        raw = pc.fill_null(array.cast(pa.large_binary()), b"")
        digest.update(pc.binary_length(raw).to_numpy().tobytes())
        digest.update(b"".join(value.as_buffer() for value in raw))
    else:
        if pa.types.is_timestamp(kind):
            array = array.cast(pa.int64())
        elif pa.types.is_boolean(kind):
            array = array.cast(pa.uint8())
        digest.update(pc.fill_null(array, 0).to_numpy(zero_copy_only=False).tobytes())
