"""Processes each micro-batch: evaluates the rules, writes to the sinks, hands alerts to the receivers.

Spark repeats a batch that did not complete. The result depends only on what the batch reads and on the journal's entry
of the batch before, and every sink replaces what the same batch wrote before, so a repeat changes nothing. The entry of
a batch is written last: if it is there, so is everything else, and a repeat writes nothing. A repeat that reads or
computes something else than its entry says is refused.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from aomg.errors import StateError
from aomg.monitor.alert import Alert
from aomg.monitor.alerts.judge import Judge, OrderError
from aomg.monitor.alerts.state import State
from aomg.monitor.config.model import QueryConfig
from aomg.monitor.delivery.notifier import Notifier
from aomg.monitor.journal.digests import table_digest
from aomg.monitor.journal.entry import Appended, Entry, SourceRead, Written
from aomg.monitor.journal.journal import Journal
from aomg.monitor.journal.remedies import RESTORE_STATE
from aomg.monitor.rules.rows import NO_QUERY, WindowRows, windows_of
from aomg.monitor.run.progress import Progress, Watcher
from aomg.monitor.sinks.base import Sink, TidySink
from aomg.monitor.sinks.headroom import HeadroomFile
from aomg.monitor.sinks.quarantine import Quarantine, RefusedRow, refused_in
from aomg.monitor.sinks.result_rows import codes, labels_key, stored
from aomg.monitor.source.long_lines import LongLines

_LOG = logging.getLogger(__name__)
_SUMMARY = ("query", "labels", "start", "end", "count", "min", "max", "summary", "written_by")

ReadBy = Callable[[int], SourceRead]
"""Returns what a batch reads, as it is now. Raises StateError if a file is missing that must not be."""


def _nothing(batch: int) -> SourceRead:
    return SourceRead()


@dataclass(frozen=True)
class Batches:
    """Processes the rows of every micro-batch (`aomg.monitor.run.plan` lists their columns); called by foreachBatch.

    Collects the rows to the driver once; then some array operations, and the files of the sinks.

    read_by
        What a batch reads.
    refused_before
        Rows that were refused before the first batch, by reason.
    program
        The version of this program.
    long_lines
        Finds the lines that Spark does not read, because they are too long.
    queries_digest
        The digest of the file of the queries.
    """

    queries: Mapping[str, QueryConfig]
    judge: Judge
    journal: Journal
    results: Sequence[Sink]
    summaries: Sequence[Sink]
    alerts: Sequence[Sink]
    headrooms: HeadroomFile
    quarantine: Quarantine
    notifier: Notifier
    watchers: Sequence[Watcher] = ()
    read_by: ReadBy = _nothing
    refused_before: Mapping[str, int] = field(default_factory=dict)
    program: str = ""
    long_lines: LongLines | None = None
    queries_digest: str = ""

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Process a micro-batch. The frame is computed once."""
        read = self.read_by(batch)
        if batch in self.journal.entries:
            _refuse_other_source(self.journal.entries[batch], read)
        files = [Path(file.path) for file in read.files if file.size >= 0]
        unread = [] if self.long_lines is None else self.long_lines.of(files)
        table = frame.toArrow()
        changed = read.difference(self.read_by(batch))
        if changed:
            raise StateError(
                f"batch {batch} {changed}: it changed while it was read; write files elsewhere and move them into the "
                "source folder when they are complete. The next start repeats the batch"
            )
        self.take(table, batch, read, unread)

    def take(
        self, table: pa.Table, batch: int, read: SourceRead | None = None, unread: Sequence[RefusedRow] = ()
    ) -> None:
        """Process the rows of a micro-batch, and the lines that were refused before they were read.

        A repeat of a complete batch is compared with its entry, no more.
        """
        began = time.perf_counter()
        of_queries = table.filter(pc.not_equal(table["query"], NO_QUERY))
        results = of_queries.filter(pc.is_null(of_queries["summary"]))
        summaries = of_queries.filter(pc.is_valid(of_queries["summary"]))
        refused, events = refused_in(table)
        refused += unread
        windows = windows_of(results, self.queries)
        content = {"results": table_digest(stored(batch, results)), "summaries": table_digest(_ordered(summaries))}
        entry = self.journal.entries.get(batch)
        alerts: Sequence[Alert] = ()
        if entry is None:
            before = self.journal.entry_before(batch) or Entry(-1, "", None, refused=self.refused_before)
            state, alerts = self._judged(State.from_json(before.state), windows, batch)
            # summaries first: once a window is visible, its histogram can be read
            parts = ((self.summaries, summaries), (self.results, results), (self.alerts, alerts))
            written = [sink.write(batch, rows) for sinks, rows in parts for sink in sinks]
            written += [sink.tidy() for sink in (*self.summaries, *self.results) if isinstance(sink, TidySink)]
            self.headrooms.put(self.judge.headrooms({query: rows[-1:] for query, rows in windows.items()}))
            entry = self.journal.put(
                Entry(
                    batch,
                    "",
                    None,
                    self.read_by(batch) if read is None else read,
                    content,
                    tuple(part for part in written if isinstance(part, Written)),
                    state.to_json(),
                    tuple(self.notifier.queue_of(batch, alerts)),
                    self.quarantine.keep(batch, refused, before.refused),
                    self.notifier.positions,
                    lost=before.lost,
                    program=self.program,
                    appended=tuple(part for part in written if isinstance(part, Appended)),
                    queries=self.queries_digest,
                )
            )
            self.quarantine.write_counts(entry.refused)
            for path in entry.read.missing:
                _LOG.warning("the source file %s, which batch %d reads, is gone; its events are left out", path, batch)
        else:
            _refuse_other_content(entry, content, self.program)
        self.notifier.send(batch, entry.queue)
        progress = Progress(
            batch,
            time.perf_counter() - began,
            _by_reason(refused),
            {query: rows[-1] for query, rows in windows.items() if rows},
            results.num_rows,
            alerts,
            self.judge.active(State.from_json(entry.state)),
            events,
        )
        for watcher in self.watchers:
            watcher(progress)

    def _judged(
        self, state: State, windows: Mapping[str, Sequence[WindowRows]], batch: int
    ) -> tuple[State, list[Alert]]:
        """Evaluate the rules. Raises StateError if windows come again: then Spark goes on with an older state."""
        try:
            return self.judge.step(state, windows, batch)
        except OrderError as error:
            place = self.journal.state / "checkpoint" / "state"
            raise StateError(
                f"batch {batch} has results that were evaluated before ({error}): files of Spark's state in {place} "
                f"are older than the journal, or in each other's places; {RESTORE_STATE}"
            ) from error


