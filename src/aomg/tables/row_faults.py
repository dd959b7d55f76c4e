"""Finds the rows of Parquet files that are refused, and why, while workers read the files.

A `Fault` is one reason. It looks at the converted columns of a piece of a file. The first fault of a row is its reason;
of each reason, a few rows are read again with all columns, so that people see what was refused, and the others are
counted. Keys that are dictionaries are looked at once for each distinct value.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aomg.tables.parquet_columns import Use
from aomg.tables.parquet_reader import ParquetReader, Piece

Mask = npt.NDArray[np.bool_]
Column = Callable[[str, Use], pa.Array]
"""Returns a column of a piece by its name in the files, converted for a use."""


class Fault(Protocol):
    """A reason to refuse a row."""

    def holds(self, column: Column) -> Mask | None:
        """The rows that have it; None: no row."""


@dataclass(frozen=True)
class NoTime:
    """The time is missing."""

    name: str

    def holds(self, column: Column) -> Mask | None:
        """The rows without a time."""
        return _where(pc.invert(column(self.name, Use.PRESENCE)))


@dataclass(frozen=True)
class UnreadableTime:
    """The time cannot be read, or is missing."""

    name: str

    def holds(self, column: Column) -> Mask | None:
        """The rows without a time that can be used."""
        return _missing(column(self.name, Use.TIME))


@dataclass(frozen=True)
class NoText:
    """A label is not UTF-8."""

    name: str

    def holds(self, column: Column) -> Mask | None:
        """The rows whose label has other bytes."""
        return _of_distinct(column(self.name, Use.KEY), _is_garbled)


@dataclass(frozen=True)
class LongKey:
    """The labels of a key, texts of any number, have more characters than this together."""

    names: tuple[str, ...]
    longest: int

    def holds(self, column: Column) -> Mask | None:
        """The rows whose key is too long."""
        texts = [column(name, Use.KEY) for name in self.names]
        if sum(_longest(text) for text in texts) <= self.longest:  # in bytes, which costs less to find out
            return None
        lengths = [np.asarray(_by_distinct(text, _characters).fill_null(0)) for text in texts]
        long: Mask = np.sum(lengths, axis=0) > self.longest
        return long if long.any() else None


@dataclass(frozen=True)
class NoValue:
    """None of these columns has a finite number."""

    names: tuple[str, ...]

    def holds(self, column: Column) -> Mask | None:
        """The rows without a value."""
        unusable: Mask | None = None
        for name in self.names:
            bad = _not_finite(column(name, Use.VALUE))
            if bad is None:
                return None
            unusable = bad if unusable is None else unusable & bad
        return unusable


@dataclass(frozen=True)
class NoWeight:
    """A weight is not a whole number that can be one."""

    name: str

    def holds(self, column: Column) -> Mask | None:
        """The rows whose weight cannot be used."""
        return _missing(column(self.name, Use.WEIGHT))


@dataclass(frozen=True)
class RowFaults:
    """What to look for in the rows of files.

    reasons
        The faults for which rows are refused, and the text of each; the first one of a row counts.
    excluded
        By query, the faults for which it must not use a row, besides those of its value, time and weight.
    schema
        All columns of the files: those of the rows that are read again.
    """

    reasons: tuple[tuple[Fault, str], ...]
    excluded: Mapping[str, tuple[Fault, ...]]
    schema: pa.Schema


@dataclass(frozen=True)
class RefusedRows:
    """Refused rows of one file, each with its reason, and all of its columns."""

    address: str
    reasons: Sequence[str]
    rows: pa.StructArray


@dataclass
class FaultChecker:
    """Checks pieces of files: marks the events that queries must not use, and collects refused rows.

    most
        Rows of one reason that are collected; the others are counted.
    longest
        Bytes of a text that are collected.
    queries
        The names of the queries: the first one has the lowest bit of `excluded`.
    """

    faults: RowFaults
    reader: ParquetReader
    queries: Sequence[str]
    most: int
    longest: int
    events: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    collected: list[RefusedRows] = field(default_factory=list)

    def checked(self, piece: Piece) -> pa.Table:
        """The events with the column `excluded`, if a query excludes some, and without presences."""
        columns = {(column.source, column.use): column.name for column in self.reader.columns}
        known: dict[Fault, Mask | None] = {}

        def column(name: str, use: Use) -> pa.Array:
            chunks = piece.events[columns[name, use]]
            return chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()

        def mask(fault: Fault) -> Mask | None:
            if fault not in known:
                known[fault] = fault.holds(column)
            return known[fault]

        self.events += piece.events.num_rows
        self._collect(piece, [(reason, mask(fault)) for fault, reason in self.faults.reasons])
        presences = [name for (_, use), name in columns.items() if use is Use.PRESENCE]
        events = piece.events.drop_columns(presences)
        bits: npt.NDArray[np.int64] | None = None
        for query, faults in self.faults.excluded.items():
            for fault in faults:
                if (rows := mask(fault)) is not None:
                    bits = np.zeros(events.num_rows, np.int64) if bits is None else bits
                    bits[rows] |= 1 << self.queries.index(query)
        return events if bits is None else events.append_column("excluded", pa.array(bits))

    def _collect(self, piece: Piece, masks: Sequence[tuple[str, Mask | None]]) -> None:
        """Count refused rows, and read some of them again."""
        named = np.zeros(piece.events.num_rows, bool)
        wanted: dict[int, str] = {}
        for reason, rows in masks:
            if rows is None:
                continue
            places = np.flatnonzero(rows & ~named)
            free = max(self.most - self.counts[reason], 0)
            wanted |= dict.fromkeys(places[:free].tolist(), reason)
            self.counts[reason] += places.size
            named |= rows
        if wanted:
            places = np.array(sorted(wanted), np.int64)
            again = self.reader.rows(piece, places, self.faults.schema)
            reasons = [wanted[place] for place in places.tolist()]
            self.collected.append(RefusedRows(piece.part.address, reasons, _cut(again, self.longest)))

    def uncollected(self) -> Iterator[tuple[str, int]]:
        """The numbers of refused rows that were not collected, by reason."""
        for reason, count in self.counts.items():
            if count > self.most:
                yield reason, count - self.most


def _where(mask: pa.Array) -> Mask | None:
    return np.asarray(mask) if pc.any(mask).as_py() else None


def _missing(array: pa.Array) -> Mask | None:
    return np.asarray(array.is_null()) if array.null_count else None


def _not_finite(array: pa.Array) -> Mask | None:
    missing = _missing(array)
    if not pa.types.is_floating(array.type):
        return missing
    infinite = ~np.isfinite(np.asarray(array.fill_null(0) if array.null_count else array))
    bad = infinite if missing is None else infinite | missing
    return bad if bad.any() else None


def _of_distinct(texts: pa.Array, holds: Callable[[pa.Array], pa.Array | None]) -> Mask | None:
    """Where something holds, looked at once for each distinct value if the texts are a dictionary."""
    if not pa.types.is_dictionary(texts.type):
        found = holds(texts)
        return None if found is None else _where(found.fill_null(False))
    found = holds(texts.dictionary)
    return None if found is None else _where(found.take(texts.indices).fill_null(False))


def _by_distinct(texts: pa.Array, function: Callable[[pa.Array], pa.Array]) -> pa.Array:
    if not pa.types.is_dictionary(texts.type):
        return function(texts)
    return function(texts.dictionary).take(texts.indices)


def _longest(texts: pa.Array) -> int:
    distinct = texts.dictionary if pa.types.is_dictionary(texts.type) else texts
    return int(pc.max(pc.binary_length(distinct)).as_py() or 0)


def _characters(texts: pa.Array) -> pa.Array:
    return pc.utf8_length(texts.view(pa.string()))


def _is_garbled(texts: pa.Array) -> pa.Array | None:
    """Which texts are not UTF-8; None if all are, which is found out at once."""
    data = texts.view(pa.binary())
    try:
        data.cast(pa.string())
    except pa.ArrowInvalid:
        garbled = [text for text in pc.unique(data).to_pylist() if text is not None and not _is_utf8(text)]
        return pc.is_in(data, pa.array(garbled, pa.binary()))
    return None


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _cut(rows: pa.StructArray, longest: int) -> pa.StructArray:
    """Rows whose texts have no more bytes than are shown of a row."""
    columns = []
    for part, kind in zip(rows.flatten(), rows.type, strict=True):
        if kind.type in (pa.string(), pa.binary()):
            part = pc.binary_slice(part.view(pa.binary()), 0, longest).view(kind.type)
        columns.append(part)
    return pa.StructArray.from_arrays(columns, fields=list(rows.type))
