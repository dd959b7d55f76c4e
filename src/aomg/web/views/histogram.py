"""The histogram of one key's window, from the summaries that the monitor stores where it is told to.

The folder has a file for each query and batch: `summaries/inbound/batch-3f9a...-0000000123.parquet`. Batches of a
stream close sub-windows in the order of time, so a window's files are found by bisection over their footers, and only
they are read; where events are missing, also the files beside them.
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
from aomg.errors import AomgError
from aomg.query import Query
from aomg.times import time_text
from aomg.web.lru import Remembered
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

    Safe to ask from several threads. The first question of a window reads some footers and the window's files, some
    milliseconds each; the next one of the same key only what is new. Remembers some megabytes at most.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._spans: Remembered[tuple[int, int] | None] = Remembered(_MOST_SPANS)
        self._parts: Remembered[tuple[Part, ...]] = Remembered(_MOST_PARTS)

    def of(self, query: str, key: Key, start: int, end: int, count: int | None = None) -> dict[str, Any]:
        """The buckets of the key's values in [start, end), in microseconds: the JSON object of /api/histogram.

        count
            The window's events, where they are known: then summaries of fewer are an error.

        Raises NotFound, with what to do, where there are no summaries of the window.
        """
        streams = self._streams(query)
        found = self._found(streams, key, start, end, 0)
        if not found or (count is not None and _count(found) != count):
            found = self._found(streams, key, start, end, _BESIDE)
        if not found:
            raise NotFound(
                f"the summaries of the window that ends at {time_text(end)} are not stored",
                "look at a newer window, or keep the files of the summaries longer",
            )
        if count is not None and _count(found) != count:
            raise NotFound(
                f"the summaries hold {_count(found):,} of the {count:,} events of the window that ends at "
                f"{time_text(end)}: the others were removed, or are not written yet",
                "look at a newer window, or again in a moment",
            )
        told = {"query": query, "key": dict(key), "start": time_text(start), "end": time_text(end)}
        return {**told, **_histogram(found)}

    def _found(self, streams: list[list[Path]], key: Key, start: int, end: int, beside: int) -> dict[int, Part]:
        """The summaries of a window, by the start of their sub-windows; of several streams the newest one counts."""
        found: dict[int, Part] = {}
        for files in streams:
            first, last = self._between(files, start, end)
            for file in reversed(files[max(first - beside, 0) : last + beside]):
                span = self._span(file)
                if span is not None and span[0] < end and span[1] > start:
                    for part in self._of_key(file, key):
                        if start <= part.start and part.end <= end:
                            found.setdefault(part.start, part)
        return found

    def _streams(self, query: str) -> list[list[Path]]:
        """The files of each stream in the order of their batches; the stream that was written last comes first."""
        if self._folder is None:
            raise NotFound(
                "histograms need the summaries of sub-windows, which the configuration does not store",
                "add summaries: [{parquet: summaries/}] to sinks, and start the monitor again",
            )
        streams: dict[str, list[tuple[int, Path]]] = {}
        for file in _listed(self._folder, query):
            if match := _NAME.fullmatch(file.name):
                streams.setdefault(match[1], []).append((int(match[2]), file))
        if not streams:
            raise NotFound(f"no summaries of {query} are stored yet", "wait until its first window is over")
        ordered = [[file for _, file in sorted(files)] for files in streams.values()]
        return sorted(ordered, key=lambda files: _identity(files[-1])[1], reverse=True)

    def _between(self, files: Sequence[Path], start: int, end: int) -> tuple[int, int]:
        """The run of files that may hold sub-windows between two times."""
        first = bisect_right(files, start, key=lambda file: (self._span(file) or (0, start))[1])
        last = bisect_right(files, end - 1, key=lambda file: (self._span(file) or (start, 0))[0])
        return first, max(first, last)

    def _span(self, file: Path) -> tuple[int, int] | None:
        """The first start and the last end in a file, by its footer; None where it cannot be read."""
        return self._spans.get((file, _identity(file)), lambda: _span_of(file))

    def _of_key(self, file: Path, key: Key) -> tuple[Part, ...]:
        asked = tuple(sorted(key.items()))
        return self._parts.get((file, _identity(file), asked), lambda: tuple(_parts_of(file, key)))


def _histogram(found: Mapping[int, Part]) -> dict[str, Any]:
    written = {part.query for part in found.values()}
    if len(written) > 1:
        raise NotFound("the query was changed while the window ran: its summaries do not add up", "look at a newer one")
    try:
        made = histogram((part.record for part in found.values()), Query.parse(written.pop()))
    except AomgError as error:
        message, _, what_to_do = str(error).partition("; ")
        raise NotFound(message, what_to_do) from error
    columns = (made.lows.tolist(), made.highs.tolist(), made.counts.tolist())
    buckets = [{"low": low, "high": min(high, _LARGEST), "count": n} for low, high, n in zip(*columns, strict=True)]
    return {"count": made.total, "sub_windows": len(found), "buckets": buckets}


def _count(found: Mapping[int, Part]) -> int:
    """Events of the summaries, from their second words."""
    return sum(int.from_bytes(part.record[8:16], "little") for part in found.values())


def _listed(folder: Path, query: str) -> list[Path]:
    """The files of a query; none of anything that is not a plain name."""
    if query in ("", ".", "..") or Path(query).name != query:
        return []
    try:
        return list((folder / query).iterdir())
    except OSError:
        return []


def _identity(file: Path) -> tuple[int, int]:
    """Size and time of the last change: a file that is written anew is another one."""
    try:
        told = file.stat()
    except OSError:
        return 0, 0
    return told.st_size, told.st_mtime_ns


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
    """The rows of one key. A file that goes while it is read has none."""
    wanted = pc.scalar(True)
    for name, value in key.items():
        wanted = wanted & (pc.field(name).is_null() if value is None else pc.field(name) == value)
    try:
        names = set(pq.read_schema(file).names) - _FIXED
        if names != set(key):
            raise NotFound(
                f"the summaries have the labels {', '.join(sorted(names)) or 'none'}", "give a value for each of them"
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
