"""Builds sinks, receivers and rules from the configuration."""

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console

from aomg.monitor.alerts.judge import Judge
from aomg.monitor.alerts.state import State
from aomg.monitor.alerts.state_files import StateFiles, stream_of
from aomg.monitor.config.model import Config
from aomg.monitor.delivery.notifier import Notifier
from aomg.monitor.rules.builder import check_rules
from aomg.monitor.run.batches import Batches
from aomg.monitor.run.progress import Watcher
from aomg.monitor.sinks.base import SinkContext
from aomg.monitor.sinks.headroom import HeadroomFile
from aomg.monitor.sinks.quarantine import Quarantine
from aomg.monitor.source.batch_files import files_of
from aomg.monitor.source.long_lines import LongLines


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

    Creates folders. Raises ConfigError, SinkError, or StateError if a state is damaged.
    """
    judge = Judge(check_rules(config), config.queries)
    states = StateFiles(config.state / "alerts")
    state = State.from_json(states.newest())
    stream = stream_of(config.state)
    names = {name: query.labels for name, query in config.queries.items()}
    context = SinkContext(console, names, stream, SparkSession.active)
    return Batches(
        config.queries,
        judge,
        states,
        [sink.build(context) for sink in config.sinks.results],
        [sink.build(context) for sink in config.sinks.summaries],
        [sink.build(context) for sink in config.sinks.alerts],
        HeadroomFile(targets_of(config), judge.targets),
        Quarantine(config.quarantine.folder, config.quarantine.most_rows, stream=stream),
        Notifier(
            config.state / "outbox",
            [receiver.build() for receiver in config.receivers],
            firing=judge.firing(state),
            evaluated=state.batch,
        ),
        watchers,
        *([] if long_lines is None else [lambda batch: long_lines.of(files_of(checkpoint_of(config), batch))]),
    )
