"""The Parquet sink of results, partitioned by day: `day=2026-11-16/batch-0000000123.3f9a5c7e01234567.parquet`.

The day is that of the window's end, in UTC. Spark, `pyarrow.dataset` and DuckDB (`results/day=*/*.parquet` with
hive_partitioning) can read the folder while it is written to. A file never changes, unless its batch is repeated: then
a file with the same bytes replaces it. The end of a file's name is its digest (aomg.tables.parquet_files).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aomg.errors import DamagedFileError
from aomg.monitor.atomic_files import SinkError, flush_folder, put, reason
from aomg.monitor.config import values
from aomg.monitor.config.model import SinkConfig
from aomg.monitor.config.schema import key
from aomg.monitor.journal.entry import StoredFile, Written
from aomg.monitor.sinks.base import SinkContext
from aomg.monitor.sinks.joined_files import JoinedPart, joined_notes, joined_parts
from aomg.monitor.sinks.result_folder import (
    alone,
    batches_in,
    compacted_name,
    current,
    days,
    file_name,
    files_with,
    is_compacted,
    newest,
    sweep,
)
from aomg.monitor.sinks.result_rows import SCHEMA, LabelNames, codes, stored
from aomg.monitor.sinks.small_files import BatchFile, SmallFiles
from aomg.tables.parquet_files import digest_of, parquet_bytes, read_parquet
from aomg.times import DAY, day_text

_STREAM = "_stream"
_STREAM_ID = re.compile(r"[\w-]{1,64}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class ParquetSinkConfig(SinkConfig):
    """A Parquet sink of results as configured."""

    kind = "parquet"
    stores = ("results",)
    writes_folder = True

    path: Path = key(values.path, name="parquet", help="a folder of Parquet files, by day")

    def build(self, context: SinkContext) -> "ParquetSink":
        """Return the sink."""
        return ParquetSink(self.path, context.label_names, context.stream)


class ParquetSink:
    """Writes a file for each batch and day.

    A batch costs a few milliseconds for each day in which its windows end: one, or two around midnight. All its files
    are written under hidden names first, then renamed. `tidy` joins small files (small_files.py), and `compact`
    (compaction.py) those of a whole day; the sink replaces a repeated batch in joined files too.

    With a `stream`, the folder of another stream is refused: their batches would replace each other.
    """

    def __init__(self, folder: Path, label_names: LabelNames | None = None, stream: str | None = None) -> None:
        self._folder = folder
        self._label_names = label_names
        if folder.exists() and not folder.is_dir():
            raise SinkError(f"{folder} is a file, but results need a folder; choose another path")
        with alone(folder):
            sweep(folder)
            self._last = newest(folder)
            if stream is not None:
                self._claim(stream)
        self._small = SmallFiles(folder, batch_files, compacted_name, SCHEMA)
        self._days = days(folder)
        for day in self._days:
            self._small.add(self._day_folder(day), is_complete=day != self._days[-1])

    def _claim(self, stream: str) -> None:
        mark, owner = self._folder / _STREAM, owner_of(self._folder)
        if owner is None:
            put(mark, f"{stream}\n".encode())
        elif not _STREAM_ID.fullmatch(owner):
            raise SinkError(
                f"{mark} is damaged; if these are the results of this state folder, remove it, else use an empty folder"
            )
        elif owner != stream:
            raise SinkError(
                f"{self._folder} holds the results of another run, with another state folder; "
                f"use an empty folder for the results, or the state folder of that run"
            )

    def write(self, batch: int, table: pa.Table) -> Written:
        """Store the results of a batch, and replace what it stored before. A failure leaves no half-written file."""
        parts = dict(by_day(stored(batch, table, self._label_names)))
        with alone(self._folder):
            stale = self._stored(batch) if batch <= self._last else []
            contents: dict[Path, bytes] = {}
            unchanged: set[Path] = set()
            for file in current(filter(is_compacted, stale)):
                content = _replaced(file, batch, parts.pop(_day_of(file), SCHEMA.empty_table()))
                if content is None:
                    unchanged.add(file)
                else:
                    contents[_renamed(file, content)] = content
            for day, rows in parts.items():
                content = parquet_bytes(rows)
                contents[self._day_folder(day) / file_name(batch, content)] = content
            put_all(contents)
            for file in stale:
                if file not in contents and file not in unchanged:
                    _remove(file)
            self._last = max(batch, self._last)
            files = (stored_file(self._folder, file, content) for file, content in contents.items())
            removed = (file for file in stale if file not in contents and file not in unchanged)
            written = Written(
                self._folder, tuple(files), tuple(str(file.relative_to(self._folder)) for file in removed)
            )
        self._note_days({_day_of(file) for file in contents})
        return written

    def tidy(self) -> Written | None:
        """Join old small files, a hundred at most; takes about a second at most. Call it between batches."""
        return self._small.tidy(self._last)

    def _note_days(self, written: set[str]) -> None:
        """Note which days may have files to join: those that were written to, and the newest one when it ends."""
        before = self._days[-1:]
        self._days = sorted({*before, *written}, key=lambda day: (len(day), day))
        for day in self._days if written.difference(before) else written:
            self._small.add(self._day_folder(day), is_complete=day != self._days[-1])

    def _day_folder(self, day: str) -> Path:
        return self._folder / f"day={day}"

    def _stored(self, batch: int) -> list[Path]:
        """The files that may have rows of a batch."""
        return [file for day in days(self._folder) for file in files_with(self._day_folder(day), batch)]


def owner_of(folder: Path) -> str | None:
    """The stream whose results a folder has; None if it says nothing. Raises SinkError if it cannot be read."""
    mark = folder / _STREAM
    try:
        return mark.read_text("utf-8", "replace").strip() if mark.exists() else None
    except OSError as error:
        raise SinkError(reason(error, mark)) from error


def batch_files(day_folder: Path) -> list[BatchFile]:
    """The files of a day that the sink wrote."""
    spans = ((batches_in(path.name), path) for path in day_folder.iterdir())
    return [BatchFile(*span, path) for span, path in spans if span is not None]


def _day_of(file: Path) -> str:
    return file.parent.name.removeprefix("day=")


def by_day(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Split rows by the day of their window's end, in UTC."""
    number = codes(rows["end"]) // DAY
    for day in np.unique(number):
        yield day_text(int(day) * DAY), rows.filter(pa.array(number == day))


