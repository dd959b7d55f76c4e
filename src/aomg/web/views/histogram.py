"""Builds the histogram of one key's window from stored summaries, where the configuration stores them.

The folder has a folder for each query, with files of one batch or several (aomg.monitor.sinks.summary_folder). Batches
of a stream close sub-windows in the order of time, so a window's files are found by bisection over their footers, and
only these are read; if events are missing, the neighbouring files too. Every file and every summary is verified.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from aomg.core.histogram import histogram
from aomg.core.summary import events_of
from aomg.errors import AomgError, DamagedFileError
from aomg.monitor.sinks.result_folder import current
from aomg.monitor.sinks.summary_folder import batches_of
from aomg.query import Query
from aomg.tables.checksums import COLUMNS, verified
from aomg.tables.columns import SUMMARY
from aomg.tables.parquet_files import listing, open_parquet, read_parquet
from aomg.times import time_text
from aomg.web.lru_cache import LruCache
from aomg.web.parameters import NotFound

_MOST_SPANS, _MOST_PARTS = 1 << 14, 1 << 13
_BESIDE = 32
_LARGEST = 1.7976931348623157e308
_TRIES = 3
Key = Mapping[str, str | None]
Span = tuple[int, int]
"""The first start and the last end of a file, in microseconds."""
_EVERYWHERE: Span = (-(1 << 62), 1 << 62)


class UnreadableFile(NamedTuple):
    """A file of summaries that cannot be read, and why."""

    name: str
    because: str

    @classmethod
    def of(cls, file: Path, error: Exception) -> "UnreadableFile":
        """Return why a file cannot be read."""
        return cls(file.name, error.reason if isinstance(error, DamagedFileError) else str(error))

    def error(self) -> NotFound:
        """Return the error of a request that needs the file."""
        return NotFound(
            f"the stored summaries in {self.name} cannot be read ({self.because})",
            "restore the file from a backup, or move it away: its summaries are lost",
        )


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
        self._spans: LruCache[Span | UnreadableFile] = LruCache(_MOST_SPANS)
        self._parts: LruCache[tuple[Part, ...]] = LruCache(_MOST_PARTS)

    def of(self, query: str, key: Key, start: int, end: int, count: int | None = None) -> dict[str, Any]:
        """Return the JSON object of /api/histogram: buckets of the key's values in [start, end), in microseconds.

        count
            The window's number of events, where it is known: summaries of fewer events are then an error.

        Raises NotFound where the window's summaries are not stored, or where a file that may have some is damaged.
        """
        for left in reversed(range(_TRIES)):
            try:
                return self._of(query, key, start, end, count)
            except FileNotFoundError:  # joined with others meanwhile: list the files again
                if not left:
                    raise NotFound("files of summaries kept disappearing", "try again in a moment") from None
        raise AssertionError("unreachable")

    def _of(self, query: str, key: Key, start: int, end: int, count: int | None) -> dict[str, Any]:
        streams = self._streams(query)
        parts, damaged = self._parts_between(streams, key, start, end, 0)
        if not parts or (count is not None and _count(parts) != count):
            parts, _ = self._parts_between(streams, key, start, end, _BESIDE)
        if damaged and (count is None or _count(parts) != count):
            raise damaged[0].error()
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

    def _parts_between(
        self, streams: list[list[Path]], key: Key, start: int, end: int, beside: int
    ) -> tuple[dict[int, Part], list[UnreadableFile]]:
        """Return the summaries of a window, by start of their sub-windows; the newest stream wins.

        Also returns the files that may have some, and are damaged.
        """
        parts: dict[int, Part] = {}
        damaged: list[UnreadableFile] = []
        for files in streams:
            first, last = self._between(files, start, end)
            for file in reversed(files[max(first - beside, 0) : last + beside]):
                span = self._span(file)
                if isinstance(span, UnreadableFile):
                    damaged.append(span)
                elif span[0] < end and span[1] > start:
                    for part in self._of_key(file, key):
                        if start <= part.start and part.end <= end:
                            parts.setdefault(part.start, part)
        return parts, damaged

    def _streams(self, query: str) -> list[list[Path]]:
        """Return the files of each stream in the order of their batches; the last written stream comes first."""
        if self._folder is None:
            raise NotFound(
                "histograms need stored summaries, and the configuration does not store them",
                "add summaries: [{parquet: summaries/}] to sinks, and restart the monitor",
            )
        streams: dict[str, list[tuple[int, Path]]] = {}
        for file in _listed(self._folder, query):
            if span := batches_of(file.name):
                streams.setdefault(span.stream, []).append((span.first, file))
        if not streams:
            raise NotFound(f"no summaries of {query} are stored yet", "wait for its first window")
        ordered = [[file for _, file in sorted(files)] for files in streams.values()]
        return sorted(ordered, key=lambda files: _identity(files[-1])[1], reverse=True)

    def _between(self, files: Sequence[Path], start: int, end: int) -> tuple[int, int]:
        """Return the range of files that may hold sub-windows between two times.

        A damaged file may hold whatever its neighbours leave room for.
        """
        first = bisect_right(range(len(files)), start, key=lambda i: self._nearest(files[i:])[1])
        last = bisect_right(range(len(files)), end - 1, key=lambda i: self._nearest(files[i::-1])[0])
        return first, max(first, last)

    def _nearest(self, files: Sequence[Path]) -> Span:
        """Return the span of the first file that is not damaged; all times if there is none."""
        for file in files:
            span = self._span(file)
            if not isinstance(span, UnreadableFile):
                return span
        return _EVERYWHERE

    def _span(self, file: Path) -> Span | UnreadableFile:
        """Return the first start and the last end of a file, from its footer; or that it is damaged."""
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
        return current(folder / query / name for name in listing(folder / query))
    except OSError:
        return []


def _identity(file: Path) -> tuple[int, int]:
    """Return size and modification time: a rewritten file has another identity."""
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


def _span_of(file: Path) -> Span | UnreadableFile:
    try:
        footer = open_parquet(file).metadata
    except FileNotFoundError:
        raise
    except (OSError, DamagedFileError) as error:
        return UnreadableFile.of(file, error)
    bounds: dict[str, list[int]] = {"sub_window.start": [], "sub_window.end": []}
    for group in range(footer.num_row_groups):
        chunks = footer.row_group(group)
        for chunk in map(chunks.column, range(chunks.num_columns)):
            if chunk.path_in_schema in bounds and chunk.statistics is not None:
                bounds[chunk.path_in_schema] += [chunk.statistics.min_raw, chunk.statistics.max_raw]
    starts, ends = bounds.values()
    if not starts or not ends:
        return UnreadableFile(file.name, "it has no times of sub-windows")
    return min(starts), max(ends)


def _parts_of(file: Path, key: Key) -> Iterator[Part]:
    """Yield the rows of one key. Raises FileNotFoundError if the file is removed meanwhile."""
    try:
        whole = read_parquet(file)
    except FileNotFoundError:
        raise
    except (OSError, DamagedFileError) as error:
        raise UnreadableFile.of(file, error).error() from error
    names = set(whole.column_names) - set(SUMMARY)
    if names != set(key):
        raise NotFound(
            f"the stored summaries have the labels {', '.join(sorted(names)) or 'none'}",
            "give a value for each of them",
        )
    wanted = pa.scalar(True)
    for name, value in key.items():
        wanted = pc.and_(wanted, pc.is_null(whole[name]) if value is None else pc.equal(whole[name], value))
    rows = whole.filter(pc.fill_null(wanted, False)) if key else whole
    spans = rows.select(["sub_window"]).flatten()
    times = {name: spans[f"sub_window.{name}"].cast(pa.int64()) for name in ("start", "end")}
    columns = pa.table({name: times[name] if name in times else rows[name] for name in COLUMNS})
    try:
        _, offsets, data = verified(columns, {name: rows[name] for name in key})
    except AomgError as error:
        message, _, what_to_do = str(error).partition("; ")
        raise NotFound(f"{file.name}: {message}", what_to_do) from error
    content = data.tobytes()
    summaries = [content[start:end] for start, end in pairwise(offsets.tolist())]
    for row in zip(
        *(column.to_pylist() for column in times.values()), summaries, rows["query"].to_pylist(), strict=True
    ):
        yield Part(*row)
