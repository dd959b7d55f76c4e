"""Builds sinks, receivers and rules from the configuration."""

import logging
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console

import aomg
from aomg.monitor.alerts.judge import Judge
from aomg.monitor.alerts.state import State
from aomg.monitor.config.model import Config
from aomg.monitor.delivery.notifier import Notifier
from aomg.monitor.journal.checkpoint import Checkpoint, SourceReader
from aomg.monitor.journal.journal import Journal
from aomg.monitor.journal.queries import queries_digest
from aomg.monitor.journal.stream import stream_of
from aomg.monitor.rules.builder import check_rules
from aomg.monitor.run.batches import Batches
from aomg.monitor.run.progress import Watcher
from aomg.monitor.run.state_check import check_state
from aomg.monitor.sinks.base import SinkContext
from aomg.monitor.sinks.headroom import HeadroomFile
from aomg.monitor.sinks.quarantine import Quarantine, read_counts
from aomg.monitor.source.long_lines import LongLines

_LOG = logging.getLogger(__name__)


def checkpoint_of(config: Config) -> Path:
    """The folder of Spark's checkpoint."""
    return config.state / "checkpoint"


def targets_of(config: Config) -> Path:
    """The file with the newest headroom of every target."""
    return config.state / "targets.json"


def assembled(
    config: Config, console: Console, watchers: Sequence[Watcher] = (), long_lines: LongLines | None = None
) -> Batches:
    """Return what processes micro-batches. Delivery of firing alerts starts at once.

    Creates folders. Raises ConfigError, SinkError, or StateError if the state folder is damaged, or does not fit the
    checkpoint or the files of the sinks.
    """
    judge = Judge(check_rules(config), config.queries)
    stream = stream_of(config.state)
    checkpoint = Checkpoint(checkpoint_of(config))
    quarantine = Quarantine(config.quarantine.folder, config.quarantine.most_rows, stream=stream)
    journal = Journal(config.state, stream)
    check_state(config, journal, checkpoint)
    refused_before: dict[str, int] = {}
    if journal.last is None:
        refused_before = read_counts(quarantine.file) or {}
    elif quarantine.write_counts(journal.last.refused):
        _LOG.warning("%s differed from the journal; it is written anew", quarantine.file)
    state = State.from_json(None if journal.last is None else journal.last.state)
    names = {name: query.labels for name, query in config.queries.items()}
    context = SinkContext(console, names, stream, SparkSession.active)
    return Batches(
        config.queries,
        judge,
        journal,
        [sink.build(context) for sink in config.sinks.results],
        [sink.build(context) for sink in config.sinks.summaries],
        [sink.build(context) for sink in config.sinks.alerts],
        HeadroomFile(targets_of(config), judge.targets),
        quarantine,
        Notifier(
            config.state / "outbox",
            [receiver.build() for receiver in config.receivers],
            firing=judge.firing(state),
            journal=journal,
        ),
        watchers,
        SourceReader(checkpoint, config.source.skip_missing_files),
        refused_before,
        aomg.__version__,
        long_lines,
        queries_digest(config.state),
    )
