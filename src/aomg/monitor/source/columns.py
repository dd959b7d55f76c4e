"""Reads the columns of a source's files, and checks that Spark can read them as configured."""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from aomg.monitor.config.model import SourceConfig
from aomg.monitor.config.secret import revealed
from aomg.monitor.errors import ConfigError
from aomg.monitor.source.plain_bytes import HADOOP_CODECS, opened
from aomg.value_types import MOST_DIGITS

MOST_FOOTERS = 200
MOST_HEADS = 50
_LONGEST_HEAD = 1 << 20
_CHUNK = 1 << 16
_MOST_ROWS = 2_000
_NOT_READ_HERE = (*HADOOP_CODECS, ".xz")


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
    """Compare the first lines of CSV files with the columns, except those of `folder_columns`.

    Raises ConfigError if they differ, if a first line names the columns and would be read as a row, and if quoted
    fields have line breaks, which are not read.
    """
    options = _by_name(source)
    names = [name for name in source.columns if name not in folder_columns]
    for file in files[:MOST_HEADS]:
        head = head_of(source, file)
        if not head:
            continue
        alike = [name.strip().lower() for name in head] == [name.strip().lower() for name in names]
        if options.get("header", "false").lower() == "true":
            if not alike:
                known = "but the first file had" if source.from_header else "but source.columns has"
                remedy = (
                    "move it away, or use a new state folder and new folders for the sinks"
                    if source.from_header
                    else "list all of them, in the order of the file"
                )
                raise ConfigError(
                    f"{file} has the columns {', '.join(head)[:500]}, {known} {', '.join(names)}; {remedy}",
                    source.line,
                )
        elif alike:
            raise ConfigError(
                f"the first line of {file} is a header, which would be refused as a row; set options: {{header: true}}",
                source.line,
            )
        if "multiline" not in options and _has_line_breaks(file, options, len(names)):
            raise ConfigError(
                f"{file} has line breaks inside quotes; set options: {{multiLine: true}} to read them, or "
                "{multiLine: false} to refuse such rows",
                source.line,
            )


def head_of(source: SourceConfig, file: Path) -> list[str] | None:
    """The fields of the first line of a CSV file; None if it is empty, or cannot be read without Spark."""
    options = _by_name(source)
    trims = options.get("ignoreleadingwhitespace", "false"), options.get("ignoretrailingwhitespace", "false")
    leading, trailing = (text.lower() == "true" for text in trims)
    for row, _ in _rows(file, options):
        row = [name.lstrip() for name in row] if leading else row
        return [name.rstrip() for name in row] if trailing else row
    return None


def _has_line_breaks(file: Path, options: dict[str, str], fields: int) -> bool:
    """Whether a row in the first part of a file has as many fields as it must, and a line break in one of them.

    So an opening quote that is never closed does not count.
    """
    for number, (row, lines) in enumerate(_rows(file, options)):
        if lines > 1 and len(row) == fields:
            return True
        if number >= _MOST_ROWS:
            break
    return False


def _by_name(source: SourceConfig) -> dict[str, str]:
    return {name.lower(): value for name, value in revealed(source.options).items()}


def _rows(file: Path, options: dict[str, str]) -> Iterator[tuple[list[str], int]]:
    """The first rows of a CSV file, each with the number of its lines; none if it cannot be read without Spark."""
    encoding = options.get("encoding", "utf-8").lower()
    separator, quote = options.get("sep", ",").replace("\\t", "\t"), options.get("quote", '"')
    escape = options.get("escape", quote)
    if file.suffix in _NOT_READ_HERE or "16" in encoding or "32" in encoding:
        return
    if len(separator) != 1 or len(quote) != 1 or len(escape) > 1:
        return
    try:
        with opened(file) as read:
            separator_of_lines = options["linesep"].encode(encoding) if "linesep" in options else None
            lines = _texts(_lines(read, separator_of_lines), encoding, options)
            doubled = escape in (quote, "")
            rows = csv.reader(
                lines,
                delimiter=separator,
                quotechar=quote,
                doublequote=doubled,
                escapechar=None if doubled else escape,
            )
            before = 0
            for row in rows:
                yield row, rows.line_num - before
                before = rows.line_num
    except (OSError, EOFError, ValueError, LookupError, csv.Error, pa.ArrowException):
        return


def _texts(lines: Iterator[bytes], encoding: str, options: dict[str, str]) -> Iterator[str]:
    """The lines that are not empty and no comments, with a line ending that Python's reader knows."""
    for number, line in enumerate(lines):
        text = line.decode(encoding)
        text = (text.removeprefix("\ufeff") if number == 0 else text).rstrip("\r\n")
        if text.strip() and not (options.get("comment") and text.startswith(options["comment"])):
            yield text + "\n"


def _lines(read: Callable[[int], bytes], separator: bytes | None) -> Iterator[bytes]:
    """The lines of the first part of a file. They end in a separator of any length; None: in LF, CR or CR LF."""
    line, size = b"", 0
    while more := read(_CHUNK):
        line += more
        if separator is None:
            *lines, line = line.splitlines(keepends=True)
            if line.endswith(b"\n"):
                lines.append(line)
                line = b""
        else:
            *lines, line = line.split(separator)
        yield from lines
        size += len(more)
        if size > _LONGEST_HEAD:
            return
    yield line
