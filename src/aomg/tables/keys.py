"""Gives each key of a table an id.

Each distinct value is hashed once. Dictionary columns keep the codes that they have, and integers that are close
together are their own codes. Values are equal where a groupBy of Spark treats them as equal; null is a value.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aomg.core.groups import codes_present
from aomg.core.texts import TextNumbers
from aomg.errors import InputError

Integers = npt.NDArray[np.int64]

_SPARE_CODES = 1024  # integers may span this many values more than there are rows


def plain_type(name: str, kind: pa.DataType) -> pa.DataType:
    """The type of a by column in results: that of its values. Raises InputError for types that cannot be keys."""
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name.startswith("pandas."):  # a period is stored as a number without its unit
            raise InputError(
                f"by column {name!r} is a column of {kind.extension_name.removeprefix('pandas.')}s of pandas, which "
                f"other tables do not have; make texts of it first: events[{name!r}].astype(str)"
            )
        return plain_type(name, kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return plain_type(name, kind.value_type)
    if pa.types.is_map(kind) or pa.types.is_union(kind):
        raise InputError(f"by column {name!r} is {kind}, which cannot be a key; use one field of it, or its text")
    if kind == pa.string_view():
        return pa.string()
    if kind == pa.binary_view():
        return pa.binary()
    return pa.float32() if pa.types.is_float16(kind) else kind


def without_view(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """A column whose entries can be taken or filtered: Arrow cannot do that for views of texts."""
    is_view = pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type)
    return column.cast(plain_type("", column.type)) if is_view else column


@dataclass(frozen=True, slots=True)
class KeyCodes:
    """The keys of some rows: row i has the key with id ids[codes[i] - low]; `values` are the by columns of each id."""

    codes: npt.NDArray[Any]
    low: int
    ids: Integers
    values: list[pa.Array]

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return len(self.values[0]) if self.values else 1

    def row_ids(self) -> Integers:
        """The id of each row."""
        row_ids: Integers = self.ids[self.codes if self.low == 0 else self.codes - self.low]
        return row_ids


def encode_keys(columns: Sequence[pa.ChunkedArray], size: int) -> KeyCodes:
    """Number the keys of `size` rows, at least one. O(rows), without a Python loop.

    Arrays, structs and other nested types are compared by their text, one by one.
    """
    if not columns:
        return KeyCodes(np.zeros(size, np.int32), 0, np.zeros(1, np.int64), [])
    codes = _encoded(columns[0])
    for column in columns[1:]:
        codes = _combined(codes, _encoded(column))
    return codes


def key_ids(columns: Sequence[pa.ChunkedArray], size: int) -> tuple[Integers, list[pa.Array]]:
    """Number the keys from 0: the id of each row, and for each by column the value of each id."""
    if size == 0:
        return np.zeros(0, np.int64), [pa.array([], column.type) for column in columns]
    codes = encode_keys(columns, size)
    return codes.row_ids(), codes.values


def _combined(left: KeyCodes, right: KeyCodes) -> KeyCodes:
    """The keys of several columns together."""
    ids, pairs = _renumbered(left.row_ids() * right.keys + right.row_ids())
    values = [column.take(pa.array(pairs // right.keys)) for column in left.values]
    values += [column.take(pa.array(pairs % right.keys)) for column in right.values]
    return KeyCodes(ids, 0, np.arange(pairs.size), values)


def _renumbered(ids: Integers) -> tuple[Integers, Integers]:
    """Ids without gaps, and the old id of each new one."""
    marked = codes_present(ids, 4 * ids.size + _SPARE_CODES)
    if marked is None:
        old_ids, renumbered = np.unique(ids, return_inverse=True)
        return renumbered.astype(np.int64, copy=False), old_ids
    low, present = marked
    old_ids = np.flatnonzero(present) + low
    if old_ids.size == present.size and low == 0:
        return ids, old_ids
    new_ids = np.cumsum(present, dtype=np.int64) - 1
    return new_ids[ids - low], old_ids


def _encoded(column: pa.ChunkedArray) -> KeyCodes:
    """The keys of one column, which is not empty."""
    if pa.types.is_nested(column.type):
        return _nested(column)
    if pa.types.is_dictionary(column.type):
        first, *others = (column := _with_one_dictionary(column)).chunks
        if not others or all(chunk.dictionary.equals(first.dictionary) for chunk in others):
            return _of_dictionary(pa.chunked_array([chunk.indices for chunk in column.chunks]), first.dictionary)
        return _encoded(
            pa.chunked_array([without_view(chunk.dictionary).take(chunk.indices) for chunk in column.chunks])
        )
    if pa.types.is_integer(column.type) and column.type != pa.uint64() and not column.null_count:
        keys = _of_integers(column)
        if keys is not None:
            return keys
    column = without_view(column)
    if _is_text(column.type) and not column.null_count:
        return _of_texts(column)
    chunks = column.dictionary_encode(null_encoding="encode").chunks  # all have one dictionary
    indices = [np.asarray(chunk.indices) for chunk in chunks]
    values = chunks[-1].dictionary
    codes = indices[0] if len(indices) == 1 else np.concatenate(indices)
    return KeyCodes(codes, 0, np.arange(len(values)), [values])


def _with_one_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same column with one dictionary for all chunks, if Arrow can join theirs and that is less than all rows."""
    if column.num_chunks < 2 or sum(len(chunk.dictionary) for chunk in column.chunks) > len(column):
        return column
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column.unify_dictionaries()
    return column


