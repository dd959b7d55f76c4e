"""Finds the files of a source: their format, and the options that Spark needs to read them, and no others."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from aomg.monitor.errors import ConfigError
from aomg.monitor.source.files import SourceFiles, source_files
from aomg.monitor.source.plain_bytes import ARROW_CODECS, HADOOP_CODECS, opened

KINDS = ("csv", "jsonl", "parquet")
_ENDINGS = {
    **dict.fromkeys((".csv", ".tsv", ".psv"), "csv"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
    **dict.fromkeys((".parquet", ".pq", ".parq"), "parquet"),
}
_PARQUET = b"PAR1"
_START = 4_096


@dataclass(frozen=True)
class DataFiles:
    """The files of a source, all of one format, with the options that select them."""

    kind: str
    files: tuple[Path, ...]
    folder_columns: tuple[str, ...]
    options: dict[str, str]


def data_files(path: Path, kind: str | None = None) -> DataFiles:
    """Find the files in a folder, or take a file. Raises ConfigError if there is none with data in it."""
    if not path.exists():
        raise ConfigError(f"there is no file or folder {path}; check the name")
    options: dict[str, str] = {}
    try:
        listing = source_files(path, options)
    except ConfigError:
        options = {"recursiveFileLookup": "true"}
        listing = source_files(path, options)
        if not any(file.parent != path for file in listing.files) or _has_columns(listing.files, path):
            raise
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); change its permissions") from None
    if not listing.files:
        what = "has no files with data in it" if path.is_dir() else "is empty"
        raise ConfigError(f"{path} {what}; start once there are events (names that begin with . or _ are not read)")
    kinds = {file: _kind_by_name(file) for file in listing.files}
    if kind is None:
        named = Counter(known for known in kinds.values() if known is not None)
        kind = named.most_common(1)[0][0] if named else _kind_by_content(listing.files[0])
    files = tuple(file for file in listing.files if kinds[file] == kind) or listing.files
    if len(files) < len(listing.files):
        options = {**options, "pathGlobFilter": _glob({_ending(file) for file in files})}
        listing = _selected(path, options, listing)
        files = listing.files
    unread = next((file for file in files if file.suffix in (*HADOOP_CODECS, ".xz", ".zip")), None)
    if unread is not None:
        raise ConfigError(
            f"{unread} is compressed in a way that only Spark reads; decompress a file, run aomg init on it, and name "
            "the folder in the configuration"
        )
    return DataFiles(kind, files, listing.folder_columns, options)


def _has_columns(files: Sequence[Path], folder: Path) -> bool:
    return any("=" in part for file in files for part in file.relative_to(folder).parts[:-1])


def _selected(path: Path, options: dict[str, str], listing: SourceFiles) -> SourceFiles:
    try:
        return source_files(path, options)
    except ConfigError:
        return listing


def _ending(file: Path) -> str:
    """The end of a name that says its format: .csv, .csv.gz."""
    name = file.name.lower()
    codec = next((codec for codec in ARROW_CODECS if name.endswith(codec)), "")
    plain = Path(file.name[: len(file.name) - len(codec)])
    return plain.suffix + file.name[len(file.name) - len(codec) :]


def _kind_by_name(file: Path) -> str | None:
    ending = _ending(file).lower()
    return next((kind for end, kind in _ENDINGS.items() if ending.startswith(end)), None)


def _glob(endings: set[str]) -> str:
    names = sorted(endings)
    return f"*{names[0]}" if len(names) == 1 else "*{" + ",".join(names) + "}"


def _kind_by_content(file: Path) -> str:
    with reading(file) as start:
        begin = start(_START).removeprefix(b"\xef\xbb\xbf").lstrip()
    if begin.startswith(_PARQUET):
        return "parquet"
    return "jsonl" if begin.startswith(b"{") else "csv"


@contextmanager
def reading(file: Path) -> Iterator[Callable[[int], bytes]]:
    """Open a file as plain bytes. Raises ConfigError if it cannot be read, or is damaged."""
    try:
        with opened(file) as read:
            yield read
    except (OSError, EOFError, pa.ArrowException) as error:
        reason = str(getattr(error, "strerror", None) or error).splitlines()[0]
        raise ConfigError(f"{file} cannot be read ({reason}); repair it, or move it out of the folder") from None
