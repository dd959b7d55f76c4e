"""Writes a stream to files: chunk by chunk, under temporary names until all files are complete."""

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
    """A stream that cannot be written. No file was left behind or changed."""


@dataclass(frozen=True)
class OutputFiles:
    """The files to write: one file, or numbered files in a folder."""

    folder: Path
    files: tuple[str, ...]
    format: str
    stale: tuple[str, ...] = ()
    """Files of an earlier run with more files, which are removed when the new ones are complete."""


# -- arguments ---------------------------------------------------------------------------------------------------------


def count(text: str) -> int:
    """Parse a number: 10M, 500k, 2.5M, 1_000_000, 1,000,000, 1e6.

    >>> count("10M"), count("2.5k"), count("1,000")
    (10000000, 2500, 1000)
    """
    number = count_of(text)
    if number is not None:
        return number
    raise GenerateError(f"{text!r} is not a whole number; write one such as 500000, 500k, 10M or 1e6")


def settings(name: str, texts: list[str]) -> dict[str, Any]:
    """Parse a stream's parameters from texts such as psi=0.8, by the type of each parameter."""
    known = parameters_of(name)
    parameters: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise GenerateError(f"{text!r} has no value; write NAME=VALUE, such as psi=0.8")
        kind = known[key].annotation if key in known else str
        if kind not in (int, float, str):
            raise GenerateError(f"{key} can be set only in Python")
        try:
            parameters[key] = count(value) if kind is int and not value.startswith("-") else kind(value)
        except ValueError:
            raise GenerateError(f"{key} is {value!r}; give a number") from None
    return parameters


def output_files(name: str, out: Path, format: str | None, files: int, force: bool) -> OutputFiles:
    """Return the files to write: one if `out` ends in a format, otherwise numbered ones in the folder `out`.

    Raises GenerateError if a file exists and `force` is not set.
    """
    suffix = out.suffix.removeprefix(".").lower()
    if format is not None and format not in FORMATS:
        raise GenerateError(f"format is {format!r}; there are {', '.join(FORMATS)}")
    if suffix not in FORMATS or out.is_dir():
        return _folder(name, out, format or "parquet", files, force)
    if files > 1:
        raise GenerateError(f"{out} is one file; for {files} files give a folder, without .{suffix}")
    if out.exists() and not force:
        raise GenerateError(f"{out} exists; give another name, or --force to replace it")
    if format not in (None, suffix):
        raise GenerateError(f"{out} ends in .{suffix} but the format is {format}; remove one of the two")
    return OutputFiles(out.parent, (out.name,), suffix)


def _folder(name: str, out: Path, format: str, files: int, force: bool) -> OutputFiles:
    if out.exists() and not out.is_dir():
        raise GenerateError(f"{out} is a file; give a folder, or a name that ends in .{' or .'.join(FORMATS)}")
    parts = tuple(f"{name}-{number:05d}.{format}" for number in range(files))
    there = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
    if there and not force:
        raise GenerateError(
            f"the folder {out} is not empty; give another, or --force to replace the files of an earlier run"
        )
    ours = re.compile(rf"{name}-\d{{5,}}\.({'|'.join(FORMATS)})")
    stale = tuple(file for file in there if ours.fullmatch(file) and file not in parts)
    return OutputFiles(out, parts, format, stale)


# -- writing -----------------------------------------------------------------------------------------------------------


def run(
    console: Console,
    name: str,
    events: int,
    out: Path,
    format: str | None = None,
    seed: int = 1,
    files: int = 1,
    force: bool = False,
    texts: list[str] | None = None,
) -> None:
    """Write the first `events` of a stream, show the progress, and print what was written.

    Raises GenerateError with a remedy on failure. Then, and on an interruption, no file has changed: files get their
    names when the last one is complete. Needs the memory of a few chunks for any number of events.
    """
    try:
        stream = named(name, seed, **settings(name, texts or []))
    except ValueError as error:
        raise GenerateError(str(error)) from None
    if not 1 <= files <= events:
        raise GenerateError(f"files is {files} for {events:,} events; each file needs at least one")
    output = output_files(name, out, format, files, force)
    started = time.perf_counter()
    with _progress(console, name, events) as advance:
        try:
            _write(stream, events, output, advance)
        except OSError as error:
            raise GenerateError(f"{_reason(error, output.folder)}; no file was written") from error
    _summarise(console, stream, name, events, output, time.perf_counter() - started)


