"""Columns of stored result rows, in half the bytes of the stored ones, with bounds that still hold."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from aomg.monitor.sinks.result_rows import methods_of

Integers = NDArray[np.integer[Any]]
"""Integers of any width."""


@dataclass(frozen=True, eq=False, slots=True)
class ResultColumns:
    """Columns of result rows. A column with the same value in every row takes no memory: it is broadcast."""

    keys: NDArray[np.int32]
    batches: NDArray[np.int64]
    count: Integers
    minimum: NDArray[np.float32]
    maximum: NDArray[np.float32]
    sub_windows: Integers
    burst: NDArray[np.bool_]
    numbers: NDArray[np.float32]
    """(rows, estimates, 3): value, low, high."""
    methods: NDArray[np.uint8]
    """(rows, estimates). A share has the method `exact` if low == high, else none."""

    def parts(self) -> tuple[NDArray[Any], ...]:
        """Return the columns, in their order."""
        return (
            *(self.keys, self.batches, self.count, self.minimum, self.maximum),
            *(self.sub_windows, self.burst, self.numbers, self.methods),
        )

    def take(self, rows: NDArray[Any]) -> "ResultColumns":
        """Return some rows, by index or mask, as compact copies."""
        return ResultColumns(*(part[rows] for part in self.parts())).narrow()

    def narrow(self) -> "ResultColumns":
        """Return the same rows in as few bytes as they need, read-only."""
        narrow = replace(
            self,
            batches=_once(self.batches),
            count=_fitting(self.count, np.int32),
            sub_windows=_once(_fitting(self.sub_windows, np.int16)),
            burst=_once(self.burst),
        )
        for part in narrow.parts():
            part.flags.writeable = False
        return narrow

    def bytes(self) -> int:
        """Return the memory of the columns."""
        return sum(part.nbytes if any(part.strides) or part.size < 2 else part.itemsize for part in self.parts())

    def after(self, before: "ResultColumns") -> "ResultColumns":
        """Return these rows appended to others."""
        return ResultColumns(*(np.concatenate(pair) for pair in zip(before.parts(), self.parts(), strict=True)))

    def equals(self, other: "ResultColumns") -> bool:
        """Whether all values are equal."""
        return all(
            a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            for a, b in zip(self.parts(), other.parts(), strict=True)
        )

    def placed(self, places: Sequence[int], estimates: int) -> "ResultColumns":
        """Return the rows with more columns of estimates: old column i becomes places[i]; the new ones are empty."""
        numbers = np.full((len(self.keys), estimates, 3), np.nan, np.float32)
        methods = np.zeros((len(self.keys), estimates), np.uint8)
        numbers[:, places], methods[:, places] = self.numbers, self.methods
        return replace(self, numbers=numbers, methods=methods).narrow()


def rows_of(
    table: pa.Table, keys: NDArray[np.int32], estimates: Sequence[str], methods: dict[str, int]
) -> tuple[ResultColumns, NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of a table, and the starts and ends of their windows. Adds new methods to `methods`.

    Low is rounded down to float32, high up, and the value to the nearest: low <= value <= high still holds, and the
    exact quantile still lies between them. The same holds for minimum and maximum.
    """
    numbers, methods_used = _estimates(table["estimates"].combine_chunks(), list(estimates), methods)
    rows = ResultColumns(
        keys,
        _whole(table["batch"], -1),
        _whole(table["count"], 0),
        rounded_down(_real(table["min"])),
        rounded_up(_real(table["max"])),
        _whole(table["sub_windows"], 0),
        pc.fill_null(table["burst"], False).to_numpy().astype(np.bool_),
        numbers,
        methods_used,
    )
    return rows, _whole(table["start"].cast(pa.int64()), 0), _whole(table["end"].cast(pa.int64()), 0)


def estimate_names(table: pa.Table) -> list[str]:
    """Return the names of the estimates that any row has."""
    names, _ = _coded(table["estimates"].combine_chunks().flatten().field("name"))
    return [name for name in names if name is not None]


