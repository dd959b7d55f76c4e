"""JSON lines that can be repeated: a batch that comes again first cuts its own lines from the end of the file.

Every line begins with its batch, `{"batch":12,`, and, where the sink has a stream, with that: `"stream":"3f9a",`. So
the file itself says what to cut, and nothing has to be kept beside. Lines of anybody else, and of another stream
(another state folder), are never changed.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path

import pyarrow as pa

from aomg.monitor.alert import Alert
from aomg.monitor.atomic import SinkError, flush_folder, reason
from aomg.monitor.sinks.base import lines_of
from aomg.monitor.sinks.result_rows import LabelNames

_HEAD = re.compile(rb'\{"batch":(\d+),(?:"stream":"([^"\\]*)",)?')
_BLOCK = 1 << 16
_Part = tuple[int, int]
"""Where a part of a file begins and ends."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class JsonLinesSink:
    """Results or alerts as JSON lines, appended to a file.

    Batches come in ascending order, but for repeats. The end of the file is looked at in the first write and when a
    batch is repeated, back to the last line of this stream that stays, and takes little memory however long that is;
    any other write only appends.
    """

    def __init__(self, file: Path, label_names: LabelNames | None = None, stream: str | None = None) -> None:
        self._file = file
        self._label_names = label_names
        self._stream = stream
        self._last: tuple[int, int] | None = None  # the batch, and the size of the file after it

    def write(self, batch: int, rows: pa.Table | Sequence[Alert]) -> None:
        """Put the lines of a batch at the end of the file, instead of those that it wrote before."""
        extra = {} if self._stream is None else {"stream": self._stream}
        self.put(batch, [{"batch": batch, **extra, **line} for line in lines_of(batch, rows, self._label_names)])

    def put(self, batch: int, lines: Sequence[dict[str, object]]) -> None:
        """The same for JSON objects whose first key is the batch, followed by the stream if there is one."""
        text = b"".join(map(line_of, lines))
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
                kept = sum(end - start for start, end in stays)
                if kept == size and not text:
                    return
                if not known and not _is_ended(raw, stays):
                    text = b"\n" + text
                if stays[1:]:  # somebody else's lines stand behind those that go
                    self._replace(raw, stays, text)
                else:
                    _append(raw, kept, text)
            self._last = (batch, kept + len(text))
        except OSError as error:
            raise SinkError(reason(error, self._file)) from error

    def close(self) -> None:
        """Nothing is held."""

    def _replace(self, raw: FileIO, stays: Sequence[_Part], text: bytes) -> None:
        """Write the file anew, the parts that stay and then `text`, in one step."""
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


def line_of(told: Mapping[str, object]) -> bytes:
    """A JSON object as a line."""
    return f"{_ENCODER.encode(told)}\n".encode("utf-8", "backslashreplace")


def _append(raw: FileIO, keep: int, text: bytes) -> None:
    """Cut the file at `keep` and write `text` there; where that fails, only the cut remains."""
    raw.truncate(keep)
    raw.seek(keep)
    try:
        left = memoryview(text)
        while left:
            left = left[raw.write(left) :]
        os.fsync(raw.fileno())
    except OSError:
        with suppress(OSError):
            raw.truncate(keep)
        raise


def _cut(raw: FileIO, batch: int, stream: str | None) -> list[_Part]:
    """The parts of the file that stay, in their order: its beginning, and others' lines behind what goes.

    What goes are the lines of this batch and of later ones, and a last line that was torn while it was written.
    """
    behind: list[_Part] = []
    start = end = raw.seek(0, os.SEEK_END)  # all between them stays, as it seems
    for at, line in _lines_from_the_end(raw):
        head = _HEAD.match(line)
        ours = head is not None and (head[2] or b"") == (stream or "").encode()
        repeated = head is not None and ours and int(head[1]) >= batch
        if repeated or (not line.endswith(b"\n") and _is_torn(line)):
            if start < end:
                behind.append((start, end))
            end = at
        elif ours:
            break
        start = at
    return [(0, end), *reversed(behind)]


def _is_ended(raw: FileIO, stays: Sequence[_Part]) -> bool:
    """Whether what stays has a line end behind it, or is nothing."""
    end = stays[-1][1]
    raw.seek(max(end - 1, 0))
    return end == 0 or raw.read(1) == b"\n"


def _is_torn(line: bytes) -> bool:
    """Whether a last line without an end is one of ours that was not finished, as after a kill or a power cut."""
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
    """Each line of a file with its place, the last one first."""
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
