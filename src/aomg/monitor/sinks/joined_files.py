"""Joins files of a folder into one; at no moment is a row lost or duplicated.

1. The folder is rebuilt elsewhere (work_folder.py): the joined file, and links to files that stay.
2. The two folders are exchanged in one step of the file system (renameat2 with RENAME_EXCHANGE, Linux).
3. The next write or compaction removes the old files.

A reader sees the folder before or after step 2, never both. One that listed the old files and does not find them lists
again. One that is listing the old folder still finds all names there, because they are removed later. After a kill the
folder is either the old or the new one. If the file system cannot exchange folders, the old one is renamed away, and
the new one to its place; after a kill between these two the folder is missing, and the next write restores it.

A joined file has in its metadata, as JSON under `aomg.joined`, the names and rows of the files that it was made of, in
the order of its rows. The names of files of batches contain their digests, so the list says what the file replaces.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from aomg.errors import DamagedFileError
from aomg.monitor.atomic_files import flush_folder
from aomg.monitor.sinks.folder_exchange import exchange
from aomg.monitor.sinks.work_folder import clean_up, work_place, work_places
from aomg.tables.parquet_files import new_digest, open_parquet, writer

JOINED = "aomg.joined"
_ROW_GROUP = 1 << 17
_LEVEL = 3  # of compression


class JoinedPart(NamedTuple):
    """A file whose rows are in a joined file, by its name; and how many rows they are."""

    name: str
    rows: int


class UnlikeFileError(Exception):
    """A file that has other columns than those that it would be joined with."""

    def __init__(self, file: Path) -> None:
        self.file = file
        super().__init__(f"{file} has other columns than the files before it")


def joined_parts(file: Path) -> list[JoinedPart]:
    """The files that a file was made of, in the order of its rows; the file itself if it was not joined.

    Raises DamagedFileError, or OSError if it cannot be read.
    """
    return _parts_of(file, open_parquet(file).metadata)


def _parts_of(file: Path, metadata: Any) -> list[JoinedPart]:
    notes = metadata.metadata or {}
    if JOINED.encode() not in notes:
        return [JoinedPart(file.name, metadata.num_rows)]
    try:
        parts = [JoinedPart(str(part["name"]), int(part["rows"])) for part in json.loads(notes[JOINED.encode()])]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(file, f"its list of joined files cannot be read: {error}") from error
    if sum(part.rows for part in parts) != metadata.num_rows:
        raise DamagedFileError(file, "it does not have the rows of the files that it was made of")
    return parts


def joined_notes(parts: Iterable[JoinedPart]) -> dict[str, str]:
    """The metadata of a joined file."""
    return {JOINED: json.dumps([part._asdict() for part in parts], separators=(",", ":"))}


def join(
    root: Path, folder: Path, files: Sequence[Path], name: Callable[[str], str], schema: pa.Schema | None = None
) -> int:
    """Replace files of a folder in `root` by one with all their rows, in their order. Returns the number of rows.

    name
        Returns the name of the joined file, from its digest.
    schema
        To which rows are cast; None: that of the first file, which all of them must have.

    The caller holds the lock of `root`. Needs memory for some 100,000 rows. Raises DamagedFileError or UnlikeFileError
    for a file that cannot be joined, or OSError; the folder is then as it was.
    """
    new = work_place(root) / "new" / folder.name
    clean_up(root)
    try:
        new.mkdir(parents=True)
        partial = new / ".joined.partial"
        with partial.open("wb") as raw:
            rows, digest = _write(raw, files, schema)
            raw.flush()
            os.fsync(raw.fileno())
        partial.rename(new / name(digest))
        replaced = set(files)
        for path in folder.iterdir():
            if path not in replaced:
                os.link(path, new / path.name)
        flush_folder(new)
        if not exchange(new, folder):
            _exchange_in_two_steps(new, folder)
        flush_folder(root)
    except BaseException:
        clean_up(root)
        raise
    if new.is_relative_to(work_places(root)[1]):
        clean_up(root)  # at once: some readers also read hidden folders
    return rows


def _write(raw: BinaryIO, files: Sequence[Path], schema: pa.Schema | None) -> tuple[int, str]:
    """Write the joined file: its number of rows, and its digest."""
    sink, parts = _HashedFile(raw), []
    kind = schema or open_parquet(files[0]).schema_arrow.remove_metadata()
    pending: list[pa.Table] = []
    with writer(sink, kind, _LEVEL) as parquet:
        for file in files:
            source = open_parquet(file)
            if schema is None and not source.schema_arrow.equals(kind):
                raise UnlikeFileError(file)
            for group in range(source.metadata.num_row_groups):
                pending.append(_rows(file, source, group, kind))
                if sum(map(len, pending)) >= _ROW_GROUP:
                    parquet.write_table(pa.concat_tables(pending).combine_chunks())
                    pending = []
            parts += _parts_of(file, source.metadata)
        if pending:
            parquet.write_table(pa.concat_tables(pending).combine_chunks())
        parquet.add_key_value_metadata(joined_notes(parts))
    return sum(part.rows for part in parts), sink.digest.hexdigest()


def _rows(file: Path, source: pq.ParquetFile, group: int, schema: pa.Schema) -> pa.Table:
    try:
        return source.read_row_group(group).select(schema.names).cast(schema)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise DamagedFileError(file, str(error)) from error


class _HashedFile:
    """A file that is written, with the digest of what was written."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.digest = new_digest()
        self.closed = False

    def write(self, content: bytes) -> int:
        self.digest.update(content)
        return self._raw.write(content)

    def tell(self) -> int:
        return self._raw.tell()

    def flush(self) -> None:
        self._raw.flush()

    def close(self) -> None:
        self.closed = True


def _exchange_in_two_steps(new: Path, old: Path) -> None:
    aside = new.parent.parent / "old" / old.name
    aside.parent.mkdir(exist_ok=True)
    old.rename(aside)
    new.rename(old)
