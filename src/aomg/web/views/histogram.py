"""Builds the histogram of one key's window from stored summaries, where the configuration stores them.

The folder has one file per query and batch: `summaries/inbound/batch-3f9a...-0000000123.parquet`. Batches of a stream
close sub-windows in the order of time, so a window's files are found by bisection over their footers, and only these
are read; if events are missing, the neighbouring files too.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aomg.core.histogram import histogram
from aomg.core.summary import events_of
from aomg.errors import AomgError
from aomg.query import Query
from aomg.times import time_text
from aomg.web.lru_cache import LruCache
from aomg.web.parameters import NotFound

_NAME = re.compile(r"batch-(.*)-(\d{10,})\.parquet")
_FIXED = {"sub_window", "count", "min", "max", "summary", "query"}
_MOST_SPANS, _MOST_PARTS = 1 << 14, 1 << 13
_BESIDE = 32
_LARGEST = 1.7976931348623157e308
Key = Mapping[str, str | None]


class Part(NamedTuple):
    """The summary of one sub-window of one key; times in microseconds."""

    start: int
    end: int
    record: bytes
    query: str


class Histograms:
    """Histograms from a folder of summaries; None where the monitor stores none.

    Thread-safe. The first request for a window reads some footers and the window's files, a few milliseconds each; the
    next one for the same key reads only what is new. Caches a few megabytes at most.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._spans: LruCache[tuple[int, int] | None] = LruCache(_MOST_SPANS)
        self._parts: LruCache[tuple[Part, ...]] = LruCache(_MOST_PARTS)

    def of(self, query: str, key: Key, start: int, end: int, count: int | None = None) -> dict[str, Any]:
        """Return the JSON object of /api/histogram: buckets of the key's values in [start, end), in microseconds.

        count
            The window's number of events, where it is known: summaries of fewer events are then an error.

        Raises NotFound where the window's summaries are not stored.
        """
        streams = self._streams(query)
        parts = self._parts_between(streams, key, start, end, 0)
        if not parts or (count is not None and _count(parts) != count):
            parts = self._parts_between(streams, key, start, end, _BESIDE)
        if not parts:
            raise NotFound(
                f"the summaries of the window that ends at {time_text(end)} are not stored",
                "choose a newer window, or keep the summary files for longer",
            )
        if count is not None and _count(parts) != count:
            raise NotFound(
                f"the stored summaries have only {_count(parts):,} of the {count:,} events of the window that ends at "
                f"{time_text(end)}: the others were removed, or are not written yet",
                "choose a newer window, or try again in a moment",
            )
        window = {"query": query, "key": dict(key), "start": time_text(start), "end": time_text(end)}
        return {**window, **_histogram(parts)}

    def _parts_between(self, streams: list[list[Path]], key: Key, start: int, end: int, beside: int) -> dict[int, Part]:
        """Return the summaries of a window, by start of their sub-windows; the newest stream wins."""
        parts: dict[int, Part] = {}
        for files in streams:
            first, last = self._between(files, start, end)
            for file in reversed(files[max(first - beside, 0) : last + beside]):
                span = self._span(file)
                if span is not None and span[0] < end and span[1] > start:
                    for part in self._of_key(file, key):
                        if start <= part.start and part.end <= end:
                            parts.setdefault(part.start, part)
        return parts

    def _streams(self, query: str) -> list[list[Path]]:
        """Return the files of each stream in the order of their batches; the last written stream comes first."""
        if self._folder is None:
            raise NotFound(
                "histograms need stored summaries, and the configuration does not store them",
                "add summaries: [{parquet: summaries/}] to sinks, and restart the monitor",
            )
        streams: dict[str, list[tuple[int, Path]]] = {}
        for file in _listed(self._folder, query):
            if match := _NAME.fullmatch(file.name):
                streams.setdefault(match[1], []).append((int(match[2]), file))
        if not streams:
            raise NotFound(f"no summaries of {query} are stored yet", "wait for its first window")
        ordered = [[file for _, file in sorted(files)] for files in streams.values()]
        return sorted(ordered, key=lambda files: _identity(files[-1])[1], reverse=True)

    def _between(self, files: Sequence[Path], start: int, end: int) -> tuple[int, int]:
        """Return the range of files that may hold sub-windows between two times."""
        first = bisect_right(files, start, key=lambda file: (self._span(file) or (0, start))[1])
        last = bisect_right(files, end - 1, key=lambda file: (self._span(file) or (start, 0))[0])
        return first, max(first, last)

    def _span(self, file: Path) -> tuple[int, int] | None:
        """Return the first start and the last end of a file, from its footer; None where it cannot be read."""
        return self._spans.get((file, _identity(file)), lambda: _span_of(file))

    def _of_key(self, file: Path, key: Key) -> tuple[Part, ...]:
        labels = tuple(sorted(key.items()))
        return self._parts.get((file, _identity(file), labels), lambda: tuple(_parts_of(file, key)))


