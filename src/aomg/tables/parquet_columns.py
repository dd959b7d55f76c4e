"""Converts columns of Parquet files to what Level 1 takes: keys, times, values and weights, as Spark would read them.

A file may have a narrower type than the one that was declared for all files; then it is widened where Spark's Parquet
reader widens it. Every other difference raises `TypeDiffersError`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aomg.core.intake import values_of
from aomg.core.weights import weights_of
from aomg.tables.event_times import TimeReading

_TEXTS = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())
_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
_LARGE = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
_DOUBLE_INTEGERS = 32  # bits of integers that Spark reads as doubles
_INTEGER_DIGITS = {8: 10, 16: 10, 32: 10, 64: 20}  # before the point of decimals that Spark reads them as, by bits


class TypeDiffersError(Exception):
    """A column of a file cannot be read as the declared type."""


class Use(Enum):
    """What a column is read for, and so what it is converted to."""

    KEY = "key"
    """The declared type, with one zero; texts may be dictionaries."""
    TIME = "time"
    """Integers: microseconds since 1970, rounded down, or the numbers of events; null where that is no time."""
    PRESENCE = "presence"
    """Whether there is one: booleans."""
    VALUE = "value"
    """The declared type; decimals become doubles."""
    WEIGHT = "weight"
    """Integers, null if they cannot be weights."""


@dataclass(frozen=True)
class FileColumn:
    """A column to read.

    source, kind
        Its name in the files or among the columns of their folders, and the type that is declared for it.
    name, use
        Its name in tables of events, and what it is read for.
    times
        What it means, if it is read for times.
    """

    source: str
    kind: pa.DataType
    name: str
    use: Use
    times: TimeReading = field(default_factory=TimeReading)

    @property
    def is_text(self) -> bool:
        """Whether the declared type is a string or binary."""
        return self.kind in _TEXTS

    def converted(self, array: pa.Array) -> pa.Array:
        """The column as it was read from a file, for its use. Raises TypeDiffersError."""
        if self.use is Use.KEY and pa.types.is_dictionary(array.type) and self.is_text:
            return pa.DictionaryArray.from_arrays(array.indices, declared(array.dictionary, self.kind))
        array = declared(array, self.kind)
        if self.use is Use.KEY:
            return pc.add(array, pa.scalar(0.0, array.type)) if pa.types.is_floating(array.type) else array
        if self.use is Use.TIME:
            return self.times.microseconds(array)
        if self.use is Use.PRESENCE:
            return array.is_valid()
        if self.use is Use.WEIGHT:
            weights, usable, _ = weights_of(array, len(array))
            return pa.array(weights, mask=None if usable is None else ~usable)
        return _doubles(array) if pa.types.is_decimal(array.type) else array

    def missing(self, size: int) -> pa.Array:
        """The column of a file that does not have it."""
        return self.converted(pa.nulls(size, self.kind))


def declared(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """An array in its declared type. Raises TypeDiffersError if Spark would not read it so."""
    if array.type == kind:
        return array
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.type in _VIEWS:
        array = array.cast(_VIEWS[array.type])
    if pa.types.is_duration(array.type):  # Spark knows the integers only
        array = array.view(pa.int64())
    if array.type == kind:
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), kind)
    if not _widens(array.type, kind):
        raise TypeDiffersError
    if kind in _TEXTS:
        return _text(array, kind)
    if pa.types.is_timestamp(array.type):
        if kind == pa.int64():
            return array.view(kind)
        return _microseconds(array).view(kind)  # whatever zones are declared, it is the same integer
    return array.cast(kind)


def declared_parts(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """An array in its declared type, which may have parts. Raises TypeDiffersError if a part has another type."""
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if not pa.types.is_nested(kind):
        return declared(array, kind)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), kind)
    parts = next((parts for same, parts in _PARTS if same(kind) and same(array.type)), None)
    if parts is None:
        raise TypeDiffersError
    return parts(array, kind)


def _fields(array: pa.Array, kind: pa.DataType) -> pa.Array:
    names = {part.name.lower(): place for place, part in enumerate(array.type)}
    columns = [
        declared_parts(array.field(names[part.name.lower()]), part.type)
        if part.name.lower() in names
        else pa.nulls(len(array), part.type)
        for part in kind
    ]
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=array.is_null())


def _items(array: pa.Array, kind: pa.DataType) -> pa.Array:
    values = declared_parts(array.values, kind.value_type)
    return pa.ListArray.from_arrays(array.offsets, values, type=kind, mask=_no_items(array))


def _pairs(array: pa.Array, kind: pa.DataType) -> pa.Array:
    keys, items = declared_parts(array.keys, kind.key_type), declared_parts(array.items, kind.item_type)
    return pa.MapArray.from_arrays(array.offsets, keys, items, type=kind, mask=_no_items(array))


def _no_items(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


_PARTS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array, pa.DataType], pa.Array]], ...] = (
    (pa.types.is_struct, _fields),
    (pa.types.is_list, _items),
    (pa.types.is_map, _pairs),
)


def _widens(kind: pa.DataType, wide: pa.DataType) -> bool:
    """Whether Spark reads columns of one type as another one."""
    if kind in _TEXTS or pa.types.is_fixed_size_binary(kind):
        return wide in _TEXTS
    if pa.types.is_integer(kind):
        return _widens_integer(kind, wide)
    if pa.types.is_floating(kind):
        return bool(pa.types.is_float32(kind) and pa.types.is_float64(wide))
    if pa.types.is_decimal(kind):
        whole = kind.precision - kind.scale
        return bool(pa.types.is_decimal(wide) and wide.scale >= kind.scale and wide.precision - wide.scale >= whole)
    if pa.types.is_date(kind):
        return bool(pa.types.is_date32(wide) or (pa.types.is_timestamp(wide) and wide.tz is None))
    return bool(pa.types.is_timestamp(kind) and (pa.types.is_timestamp(wide) or wide == pa.int64()))


def _widens_integer(kind: pa.DataType, wide: pa.DataType) -> bool:
    signed = pa.types.is_signed_integer(kind)
    if pa.types.is_signed_integer(wide):
        return bool(kind.bit_width <= wide.bit_width if signed else kind.bit_width < wide.bit_width)
    if pa.types.is_float64(wide):
        return bool(kind.bit_width <= _DOUBLE_INTEGERS - (not signed))
    return bool(pa.types.is_decimal(wide) and wide.precision - wide.scale >= _INTEGER_DIGITS[kind.bit_width])


def _text(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Strings and binaries in each other's types. Bytes that are not UTF-8 stay, as in Spark."""
    if pa.types.is_fixed_size_binary(array.type):
        array = array.cast(pa.binary())
    if array.type in _LARGE:
        array = array.cast(_LARGE[array.type])
    return array.view(kind)


def _microseconds(array: pa.Array) -> pa.Array:
    """Timestamps as integers in microseconds, rounded down."""
    if array.type.unit != "ns":
        return array.cast(pa.timestamp("us", array.type.tz)).view(pa.int64())
    micros: npt.NDArray[np.int64] = np.asarray(array.view(pa.int64()).fill_null(0)) // 1_000
    return pa.array(micros, mask=np.asarray(array.is_null()) if array.null_count else None)


def _doubles(array: pa.Array) -> pa.Array:
    """Decimals of up to 15 digits as their nearest doubles."""
    if array.null_count == len(array):
        return pa.nulls(len(array), pa.float64())
    missing = np.asarray(array.is_null()) if array.null_count else None
    numbers, _ = values_of(array if missing is None else array.fill_null(0))
    return pa.array(numbers, mask=missing)
