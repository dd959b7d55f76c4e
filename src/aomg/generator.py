"""Writes a stream to files: chunk by chunk, and under the final names only when all of it is there."""

import errno
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from aomg.errors import AomgError
from aomg.streams import BLOCK, Podsets, Stream, named, names
from aomg.streams.catalog import parameters_of
from aomg.whole_numbers import count_of

FORMATS = ("parquet", "csv", "jsonl")
CHUNK = 16 * BLOCK


class GenerateError(AomgError, ValueError):
    """A stream that cannot be written as asked. No file was left behind or changed."""


@dataclass(frozen=True)
class OutputFiles:
    """Where the events go: one file, or numbered files in a folder."""

    folder: Path
    files: tuple[str, ...]
    format: str
    stale: tuple[str, ...] = ()
    """Files of an earlier, longer run into the same folder; they go when the new ones are there."""


# -- what was asked ----------------------------------------------------------------------------------------------------


def count(text: str) -> int:
    """Read a number as people write it: 10M, 500k, 2.5M, 1_000_000, 1,000,000, 1e6.

    >>> count("10M"), count("2.5k"), count("1,000")
    (10000000, 2500, 1000)
    """
    number = count_of(text)
    if number is not None:
        return number
    raise GenerateError(f"{text!r} is no count; write a whole number such as 500000, 500k, 10M or 1e6")


def settings(name: str, given: list[str]) -> dict[str, Any]:
    """Read a stream's parameters from texts such as psi=0.8, each by the type of the parameter."""
    known = parameters_of(name)
    found: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise GenerateError(f"{text!r} is no setting; write it as NAME=VALUE, such as psi=0.8")
        kind = known[key].annotation if key in known else str
        if kind not in (int, float, str):
            raise GenerateError(f"{key} cannot be set here, only in Python")
        try:
            found[key] = count(value) if kind is int and not value.startswith("-") else kind(value)
        except ValueError:
            raise GenerateError(f"{key} is {value!r}; give a number") from None
    return found


def output_files(name: str, out: Path, format: str | None, files: int, force: bool) -> OutputFiles:
    """Decide on the files: one if `out` ends in a format, else numbered ones in the folder `out`.

    Refuses to replace anything unless `force`.
    """
    suffix = out.suffix.removeprefix(".").lower()
    if format is not None and format not in FORMATS:
        raise GenerateError(f"format is {format!r}; there are {', '.join(FORMATS)}")
    if suffix not in FORMATS or out.is_dir():
        return _folder(name, out, format or "parquet", files, force)
    if files > 1:
        raise GenerateError(f"{out} is one file; for {files} of them give a folder, without .{suffix}")
    if out.exists() and not force:
        raise GenerateError(f"{out} is there already; give another name, or --force to replace it")
    if format not in (None, suffix):
        raise GenerateError(f"{out} ends in .{suffix} but the format is {format}; leave out one of the two")
    return OutputFiles(out.parent, (out.name,), suffix)


def _folder(name: str, out: Path, format: str, files: int, force: bool) -> OutputFiles:
    if out.exists() and not out.is_dir():
        raise GenerateError(f"{out} is a file; give a folder, or a name that ends in .{' or .'.join(FORMATS)}")
    parts = tuple(f"{name}-{number:05d}.{format}" for number in range(files))
    there = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
    if there and not force:
        raise GenerateError(
            f"the folder {out} is not empty; give another, or --force to replace what an earlier run wrote there"
        )
    ours = re.compile(rf"{name}-\d{{5,}}\.({'|'.join(FORMATS)})")
    stale = tuple(file for file in there if ours.fullmatch(file) and file not in parts)
    return OutputFiles(out, parts, format, stale)


# -- the work ----------------------------------------------------------------------------------------------------------


def run(
    console: Console,
    name: str,
    events: int,
    out: Path,
    format: str | None = None,
    seed: int = 1,
    files: int = 1,
    force: bool = False,
    given: list[str] | None = None,
) -> None:
    """Write the first `events` of a stream, show how far it is, and say what was written.

    Raises GenerateError with what to do where it cannot be done. Then, and when it is interrupted, all is as before:
    files get their names when the last one is complete. Memory is that of a few chunks, whatever the number of events.
    """
    try:
        stream = named(name, seed, **settings(name, given or []))
    except ValueError as error:
        raise GenerateError(str(error)) from None
    if not 1 <= files <= events:
        raise GenerateError(f"files is {files} for {events:,} events; each file holds at least one")
    where = output_files(name, out, format, files, force)
    started = time.perf_counter()
    with _progress(console, name, events) as advance:
        try:
            _write(stream, events, where, advance)
        except OSError as error:
            raise GenerateError(f"{_reason(error, where.folder)}; nothing was left behind") from error
    _tell(console, stream, name, events, where, time.perf_counter() - started)