def in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Return estimates in the order of display: quantiles, lowest first, then shares below a threshold.

    >>> in_order(["below_500", "p99_9", "below_minus_5", "p50", "p99"])
    ('p50', 'p99', 'p99_9', 'below_minus_5', 'below_500')
    """

    def place(name: str) -> tuple[int, float, str]:
        for rank, kind in enumerate((r"p(\d+(?:_\d+)?)", r"below_((?:minus_)?\d+(?:_\d+)?)")):
            if match := re.fullmatch(kind, name):
                return rank, float(match[1].replace("minus_", "-").replace("_", ".")), name
        return 2, 0.0, name

    return tuple(sorted(set(names), key=place))


def rounded_down(exact: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the largest float32 that is not above; NaN stays NaN."""
    with np.errstate(over="ignore"):
        near = exact.astype(np.float32)
        return np.where(near > exact, np.nextafter(near, np.float32(-np.inf)), near)


def rounded_up(exact: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the smallest float32 that is not below; NaN stays NaN."""
    with np.errstate(over="ignore"):
        near = exact.astype(np.float32)
        return np.where(near < exact, np.nextafter(near, np.float32(np.inf)), near)


def _estimates(
    column: pa.ListArray, estimates: list[str], methods: dict[str, int]
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    flat = column.flatten()
    names, named = _coded(flat.field("name"))
    column_of = [estimates.index(name) if name is not None else -1 for name in names]
    columns = np.array(column_of, np.intp)[named]
    texts, codes = _coded(methods_of(flat))
    lows, highs = _real(flat.field("low")), _real(flat.field("high"))
    is_exact = lows == highs  # shares have no method, and the page cannot see this in rounded ends
    for text in [*texts, *(["exact"] if is_exact.any() else [])]:
        methods.setdefault(text or "", min(len(methods), 255))
    method: Any = np.array([methods[text or ""] for text in texts], np.uint8)[codes]
    method[is_exact & (method == 0)] = methods.get("exact", 0)
    numbers = np.full((len(column), len(estimates), 3), np.nan, np.float32)
    method_numbers = np.zeros((len(column), len(estimates)), np.uint8)
    with np.errstate(over="ignore"):
        value = _real(flat.field("value")).astype(np.float32)
    low, high = rounded_down(lows), rounded_up(highs)
    where: Any = _rows_alike(column, columns)
    if where is None:
        is_named = columns >= 0
        value, low, high, method = (part[is_named] for part in (value, low, high, method))
        where = pc.list_parent_indices(column).to_numpy()[is_named], columns[is_named]
    else:
        value, low, high, method = (part.reshape(len(column), -1) for part in (value, low, high, method))
    for index, part in enumerate((value, low, high)):
        numbers[(*where, index)] = part
    method_numbers[where] = method
    return numbers, method_numbers


def _coded(texts: Any) -> tuple[list[str | None], NDArray[np.intp]]:
    """Return the distinct texts of a column, and the index of each row's text among them.

    Only texts that a row has: the dictionary of a file's column has the texts of all queries.
    """
    coded = texts.dictionary_encode()
    known = [*coded.dictionary.to_pylist(), None]
    codes = pc.fill_null(coded.indices, len(known) - 1).to_numpy()
    is_used = np.bincount(codes, minlength=len(known)) > 0
    places = np.cumsum(is_used) - 1
    return [known[code] for code in np.flatnonzero(is_used)], places[codes]


def _rows_alike(column: pa.ListArray, place: NDArray[np.intp]) -> tuple[slice, NDArray[np.intp]] | None:
    """Return all rows, and the columns of their estimates, if every row has the same in the same order; else None."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    if not len(lengths) or (lengths != lengths[0]).any() or not lengths[0]:
        return None
    by_row = place.reshape(len(lengths), -1)
    return (slice(None), by_row[0]) if (by_row == by_row[0]).all() and (by_row[0] >= 0).all() else None


def _real(column: Any) -> NDArray[np.float64]:
    return pc.fill_null(column, np.nan).to_numpy()  # type: ignore[no-any-return]


def _whole(column: Any, missing: int) -> NDArray[np.int64]:
    return pc.fill_null(column, missing).to_numpy().astype(np.int64, copy=False)  # type: ignore[no-any-return]


def _fitting(numbers: Integers, narrow: type[np.integer[Any]]) -> Integers:
    """Return the numbers in a narrow type, or as int64 where one does not fit."""
    limits = np.iinfo(narrow)
    fits = not numbers.size or (numbers.min() >= limits.min and numbers.max() <= limits.max)
    return numbers.astype(narrow if fits else np.int64)


def _once(column: NDArray[Any]) -> NDArray[Any]:
    """Broadcast one value, where all rows have the same."""
    if column.size > 1 and any(column.strides) and (column == column[0]).all():
        return np.broadcast_to(column[0], column.shape)
    return column
