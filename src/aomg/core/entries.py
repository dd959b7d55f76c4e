"""Converts arrays and sequences of NumPy, Arrow, pandas, Polars and Python to one-dimensional NumPy, without nulls.

No entry is rounded: nulls are dropped before integers could become floats, and decimals and integers that a double
cannot hold are refused (aomg.value_types), or become NaN where the caller refuses them one by one. No library but
NumPy is imported: others are known by their methods. Arrays of NumPy and Arrow without nulls are not copied; Python
objects are converted one by one.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.errors import InputError
from aomg.value_types import LONGEST, Casts, check_decimal_type, double_of, large_integer_error, rounded_integer_error

Entries = tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]
"""One-dimensional NumPy, and which entries of the input are valid (None: all)."""

_EXACT = 1 << 53  # every integer up to here is a double
_EXACT_POWER = 22  # 10^22 is the largest power of ten that is a double
_WHOLE_SCALE = 9  # 2^31 with so many places fits 64 bits
_ARROW = Casts(
    "pyarrow.compute.round({name}, {places}).cast(pyarrow.decimal128(15, {places}))",
    "{name}.cast('int64')",
    "{name}.cast('double')",
)
_PANDAS = Casts(
    "{name}.round({places}).astype(pandas.ArrowDtype(pyarrow.decimal128(15, {places})))",
    "{name}.astype('int64[pyarrow]')",
    "{name}.astype('double[pyarrow]')",
)
_POLARS = Casts("{name}.cast(polars.Decimal(15, {places}))", "{name}.cast(polars.Int64)", "{name}.cast(polars.Float64)")


def entries_of(data: Any, name: str, exact: bool = True) -> Entries:
    """One-dimensional NumPy, and which entries of the input are valid (None: all); `name` is for errors.

    exact
        Whether to raise InputError for decimals and integers that a double would round. If not, those with a fraction
        and those beyond 64 bits become NaN.
    """
    array, valid = _read(data, name, exact)
    if array.ndim == 0 and array.dtype == object:  # an object that NumPy cannot look into
        kind = type(data).__name__
        raise InputError(f"{name} must be an array, a column or a list of numbers, not {kind}; pass list({name})")
    if array.ndim != 1:
        raise InputError(f"{name} must have one dimension, not {array.ndim}; pass {name}.ravel() to flatten it")
    if array.dtype != object:
        return array, valid
    present = np.array([not _is_missing(entry) for entry in array], dtype=bool)
    kept = _from_objects(array[present], name, exact)
    if present.all():
        return kept, valid
    if valid is not None:
        valid = valid.copy()
        valid[valid] = present
        return kept, valid
    return kept, present


def _read(data: Any, name: str, exact: bool) -> Entries:
    """NumPy of any dimension, which may hold objects, and which entries of the input are valid (None: all)."""
    if isinstance(data, np.ma.MaskedArray):
        valid = ~np.ma.getmaskarray(data)
        return (data.data[valid], valid) if data.ndim == 1 else (data.data, None)
    if isinstance(data, np.ndarray):
        return data, None
    if isinstance(data, (str, bytes)):
        raise InputError(f"{name} must be an array or a sequence, not {type(data).__name__}")
    kind = getattr(data, "dtype", None)
    try:
        if hasattr(data, "null_count") and hasattr(data, "type"):
            return _from_arrow(data, name, _ARROW, exact)
        if hasattr(data, "is_not_null") and hasattr(data, "drop_nulls"):
            return _from_polars(data, name, exact)
        if kind is not None and not isinstance(kind, np.dtype) and hasattr(data, "isna"):
            return _from_pandas(data, name, exact)
        array = np.asarray(data)
    except InputError:
        raise
    except Exception as error:  # each library has errors of its own
        raise InputError(f"{name} cannot be converted to an array: {error}") from None
    if exact and kind is None and not hasattr(data, "__array__"):
        _check_rounding(array, data, name)
    return array, None


def _from_arrow(data: Any, name: str, casts: Casts, exact: bool) -> Entries:
    """An array or chunked array of Arrow."""
    if str(data.type).startswith("dictionary"):
        data = data.cast(data.type.value_type)
    kind = str(data.type)
    if kind.startswith("run_end_encoded"):
        raise InputError(f"{name} are run-end encoded; pass pyarrow.compute.run_end_decode({name})")
    if exact and kind.startswith("decimal"):
        check_decimal_type(f"{name} are {kind}", name, data.type.precision, data.type.scale, casts)
    if hasattr(data, "combine_chunks"):
        data = data.chunk(0) if data.num_chunks == 1 else data.combine_chunks()  # which copies even a single one
        if hasattr(data, "num_chunks"):
            data = data.chunk(0) if data.num_chunks else data
    valid = None
    if data.null_count:
        valid = np.asarray(data.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        data = data.filter(data.is_valid())
    if kind.startswith("decimal"):
        return _from_arrow_decimals(data) if exact else _whole_arrow_decimals(data), valid
    if kind.startswith("timestamp"):
        unit = kind.removeprefix("timestamp[").split("]")[0].split(",")[0]
        return np.asarray(data.cast("int64").to_numpy(zero_copy_only=False)).astype(f"datetime64[{unit}]"), valid
    return np.asarray(data.to_numpy(zero_copy_only=False)), valid


def _from_arrow_decimals(data: Any) -> npt.NDArray[Any]:
    """Decimals of up to 15 digits, all valid, as their nearest doubles. Arrow's own cast is off by one rounding."""
    if len(data) == 0:
        return np.empty(0, np.float64)
    scale, width = data.type.scale, data.type.bit_width // 8
    if not 0 <= scale <= _EXACT_POWER:
        return np.array(data.to_pylist(), dtype=object)
    raw = np.frombuffer(data.buffers()[1], np.dtype(f"<i{min(width, 8)}"))
    units = raw[:: max(width // 8, 1)][data.offset : data.offset + len(data)]  # the lowest word has all 15 digits
    return units / np.float64(10**scale)  # both are doubles, so the quotient is rounded once


def _whole_arrow_decimals(data: Any) -> npt.NDArray[Any]:
    """Decimals, all valid: whole ones that are not negative and have up to 64 bits as doubles, others as NaN."""
    if len(data) == 0:
        return np.empty(0, np.float64)
    scale, width = data.type.scale, data.type.bit_width // 8
    if not 0 <= scale <= _WHOLE_SCALE:
        return np.array(data.to_pylist(), dtype=object)
    words, word = max(width // 8, 1), min(width, 8)
    raw = np.frombuffer(data.buffers()[1], np.dtype(f"<i{word}"))[: (data.offset + len(data)) * words]
    raw = raw.reshape(-1, words)[data.offset :]
    units = raw[:, 0].astype(np.int64)
    whole = (units >= 0) & ~raw[:, 1:].any(axis=1) & (units % 10**scale == 0)
    return np.where(whole, units // 10**scale, np.nan)


def _from_polars(data: Any, name: str, exact: bool) -> Entries:
    """A Series of Polars."""
    if hasattr(data.dtype, "precision"):
        if not exact:
            return np.array(data.to_list(), dtype=object), None
        check_decimal_type(f"{name} are {data.dtype}", name, data.dtype.precision or 38, data.dtype.scale, _POLARS)
    if not data.null_count():
        return np.asarray(data.to_numpy()), None
    return np.asarray(data.drop_nulls().to_numpy()), np.asarray(data.is_not_null().to_numpy(), dtype=bool)


def _from_pandas(data: Any, name: str, exact: bool) -> Entries:
    """A Series, Index or array of pandas whose type is not one of NumPy's."""
    if hasattr(data.dtype, "pyarrow_dtype"):
        return _from_arrow(getattr(data, "array", data).__arrow_array__(), name, _PANDAS, exact)
    valid = ~np.asarray(data.isna(), dtype=bool)
    if valid.all():
        return np.asarray(data.to_numpy()), None
    return np.asarray(data[valid].to_numpy()), valid


def _is_missing(entry: Any) -> bool:
    """Whether an entry is None, the NA of pandas, or its NaT, which is a datetime that does not equal itself."""
    return entry is None or type(entry).__name__ == "NAType" or (isinstance(entry, datetime) and entry != entry)


def without_zone(entry: Any) -> Any:
    """A datetime with a zone, in UTC without it; anything else as it is."""
    if isinstance(entry, datetime) and entry.tzinfo is not None:
        return entry.astimezone(UTC).replace(tzinfo=None)
    return entry


def _from_objects(entries: npt.NDArray[Any], name: str, exact: bool) -> npt.NDArray[Any]:
    """Python objects as an array of numbers or times."""
    if not exact:
        entries = np.array([_whole_or_nan(entry) for entry in entries], dtype=object)
    plain = [double_of(entry, name) if isinstance(entry, Decimal) else without_zone(entry) for entry in entries]
    try:
        array = np.asarray(plain)
        if array.dtype == object and all(isinstance(entry, date) for entry in plain):
            array = array.astype("datetime64[us]")
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{name} cannot be converted to an array: {error}") from None
    if array.dtype == object or array.ndim != 1:
        for entry in plain:
            _check_size(entry, name)
        raise InputError(
            f"{name} has entries that are not numbers; integers, floats, Decimals and None can be used: convert or "
            "remove the others first"
        )
    if exact:
        _check_rounding(array, plain, name)
    return array


def _whole_or_nan(entry: Any) -> Any:
    """NaN for a decimal with a fraction and for an integer that does not fit 64 bits; anything else as it is."""
    if isinstance(entry, Decimal):
        if not (entry.is_finite() and abs(entry) < LONGEST and entry == entry.to_integral_value()):
            return np.nan
        entry = int(entry)
    return np.nan if isinstance(entry, int) and not -LONGEST <= entry < LONGEST else entry


def _check_size(entry: Any, name: str) -> None:
    """Raise InputError for an integer that does not fit 64 bits with a sign."""
    if isinstance(entry, (int, np.integer)) and not -LONGEST <= int(entry) < LONGEST:
        raise large_integer_error(entry, name)


def _check_rounding(array: npt.NDArray[Any], entries: Sequence[Any], name: str) -> None:
    """Raise InputError if NumPy made floats of a sequence with integers that no double or int64 can hold."""
    if array.dtype != np.float64 or array.ndim != 1:
        return
    for index in np.flatnonzero(np.abs(array) >= _EXACT).tolist():
        entry = entries[index]
        _check_size(entry, name)
        if isinstance(entry, (int, np.integer)) and int(entry) != int(array[index]):
            raise rounded_integer_error(entry, name)
