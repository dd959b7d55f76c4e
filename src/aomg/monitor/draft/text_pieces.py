"""Reads a few pieces of text files: the begin of each, and of large ones some places further on.

Memory and time are bounded, whatever the size of the files. Of a compressed file only the begin is read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aomg.monitor.draft.data_files import reading
from aomg.monitor.draft.sample import MOST_BYTES, chosen
from aomg.monitor.errors import ConfigError
from aomg.monitor.source.plain_bytes import codec_of

_LONGEST_LINE = 1_000_000
_MARK = b"\xef\xbb\xbf"
_PLACES = (1 / 3, 2 / 3, 1.0)


@dataclass(frozen=True)
class TextPiece:
    """Whole lines of a file that follow each other.

    is_first
        Whether it begins with the first line of the file.
    is_whole
        Whether it is all of the file.
    """

    file: Path
    text: bytes
    is_first: bool
    is_whole: bool


def pieces_of(files: Sequence[Path]) -> list[TextPiece]:
    """Read some pieces of some files. Raises ConfigError if a file cannot be read, or has a very long line."""
    picked = chosen(files)
    most = MOST_BYTES // len(picked)
    return [piece for file in picked for piece in _pieces(file, most)]


def _pieces(file: Path, most: int) -> list[TextPiece]:
    codec = codec_of(file)
    size = file.stat().st_size
    with reading(file) as read:
        if codec is not None or size <= most:
            text = _read(read, most)
            whole = not read(1)
            return [TextPiece(file, _head(file, text, whole, read), True, whole)]
        begin = _read(read, most // 2)
        pieces = [TextPiece(file, _head(file, begin, False, read), True, False)]
    length = most // 6
    with file.open("rb") as raw:
        for share in _PLACES:
            raw.seek(max(int((size - length) * share), len(begin)))
            text = raw.read(length)
            first = text.find(b"\n") + 1
            last = len(text) if share == 1.0 else text.rfind(b"\n") + 1
            if 0 < first < last:
                pieces.append(TextPiece(file, text[first:last], False, False))
    return pieces


def _read(read: Callable[[int], bytes], size: int) -> bytes:
    """As many bytes as that, or all that there are."""
    parts, left = [], size
    while left > 0 and (part := read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _head(file: Path, text: bytes, whole: bool, read: Callable[[int], bytes]) -> bytes:
    """The begin of a file, without its byte order mark, up to the end of a line."""
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError(f"{file} is UTF-16; convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8")
    if not whole:
        while b"\n" not in text and b"\r" not in text:
            more = _read(read, _LONGEST_LINE)
            text += more
            if not more or len(text) > _LONGEST_LINE:
                break
        end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        if not end:
            raise ConfigError(
                f"{file} has no line ending in its first {len(text):,} bytes; give CSV, JSON lines or Parquet"
            )
        text = text[:end]
    return text.removeprefix(_MARK)
