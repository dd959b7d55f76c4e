"""The JSON lines sink: a repeated batch first removes its own lines from the end of the file.

Every line begins with its batch, `{"batch":12,`, and with its stream, if the sink has one: `"stream":"3f9a",`. So the
file itself says which lines to remove. Lines of other programs, and of other streams (other state folders), are never
changed.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

import pyarrow as pa

from aomg.monitor.alert import Alert
from aomg.monitor.atomic_files import SinkError, flush_folder, reason
from aomg.monitor.config import values
from aomg.monitor.config.model import SinkConfig
from aomg.monitor.config.schema import key
from aomg.monitor.journal.digests import digest_of
from aomg.monitor.journal.entry import Appended
from aomg.monitor.sinks.base import SinkContext, lines_of
from aomg.monitor.sinks.result_rows import LabelNames

_HEAD = re.compile(rb'\{"batch":(\d+),(?:"stream":"([^"\\]*)",)?')
_BLOCK = 1 << 16
_Part = tuple[int, int]
"""The offsets at which a part of a file begins and ends."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, kw_only=True)
class JsonLinesSinkConfig(SinkConfig):
    """A JSON lines sink as configured."""

    kind = "jsonl"
    stores = ("results", "alerts")

    path: Path = key(values.path, name="jsonl", help="a file of JSON lines")

    def build(self, context: SinkContext) -> "JsonLinesSink":
        """Return the sink."""
        return JsonLinesSink(self.path, context.label_names, context.stream)


class JsonLinesSink:
    """Appends results or alerts to a file of JSON lines.

    Batches arrive in ascending order, except repeats. The first write and a repeated batch read the end of the file,
    back to the last line of this stream that stays, in little memory. Any other write only appends.
    """

    def __init__(self, file: Path, label_names: LabelNames | None = None, stream: str | None = None) -> None:
        self._file = file
        self._label_names = label_names
        self._stream = stream
        self._last: tuple[int, int] | None = None  # the batch, and the size of the file after it

    def write(self, batch: int, rows: pa.Table | Sequence[Alert]) -> Appended | None:
        """Append the lines of a batch, and remove those that it wrote before. Returns what was appended."""
        extra = {} if self._stream is None else {"stream": self._stream}
        lines = [{"batch": batch, **extra, **line} for line in lines_of(batch, rows, self._label_names)]
        text = self.put(batch, lines)
        return Appended(self._file, len(text), len(lines), digest_of(text)) if lines else None

    def put(self, batch: int, lines: Sequence[dict[str, object]]) -> bytes:
        """Do the same for JSON objects whose first keys are the batch and, if there is one, the stream."""
        lines_text = b"".join(map(line_of, lines))
        self._put(batch, lines_text)
        return lines_text

    def _put(self, batch: int, text: bytes) -> None:
        try:
            if not self._file.exists():
                if not text:
                    return
                self._file.parent.mkdir(parents=True, exist_ok=True)
                self._file.touch()
                flush_folder(self._file.parent)
            with self._file.open("r+b", buffering=0) as raw:
                size = raw.seek(0, os.SEEK_END)
                known = self._last is not None and batch > self._last[0] and size == self._last[1]
                stays = [(0, size)] if known else _cut(raw, batch, self._stream)
                length = sum(end - start for start, end in stays)
                if length == size and not text:
                    return
                if not known and not _is_ended(raw, stays):
                    text = b"\n" + text
                if stays[1:]:  # lines of others follow those to remove
                    self._replace(raw, stays, text)
                else:
                    _append(raw, length, text)
            self._last = (batch, length + len(text))
        except OSError as error:
            raise SinkError(reason(error, self._file)) from error

    def _replace(self, raw: FileIO, stays: Sequence[_Part], text: bytes) -> None:
        """Replace the file in one step: the parts that stay, then `text`."""
        partial = self._file.with_name(f".{self._file.name}.partial")
        try:
            with partial.open("wb") as copy:
                for start, end in stays:
                    raw.seek(start)
                    while start < end and (block := raw.read(min(_BLOCK, end - start))):
                        copy.write(block)
                        start += len(block)
                copy.write(text)
                copy.flush()
                os.fsync(copy.fileno())
            partial.replace(self._file)
            flush_folder(self._file.parent)
        except OSError:
            with suppress(OSError):
                partial.unlink()
            raise


