"""Reads columns of events from Parquet files, piece by piece: what Python workers do where Spark has found files.

A file is divided by its row groups: a part has those whose middle lies in its share of the bytes. Pieces are at most
2^20 rows of one row group, so memory is bounded for row groups of any size; small ones are joined into tables of about
that many rows. Nothing is read but the columns that are needed. Checksums of pages are verified if files have any.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from aomg.errors import DamagedFileError, InputError
from aomg.tables.parquet_columns import FileColumn, TypeDiffersError, Use, declared_parts

PIECE = 1 << 20  # rows
_BUFFER = 1 << 23  # bytes of a column chunk that are read at once
_DICTIONARY = 1 << 21  # bytes: most writers stop using a dictionary at 1 MB
_CODE = 2.5  # bytes of a value's code in its dictionary
_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_SPARK_VERSION, _NEW_CALENDAR = b"org.apache.spark.version", b"3.1.0"
_REFORM = -2_208_988_800_000_000  # 1900-01-01 in microseconds: from here on, calendars agree in all time zones


@dataclass(frozen=True)
class FilePart:
    """A part of a file to read.

    length
        The size of the file when it was found.
    number, of
        Which part this is, from 0, and of how many.
    constants
        Columns in the names of its folders.
    address
        The name of the file beside refused rows.
    """

    path: str
    length: int
    number: int = 0
    of: int = 1
    constants: Mapping[str, pa.Scalar] = field(default_factory=dict)
    address: str = ""


@dataclass(frozen=True)
class Remedies:
    """What errors of files tell their readers to do.

    other_reader
        About a file that PyArrow does not read as Spark does.
    missing, unreadable, changed, damaged, types
        About a file that is gone, must not be read, has another length than when it was found, is damaged, or has other
        types.
    """

    other_reader: str = "pass spark.read.parquet(...) or spark.readStream... instead of ParquetFiles"
    missing: str = (
        "put it back, or an empty file in its place. options={'ignoreMissingFiles': True} ignores files that are gone"
    )
    unreadable: str = "change its permissions and start again"
    changed: str = (
        "write files under a name that begins with a dot, or in another folder, and rename them when they are complete"
    )
    damaged: str = "restore it from a backup, or move it away: what it holds is lost"
    types: str = "write the same type to all files, or pass a schema=... with a type that all of them fit"


@dataclass(frozen=True)
class Piece:
    """Rows of one row group: the converted columns, and where they lie."""

    events: pa.Table
    part: FilePart
    row_group: int
    first_row: int


class Checker(Protocol):
    """Looks at every piece, for example to collect the rows that queries will refuse.

    A piece tells its file, its row group and its first row there, so that all columns of a few rows can be read again
    (`ParquetReader.rows`).
    """

    def checked(self, piece: Piece) -> pa.Table:
        """The events of a piece to go on with: the same rows, perhaps with other columns."""


@dataclass(frozen=True)
class ParquetReader:
    """Reads the same columns of many files.

    case_sensitive
        Whether names of columns must have the same case.
    ignore_missing, ignore_damaged
        Whether to go on without files that are gone, and without the rest of damaged ones.
    """

    columns: tuple[FileColumn, ...]
    case_sensitive: bool = False
    ignore_missing: bool = False
    ignore_damaged: bool = False
    remedies: Remedies = field(default_factory=Remedies)

    def tables(self, parts: Iterable[FilePart], checker: Checker | None = None) -> Iterator[pa.Table]:
        """The events of parts of files, in tables of about 2^20 rows."""
        pending: list[pa.Table] = []
        rows = 0
        for part in parts:
            for piece in self.pieces(part):
                events = piece.events if checker is None else checker.checked(piece)
                is_full = rows + events.num_rows > PIECE
                if pending and (is_full or events.schema != pending[0].schema):  # dictionaries or texts
                    yield pa.concat_tables(pending)
                    pending, rows = [], 0
                pending.append(events)
                rows += events.num_rows
        if pending:
            yield pa.concat_tables(pending)

    def pieces(self, part: FilePart) -> Iterator[Piece]:
        """The events of a part of a file. Raises DamagedFileError, or InputError if it is gone or has other types."""
        try:
            yield from self._pieces(part)
        except FileNotFoundError:
            if not self.ignore_missing:
                raise InputError(f"{part.path} was removed after Spark had found it; {self.remedies.missing}") from None
        except DamagedFileError:
            if not self.ignore_damaged:
                raise

    def _pieces(self, part: FilePart) -> Iterator[Piece]:
        file = self._path(part.path)
        self._refuse_changed(file, part)
        footer = self._decoded(file, lambda: pq.read_metadata(file))
        groups = _row_groups(footer, part)
        if not groups:
            return
        sources = [column.source for column in self.columns]
        names = self._names(file, sources, footer.schema.to_arrow_schema().names, part.constants)
        self._refuse_int96_as_integers(file, footer, names)
        texts = {names[column.source] for column in self.columns if column.is_text and column.use is Use.KEY}
        dictionaries = [str(name) for name in texts - {None} if _has_dictionary(footer, groups, str(name))]
        wanted = list(dict.fromkeys(name for name in names.values() if name is not None))
        old_calendar = _may_have_old_calendar(footer)
        with self._opened(file, footer, dictionaries) as opened:
            for group in groups:
                first = 0
                for batch in self._batches(file, opened, group, wanted):
                    events = self._events(file, batch, names, part.constants)
                    if old_calendar:
                        self._refuse_old_times(file, events)
                    yield Piece(events, part, group, first)
                    first += batch.num_rows

    def rows(self, piece: Piece, places: npt.NDArray[np.int64], schema: pa.Schema) -> pa.StructArray:
        """Some rows of a piece again, in ascending order, with all columns of a schema, in their types.

        What is not in the file is null, and so is a column that cannot be read as its type. Reads the columns of the
        row group up to the last row.
        """
        part, places = piece.part, places + piece.first_row
        file = self._path(part.path)
        footer = self._decoded(file, lambda: pq.read_metadata(file))
        names = self._names(file, schema.names, footer.schema.to_arrow_schema().names, part.constants)
        wanted = [name for name in names.values() if name is not None]
        found, first = [], 0
        with self._opened(file, footer) as opened:
            for batch in self._batches(file, opened, piece.row_group, wanted):
                here = places[(places >= first) & (places < first + batch.num_rows)]
                if here.size:
                    found.append(_row_structs(batch.take(pa.array(here - first)), schema, names, part.constants))
                first += batch.num_rows
                if first > places[-1]:
                    break
        return pa.concat_arrays(found)

    def _opened(self, file: Path, footer: pq.FileMetaData, dictionaries: Sequence[str] = ()) -> pq.ParquetFile:
        """An open file; the columns of `dictionaries` are read as such."""
        return self._decoded(
            file,
            lambda: pq.ParquetFile(
                file,
                metadata=footer,
                read_dictionary=list(dictionaries),
                coerce_int96_timestamp_unit="us",
                buffer_size=_BUFFER,
                page_checksum_verification=True,
            ),
        )

    def _batches(
        self, file: Path, opened: pq.ParquetFile, group: int, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        batches = opened.iter_batches(PIECE, row_groups=[group], columns=list(columns), use_threads=False)
        while (batch := self._decoded(file, lambda: next(batches, None))) is not None:
            yield batch

    def _names(
        self, file: Path, sources: Sequence[str], present: Sequence[str], constants: Mapping[str, pa.Scalar]
    ) -> dict[str, str | None]:
        """The name in this file of each column that is needed; None if it is not read from it."""
        names: dict[str, str | None] = {}
        for wanted in sources:
            alike = [name for name in present if self._is_same(name, wanted)]
            if len(alike) > 1:
                raise InputError(
                    f"{file} has the columns {', '.join(map(repr, alike))}, and each could be {wanted!r}; rename one, "
                    "or set spark.sql.caseSensitive to true"
                )
            names[wanted] = alike[0] if alike and wanted not in constants else None
        return names

    def _is_same(self, name: str, wanted: str) -> bool:
        return name == wanted if self.case_sensitive else name.lower() == wanted.lower()

    def _events(
        self, file: Path, batch: pa.RecordBatch, names: Mapping[str, str | None], constants: Mapping[str, pa.Scalar]
    ) -> pa.Table:
        """The converted columns of some rows."""
        arrays, size = [], batch.num_rows
        for column in self.columns:
            name = names[column.source]
            if column.source in constants:
                array = _repeated(constants[column.source], size, column)
            elif name is None:
                array = column.missing(size)
            else:
                array = self._converted(file, column, batch.column(batch.schema.get_field_index(name)))
            arrays.append(array)
        return pa.table(arrays, names=[column.name for column in self.columns])

    def _refuse_old_times(self, file: Path, events: pa.Table) -> None:
        """Refuse times and dates that Spark would move to another calendar."""
        for column in self.columns:
            times = events[column.name].combine_chunks()
            is_time = pa.types.is_temporal(column.kind) and column.use is not Use.PRESENCE
            if is_time and not pa.types.is_dictionary(times.type):
                micros = times.cast(pa.timestamp("us")) if pa.types.is_date(times.type) else times
                numbers = np.asarray(micros.view(pa.int64()).drop_null())
                if numbers.size and int(numbers.min()) < _REFORM:
                    raise InputError(
                        f"column {column.source!r} of {file} has times before 1900 in a calendar that only Spark "
                        f"converts; {self.remedies.other_reader}"
                    )

    def _refuse_int96_as_integers(self, file: Path, footer: pq.FileMetaData, names: Mapping[str, str | None]) -> None:
        """Refuse integers that are declared for times of 96 bits: a time has another unit when it has been read."""
        physical = {
            column.path: column.physical_type for column in map(footer.schema.column, range(footer.num_columns))
        }
        for column in self.columns:
            if pa.types.is_integer(column.kind) and physical.get(str(names[column.source])) == "INT96":
                raise self._type_error(file, column, "INT96")

    def _converted(self, file: Path, column: FileColumn, array: pa.Array) -> pa.Array:
        try:
            return column.converted(array)
        except TypeDiffersError:
            raise self._type_error(file, column, array.type) from None
        except pa.ArrowInvalid as error:
            raise InputError(
                f"column {column.source!r} of {file} is {array.type} and has a value that {column.kind} does not hold "
                f"({error}); check its unit"
            ) from error

    def _type_error(self, file: Path, column: FileColumn, kind: object) -> InputError:
        return InputError(
            f"column {column.source!r} is {kind} in {file}, which cannot be read as {column.kind}, its type in the "
            f"schema; {self.remedies.types}"
        )

    def _path(self, path: str) -> Path:
        """The local path of a file. Raises InputError if it is none."""
        if "://" in path and urlsplit(path).scheme != "file":
            raise InputError(f"{path} is not a local file; {self.remedies.other_reader}")
        return local_path(path)

    def _refuse_changed(self, file: Path, part: FilePart) -> None:
        length = file.stat().st_size
        if length != part.length:
            raise InputError(
                f"{file} has {length:,} bytes, but had {part.length:,} when Spark found it; {self.remedies.changed}"
            )

    def _decoded(self, file: Path, read: Any) -> Any:
        """The result of a call that reads a file. Raises DamagedFileError."""
        try:
            return read()
        except FileNotFoundError:
            raise
        except PermissionError as error:
            raise InputError(f"{file} cannot be read; {self.remedies.unreadable}") from error
        except pa.ArrowNotImplementedError as error:
            raise InputError(f"PyArrow cannot read {file} ({error}); {self.remedies.other_reader}") from error
        except (OSError, pa.ArrowException) as error:  # Arrow raises OSError for what cannot be decoded, too
            raise DamagedFileError(file, str(error).splitlines()[0], self.remedies.damaged) from error


def local_path(path: str) -> Path:
    """The local path of a file that Spark found: Hadoop's text of it, which escapes nothing."""
    return Path(path.removeprefix("file:").removeprefix("//") if path.startswith("file:") else path)


