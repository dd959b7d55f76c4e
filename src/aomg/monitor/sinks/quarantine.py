"""Stores refused rows with their reason, up to a limit, and counts all of them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from aomg.monitor.atomic_files import SinkError, put, reason
from aomg.monitor.rules.rows import NO_QUERY
from aomg.monitor.sinks.jsonl import JsonLinesSink, line_of, newest_line

_LONGEST = 10_000
_MOST_REASONS = 100
_OTHERS = "other reasons"


@dataclass(frozen=True, order=True)
class RefusedRow:
    """A refused row. `count` rows with the same reason may be one without a text: they are only counted."""

    file: str
    reason: str
    text: str | None
    count: int = 1


def refused_in(table: pa.Table) -> tuple[list[RefusedRow], int]:
    """The refused rows of a micro-batch, and how many events it read.

    Both are rows of no query, whose labels are reason, text and file; without a reason, they count events.
    """
    rows = table.filter(pc.equal(table["query"], NO_QUERY)).select(["labels", "count"]).to_pylist()
    events = sum(row["count"] for row in rows if row["labels"][0] is None)
    refused = [(row["labels"], row["count"]) for row in rows if row["labels"][0] is not None]
    return [RefusedRow(file or "", reason, text, count) for (reason, text, file), count in refused], events


class Quarantine:
    """A folder with the newest refused rows in `refused.jsonl` and `refused.1.jsonl`, and counts in `counts.json`.

    At most `most_rows` rows and `most_bytes` are stored, half of that in each file: when the first is full it becomes
    the second. All rows are counted; the journal has the counts, and `counts.json` is a copy for people and the page.
    A repeated batch replaces its rows. With a `stream` (see aomg.monitor.journal.stream) batches of other streams are
    never taken for repeats.
    """

    def __init__(
        self, folder: Path, most_rows: int = 10_000, most_bytes: int = 50_000_000, stream: str | None = None
    ) -> None:
        self._folder = folder
        self._most_rows, self._most_bytes = most_rows // 2, most_bytes // 2
        self._stream = stream
        self._newest, self._older = folder / "refused.jsonl", folder / "refused.1.jsonl"
        self.file = folder / "counts.json"

    def keep(self, batch: int, rows: Sequence[RefusedRow], before: Mapping[str, int]) -> dict[str, int]:
        """Store the refused rows of a batch, in any order, and replace those that it stored before.

        Returns how many rows were refused so far, by reason: those `before` the batch, and its own. `write_counts`
        stores them, once the journal has them.
        """
        try:
            lines = list(self._lines(batch, sorted(rows, key=_order)))
            for file in (self._newest, self._older):
                JsonLinesSink(file, stream=self._stream).put(batch, [])  # a repeat: remove what it wrote before
            if lines and not self._fits(lines):
                self._newest.replace(self._older)
            if lines:
                JsonLinesSink(self._newest, stream=self._stream).put(batch, lines)
        except OSError as error:
            raise SinkError(reason(error, self._folder)) from error
        return _added(before, rows)

    def _lines(self, batch: int, rows: Sequence[RefusedRow]) -> Iterator[dict[str, object]]:
        """As many lines as one file may have."""
        size = 0
        head: dict[str, object] = {"batch": batch} if self._stream is None else {"batch": batch, "stream": self._stream}
        for row in [row for row in rows if row.text is not None][: self._most_rows]:
            line = {**head, "reason": row.reason, "file": row.file, "row": str(row.text)[:_LONGEST]}
            size += len(line_of(line))
            if size > self._most_bytes:
                return
            yield line

    def _fits(self, lines: Sequence[dict[str, object]]) -> bool:
        if not self._newest.exists():
            return True
        if self._newest.stat().st_size + sum(len(line_of(line)) for line in lines) > self._most_bytes:
            return False
        with self._newest.open("rb") as raw:
            return sum(1 for _ in raw) + len(lines) <= self._most_rows

    def differs(self, counts: Mapping[str, int]) -> bool:
        """Whether the file has other counts, or is damaged."""
        stored = read_counts(self.file)
        return stored != dict(counts) and not (stored is None and not counts and not self.file.exists())

    def write_counts(self, counts: Mapping[str, int]) -> bool:
        """Write the counts to their file, unless it has them; returns whether it had others."""
        if not self.differs(counts):
            return False
        put(self.file, (json.dumps({"total": by_number(counts)}, indent=1) + "\n").encode())
        return True


def is_of_others(folder: Path, stream: str) -> bool:
    """Whether a folder has refused rows, and none of them is of a stream."""
    files = [file for name in ("refused.jsonl", "refused.1.jsonl") if (file := folder / name).is_file()]
    return any(file.stat().st_size for file in files) and all(newest_line(file, stream) < 0 for file in files)


def read_counts(file: Path) -> dict[str, int] | None:
    """The counts of refused rows by reason in a file of any version; None if it is missing or damaged."""
    try:
        stored = json.loads(file.read_bytes())
        parts = [stored["before"], *stored["batches"].values()] if "before" in stored else [stored["total"]]
        counts: dict[str, int] = {}
        for part in parts:
            for name, count in part.items():
                if type(count) is not int or count < 0:
                    return None
                counts[name] = counts.get(name, 0) + count
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return counts


def by_number(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts with the largest first."""
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _added(before: Mapping[str, int], rows: Sequence[RefusedRow]) -> dict[str, int]:
    """Counts with those of more rows; beyond 100 reasons, new ones are counted together."""
    counts = dict(before)
    for row in sorted(rows, key=_order):
        name = row.reason if row.reason in counts or len(counts) < _MOST_REASONS else _OTHERS
        counts[name] = counts.get(name, 0) + row.count
    return counts


def _order(row: RefusedRow) -> tuple[str, str, str, int]:
    return row.file, row.reason, row.text or "", row.count
