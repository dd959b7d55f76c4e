"""What columns the files of a source have, and whether Spark can read them as the configuration says."""

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

MOST_FOOTERS = 200
MOST_HEADS = 50
_LONGEST_HEAD = 1 << 20
_CHUNK = 1 << 16
_NOT_READ_HERE = (".zst", ".lz4", ".snappy", ".deflate", ".xz")


def parquet_columns(source: SourceConfig, files: Sequence[Path]) -> dict[str, str]:
    """The columns of some files, each with a word on its type: number, time, or what it is.

    Raises ConfigError for a file that is no Parquet, and for a type that Spark does not read as asked.
    """
    found: dict[str, pa.DataType] = {}
    for file in files[:MOST_FOOTERS]:
        try:
            schema = pq.read_schema(file)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(
                f"{file} cannot be read as Parquet ({reason}); mend it, or move it out of the folder", source.line
            ) from error
        for field in schema:
            _refuse_type(source, file, field)
            before = found.setdefault(field.name, field.type)
            numbers = field.name not in source.columns and _word(before) == "number"
            if _word(before) != _word(field.type) or (numbers and before != field.type):
                remedy = "say its type under columns, or write the files alike" if numbers else "write the files alike"
                raise ConfigError(
                    f"column {field.name!r} holds {field.type} in {file}, and {before} in others; {remedy}", source.line
                )
    return {name: _word(kind) for name, kind in found.items()}


def _refuse_type(source: SourceConfig, file: Path, field: pa.Field) -> None:
    kind = field.type
    declared = source.columns.get(field.name)
    if source.columns and declared is None:
        return
    readable = [name for name in ("int", "long", "double", "string", "boolean", "timestamp") if _reads(name, kind)]
    if pa.types.is_timestamp(kind) and kind.unit == "ns" and declared != "long":
        raise ConfigError(
            f"column {field.name!r} of {file} has times in nanoseconds, which Spark does not read; write them in "
            "microseconds (pandas: to_parquet(..., coerce_timestamps='us', allow_truncated_timestamps=True))",
            source.line,
        )
    if declared is not None and declared not in readable:
        remedy = f"say {' or '.join(readable)}" if readable else "leave it out of columns"
        raise ConfigError(
            f"column {field.name!r} of {file} holds {kind}, which cannot be read as {declared}; {remedy}", source.line
        )


def _reads(declared: str, kind: pa.DataType) -> bool:
    """Whether Spark reads what a file holds as a declared type; it widens numbers, and nothing else."""
    small = pa.types.is_integer(kind) and (kind.bit_width < 32 or kind in (pa.int32(), pa.uint32()))
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)
    reads: dict[str, bool] = {
        "string": text,
        "int": small and kind != pa.uint32(),
        "long": small or kind == pa.int64() or pa.types.is_timestamp(kind),
        "double": small or kind in (pa.float32(), pa.float64()),
        "boolean": pa.types.is_boolean(kind),
        "timestamp": pa.types.is_timestamp(kind) and kind.unit in ("us", "ms"),
    }
    return reads[declared]


def _word(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_dictionary(kind):
        return _word(kind.value_type)
    return "time" if pa.types.is_timestamp(kind) else str(kind).removeprefix("large_")


def look_at_heads(source: SourceConfig, files: Sequence[Path], own: Sequence[str] = ()) -> None:
    """Compare the first lines of CSV files with the columns that were said, but for those that folders tell.

    Raises ConfigError where the two differ, or where a first line names the columns and would be read as a row.
    """
    given = {name.lower(): value for name, value in revealed(source.options).items()}
    said = [name for name in source.columns if name not in own]
    for file in files[:MOST_HEADS]:
        head = _head(file, given)
        if not head:
            continue
        alike = [name.strip().lower() for name in head] == [name.lower() for name in said]
        if given.get("header", "false").lower() == "true":
            if not alike:
                raise ConfigError(
                    f"{file} begins with the columns {', '.join(head)[:500]}, and source.columns has "
                    f"{', '.join(said)}; say all of them, in the order of the file",
                    source.line,
                )
        elif alike:
            raise ConfigError(
                f"the first line of {file} names the columns, and would be refused as a row; set "
                "options: {header: true}",
                source.line,
            )


def _head(file: Path, given: dict[str, str]) -> list[str] | None:
    """The fields of the first line; None where it cannot be told here."""
    encoding = given.get("encoding", "utf-8").lower()
    separator, quote = given.get("sep", ",").replace("\\t", "\t"), given.get("quote", '"')
    if file.suffix in _NOT_READ_HERE or "16" in encoding or "32" in encoding or len(separator) != 1 or len(quote) != 1:
        return None
    opened: Callable[[Path, str], Any] = {".gz": gzip.open, ".bz2": bz2.open}.get(file.suffix, Path.open)  # type: ignore[assignment]
    try:
        with opened(file, "rb") as raw:
            for line in _lines(raw, given.get("linesep", "\n").encode(encoding)):
                text = line.decode(encoding).lstrip("\ufeff").rstrip("\r\n")
                if text.strip() and not (given.get("comment") and text.startswith(given["comment"])):
                    return next(csv.reader([text], delimiter=separator, quotechar=quote))
    except (OSError, EOFError, ValueError, LookupError, csv.Error):
        return None
    return None


def _lines(raw: Any, separator: bytes) -> Iterator[bytes]:
    """The lines of a file, which end in a separator of any length; none beyond the longest head."""
    kept = b""
    while more := raw.read(_CHUNK):
        *lines, kept = (kept + more).split(separator)
        yield from lines
        if len(kept) > _LONGEST_HEAD:
            return
    yield kept