def stored_file(folder: Path, file: Path, content: bytes) -> StoredFile:
    """What the journal keeps of a file in a sink's folder."""
    rows = pq.read_metadata(pa.BufferReader(content)).num_rows
    return StoredFile(str(file.relative_to(folder)), len(content), rows, digest_of(content))


def put_all(contents: dict[Path, bytes]) -> None:
    """Write several files; they are renamed to their names once all are on the disk."""
    partials = {}
    try:
        for file, text in contents.items():
            partial = file.with_name(f".{file.name}.partial")
            put(partial, text)
            partials[partial] = file
        for partial, file in partials.items():
            partial.replace(file)
        for folder in {file.parent for file in contents}:
            flush_folder(folder)
    except OSError as error:
        raise SinkError(reason(error, next(iter(contents)).parent)) from error
    finally:
        for partial in partials:
            partial.unlink(missing_ok=True)


def _replaced(file: Path, batch: int, rows: pa.Table) -> bytes | None:
    """The bytes of a compacted file in which the rows of one batch are replaced; None if it has these rows already.

    Its list of joined files then has the file that the batch would have written alone.
    """
    try:
        whole, parts = read_parquet(file), joined_parts(file)
    except (DamagedFileError, OSError) as error:
        raise SinkError(str(error)) from error
    is_other = pc.not_equal(whole["batch"], batch)
    others, before = whole.filter(is_other), whole.filter(pc.invert(is_other))
    if before.cast(SCHEMA).combine_chunks().equals(rows.combine_chunks()):
        return None
    kept = [part for part in parts if batches_in(part.name) != (batch, batch)]
    surplus = sum(part.rows for part in kept) - len(others)  # an earlier version joined files without a list
    for i, part in enumerate(kept):
        first, last = batches_in(part.name) or (0, -1)
        if surplus and first <= batch <= last:
            kept[i], surplus = part._replace(rows=part.rows - surplus), 0
    if len(rows):
        kept.append(JoinedPart(file_name(batch, parquet_bytes(rows)), len(rows)))
    return parquet_bytes(pa.concat_tables([others, rows]), joined_notes(kept))


def _renamed(file: Path, content: bytes) -> Path:
    """A compacted file with other content."""
    first, last = batches_in(file.name) or (0, -1)
    return file.with_name(compacted_name(first, last, digest_of(content)))


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
        if not any(file.parent.iterdir()):
            file.parent.rmdir()
    except OSError as error:
        raise SinkError(reason(error, file)) from error