def newest_line(file: Path, stream: str) -> int:
    """Return the batch of the last line of a stream in a file; -1 if there is none."""
    with file.open("rb", buffering=0) as raw:
        for _, line in _lines_from_the_end(raw):
            head = _HEAD.match(line)
            if head is not None and (head[2] or b"").decode() == stream:
                return int(head[1])
    return -1


def lines_of_batches(file: Path, stream: str, first: int) -> tuple[dict[int, bytes], bool]:
    """Return the lines of a stream in a file, by batch, from batch `first` on, and whether it has older ones.

    Reads the end of the file only, back to the first older line.
    """
    has_older = False
    lines: dict[int, list[bytes]] = {}
    with file.open("rb", buffering=0) as raw:
        for _, line in _lines_from_the_end(raw):
            head = _HEAD.match(line)
            if head is not None and (head[2] or b"").decode() == stream:
                if int(head[1]) < first:
                    has_older = True
                    break
                lines.setdefault(int(head[1]), []).append(line)
    return {batch: b"".join(reversed(parts)) for batch, parts in lines.items()}, has_older


def line_of(record: Mapping[str, object]) -> bytes:
    """A JSON object as a line."""
    return f"{_ENCODER.encode(record)}\n".encode("utf-8", "backslashreplace")


def _append(raw: FileIO, length: int, text: bytes) -> None:
    """Truncate the file to `length` and append `text`; a failure leaves the truncated file."""
    raw.truncate(length)
    raw.seek(length)
    try:
        left = memoryview(text)
        while left:
            left = left[raw.write(left) :]
        os.fsync(raw.fileno())
    except OSError:
        with suppress(OSError):
            raw.truncate(length)
        raise


def _cut(raw: FileIO, batch: int, stream: str | None) -> list[_Part]:
    """The parts of the file that stay, in order: its beginning, and lines of others after the removed ones.

    Removed are the lines of this batch and of later ones, and an incomplete last line.
    """
    later: list[_Part] = []
    start = end = raw.seek(0, os.SEEK_END)  # all between them stays
    for offset, line in _lines_from_the_end(raw):
        head = _HEAD.match(line)
        own = head is not None and (head[2] or b"") == (stream or "").encode()
        repeated = head is not None and own and int(head[1]) >= batch
        if repeated or (not line.endswith(b"\n") and _is_torn(line)):
            if start < end:
                later.append((start, end))
            end = offset
        elif own:
            break
        start = offset
    return [(0, end), *reversed(later)]


def _is_ended(raw: FileIO, stays: Sequence[_Part]) -> bool:
    """Whether the parts that stay are empty or end in a line break."""
    end = stays[-1][1]
    raw.seek(max(end - 1, 0))
    return end == 0 or raw.read(1) == b"\n"


def _is_torn(line: bytes) -> bool:
    """Whether a last line without a line break is an incomplete one of ours, as after a kill or a power failure."""
    written = line.rstrip(b"\x00")
    if not written or b'{"batch":'.startswith(written):
        return True
    if not re.match(rb'\{"batch":\d', written):
        return False
    try:
        json.loads(line)
    except ValueError:
        return True
    return False


def _lines_from_the_end(raw: FileIO) -> Iterator[tuple[int, bytes]]:
    """Each line of a file with its offset, the last one first."""
    start, tail = raw.seek(0, os.SEEK_END), b""
    while start > 0:
        size = min(_BLOCK, start)
        start -= size
        raw.seek(start)
        tail = raw.read(size) + tail
        end = len(tail)
        while (before := tail.rfind(b"\n", 0, end - 1)) >= 0:
            yield start + before + 1, tail[before + 1 : end]
            end = before + 1
        tail = tail[:end]
    if tail:
        yield 0, tail
