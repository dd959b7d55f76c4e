"""Converts any array or sequence to NumPy arrays of 64-bit numbers, and drops nulls.

Values become int64 or float64: integers of no more than 64 bits, floats of no more than 64 bits,
Decimals of Arrow as floats; unsigned longs beyond 2^63 become floats. Times become microseconds since 1970 in UTC.
A push that is refused here has changed nothing.
"""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.errors import InputError

_LONGEST = 1 << 63
_FURTHEST = 1 << 61  # microseconds: 73,000 years either way
_TICKS = {("us", 1): 1, ("ns", 1): 1_000}
_PER_UNIT = {
    "us": 1,
    "ms": 1_000,
    "s": 10**6,
    "m": 60 * 10**6,
    "h": 3_600 * 10**6,
    "D": 86_400 * 10**6,
    "W": 7 * 86_400 * 10**6,
    "M": 31 * 86_400 * 10**6,
    "Y": 366 * 86_400 * 10**6,
}


def _from_arrow(data: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """An Arrow array or chunked array as NumPy, and which of its entries are valid."""
    if hasattr(data, "combine_chunks"):
        data = data.combine_chunks()
        if hasattr(data, "num_chunks"):
            data = data.chunk(0) if data.num_chunks else data
    kind = str(data.type)
    valid = None
    if data.null_count:
        valid = np.asarray(data.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        data = data.filter(data.is_valid())
    if kind.startswith("decimal"):
        data = data.cast("double")
    if kind.startswith("timestamp"):
        unit = kind.removeprefix("timestamp[").split("]")[0].split(",")[0]
        return np.asarray(data.cast("int64").to_numpy(zero_copy_only=False)).astype(f"datetime64[{unit}]"), valid
    return np.asarray(data.to_numpy(zero_copy_only=False)), valid


def _without_zone(entry: Any) -> Any:
    """A datetime with a zone, in UTC without it; anything else as it is."""
    if isinstance(entry, datetime) and entry.tzinfo is not None:
        return entry.astimezone(UTC).replace(tzinfo=None)
    return entry


def _is_missing(entry: Any) -> bool:
    """Whether an entry is None or the NaT of pandas, which is a datetime that does not equal itself."""
    return entry is None or (isinstance(entry, datetime) and entry != entry)


def _as_array(data: Any, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """One-dimensional NumPy, and which entries of the input are valid (None: all)."""
    if isinstance(data, np.ma.MaskedArray):
        valid = ~np.ma.getmaskarray(data)
        return np.asarray(data.data[valid]), valid
    if hasattr(data, "null_count") and hasattr(data, "type"):
        return _from_arrow(data)
    if isinstance(data, np.ndarray):
        array = data
    elif isinstance(data, (str, bytes)):
        raise InputError(f"{name} must be an array or a sequence, not {type(data).__name__}")
    else:
        try:
            array = np.asarray(data)
        except (ValueError, TypeError, OverflowError) as error:
            raise InputError(f"{name} cannot be converted to an array: {error}") from None
    if array.ndim != 1:
        raise InputError(f"{name} must have one dimension, not {array.ndim}; pass {name}.ravel() to flatten it")
    if array.dtype == object:
        valid = np.array([not _is_missing(entry) for entry in array], dtype=bool)
        try:
            kept = np.asarray([_without_zone(entry) for entry in array[valid]])
            if kept.dtype == object and all(isinstance(entry, datetime) for entry in kept):
                kept = kept.astype("datetime64[us]")
        except (ValueError, TypeError, OverflowError) as error:
            raise InputError(f"{name} cannot be converted to an array: {error}") from None
        if kept.dtype == object:
            raise InputError(f"{name} has entries that are not numbers or None, or are too large; remove them first")
        return kept, None if valid.all() else valid
    return array, None


def values_of(data: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """Contiguous int64 or float64 values, and which entries were not null (None: all)."""
    array, valid = _as_array(data, "values")
    if array.size == 0:
        return np.empty(0, np.int64), valid
    kind = array.dtype.kind
    if kind == "u" and array.dtype.itemsize == 8 and int(array.max()) >= _LONGEST:
        array = array.astype(np.float64)
    elif kind in "iu":
        array = array.astype(np.int64, copy=False)
    elif kind == "f" and array.dtype.itemsize <= 8:
        array = array.astype(np.float64, copy=False)
    else:
        raise InputError(
            f"values of type {array.dtype} cannot be pushed; convert them to integers or 64-bit floats first"
        )
    array = np.ascontiguousarray(array)
    return array.view(np.int64 if array.dtype.kind == "i" else np.float64), valid  # one dtype object of each kind


def _microseconds(times: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Microseconds since 1970 of datetime64s that are all real, rounded down."""
    unit, step = np.datetime_data(times.dtype)
    if times.size and unit in _PER_UNIT:
        furthest = max(abs(int(times.min().astype(np.int64))), abs(int(times.max().astype(np.int64))))
        if furthest * step * _PER_UNIT[unit] >= _FURTHEST:
            raise InputError("times are more than 73,000 years from 1970; check their unit")
    return times.astype("datetime64[us]").astype(np.int64)


Entries = tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]
"""One-dimensional NumPy, and which entries of the input are valid (None: all)."""


def times_in(data: Any) -> Entries:
    """Times as an array, in the unit that they have, for `ticks_of` and `times_of`."""
    return _as_array(data, "times")


def times_of(entries: Entries, size: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Microseconds since 1970 for each of `size` events, and which of them have a time at all."""
    array, valid = entries
    present = np.ones(array.size, bool) if valid is None else valid
    if present.size != size:
        raise InputError(f"got {size} values but {present.size} times; give one time for each value")
    micros = np.zeros(size, np.int64)
    if array.size == 0:
        return micros, np.zeros(size, bool) if size else present
    if array.dtype.kind == "O" or array.dtype.kind != "M" or np.datetime_data(array.dtype)[0] == "generic":
        raise InputError(
            f"times of type {array.dtype} have no unit; pass datetime64 (for seconds since 1970: "
            "np.asarray(times, 'datetime64[s]')), Arrow timestamps or datetime objects"
        )
    real = ~np.isnat(array)
    exact = _microseconds(array[real])
    present = present.copy()
    present[present] = real
    micros[present] = exact
    return micros, present


def ticks_of(entries: Entries, size: int) -> tuple[npt.NDArray[np.int64], int] | None:
    """Times as they are, if they are microseconds or nanoseconds since 1970, and how many ticks a microsecond has.

    Costs nothing: times that are none (NaT) or too far away are among them. None if times have to be converted.
    """
    array, valid = entries
    if valid is not None or array.size != size or array.dtype.kind != "M" or not array.dtype.isnative:
        return None
    per_microsecond = _TICKS.get(np.datetime_data(array.dtype))
    if per_microsecond is None:
        return None
    return np.ascontiguousarray(array).view(np.int64), per_microsecond


def time_of(moment: Any) -> int:
    """Microseconds since 1970 of one moment: a datetime64, a datetime or its text."""
    try:
        exact = np.datetime64(_without_zone(moment))
    except (ValueError, TypeError):
        raise InputError(f"{moment!r} is not a time; pass a datetime64 or a datetime in UTC") from None
    if np.isnat(exact) or np.datetime_data(exact.dtype)[0] == "generic":
        raise InputError(f"{moment!r} is not a time; pass a datetime64 or a datetime in UTC")
    return int(_microseconds(np.array([exact]))[0])
