"""Writes and reads Parquet files that can be verified: checksums of pages, and a digest of the whole file in its name.

`batch-0000000012.3f9a5c7e01234567.parquet` has 16 hexadecimal digits of the BLAKE2b of its bytes: those that
`b2sum -l 64` prints. Checksums of pages cover the values alone; the digest also covers headers, statistics and the
footer. Files without a digest in their name, of earlier versions and of other programs, are read as they are, and only
the checksums of their pages are verified, if they have any.

A file is read into memory, and verified before it is parsed. Large files are read twice instead.
"""

import os
import re
from collections.abc import Mapping
from functools import partial
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from aomg.errors import DamagedFileError

DIGEST = r"(?:\.(?P<digest>[0-9a-f]{16}))?\.parquet"
"""How names end, as a pattern: with a digest, or without."""
_WITH_DIGEST = re.compile(r"(.+)\.([0-9a-f]{16})\.parquet")
_IN_MEMORY = 1 << 26  # bytes of a file that is read once
_TRIES = 20

new_digest = partial(blake2b, digest_size=8)


def digest_of(content: bytes) -> str:
    """The digest of a file's bytes."""
    return new_digest(content).hexdigest()


def digest_in(name: str) -> str | None:
    """The digest in the name of a file; None if it has none."""
    match = _WITH_DIGEST.fullmatch(name)
    return match[2] if match else None


def name_with(stem: str, digest: str) -> str:
    """The name of a file with its digest.

    >>> name_with("batch-0000000012", digest_of(b""))
    'batch-0000000012.e4a6a0577479b2b4.parquet'
    """
    return f"{stem}.{digest}.parquet"


def name_without(name: str) -> str:
    """The name of a file without its digest: the same for whatever replaces it.

    >>> name_without("batch-0000000012.e4a6a0577479b2b4.parquet")
    'batch-0000000012.parquet'
    """
    match = _WITH_DIGEST.fullmatch(name)
    return f"{match[1]}.parquet" if match else name


def parquet_bytes(table: pa.Table, notes: Mapping[str, str] | None = None, level: int = 1) -> bytes:
    """The bytes of a Parquet file: the same for the same table. `notes` are key-value metadata of the file."""
    buffer = pa.BufferOutputStream()
    with writer(buffer, table.schema, level) as file:
        file.write_table(table.combine_chunks())
        if notes:
            file.add_key_value_metadata(dict(notes))
    return bytes(buffer.getvalue())


def writer(sink: Any, schema: pa.Schema, level: int) -> pq.ParquetWriter:
    """A writer of Parquet with checksums of pages."""
    return pq.ParquetWriter(sink, schema, compression="zstd", compression_level=level, write_page_checksum=True)


def listing(folder: Path) -> list[str]:
    """The names in a folder, all of the same moment if files are being joined there.

    Joining exchanges the folder for a new one. Whoever has begun to list the old one may miss files that are removed
    by then, and would read less than there is: so a folder that was exchanged is listed again. Raises OSError.
    """
    for _ in range(_TRIES):
        handle = os.open(folder, os.O_RDONLY)
        try:
            names = os.listdir(handle)  # noqa: PTH208  of what is open, whatever is in its place now
            if os.path.samestat(os.fstat(handle), folder.stat()):
                return names
        finally:
            os.close(handle)
    raise FileNotFoundError(f"{folder} kept changing while it was listed")


def open_source(file: Path) -> pa.NativeFile:
    """Open a file whose bytes agree with the digest in its name, if that has one. Raises DamagedFileError."""
    expected = digest_in(file.name)
    if expected is None:
        return pa.OSFile(str(file))
    with file.open("rb") as handle:
        content = handle.read() if os.fstat(handle.fileno()).st_size <= _IN_MEMORY else None
        digest = file_digest(handle, new_digest).hexdigest() if content is None else digest_of(content)
    if digest != expected:
        raise DamagedFileError(file, "its content does not have the digest in its name")
    return pa.OSFile(str(file)) if content is None else pa.BufferReader(content)


def open_parquet(file: Path, **options: Any) -> pq.ParquetFile:
    """Open a Parquet file, verified. Raises DamagedFileError, or OSError if it cannot be read."""
    source = open_source(file)
    try:
        return pq.ParquetFile(source, page_checksum_verification=True, **options)
    except pa.ArrowException as error:
        raise DamagedFileError(file, str(error)) from error


def read_parquet(file: Path, columns: list[str] | None = None) -> pa.Table:
    """The rows of a Parquet file, verified. Raises DamagedFileError, or FileNotFoundError if there is none."""
    try:
        return open_parquet(file).read(columns)
    except (FileNotFoundError, PermissionError):
        raise
    except (OSError, pa.ArrowException) as error:  # Arrow raises OSError for what cannot be decoded, too
        raise DamagedFileError(file, str(error)) from error


def parquet_format() -> ds.ParquetFileFormat:
    """The format of datasets whose pages are verified."""
    options = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    return ds.ParquetFileFormat(default_fragment_scan_options=options)
