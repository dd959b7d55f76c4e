"""Processes each micro-batch: evaluates the rules, writes to the sinks, hands alerts to the receivers.

Spark repeats a batch that did not complete. The result depends only on the batch's rows and on the alert state before
it, and every sink replaces what the same batch wrote before, so a repeat changes nothing. The alert state of a batch
is written last: if it is there, so is everything else.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from aomg.monitor.alerts.judge import Judge
from aomg.monitor.alerts.state import State
from aomg.monitor.alerts.state_files import StateFiles
from aomg.monitor.config.model import QueryConfig
from aomg.monitor.delivery.notifier import Notifier
from aomg.monitor.rules.rows import NO_QUERY, windows_of
from aomg.monitor.run.progress import Progress, Watcher
from aomg.monitor.sinks.base import Sink, TidySink
from aomg.monitor.sinks.headroom import HeadroomFile
from aomg.monitor.sinks.quarantine import Quarantine, refused_in


@dataclass(frozen=True)
class Batches:
    """Processes the rows of every micro-batch (`aomg.monitor.run.plan` lists their columns); called by foreachBatch.

    Collects the rows to the driver once; then some array operations, and the files of the sinks.
    """

    queries: Mapping[str, QueryConfig]
    judge: Judge
    states: StateFiles
    results: Sequence[Sink]
    summaries: Sequence[Sink]
    alerts: Sequence[Sink]
    headrooms: HeadroomFile
    quarantine: Quarantine
    notifier: Notifier
    watchers: Sequence[Watcher] = ()

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Process a micro-batch. The frame is computed once."""
        self.take(frame.toArrow(), batch)

    def take(self, table: pa.Table, batch: int) -> None:
        """Process the rows of a micro-batch."""
        began = time.perf_counter()
        of_queries = table.filter(pc.not_equal(table["query"], NO_QUERY))
        results = of_queries.filter(pc.is_null(of_queries["summary"]))
        refused = refused_in(table)
        windows = windows_of(results, self.queries)
        before = self.states.load_below(batch)
        state, alerts = self.judge.step(State() if before is None else State.from_json(before), windows, batch)
        # summaries first: once a window is visible, its histogram can be read
        for sink in self.summaries:
            sink.write(batch, of_queries.filter(pc.is_valid(of_queries["summary"])))
        for sink in self.results:
            sink.write(batch, results)
        for sink in self.alerts:
            sink.write(batch, alerts)
        self.headrooms.put(self.judge.headrooms({query: rows[-1:] for query, rows in windows.items()}))
        self.quarantine.keep(batch, refused)
        self.notifier.send(batch, alerts)
        self.states.save(batch, state.to_json())
        reasons: dict[str, int] = {}
        for row in refused:
            reasons[row.reason] = reasons.get(row.reason, 0) + row.count
        newest = {query: rows[-1] for query, rows in windows.items() if rows}
        progress = Progress(
            batch,
            time.perf_counter() - began,
            reasons,
            newest,
            results.num_rows,
            alerts,
            self.judge.active(state),
        )
        for watcher in self.watchers:
            watcher(progress)
        for sink in (*self.summaries, *self.results):
            if isinstance(sink, TidySink):
                sink.tidy()
