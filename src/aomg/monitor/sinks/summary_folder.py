"""Names the files of a folder of summaries, and finds those of a stream.

A query's folder has files of one batch (`batch-3f9a...-0000000123.5c7e012345678901.parquet`) and of several
(`compacted-3f9a...-0000000000-0000000099.7e01234567890abc.parquet`), each of one stream; the hexadecimal digits at the
end are a digest of the file (aomg.tables.parquet_files). Files of earlier versions have none.
"""

import re
from pathlib import Path
from typing import NamedTuple

from aomg.monitor.sinks.small_files import BatchFile
from aomg.tables.parquet_files import DIGEST, digest_of, name_with

_BATCH = re.compile(r"batch-(?P<stream>.*)-(?P<first>\d{10,})" + DIGEST)
_COMPACTED = re.compile(r"compacted-(?P<stream>.*)-(?P<first>\d{10,})-(?P<last>\d{10,})" + DIGEST)


class SummaryBatches(NamedTuple):
    """Which batches of which stream a file has."""

    stream: str
    first: int
    last: int


def batches_of(name: str) -> SummaryBatches | None:
    """The batches of a file, by its name; None for other files.

    >>> batches_of("compacted-3f9a-0000000000-0000000099.7e01234567890abc.parquet")
    SummaryBatches(stream='3f9a', first=0, last=99)
    """
    match = _BATCH.fullmatch(name) or _COMPACTED.fullmatch(name)
    if match is None:
        return None
    parts = match.groupdict()
    return SummaryBatches(parts["stream"], int(parts["first"]), int(parts.get("last", parts["first"])))


def summary_file_name(stream: str, batch: int, content: bytes) -> str:
    """The name of a batch's file with this content."""
    return name_with(f"batch-{stream}-{batch:010d}", digest_of(content))


def compacted_summary_name(stream: str, first: int, last: int, digest: str) -> str:
    """The name of a file with the summaries of several batches."""
    return name_with(f"compacted-{stream}-{first:010d}-{last:010d}", digest)


def files_of_stream(folder: Path, stream: str) -> list[BatchFile]:
    """The files of a stream in the folder of a query, in the order of their batches."""
    spans = ((batches_of(path.name), path) for path in folder.iterdir())
    return sorted(BatchFile(span.first, span.last, path) for span, path in spans if span and span.stream == stream)