def _ordered(summaries: pa.Table) -> pa.Table:
    """The content of summaries, in an order that depends on it alone."""
    rows = summaries.select([name for name in _SUMMARY if name in summaries.column_names])
    order = np.lexsort((codes(rows["start"]), codes(labels_key(rows["labels"])), codes(rows["query"])))
    return rows.take(pa.array(order))


def _refuse_other_source(entry: Entry, read: SourceRead) -> None:
    """Raise StateError if a repeated batch reads something else than before."""
    difference = entry.read.difference(read)
    if difference:
        raise StateError(
            f"batch {entry.batch} is repeated and {difference}, so its results would differ from the stored ones. "
            "Restore the files as they were, or use a new state folder and new folders for the sinks"
        )


def _refuse_other_content(entry: Entry, content: Mapping[str, str], program: str) -> None:
    """Raise StateError if a repeated batch computes something else than before."""
    differing = [name for name, digest in entry.content.items() if content.get(name) != digest]
    if differing:
        versions = f" by version {entry.program}, now by {program}" if entry.program != program else ""
        raise StateError(
            f"batch {entry.batch} is repeated, and its {' and '.join(differing)} differ from those that are stored"
            f"{versions}; nothing was changed. Was the configuration or the source edited since? Undo that, restore "
            "the state folder from a backup, or use a new state folder and new folders for the sinks"
        )


def _by_reason(refused: Sequence[RefusedRow]) -> dict[str, int]:
    reasons: dict[str, int] = {}
    for row in refused:
        reasons[row.reason] = reasons.get(row.reason, 0) + row.count
    return reasons
