"""Stored rows of one query as columns of numbers, half as wide as they were stored, with bounds that still hold."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]
"""Whole numbers, as wide as they must be."""


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """Columns of rows. Those that are the same in every row take no room: they are one number, seen often."""

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
    """(rows, estimates)."""

    def parts(self) -> tuple[NDArray[Any], ...]:
        """The columns, in their order."""
        return (
            *(self.keys, self.batches, self.count, self.minimum, self.maximum),
            *(self.sub_windows, self.burst, self.numbers, self.methods),
        )

    def take(self, rows: NDArray[Any]) -> "Rows":
        """Some rows, by place or by mask: copies, as narrow as they can be."""
        return Rows(*(part[rows] for part in self.parts())).narrow()

    def narrow(self) -> "Rows":
        """The same rows in as few bytes as they need; nobody can write to them."""
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
        """How much room the columns take."""
        return sum(part.nbytes if any(part.strides) or part.size < 2 else part.itemsize for part in self.parts())

    def after(self, before: "Rows") -> "Rows":
        """These rows behind others."""
        return Rows(*(np.concatenate(pair) for pair in zip(before.parts(), self.parts(), strict=True)))

    def equals(self, other: "Rows") -> bool:
        """Whether all numbers are the same."""
        return all(
            a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            for a, b in zip(self.parts(), other.parts(), strict=True)
        )

    def placed(self, places: Sequence[int], estimates: int) -> "Rows":
        """The same with other columns of estimates: old column i becomes places[i]; the rest are empty."""
        numbers = np.full((len(self.keys), estimates, 3), np.nan, np.float32)
        methods = np.zeros((len(self.keys), estimates), np.uint8)
        numbers[:, places], methods[:, places] = self.numbers, self.methods
        return replace(self, numbers=numbers, methods=methods).narrow()


def rows_of(
    table: pa.Table, keys: NDArray[np.int32], estimates: Sequence[str], methods: dict[str, int]
) -> tuple[Rows, NDArray[np.int64], NDArray[np.int64]]:
    """The rows of a table, and the starts and ends of their windows. New methods get the next number in `methods`.

    Low is rounded down to float32, high up, and the value to the nearest: low <= value <= high stays true, and so does
    that the exact quantile lies between. The same holds of minimum and maximum.
    """
    numbers, how = _estimates(table["estimates"].combine_chunks(), list(estimates), methods)
    rows = Rows(
        keys,
        _whole(table["batch"], -1),
        _whole(table["count"], 0),
        rounded_down(_real(table["min"])),
        rounded_up(_real(table["max"])),
        _whole(table["sub_windows"], 0),
        pc.fill_null(table["burst"], False).to_numpy().astype(np.bool_),
        numbers,
        how,
    )
    return rows, _whole(table["start"].cast(pa.int64()), 0), _whole(table["end"].cast(pa.int64()), 0)


def estimate_names(table: pa.Table) -> list[str]:
    """The names of the estimates that some row has."""
    names, _ = _coded(table["estimates"].combine_chunks().flatten().field("name"))
    return [name for name in names if name is not None]


def in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Estimates as they are shown: quantiles first, the lowest first, then shares below a threshold.

    >>> in_order(["below_500", "p99_9", "below_minus_5", "p50", "p99"])
    ('p50', 'p99', 'p99_9', 'below_minus_5', 'below_500')
    """

    def place(name: str) -> tuple[int, float, str]:
        for rank, kind in enumerate((r"p(\d+(?:_\d+)?)", r"below_((?:minus_)?\d+(?:_\d+)?)")):
            if found := re.fullmatch(kind, name):
                return rank, float(found[1].replace("minus_", "-").replace("_", ".")), name
        return 2, 0.0, name

    return tuple(sorted(set(names), key=place))


def rounded_down(exact: NDArray[np.float64]) -> NDArray[np.float32]:
    """The greatest float32 that is not above; NaN stays."""
    with np.errstate(over="ignore"):
        near = exact.astype(np.float32)
        return np.where(near > exact, np.nextafter(near, np.float32(-np.inf)), near)


def rounded_up(exact: NDArray[np.float64]) -> NDArray[np.float32]:
    """The least float32 that is not below; NaN stays."""
    with np.errstate(over="ignore"):
        near = exact.astype(np.float32)
        return np.where(near < exact, np.nextafter(near, np.float32(np.inf)), near)


def _estimates(
    column: pa.ListArray, estimates: list[str], methods: dict[str, int]
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    flat = column.flatten()
    names, named = _coded(flat.field("name"))
    of_name = [estimates.index(name) if name is not None else -1 for name in names]
    place = np.array(of_name, np.intp)[named]
    ways, way = _coded(flat.field("method"))
    for one in ways:
        methods.setdefault(one or "", min(len(methods), 255))
    method: Any = np.array([methods[one or ""] for one in ways], np.uint8)[way]
    numbers = np.full((len(column), len(estimates), 3), np.nan, np.float32)
    how = np.zeros((len(column), len(estimates)), np.uint8)
    with np.errstate(over="ignore"):
        value = _real(flat.field("value")).astype(np.float32)
    low, high = rounded_down(_real(flat.field("low"))), rounded_up(_real(flat.field("high")))
    where: Any = _rows_alike(column, place)
    if where is None:
        named_at = place >= 0
        value, low, high, method = (part[named_at] for part in (value, low, high, method))
        where = pc.list_parent_indices(column).to_numpy()[named_at], place[named_at]
    else:
        value, low, high, method = (part.reshape(len(column), -1) for part in (value, low, high, method))
    for at, part in enumerate((value, low, high)):
        numbers[(*where, at)] = part
    how[where] = method
    return numbers, how


def _coded(texts: Any) -> tuple[list[str | None], NDArray[np.intp]]:
    """The different texts of a column, and the place of each row's text among them.

    Only texts that a row has: a column of a file has the dictionary of the whole file, with the texts of all queries.
    """
    coded = texts.dictionary_encode()
    known = [*coded.dictionary.to_pylist(), None]
    codes = pc.fill_null(coded.indices, len(known) - 1).to_numpy()
    is_used = np.bincount(codes, minlength=len(known)) > 0
    places = np.cumsum(is_used) - 1
    return [known[code] for code in np.flatnonzero(is_used)], places[codes]


def _rows_alike(column: pa.ListArray, place: NDArray[np.intp]) -> tuple[slice, NDArray[np.intp]] | None:
    """All rows, and the places of the estimates that each of them has in the same order; None where they differ."""
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
    """In a narrow type, or as they are where one number does not fit."""
    limits = np.iinfo(narrow)
    fits = not numbers.size or (numbers.min() >= limits.min and numbers.max() <= limits.max)
    return numbers.astype(narrow if fits else np.int64)


def _once(column: NDArray[Any]) -> NDArray[Any]:
    """One number for all rows, where all are the same."""
    if column.size > 1 and any(column.strides) and (column == column[0]).all():
        return np.broadcast_to(column[0], column.shape)
    return column
