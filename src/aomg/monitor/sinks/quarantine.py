"""Stores refused rows with their reason, up to a limit, and counts all of them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from aomg.errors import StateError
from aomg.monitor.atomic_files import SinkError, put, reason
from aomg.monitor.rules.rows import NO_QUERY
from aomg.monitor.sinks.jsonl import JsonLinesSink, line_of

_LONGEST = 10_000
_MOST_REASONS = 100
_OTHERS = "other reasons"
_SEPARATE_BATCHES = 20  # whose counts are stored separately, because they may be repeated


@dataclass(frozen=True, order=True)
class RefusedRow:
    """A refused row. `count` rows with the same reason may be one without a text: they are only counted."""

    file: str
    reason: str
    text: str | None
    count: int = 1


def refused_in(table: pa.Table) -> list[RefusedRow]:
    """The refused rows of a micro-batch: rows of no query, whose labels are reason, text and file."""
    rows = table.filter(pc.equal(table["query"], NO_QUERY)).select(["labels", "count"]).to_pylist()
    return [RefusedRow(labels[2] or "", labels[0] or "", labels[1], count) for labels, count in map(dict.values, rows)]


class Quarantine:
    """A folder with the newest refused rows in `refused.jsonl` and `refused.1.jsonl`, and counts in `counts.json`.

    At most `most_rows` rows and `most_bytes` are stored, half of that in each file: when the first is full it becomes
    the second. All rows are counted. A repeated batch replaces its rows and its counts. With a `stream` (see
    state_files.stream_of) batches of other streams are never taken for repeats.
    """

    def __init__(
        self, folder: Path, most_rows: int = 10_000, most_bytes: int = 50_000_000, stream: str | None = None
    ) -> None:
        self._folder = folder
        self._most_rows, self._most_bytes = most_rows // 2, most_bytes // 2
        self._stream = stream
        self._newest, self._older = folder / "refused.jsonl", folder / "refused.1.jsonl"
        self._counts = self._read()

    def counts(self) -> dict[str, int]:
        """How many rows were refused since the folder was created, by reason; the most frequent first."""
        return _total(self._counts)

    def keep(self, batch: int, rows: Sequence[RefusedRow]) -> None:
        """Store the refused rows of a batch, in any order, and replace those that it stored before."""
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
        self._count(batch, rows)

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

    def _count(self, batch: int, rows: Sequence[RefusedRow]) -> None:
        counts = self._counts
        if counts["stream"] != self._stream:
            counts = {"stream": self._stream, "last": -1, "before": self.counts(), "batches": {}}
        if batch <= counts["last"]:
            return  # counted already
        batches = {number: part for number, part in counts["batches"].items() if int(number) < batch}
        reasons: dict[str, int] = {}
        known = set(self.counts())
        for row in sorted(rows, key=_order):
            name = row.reason if row.reason in known or len(known) < _MOST_REASONS else _OTHERS
            known.add(name)
            reasons[name] = reasons.get(name, 0) + row.count
        if reasons:
            batches[str(batch)] = reasons
        before, last = dict(counts["before"]), counts["last"]
        for number in sorted(batches, key=int)[:-_SEPARATE_BATCHES]:
            for name, count in batches.pop(number).items():
                before[name] = before.get(name, 0) + count
            last = int(number)
        new = {"stream": self._stream, "last": last, "before": before, "batches": batches}
        if new != self._counts:
            total = _total(new)  # for people; the other parts identify repeats
            put(self._folder / "counts.json", (json.dumps({"total": total, **new}, indent=1) + "\n").encode())
            self._counts = new

    def _read(self) -> dict[str, Any]:
        file = self._folder / "counts.json"
        if not file.exists():
            return {"stream": self._stream, "last": -1, "before": {}, "batches": {}}
        try:
            counts = json.loads(file.read_text("utf-8"))
            counts.pop("total", None)
            parts = [counts["before"], *counts["batches"].values()]
            fits = isinstance(counts["last"], int) and "stream" in counts
            fits = fits and all(isinstance(count, int) for part in parts for count in part.values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StateError(f"{file} is damaged; remove it (refused rows are then counted from 0 again)") from error
        if not fits:
            raise StateError(f"{file} is damaged; remove it (refused rows are then counted from 0 again)")
        return counts  # type: ignore[no-any-return]


def _total(counts: dict[str, Any]) -> dict[str, int]:
    total: dict[str, int] = dict(counts["before"])
    for part in counts["batches"].values():
        for name, count in part.items():
            total[name] = total.get(name, 0) + count
    return dict(sorted(total.items(), key=lambda pair: (-pair[1], pair[0])))


def _order(row: RefusedRow) -> tuple[str, str, str, int]:
    return row.file, row.reason, row.text or "", row.count