def _is_text(kind: pa.DataType) -> bool:
    return any(kind == text for text in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()))


def _of_texts(column: pa.ChunkedArray) -> KeyCodes:
    """Texts without null: several times as fast as a dictionary of Arrow."""
    texts, codes = TextNumbers(), []
    large = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(column.type, column.type)
    for chunk in column.chunks:
        if len(chunk):
            _, places, content = chunk.buffers()
            width = np.int64 if chunk.type == large else np.int32
            offsets = np.frombuffer(places, width)[chunk.offset : chunk.offset + len(chunk) + 1]
            codes.append(texts.add(offsets, np.frombuffer(content or b"", np.uint8)))
    parts = [None, pa.py_buffer(texts.offsets), pa.py_buffer(texts.data)]
    values = pa.Array.from_buffers(large, texts.size, parts).cast(column.type)
    return KeyCodes(codes[0] if len(codes) == 1 else np.concatenate(codes), 0, np.arange(texts.size), [values])


def _of_integers(column: pa.ChunkedArray) -> KeyCodes | None:
    """Integers as their own codes, if they are close together."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    codes = np.asarray(array).astype(np.int64, copy=False)
    marked = codes_present(codes, codes.size + _SPARE_CODES)
    if marked is None:
        return None
    low, present = marked
    values = pa.array(np.flatnonzero(present) + low).cast(column.type)
    return KeyCodes(codes, low, np.cumsum(present, dtype=np.int64) - 1, [values])


def _of_dictionary(indices: pa.ChunkedArray, values: pa.Array) -> KeyCodes:
    """The codes of a dictionary; values that do not occur are left out, and equal ones have one id."""
    values = without_view(values)
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(len(values))
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    codes = np.asarray(indices).astype(np.int32, copy=False)
    marked = codes_present(codes, len(values) + 1)
    assert marked is not None
    low, present = marked
    distinct = _encoded(pa.chunked_array([values.take(pa.array(np.flatnonzero(present) + low))]))
    ids = np.zeros(present.size, np.int64)
    ids[present] = distinct.row_ids()
    return KeyCodes(codes, low, ids, distinct.values)


def _nested(column: pa.ChunkedArray) -> KeyCodes:
    """Nested values, compared by their text."""
    values = [_with_one_zero(value) for value in column.to_pylist()]
    known: dict[str, int] = {}
    codes = np.array([known.setdefault(repr(value), len(known)) for value in values], np.int64)
    firsts = np.full(len(known), -1, np.int64)
    firsts[codes[::-1]] = np.arange(codes.size)[::-1]
    return KeyCodes(codes, 0, np.arange(len(known)), [pa.array([values[first] for first in firsts], column.type)])


def _with_one_zero(value: Any) -> Any:
    """A nested value with 0.0 for each -0.0: a groupBy does not tell them apart."""
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, list):
        return [_with_one_zero(part) for part in value]
    if isinstance(value, dict):
        return {name: _with_one_zero(part) for name, part in value.items()}
    return value


class KeyIndex:
    """The ids of all keys so far: an id stays with its key, until `keep` drops the keys of other ids."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self.values = [pa.array([], kind) for kind in types]
        self.size = 0 if types else 1
        self._order: Integers | None = None

    def with_types(self, types: Sequence[pa.DataType]) -> "KeyIndex":
        """A copy where columns of the type null have these types."""
        index = KeyIndex(types)
        index.values = [
            pa.nulls(len(column), kind) if pa.types.is_null(column.type) else column
            for column, kind in zip(self.values, types, strict=True)
        ]
        index.size = self.size
        return index

    def ids_of(self, values: Sequence[pa.Array]) -> Integers:
        """The ids of different keys, given by their by columns; new keys get new ids. O(keys), old and new."""
        if not self.values:
            return np.zeros(1, np.int64)
        joined = [pa.chunked_array([old, new]) for old, new in zip(self.values, values, strict=True)]
        codes, _ = key_ids(joined, len(joined[0]))
        ids = np.full(codes.size, -1, np.int64)
        ids[codes[: self.size]] = np.arange(self.size)
        codes = codes[self.size :]
        new = ids[codes] < 0
        if new.any():
            ids[codes[new]] = self.size + np.arange(np.count_nonzero(new))
            chosen = pa.array(np.flatnonzero(new))
            more = [column.take(chosen) for column in values]
            self.values = [pa.concat_arrays(columns) for columns in zip(self.values, more, strict=True)]
            self.size, self._order = len(self.values[0]), None
        return ids[codes]

    def keep(self, used: npt.NDArray[np.bool_]) -> Integers:
        """Drop the keys of all other ids; returns the new id of each old one."""
        chosen = pa.array(np.flatnonzero(used))
        self.values = [column.take(chosen) for column in self.values]
        self.size, self._order = len(chosen), None
        return np.cumsum(used, dtype=np.int64) - 1

    def order(self) -> Integers:
        """The ids in the ascending order of their keys, nulls last; as they came if keys have no order."""
        if self._order is None:
            self._order = np.arange(self.size)
            table = pa.table({f"by{i}": column for i, column in enumerate(self.values)})
            with suppress(pa.ArrowTypeError, pa.ArrowNotImplementedError, pa.ArrowInvalid):
                if table.num_columns:
                    keys = [(name, "ascending") for name in table.column_names]
                    self._order = np.asarray(pc.sort_indices(table, sort_keys=keys)).astype(np.int64)
        return self._order
