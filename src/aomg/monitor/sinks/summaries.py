"""The Parquet sink of summaries, a folder for each query (aomg.monitor.sinks.summary_folder names its files).

`aomg.windows` and `aomg.spark.windows` read such a folder: the labels as columns, and the columns of
`aomg.spark.summaries`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from aomg.errors import DamagedFileError
from aomg.monitor.atomic_files import SinkError, put, reason
from aomg.monitor.config import values
from aomg.monitor.config.model import SinkConfig
from aomg.monitor.config.schema import key
from aomg.monitor.journal.entry import StoredFile, Written
from aomg.monitor.sinks.base import SinkContext
from aomg.monitor.sinks.joined_files import JoinedPart, joined_notes, joined_parts
from aomg.monitor.sinks.parquet import stored_file
from aomg.monitor.sinks.result_folder import alone, current
from aomg.monitor.sinks.small_files import BatchFile, SmallFiles
from aomg.monitor.sinks.summary_folder import batches_of, compacted_summary_name, files_of_stream, summary_file_name
from aomg.tables.parquet_files import digest_of, parquet_bytes, read_parquet


@dataclass(frozen=True, kw_only=True)
class SummarySinkConfig(SinkConfig):
    """A sink of summaries as configured."""

    kind = "parquet"
    stores = ("summaries",)
    writes_folder = True

    path: Path = key(values.path, name="parquet", help="a folder of Parquet files, by query")

    def build(self, context: SinkContext) -> "SummarySink":
        """Return the sink."""
        return SummarySink(self.path, context.label_names, context.stream)


class SummarySink:
    """Writes a file for each query and batch, a few milliseconds each. A repeated batch replaces its own.

    File names contain the stream: batches of different state folders never replace each other, and a summary that is
    stored twice counts once. `tidy` joins small files of the stream (small_files.py); a repeated batch is replaced in
    joined files too.
    """

    def __init__(self, folder: Path, label_names: Mapping[str, Sequence[str]], stream: str) -> None:
        self._folder = folder
        self._label_names = label_names
        self._stream = stream
        name = partial(compacted_summary_name, stream)
        self._small = SmallFiles(folder, partial(files_of_stream, stream=stream), name)
        self._last: dict[str, int] = {}
        for query in label_names:
            self._small.add(folder / query)

    def write(self, batch: int, table: pa.Table) -> Written:
        """Store the rows of a micro-batch that have a summary (`aomg.monitor.run.plan` lists the columns)."""
        parts = {query: table.filter(pc.equal(table["query"], query)) for query in self._label_names}
        if not table.num_rows and not self._folder.exists():
            return Written(self._folder)
        files: list[StoredFile] = []
        removed: list[str] = []
        with alone(self._folder):
            for query, rows in parts.items():
                try:
                    contents, stale = self._write(batch, query, _stored(rows, self._label_names[query]))
                    files += [stored_file(self._folder, file, content) for file, content in contents.items()]
                    removed += [str(file.relative_to(self._folder)) for file in stale]
                except (OSError, DamagedFileError) as error:
                    place = self._folder / query
                    raise SinkError(reason(error, place) if isinstance(error, OSError) else str(error)) from error
        return Written(self._folder, tuple(files), tuple(removed))

    def tidy(self) -> Written | None:
        """Join old small files, a hundred at most; takes about a second at most. Call it between batches."""
        newest = max(self._last.values(), default=-1)
        return self._small.tidy(newest) if newest >= 0 else None

    def _write(self, batch: int, query: str, rows: pa.Table) -> tuple[dict[Path, bytes], set[Path]]:
        """Write the file of a query; returns what was written, and the files that it replaced."""
        contents: dict[Path, bytes] = {}
        folder = self._folder / query
        if query not in self._last:
            self._last[query] = max((file.last for file in self._files(folder)), default=-1)
        files = self._files(folder) if batch <= self._last[query] else []
        stale = {file.path for file in files if file.first <= batch <= file.last}
        for file in current(file.path for file in files if file.path in stale and file.compacted):
            before, others, parts = _split(file, batch)
            if before.equals(rows):
                rows = rows.slice(0, 0)  # stored already
                stale.discard(file)
            elif before.num_rows == 0:
                stale.discard(file)
            elif parts:
                joined = parquet_bytes(others, joined_notes(parts))
                new = self._put_joined(file, joined)
                stale.discard(new)
                contents[new] = joined
        if rows.num_rows:
            content = parquet_bytes(rows)
            file = folder / summary_file_name(self._stream, batch, content)
            put(file, content)
            contents[file] = content
            stale.discard(file)
        for file in stale:
            file.unlink(missing_ok=True)
        self._last[query] = max(batch, self._last[query])
        self._small.add(folder)
        return contents, stale

    def _put_joined(self, file: Path, content: bytes) -> Path:
        """Write a joined file with other content: its name has another digest."""
        span = batches_of(file.name)
        assert span is not None
        new = file.with_name(compacted_summary_name(*span, digest_of(content)))
        put(new, content)
        return new

    def _files(self, folder: Path) -> list[BatchFile]:
        return files_of_stream(folder, self._stream) if folder.is_dir() else []


def _split(file: Path, batch: int) -> tuple[pa.Table, pa.Table, list[JoinedPart]]:
    """The rows of one batch in a joined file, all others, and the files that these came from."""
    whole, start = read_parquet(file), 0
    mine, others, parts = [whole.slice(0, 0)], [whole.slice(0, 0)], []
    for part in joined_parts(file):
        rows = whole.slice(start, part.rows)
        start += part.rows
        span = batches_of(part.name)
        if span is not None and (span.first, span.last) == (batch, batch):
            mine.append(rows)
        else:
            others.append(rows)
            parts.append(part)
    return pa.concat_tables(mine).combine_chunks(), pa.concat_tables(others), parts


def _stored(rows: pa.Table, labels: Sequence[str]) -> pa.Table:
    """The rows with the columns of `aomg.spark.summaries`, in an order that depends on their content alone."""
    texts = rows["labels"].combine_chunks()
    columns = {name: pc.list_element(texts, index) for index, name in enumerate(labels)}
    whole = {name: rows[name].combine_chunks() for name in ("start", "end", "count", "min", "max", "summary")}
    span = pa.StructArray.from_arrays([whole["start"], whole["end"]], names=["start", "end"])
    table = pa.table(
        {
            **columns,
            "sub_window": span,
            "count": whole["count"],
            "min": whole["min"],
            "max": whole["max"],
            "summary": whole["summary"],
            "query": rows["written_by"].combine_chunks(),
        }
    )
    order = pc.sort_indices(
        pa.table({**columns, "start": whole["start"]}), [(name, "ascending") for name in (*columns, "start")]
    )
    return table.take(order).combine_chunks()
