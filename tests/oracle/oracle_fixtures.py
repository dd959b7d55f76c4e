"""Folders as archives that can be unpacked anywhere: a checkpoint names files by whole paths, which are replaced."""

import gzip
import io
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

FIXTURES = Path(__file__).with_name("fixtures")
_FOLDER, _QUOTED = b"@FOLDER@", b"@QUOTED-FOLDER@"
_LEFT_OUT = re.compile(
    r"(.*/)?(\..*\.crc|\.?lock|spark\.log)"
)  # checksums of texts that change, and what has no content
SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.4 and newer


def pack(archive: Path, contents: Mapping[str, tuple[bytes, int]]) -> None:
    """Write files, each with its time, into a .tar.gz: the same bytes for the same contents."""
    archive.parent.mkdir(exist_ok=True)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (content, time) in sorted(contents.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), time
            tar.addfile(member, io.BytesIO(content))
    archive.write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))


def contents_of(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}  # type: ignore[union-attr]


def pack_folder(archive: Path, folder: Path, renamed: Mapping[str, str] | None = None) -> None:
    """Pack a folder; its path becomes a placeholder wherever it stands. `renamed`: patterns, in names and contents."""
    contents = {}
    for file in sorted(folder.rglob("*")):
        name, content = file.relative_to(folder).as_posix(), b"" if file.is_dir() else file.read_bytes()
        if file.is_dir() or _LEFT_OUT.fullmatch(name):
            continue
        here = str(folder).encode()
        content = re.sub(rb"(file:(//)?)" + re.escape(here), rb"\1" + _QUOTED, content).replace(here, _FOLDER)
        for pattern, instead in (renamed or {}).items():
            name = re.sub(pattern, instead, name)
            content = re.sub(pattern.encode(), instead.encode(), content)
        contents[name] = (content, int(file.stat().st_mtime) if "checkpoint/" not in name else 0)
    pack(archive, contents)


def unpack_folder(archive: Path, folder: Path) -> None:
    """Unpack what `pack_folder` packed, as if it had been written in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, **SAFELY)
    for file in folder.rglob("*"):
        if file.is_file() and (content := file.read_bytes()) and b"FOLDER@" in content:
            content = content.replace(_QUOTED, quote(str(folder)).encode()).replace(_FOLDER, str(folder).encode())
            file.write_bytes(content)
