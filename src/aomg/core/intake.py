"""Converts values to int64 or float64, and times to microseconds since 1970 in UTC, without nulls.

No value is rounded: one that neither an int64 nor a double can hold is refused (aomg.value_types). A push that is
refused here has changed nothing.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.entries import Entries, entries_of, without_zone
from aomg.errors import InputError
from aomg.value_types import LONGEST, large_integer_error

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


def values_of(
    data: Any, name: str = "values", cast: str | None = None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """Contiguous int64 or float64 values, and which entries were not null (None: all).

    name, cast
        For errors: what the values are called, and code that converts them to doubles.
    """
    array, valid = entries_of(data, name)
    if array.size == 0:
        return np.empty(0, np.int64), valid
    kind = array.dtype.kind
    if kind == "u" and array.dtype.itemsize == 8 and int(array.max()) >= LONGEST:
        raise large_integer_error(array.max(), name, cast)
    if kind in "iu":
        array = array.astype(np.int64, copy=False)
    elif kind == "f" and array.dtype.itemsize <= 8:
        array = array.astype(np.float64, copy=False)
    else:
        raise InputError(
            f"{name} of type {array.dtype} cannot be pushed; convert them to integers or 64-bit floats first"
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
    if (unit, step) == ("ns", 1):  # NumPy's own conversion overflows in the first microsecond of 1677
        return times.astype(np.int64) // 1_000
    return times.astype("datetime64[us]").astype(np.int64)


def times_in(data: Any) -> Entries:
    """Times as an array, in the unit that they have, for `ticks_of` and `times_of`."""
    return entries_of(data, "times")


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
            "np.asarray(times, 'datetime64[s]')), Arrow timestamps, datetime or date objects"
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
        exact = np.datetime64(without_zone(moment))
    except (ValueError, TypeError):
        raise InputError(f"{moment!r} is not a time; pass a datetime64 or a datetime in UTC") from None
    if np.isnat(exact) or np.datetime_data(exact.dtype)[0] == "generic":
        raise InputError(f"{moment!r} is not a time; pass a datetime64 or a datetime in UTC")
    return int(_microseconds(np.array([exact]))[0])
