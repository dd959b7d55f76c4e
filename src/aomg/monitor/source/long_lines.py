"""Finds lines that are too long to be read, in text files of any size, in a few megabytes of memory.

Spark reads a line into memory before anything can look at its length. Hadoop's reader, which it uses, can leave out
lines from a given length on (`MAX_LENGTH`), but says nothing about them; so they are looked for here. If such a line
crosses the end of a split of an uncompressed file, Hadoop returns the rest of it as a line: files with long lines must
not be split.

A line counts with its line ending, as Hadoop counts it. Only the last line ending within the limit is looked for, not
each of them: this takes 0.2 s for a gigabyte of plain text, and for compressed files the time to decompress them.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from aomg.errors import AomgError
from aomg.monitor.config.model import SourceConfig
from aomg.monitor.config.secret import revealed
from aomg.monitor.errors import RunError
from aomg.monitor.sinks.quarantine import RefusedRow
from aomg.monitor.source.plain_bytes import codec_of, opened

MAX_LENGTH = "mapreduce.input.linerecordreader.line.maxlength"
MOST_SAMPLES = 100
_LEGAL = "/_-!.~'()*,;:$&+=@"
"""What Java does not escape in a path, besides letters and digits."""
_CHUNK = 1 << 20
_HEAD = 1_000
_LARGEST = (1 << 31) - 2  # Hadoop counts the bytes of a line in 32 bits
_MOST_THREADS = 8
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SplitLineError(AomgError, RuntimeError):
    """A micro-batch may have split a line that is too long: it must be read again, with whole files."""


@dataclass(frozen=True)
class LongLine:
    """A line that is too long: where it begins, its bytes with its line ending, and its first ones."""

    offset: int
    size: int
    head: bytes


class LongLines:
    """Finds the lines of a micro-batch that Spark leaves out, as refused rows.

    whole_files
        Whether Spark reads whole files, and splits none. Set when there is a line that it might have split.
    """

    def __init__(self, source: SourceConfig) -> None:
        self._limit, self._separator, self._reason = source.longest_line, separator_of(source), reason_of(source)
        self.whole_files = False

    def of(self, files: Iterable[Path]) -> list[RefusedRow]:
        """Look through the files of a micro-batch. Raises SplitLineError once, before the first long line is used."""
        paths = sorted(files)
        threads = min(_MOST_THREADS, os.cpu_count() or 1, max(len(paths), 1))
        with ThreadPoolExecutor(threads, thread_name_prefix="long lines") as pool:
            rows = [row for rows in pool.map(self._rows, paths) for row in rows]
        if rows and not self.whole_files and any(codec_of(Path(row.file)) is None for row in rows):
            self.whole_files = True
            raise SplitLineError("there are lines longer than longest_line; the files are read again as a whole")
        return rows

    def _rows(self, file: Path) -> list[RefusedRow]:
        rows: list[RefusedRow] = []
        more = 0
        try:
            for line in long_lines(file, self._limit, self._separator):
                if line.size > _LARGEST:
                    raise RunError(
                        f"{file} has a line of {line.size:,} bytes, which Spark cannot skip; remove the file, or end "
                        "the line earlier"
                    )
                if len(rows) < MOST_SAMPLES:
                    text = f"{line.head.decode('utf-8', 'backslashreplace')} ... ({line.size:,} bytes)"
                    rows.append(RefusedRow(_address(file), self._reason, text))
                else:
                    more += 1
        except (OSError, pa.ArrowException):
            pass  # gone or damaged: Spark reports it
        return [*rows, RefusedRow(_address(file), self._reason, None, more)] if more else rows


def _address(file: Path) -> str:
    """The address of a file as Spark writes it in other refused rows: with escapes, but with letters of any script.

    >>> _address(Path("/data/ä b/1%.csv"))
    'file:/data/ä%20b/1%25.csv'
    """
    plain = (one if one.isprintable() and not one.isascii() else quote(os.fsencode(one), _LEGAL) for one in str(file))
    return "file:" + "".join(plain)


def reason_of(source: SourceConfig) -> str:
    """Why a line or message is refused if it is too long."""
    return f"longer than {source.longest_line:,} bytes (longest_line)"


def separator_of(source: SourceConfig) -> bytes | None:
    """The line ending of a source; None for any of LF, CR and CR LF."""
    options = {name.lower(): value for name, value in revealed(source.options).items()}
    separator = options.get("linesep")
    return None if separator is None else separator.encode(options.get("encoding", "utf-8"))


def long_lines(file: Path, limit: int, separator: bytes | None = None) -> Iterator[LongLine]:
    """Find the lines of a file with more bytes than `limit`."""
    if codec_of(file) is None and file.stat().st_size <= limit:
        return
    with opened(file) as read:
        yield from _Scan(limit, separator).run(read)


class _Scan:
    """Looks through a stream of bytes, chunk by chunk."""

    def __init__(self, limit: int, separator: bytes | None) -> None:
        self._limit, self._separator = limit, separator
        self._overlap = 1 if separator is None else len(separator) - 1  # a line ending may be in two chunks

    def run(self, read: Callable[[int], bytes]) -> Iterator[LongLine]:
        """Find the lines that are too long. `read` returns the next bytes, and none at the end."""
        chunk, base = read(_CHUNK), 0  # what is looked at, and where it begins in the stream
        place = len(_BYTE_ORDER_MARK) if chunk.startswith(_BYTE_ORDER_MARK) else 0  # Hadoop does not count it
        start, head = place, b""  # where the current line begins in the stream, and what is no longer in the chunk
        is_last = not chunk
        while True:
            while True:
                end = start + self._limit - base  # the line must end here at the latest
                after = self._last_ending(chunk, place, min(max(end, 0), len(chunk)), is_last)
                if after is None and end < len(chunk):
                    after = self._first_ending(chunk, max(place, end - self._overlap), is_last)
                    if after is not None:
                        yield LongLine(start, base + after - start, (head + chunk[place:after][:_HEAD])[:_HEAD])
                if after is None:
                    break
                start, place, head = base + after, after, b""
            if is_last:
                if base + len(chunk) - start > self._limit:
                    yield LongLine(start, base + len(chunk) - start, (head + chunk[place:][:_HEAD])[:_HEAD])
                return
            rest = max(place, len(chunk) - self._overlap)
            head = (head + chunk[place : min(rest, place + _HEAD)])[:_HEAD]
            more = read(_CHUNK)
            is_last = not more
            chunk, base, place = chunk[rest:] + more, base + rest, 0

    def _last_ending(self, chunk: bytes, begin: int, end: int, is_last: bool) -> int | None:
        """The place after the last line ending that is within these bounds."""
        if self._separator is not None:
            place = chunk.rfind(self._separator, begin, end)
            return None if place < 0 else place + len(self._separator)
        feed = chunk.rfind(b"\n", begin, end)
        carriage = chunk.rfind(b"\r", max(feed + 1, begin), end)
        if carriage < 0:
            return None if feed < 0 else feed + 1
        following = chunk[carriage + 1 : carriage + 2]
        if following == b"\n" or not (following or is_last):  # it ends later, or may do so
            return self._last_ending(chunk, begin, carriage, is_last)
        return carriage + 1

    def _first_ending(self, chunk: bytes, begin: int, is_last: bool) -> int | None:
        """The place after the first line ending from a place on."""
        if self._separator is not None:
            place = chunk.find(self._separator, begin)
            return None if place < 0 else place + len(self._separator)
        feed = chunk.find(b"\n", begin)
        carriage = chunk.find(b"\r", begin, len(chunk) if feed < 0 else feed)
        if carriage < 0:
            return None if feed < 0 else feed + 1
        following = chunk[carriage + 1 : carriage + 2]
        if not (following or is_last):
            return None  # the next chunk may begin with LF
        return carriage + (2 if following == b"\n" else 1)