def _may_have_old_calendar(footer: pq.FileMetaData) -> bool:
    """Whether Spark would convert times before 1900 in this file."""
    notes = footer.metadata or {}
    return any(key in notes for key in _OLD_CALENDAR) or notes.get(_SPARK_VERSION, _NEW_CALENDAR) < _NEW_CALENDAR


def _row_groups(footer: pq.FileMetaData, part: FilePart) -> list[int]:
    """The row groups whose middle is in the part's share of the file."""
    if part.of == 1:
        return list(range(footer.num_row_groups))
    low, high = (part.length * edge // part.of for edge in (part.number, part.number + 1))
    return [group for group in range(footer.num_row_groups) if low <= _middle(footer.row_group(group)) < high]


def _middle(group: pq.RowGroupMetaData) -> int:
    columns = [group.column(index) for index in range(group.num_columns)]
    starts = [column.dictionary_page_offset or column.data_page_offset for column in columns]
    size = sum(column.total_compressed_size for column in columns)
    return int(min(starts, default=0) + size // 2)


def _has_dictionary(footer: pq.FileMetaData, groups: Sequence[int], name: str) -> bool:
    """Whether the values of a column are codes in a dictionary: then reading the codes saves hashing every text.

    Writers give dictionaries up when they become large; such a column would be slower to read that way.
    """
    index = next((i for i in range(footer.num_columns) if footer.schema.column(i).path == name), None)
    if index is None:
        return False
    columns = [footer.row_group(group).column(index) for group in groups]
    return all(
        column.has_dictionary_page and column.total_uncompressed_size <= _DICTIONARY + _CODE * column.num_values
        for column in columns
    )


def _repeated(value: pa.Scalar, size: int, column: FileColumn) -> pa.Array:
    """A column of one value: as a dictionary if it is a key, so that nothing is hashed."""
    if column.use is Use.KEY:
        one = column.converted(pa.array([value.as_py()], value.type))
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(size, np.int32)), one)
    return column.converted(pa.repeat(value, size))


def _row_structs(
    batch: pa.RecordBatch, schema: pa.Schema, names: Mapping[str, str | None], constants: Mapping[str, pa.Scalar]
) -> pa.StructArray:
    """Rows of a file with all columns of a schema."""
    columns = []
    for wanted in schema:
        name = names[wanted.name]
        if wanted.name in constants:
            columns.append(pa.repeat(constants[wanted.name], batch.num_rows).cast(wanted.type))
        elif name is None:
            columns.append(pa.nulls(batch.num_rows, wanted.type))
        else:
            columns.append(_of_type_or_null(batch.column(batch.schema.get_field_index(name)), wanted.type))
    return pa.StructArray.from_arrays(columns, fields=list(schema))


def _of_type_or_null(array: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return declared_parts(array, kind)
    except (TypeDiffersError, pa.ArrowException):
        return pa.nulls(len(array), kind)
