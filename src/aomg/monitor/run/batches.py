"""What is done with each micro-batch: judged by the rules, written, told. In that order, and the same when repeated.

Spark repeats a batch that it did not see the end of. Everything here is a function of the batch's rows and of the
alert state before it, and every sink replaces what the same batch wrote before, so a repeat changes nothing. The
alert state of a batch is written last: it stands for all the rest being there.
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
from aomg.monitor.sinks.base import Sink
from aomg.monitor.sinks.headroom import HeadroomFile
from aomg.monitor.sinks.quarantine import Quarantine, refused_in
from aomg.monitor.sinks.summaries import SummarySink


@dataclass(frozen=True)
class Batches:
    """Takes the rows of every micro-batch (`aomg.monitor.run.plan` says which), as foreachBatch hands them over.

    Costs one collection of the rows to the driver, some array operations, and the files of the sinks.
    """

    queries: Mapping[str, QueryConfig]
    judge: Judge
    states: StateFiles
    results: Sequence[Sink]
    summaries: Sequence[SummarySink]
    alerts: Sequence[Sink]
    headrooms: HeadroomFile
    quarantine: Quarantine
    notifier: Notifier
    watchers: Sequence[Watcher] = ()

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Do all that is to be done with a micro-batch. The frame is computed once."""
        self.take(frame.toArrow(), batch)

    def take(self, table: pa.Table, batch: int) -> None:
        """The same, once the rows are here."""
        began = time.perf_counter()
        of_queries = table.filter(pc.not_equal(table["query"], NO_QUERY))
        results = of_queries.filter(pc.is_null(of_queries["summary"]))
        refused = refused_in(table)
        windows = windows_of(results, self.queries)
        before = self.states.load_below(batch)
        state, alerts = self.judge.step(State() if before is None else State.from_json(before), windows, batch)
        # summaries first: who sees a window can ask for its histogram
        for summaries in self.summaries:
            summaries.write(batch, of_queries.filter(pc.is_valid(of_queries["summary"])))
        for sink in self.results:
            sink.write(batch, results)
        for sink in self.alerts:
            sink.write(batch, alerts)
        self.headrooms.put(self.judge.headrooms({query: found[-1:] for query, found in windows.items()}))
        self.quarantine.keep(batch, refused)
        self.notifier.send(batch, alerts)
        self.states.save(batch, state.to_json())
        reasons: dict[str, int] = {}
        for row in refused:
            reasons[row.reason] = reasons.get(row.reason, 0) + row.count
        newest = {query: found[-1] for query, found in windows.items() if found}
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
