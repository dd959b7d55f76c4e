"""Results as Parquet, partitioned by day: `day=2026-11-16/batch-0000000123.parquet`.

The day is that of the window's end, in UTC. Spark, `pyarrow.dataset` and DuckDB (`results/day=*/*.parquet` with
hive_partitioning) read the folder as it is, while it is written to. A file of a batch never changes, unless the batch
is repeated: then it is replaced by one that is equal to the last byte.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aomg.monitor.atomic import SinkError, flush_folder, put, reason
from aomg.monitor.sinks.result_folder import alone, compacted_with, days, file_name, is_compacted, newest, sweep
from aomg.monitor.sinks.result_rows import SCHEMA, LabelNames, codes, stored
from aomg.times import DAY, day_text

_STREAM = "_stream"


class ParquetSink:
    """A file for each batch and day.

    A batch costs one file, a few milliseconds, for each day that its windows end in: one, or two around midnight. All
    files of a batch are written under hidden names first; then they get their names. `compact` (in compaction.py)
    joins them when a day is over; the sink knows what was joined and replaces a batch there too.

    With a `stream`, a folder that belongs to another one is refused: its batches would replace each other.
    """

    def __init__(self, folder: Path, label_names: LabelNames | None = None, stream: str | None = None) -> None:
        self._folder = folder
        self._label_names = label_names
        if folder.exists() and not folder.is_dir():
            raise SinkError(f"{folder} is a file; results need a folder")
        with alone(folder):
            sweep(folder)
            self._last = newest(folder)
            if stream is not None:
                self._claim(stream)

    def _claim(self, stream: str) -> None:
        mark = self._folder / _STREAM
        try:
            owner = mark.read_text("utf-8").strip() if mark.exists() else None
        except OSError as error:
            raise SinkError(reason(error, mark)) from error
        if owner is None:
            put(mark, f"{stream}\n".encode())
        elif owner != stream:
            raise SinkError(
                f"{self._folder} holds the results of another run: its state folder was another one, or was removed; "
                f"give an empty folder for the results, or the state folder that belongs to it"
            )

    def write(self, batch: int, table: pa.Table) -> None:
        """Store the results of a batch, instead of what it stored before. Nothing is half there if it fails."""
        rows = stored(batch, table, self._label_names)
        with alone(self._folder):
            wanted = {self._folder / f"day={day}" / file_name(batch): part for day, part in by_day(rows)}
            repeated = batch <= self._last
            stale = list(self._stored(batch)) if repeated else []
            contents = {}
            for file, part in wanted.items():
                joined = compacted_with(file.parent, batch) if repeated else None
                contents[joined or file] = content(_without(joined, batch, part) if joined else part)
            for file in stale:
                if file.parent / file_name(batch) not in wanted and is_compacted(file):
                    contents[file] = content(_without(file, batch, SCHEMA.empty_table()))
            put_all(contents)
            for file in stale:
                if file not in contents:
                    _remove(file)
            self._last = max(batch, self._last)

    def _stored(self, batch: int) -> Iterator[Path]:
        """The files that hold rows of a batch."""
        for day in days(self._folder):
            folder = self._folder / f"day={day}"
            if (folder / file_name(batch)).exists():
                yield folder / file_name(batch)
            if (joined := compacted_with(folder, batch)) is not None:
                yield joined

    def close(self) -> None:
        """Nothing is held."""


def by_day(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Rows apart by the day of their window's end, in UTC."""
    number = codes(rows["end"]) // DAY
    for day in np.unique(number):
        yield day_text(int(day) * DAY), rows.filter(pa.array(number == day))


def content(rows: pa.Table) -> bytes:
    """The bytes of a Parquet file: the same for the same rows."""
    buffer = pa.BufferOutputStream()
    with pq.ParquetWriter(buffer, rows.schema, compression="zstd", compression_level=1) as writer:
        writer.write_table(rows.combine_chunks())
    return bytes(buffer.getvalue())


def put_all(contents: dict[Path, bytes]) -> None:
    """Write several files; none gets its name before all are on the disk."""
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
        raise SinkError(f"{file} is damaged: move it away; its results are lost") from error
    return pa.concat_tables([rows.filter(pc.not_equal(rows["batch"], batch)), instead])


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
        if not any(file.parent.iterdir()):
            file.parent.rmdir()
    except OSError as error:
        raise SinkError(reason(error, file)) from error