def _write(stream: Stream | Podsets, events: int, where: OutputFiles, advance: Callable[[int], None]) -> None:
    """Write all files under temporary names, then rename them; `advance` hears of each chunk that is written."""
    with ExitStack() as undo:
        _make_folder(where.folder, undo)
        share, more = divmod(events, len(where.files))
        position, written = 0, []
        for number, file in enumerate(where.files):
            # A leading dot: Spark and Arrow do not read such files from a folder.
            partial = where.folder / f".{file}.{os.getpid()}.partial"
            undo.callback(partial.unlink, missing_ok=True)
            end = position + share + (number < more)
            with partial.open("xb") as raw, _writer(raw, where.format) as writer:
                while position < end:
                    # up to the next multiple of CHUNK, so that no block is generated twice
                    size = min(end, position // CHUNK * CHUNK + CHUNK) - position
                    writer.write(_table(stream.take(size, position)))
                    position += size
                    advance(size)
            written.append((partial, where.folder / file))
        for partial, final in written:
            partial.replace(final)
        for file in where.stale:
            (where.folder / file).unlink(missing_ok=True)
        undo.pop_all()


def _make_folder(folder: Path, undo: ExitStack) -> None:
    """Make a folder and those above it; undone, the new ones are gone again."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        undo.callback(_remove_if_empty, path)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _table(part: Any) -> pa.Table:
    return part if isinstance(part, pa.Table) else pa.table({"value": part})


class _Writer(Protocol):
    def write(self, table: pa.Table) -> None: ...

    def close(self) -> None: ...


@contextmanager
def _writer(raw: BinaryIO, format: str) -> Iterator[_Writer]:
    writer: _Writer = _Parquet(raw) if format == "parquet" else _Text(raw, format)
    try:
        yield writer
    except BaseException:
        with suppress(Exception):  # the file goes anyway; what went wrong is known
            writer.close()
        raise
    writer.close()


class _Parquet:
    """A Parquet file whose schema is that of the first chunk; each chunk is a row group."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._writer: pq.ParquetWriter | None = None

    def write(self, table: pa.Table) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._raw, table.schema, compression="zstd", compression_level=1)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _Text:
    """CSV with a header, or JSON lines. Rows are joined by Arrow, and its buffer is written as it is."""

    def __init__(self, raw: BinaryIO, format: str) -> None:
        self._raw = raw
        self._json = format == "jsonl"
        self._header = not self._json

    def write(self, table: pa.Table) -> None:
        if self._header:
            self._raw.write(",".join(table.column_names).encode() + b"\n")
            self._header = False
        pieces: list[Any] = []
        for number, field in enumerate(table.schema):
            is_time = pa.types.is_timestamp(field.type)
            quote = '"' if self._json and is_time else ""
            before = f'{"," if number else "{"}"{field.name}":{quote}' if self._json else "," * bool(number)
            pieces += [before, _text(table.column(number).combine_chunks()), "Z" * is_time + quote]
        rows = pc.binary_join_element_wise(*pieces, "}\n" if self._json else "\n", "")
        offsets, text = rows.buffers()[1:]
        last = int.from_bytes(offsets[4 * len(rows) : 4 * len(rows) + 4].to_pybytes(), "little")
        self._raw.write(text.slice(0, last))

    def close(self) -> None:
        """Nothing is held back."""


def _text(column: pa.Array) -> pa.Array:
    """Numbers as they are, times as 2024-05-01T00:00:00.000000."""
    if not pa.types.is_timestamp(column.type):
        return pc.cast(column, pa.string())
    without_zone = pc.cast(column, pa.timestamp("us"))  # it is UTC; Arrow is twenty times slower with a zone
    return pc.binary_replace_slice(pc.cast(without_zone, pa.string()), 10, 11, "T")


# -- what is said ------------------------------------------------------------------------------------------------------


@contextmanager
def _progress(console: Console, name: str, events: int) -> Iterator[Callable[[int], None]]:
    """Show a bar with the time left, on a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} events,"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(name, total=events)
        yield lambda done: progress.advance(task, done)


def _tell(
    console: Console, stream: Stream | Podsets, name: str, events: int, where: OutputFiles, seconds: float
) -> None:
    paths = [where.folder / file for file in where.files]
    size = sum(path.stat().st_size for path in paths)
    place = str(paths[0]) if len(paths) == 1 else f"{len(paths)} files in {where.folder}"
    console.print(
        f"{events:,} events of {name} in {place}: {_bytes(size)}, {seconds:.1f} s "
        f"({events / max(seconds, 1e-9) / 1e6:.1f} million events a second)",
        soft_wrap=True,
        markup=False,
    )
    if isinstance(stream, Podsets):
        last = np.datetime64(stream.take(1, events - 1)["ts"][0].value, "us")
        for incident in stream.incidents:
            reached = "" if incident.start <= last else " (after the last event)"
            console.print(f"incident{reached}: {incident}", soft_wrap=True, markup=False)


def list_streams(console: Console) -> None:
    """Print the name of every stream, what it is, and its parameters."""
    console.print("aomg generate NAME --events 10M --out FILE_OR_FOLDER [--set NAME=VALUE ...]\n", markup=False)
    for name, line in names().items():
        known = [
            f"{key}={parameter.default}"
            for key, parameter in parameters_of(name).items()
            if parameter.annotation in (int, float, str)
        ]
        console.print(f"[bold]{name:<15}[/] {line}", soft_wrap=True)
        if known:
            console.print(f"{'':<15} [dim]{', '.join(known)}[/]", soft_wrap=True)


def _reason(error: OSError, folder: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no space is left on the disk of {folder}: free some, write fewer events, or give another folder"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{folder} cannot be written: give another folder, or the right to write there"
    return f"{folder} cannot be written ({error.strerror or error})"


def _bytes(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
