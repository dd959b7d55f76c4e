"""The Parquet sink of results, partitioned by day: `day=2026-11-16/batch-0000000123.parquet`.

The day is that of the window's end, in UTC. Spark, `pyarrow.dataset` and DuckDB (`results/day=*/*.parquet` with
hive_partitioning) can read the folder while it is written to. A file never changes, unless its batch is repeated: then
a file with the same bytes replaces it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aomg.monitor.atomic_files import SinkError, flush_folder, put, reason
from aomg.monitor.config import values
from aomg.monitor.config.model import SinkConfig
from aomg.monitor.config.schema import key
from aomg.monitor.journal.digests import digest_of
from aomg.monitor.journal.entry import StoredFile, Written
from aomg.monitor.sinks.base import SinkContext
from aomg.monitor.sinks.result_folder import alone, compacted_with, days, file_name, is_compacted, newest, sweep
from aomg.monitor.sinks.result_rows import SCHEMA, LabelNames, codes, stored
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
    are written under hidden names first, then renamed. `compact` (compaction.py) joins the files of past days; the
    sink replaces a repeated batch in joined files too.

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

    def _claim(self, stream: str) -> None:
        mark = self._folder / _STREAM
        try:
            owner = mark.read_text("utf-8", "replace").strip() if mark.exists() else None
        except OSError as error:
            raise SinkError(reason(error, mark)) from error
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
        rows = stored(batch, table, self._label_names)
        with alone(self._folder):
            wanted = {self._folder / f"day={day}" / file_name(batch): part for day, part in by_day(rows)}
            repeated = batch <= self._last
            stale = list(self._stored(batch)) if repeated else []
            tables = {}
            for file, part in wanted.items():
                joined = compacted_with(file.parent, batch) if repeated else None
                tables[joined or file] = _without(joined, batch, part) if joined else part
            for file in stale:
                if file.parent / file_name(batch) not in wanted and is_compacted(file):
                    tables[file] = _without(file, batch, SCHEMA.empty_table())
            contents = {file: content(rows) for file, rows in tables.items()}
            put_all(contents)
            for file in stale:
                if file not in contents:
                    _remove(file)
            self._last = max(batch, self._last)
            files = (stored_file(self._folder, file, contents[file], len(rows)) for file, rows in tables.items())
            replaced = (str(file.relative_to(self._folder)) for file in stale if file not in contents)
            return Written(self._folder, tuple(files), tuple(replaced))

    def _stored(self, batch: int) -> Iterator[Path]:
        """The files that hold rows of a batch."""
        for day in days(self._folder):
            folder = self._folder / f"day={day}"
            if (folder / file_name(batch)).exists():
                yield folder / file_name(batch)
            if (joined := compacted_with(folder, batch)) is not None:
                yield joined


def by_day(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Split rows by the day of their window's end, in UTC."""
    number = codes(rows["end"]) // DAY
    for day in np.unique(number):
        yield day_text(int(day) * DAY), rows.filter(pa.array(number == day))


def content(rows: pa.Table) -> bytes:
    """The bytes of a Parquet file: the same for the same rows."""
    buffer = pa.BufferOutputStream()
    with pq.ParquetWriter(buffer, rows.schema, compression="zstd", compression_level=1) as writer:
        writer.write_table(rows.combine_chunks())
    return bytes(buffer.getvalue())


def stored_file(folder: Path, file: Path, content: bytes, rows: int) -> StoredFile:
    """What the journal keeps of a file in a sink's folder."""
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


def _without(file: Path, batch: int, instead: pa.Table) -> pa.Table:
    """The rows of a compacted file, with those of one batch replaced."""
    try:
        rows = pq.ParquetFile(file).read()
    except (OSError, pa.ArrowException) as error:
        raise SinkError(f"{file} is damaged; move it away (its results are lost)") from error
    return pa.concat_tables([rows.filter(pc.not_equal(rows["batch"], batch)), instead])


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
        if not any(file.parent.iterdir()):
            file.parent.rmdir()
    except OSError as error:
        raise SinkError(reason(error, file)) from error