def _histogram(parts: Mapping[int, Part]) -> dict[str, Any]:
    queries = {part.query for part in parts.values()}
    if len(queries) > 1:
        raise NotFound("the query changed during the window: its summaries cannot be merged", "choose a newer window")
    try:
        merged = histogram((part.record for part in parts.values()), Query.parse(queries.pop()))
    except AomgError as error:
        message, _, what_to_do = str(error).partition("; ")
        raise NotFound(message, what_to_do) from error
    columns = (merged.lows.tolist(), merged.highs.tolist(), merged.counts.tolist())
    buckets = [{"low": low, "high": min(high, _LARGEST), "count": n} for low, high, n in zip(*columns, strict=True)]
    return {"count": merged.total, "sub_windows": len(parts), "buckets": buckets}


def _count(parts: Mapping[int, Part]) -> int:
    """Return the number of events of the summaries."""
    return sum(events_of(part.record) for part in parts.values())


def _listed(folder: Path, query: str) -> list[Path]:
    """Return the files of a query; none for a name that is not a plain file name."""
    if query in ("", ".", "..") or Path(query).name != query:
        return []
    try:
        return list((folder / query).iterdir())
    except OSError:
        return []


def _identity(file: Path) -> tuple[int, int]:
    """Return size and modification time: a rewritten file has another identity."""
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


def _span_of(file: Path) -> tuple[int, int] | None:
    try:
        footer = pq.read_metadata(file)
    except (OSError, pa.ArrowException):
        return None
    bounds: dict[str, list[int]] = {"sub_window.start": [], "sub_window.end": []}
    for group in range(footer.num_row_groups):
        chunks = footer.row_group(group)
        for chunk in map(chunks.column, range(chunks.num_columns)):
            if chunk.path_in_schema in bounds and chunk.statistics is not None:
                bounds[chunk.path_in_schema] += [chunk.statistics.min_raw, chunk.statistics.max_raw]
    starts, ends = bounds.values()
    return (min(starts), max(ends)) if starts and ends else None


def _parts_of(file: Path, key: Key) -> Iterator[Part]:
    """Yield the rows of one key; none if the file is removed meanwhile."""
    wanted = pc.scalar(True)
    for name, value in key.items():
        wanted = wanted & (pc.field(name).is_null() if value is None else pc.field(name) == value)
    try:
        names = set(pq.read_schema(file).names) - _FIXED
        if names != set(key):
            raise NotFound(
                f"the stored summaries have the labels {', '.join(sorted(names)) or 'none'}",
                "give a value for each of them",
            )
        columns = ["sub_window", "summary", "query"]
        rows = pq.read_table(file, columns=columns, filters=wanted if key else None).combine_chunks()
    except FileNotFoundError:
        return
    except (OSError, pa.ArrowException) as error:
        raise NotFound(f"{file.name} cannot be read ({error})", "move the damaged file away") from error
    spans = rows.flatten()
    times = [spans[f"sub_window.{part}"].cast(pa.int64()).to_pylist() for part in ("start", "end")]
    for row in zip(*times, rows["summary"].to_pylist(), rows["query"].to_pylist(), strict=True):
        yield Part(*row)
