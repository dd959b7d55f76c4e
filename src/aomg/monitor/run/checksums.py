"""Finds damaged files of Spark's checkpoint by the checksums that Hadoop stores beside them, without Spark.

The checksums of `1.changelog` are in `.1.changelog.crc`: `crc`, a zero byte, the size of a chunk (512), then the CRC-32
of every chunk. Spark does not compare them when it reads its state.
"""

import os
import zlib
from collections.abc import Iterable, Iterator
from math import inf
from pathlib import Path

_CHUNK = 512  # Hadoop's default; files with others count as sound
_HEAD = b"crc\0" + _CHUNK.to_bytes(4, "big")
_MOST_BYTES = 2_000_000_000  # some seconds
NO_CHECKSUMS = (
    "has no checksums, but files beside it have: after a kill that is harmless, after an edit it is not. If somebody "
    "has edited or copied it, restore the state folder from a backup"
)
"""What to say of a file whose checksums are gone."""


def damaged_file(folder: Path, most_bytes: int = _MOST_BYTES) -> Path | None:
    """Return a file that differs from its checksums; None if there is none. Reads the newest files first."""
    return next(damaged_files(folder, most_bytes), None)


def damaged_files(folder: Path, most_bytes: float = inf) -> Iterator[Path]:
    """Find all files that differ from their checksums; reads `most_bytes` at most.

    Files without checksums count as sound, and so do hidden ones: a kill may leave half of one.
    """
    files = [Path(parent, name) for parent, _, names in os.walk(folder) for name in names if not name.startswith(".")]
    return damaged_among(sorted(files, key=_age), most_bytes)


def damaged_among(files: Iterable[Path], most_bytes: float = inf) -> Iterator[Path]:
    """Find the files that differ from their checksums or are lost, among some; reads `most_bytes` at most."""
    for file in files:
        try:
            stored = file.with_name(f".{file.name}.crc").read_bytes()
            if not file.exists():
                yield file
                continue
            size = file.stat().st_size
            if size <= most_bytes and stored.startswith(_HEAD) and checksums_of(file.read_bytes()) != stored:
                yield file
            most_bytes -= min(size, most_bytes)
        except OSError:
            continue


def without_checksums(files: Iterable[Path]) -> list[Path]:
    """The files that have no checksums; none if no file of them all has any, as on other file systems."""
    there = [file for file in files if file.exists()]
    bare = [file for file in there if not file.with_name(f".{file.name}.crc").exists()]
    return bare if len(bare) < len(there) else []


def checksums_of(content: bytes) -> bytes:
    """The content of a checksum file.

    >>> checksums_of(b"abc").hex()
    '6372630000000200352441c2'
    """
    chunks = (content[start : start + _CHUNK] for start in range(0, len(content), _CHUNK))
    return _HEAD + b"".join(zlib.crc32(chunk).to_bytes(4, "big") for chunk in chunks)


def _age(file: Path) -> float:
    try:
        return -file.stat().st_mtime
    except OSError:
        return 0.0
