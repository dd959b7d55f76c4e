"""Reads the columns of a source's files, and checks that Spark can read them as configured."""

import bz2
import csv
import gzip
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from aomg.monitor.config.model import SourceConfig
from aomg.monitor.config.secret import revealed
from aomg.monitor.errors import ConfigError
from aomg.value_types import MOST_DIGITS

MOST_FOOTERS = 200
MOST_HEADS = 50
_LONGEST_HEAD = 1 << 20
_CHUNK = 1 << 16
_NOT_READ_HERE = (".zst", ".lz4", ".snappy", ".deflate", ".xz")


def parquet_columns(source: SourceConfig, files: Sequence[Path]) -> dict[str, str]:
    """The columns of some files, each with a word on its type: number, time, or the type itself.

    Numbers that a double would round have their type, too: wide decimals, and unsigned longs, which Spark reads so.

    Raises ConfigError for a file that is not Parquet, and for a type that Spark cannot read as configured.
    """
    types: dict[str, pa.DataType] = {}
    for file in files[:MOST_FOOTERS]:
        try:
            schema = pq.read_schema(file)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(
                f"{file} cannot be read as Parquet ({reason}); repair it, move it out of the folder, or, if the "
                "monitor has begun to read it, put an empty file in its place",
                source.line,
            ) from error
        for field in schema:
            _refuse_type(source, file, field)
            before = types.setdefault(field.name, field.type)
            numbers = field.name not in source.columns and _word(before) == "number"
            if _word(before) != _word(field.type) or (numbers and before != field.type):
                remedy = "set its type under columns" if numbers else "write the same type to all files"
                raise ConfigError(
                    f"column {field.name!r} has the type {field.type} in {file}, and {before} in other files; {remedy}",
                    source.line,
                )
    return {name: _word(kind) for name, kind in types.items()}


def _refuse_type(source: SourceConfig, file: Path, field: pa.Field) -> None:
    kind = field.type
    declared = source.columns.get(field.name)
    if source.columns and declared is None:
        return
    readable = [name for name in ("int", "long", "double", "string", "boolean", "timestamp") if _reads(name, kind)]
    if pa.types.is_timestamp(kind) and kind.unit == "ns" and declared != "long" and (mode := _read_by_spark(source)):
        raise ConfigError(
            f"column {field.name!r} of {file} has times in nanoseconds, which Spark cannot read; remove the option "
            f"{mode}, with which Spark reads the files, or write microseconds (pandas: "
            "to_parquet(..., coerce_timestamps='us', allow_truncated_timestamps=True))",
            source.line,
        )
    if declared is not None and declared not in readable:
        remedy = f"use {' or '.join(readable)}" if readable else "remove it from columns"
        raise ConfigError(
            f"column {field.name!r} of {file} has the type {kind}, which cannot be read as {declared}; {remedy}",
            source.line,
        )


def _read_by_spark(source: SourceConfig) -> str | None:
    """The option because of which Spark reads the files, and not Python workers; None if there is none."""
    return next((name for name in source.options if name.endswith("RebaseMode")), None)


def _reads(declared: str, kind: pa.DataType) -> bool:
    """Whether a file's type can be read as a declared type; numbers are widened, and nothing else."""
    narrow = pa.types.is_integer(kind) and (kind.bit_width < 32 or kind in (pa.int32(), pa.uint32()))
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)
    reads: dict[str, bool] = {
        "string": text,
        "int": narrow and kind != pa.uint32(),
        "long": narrow or kind == pa.int64() or pa.types.is_timestamp(kind),
        "double": narrow or kind in (pa.float32(), pa.float64()),
        "boolean": pa.types.is_boolean(kind),
        "timestamp": pa.types.is_timestamp(kind) and kind.unit in ("us", "ms", "ns"),
    }
    return reads[declared]


def is_wide(word: str) -> bool:
    """Whether this is the type of numbers that a double would round."""
    return word.startswith("decimal") or word == "uint64"


def _word(kind: pa.DataType) -> str:
    if kind == pa.uint64() or (pa.types.is_decimal(kind) and kind.precision > MOST_DIGITS):
        return str(kind)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_dictionary(kind):
        return _word(kind.value_type)
    return "time" if pa.types.is_timestamp(kind) else str(kind).removeprefix("large_")


def check_heads(source: SourceConfig, files: Sequence[Path], folder_columns: Sequence[str] = ()) -> None:
    """Compare the first lines of CSV files with the configured columns, except those of `folder_columns`.

    Raises ConfigError if they differ, or if a first line names the columns and would be read as a row.
    """
    options = {name.lower(): value for name, value in revealed(source.options).items()}
    names = [name for name in source.columns if name not in folder_columns]
    for file in files[:MOST_HEADS]:
        head = _head(file, options)
        if not head:
            continue
        alike = [name.strip().lower() for name in head] == [name.lower() for name in names]
        if options.get("header", "false").lower() == "true":
            if not alike:
                raise ConfigError(
                    f"{file} has the columns {', '.join(head)[:500]}, but source.columns has "
                    f"{', '.join(names)}; list all of them, in the order of the file",
                    source.line,
                )
        elif alike:
            raise ConfigError(
                f"the first line of {file} is a header, which would be refused as a row; set options: {{header: true}}",
                source.line,
            )


def _head(file: Path, options: dict[str, str]) -> list[str] | None:
    """The fields of the first line; None if it cannot be read without Spark."""
    encoding = options.get("encoding", "utf-8").lower()
    separator, quote = options.get("sep", ",").replace("\\t", "\t"), options.get("quote", '"')
    if file.suffix in _NOT_READ_HERE or "16" in encoding or "32" in encoding or len(separator) != 1 or len(quote) != 1:
        return None
    opened: Callable[[Path, str], Any] = {".gz": gzip.open, ".bz2": bz2.open}.get(file.suffix, Path.open)  # type: ignore[assignment]
    try:
        with opened(file, "rb") as raw:
            for line in _lines(raw, options.get("linesep", "\n").encode(encoding)):
                text = line.decode(encoding).lstrip("\ufeff").rstrip("\r\n")
                if text.strip() and not (options.get("comment") and text.startswith(options["comment"])):
                    return next(csv.reader([text], delimiter=separator, quotechar=quote))
    except (OSError, EOFError, ValueError, LookupError, csv.Error):
        return None
    return None


def _lines(raw: Any, separator: bytes) -> Iterator[bytes]:
    """The lines of a file, which end in a separator of any length; up to the longest head."""
    line = b""
    while more := raw.read(_CHUNK):
        *lines, line = (line + more).split(separator)
        yield from lines
        if len(line) > _LONGEST_HEAD:
            return
    yield line