def _write(stream: Stream | Podsets, events: int, output: OutputFiles, advance: Callable[[int], None]) -> None:
    """Write all files under temporary names, then rename them; call `advance` after each chunk."""
    with ExitStack() as undo:
        _make_folder(output.folder, undo)
        share, more = divmod(events, len(output.files))
        position, written = 0, []
        for number, file in enumerate(output.files):
            # Spark and Arrow ignore files with a leading dot.
            partial = output.folder / f".{file}.{os.getpid()}.partial"
            undo.callback(partial.unlink, missing_ok=True)
            end = position + share + (number < more)
            with partial.open("xb") as raw, _writer(raw, output.format) as writer:
                while position < end:
                    # up to the next multiple of CHUNK, so that no block is generated twice
                    size = min(end, position // CHUNK * CHUNK + CHUNK) - position
                    writer.write(_table(stream.take(size, position)))
                    position += size
                    advance(size)
            written.append((partial, output.folder / file))
        for partial, final in written:
            partial.replace(final)
        for file in output.stale:
            (output.folder / file).unlink(missing_ok=True)
        undo.pop_all()


def _make_folder(folder: Path, undo: ExitStack) -> None:
    """Create a folder and its parents; `undo` removes the new ones."""
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
        with suppress(Exception):  # the file is removed anyway, and the first error counts
            writer.close()
        raise
    writer.close()


class _Parquet:
    """A Parquet file with the schema of the first chunk; each chunk is a row group."""

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
    """CSV with a header, or JSON lines. Arrow joins the rows, and its buffer is written directly."""

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
        """Do nothing: all rows are written."""


def _text(column: pa.Array) -> pa.Array:
    """Convert a column to text; times become 2024-05-01T00:00:00.000000."""
    if not pa.types.is_timestamp(column.type):
        return pc.cast(column, pa.string())
    without_zone = pc.cast(column, pa.timestamp("us"))  # times are UTC; Arrow is twenty times slower with a time zone
    return pc.binary_replace_slice(pc.cast(without_zone, pa.string()), 10, 11, "T")


# -- output ------------------------------------------------------------------------------------------------------------


@contextmanager
def _progress(console: Console, name: str, events: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar with the time left, on a terminal."""
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


def _summarise(
    console: Console, stream: Stream | Podsets, name: str, events: int, output: OutputFiles, seconds: float
) -> None:
    paths = [output.folder / file for file in output.files]
    size = sum(path.stat().st_size for path in paths)
    place = str(paths[0]) if len(paths) == 1 else f"{len(paths)} files in {output.folder}"
    console.print(
        f"{events:,} events of {name} in {place}: {_bytes(size)}, {seconds:.1f} s "
        f"({events / max(seconds, 1e-9) / 1e6:.1f} million events per second)",
        soft_wrap=True,
        markup=False,
    )
    if isinstance(stream, Podsets):
        last = np.datetime64(stream.take(1, events - 1)["ts"][0].value, "us")
        for incident in stream.incidents:
            reached = "" if incident.start <= last else " (after the last event)"
            console.print(f"incident{reached}: {incident}", soft_wrap=True, markup=False)


def list_streams(console: Console) -> None:
    """Print the name, description and parameters of every stream."""
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
        return f"no permission to write to {folder}: give another folder, or change its permissions"
    return f"{folder} cannot be written ({error.strerror or error})"


def _bytes(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
