"""Makes of a configuration what it names: sinks, receivers, and what is done with each micro-batch."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from aomg.monitor.alerts.judge import Judge
from aomg.monitor.alerts.state import State
from aomg.monitor.alerts.state_files import StateFiles, stream_of
from aomg.monitor.config.model import Config, ReceiverConfig, SinkConfig
from aomg.monitor.delivery.base import Receiver
from aomg.monitor.delivery.notifier import Notifier
from aomg.monitor.delivery.receivers import Alertmanager, Command, Log, Webhook
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.builder import check_rules
from aomg.monitor.run.batches import Batches
from aomg.monitor.run.progress import Watcher
from aomg.monitor.sinks.base import ConsoleSink, Sink
from aomg.monitor.sinks.headroom import HeadroomFile
from aomg.monitor.sinks.jsonl import JsonLinesSink
from aomg.monitor.sinks.kafka import KafkaSink
from aomg.monitor.sinks.parquet import ParquetSink
from aomg.monitor.sinks.quarantine import Quarantine
from aomg.monitor.sinks.summaries import SummarySink


def checkpoint_of(config: Config) -> Path:
    """Where Spark keeps the state of the stream."""
    return config.state / "checkpoint"


def targets_of(config: Config) -> Path:
    """The file with the newest headroom of every target."""
    return config.state / "targets.json"


def assembled(config: Config, console: Console, watchers: Sequence[Watcher] = ()) -> Batches:
    """All that a micro-batch needs, with receivers that hear already of what fires.

    Makes folders; raises ConfigError or SinkError where something cannot be, StateError where a state is damaged.
    """
    judge = Judge(check_rules(config), config.queries)
    states = StateFiles(config.state / "alerts")
    state = State.from_json(states.newest())
    stream = stream_of(config.state)
    names = {name: query.labels for name, query in config.queries.items()}

    def sinks(asked: Sequence[SinkConfig]) -> list[Sink]:
        return [_sink(sink, console, names, stream) for sink in asked]

    return Batches(
        config.queries,
        judge,
        states,
        sinks(config.sinks.results),
        [SummarySink(sink.path, names, stream) for sink in config.sinks.summaries if sink.path is not None],
        sinks(config.sinks.alerts),
        HeadroomFile(targets_of(config), judge.targets),
        Quarantine(config.quarantine.folder, config.quarantine.most_rows, stream=stream),
        Notifier(
            config.state / "outbox",
            [_receiver(receiver) for receiver in config.receivers],
            firing=judge.firing(state),
            judged=state.batch,
        ),
        watchers,
    )


def _sink(asked: SinkConfig, console: Console, names: dict[str, tuple[str, ...]], stream: str) -> Sink:
    if asked.kind == "console":
        return ConsoleSink(console, names)
    if asked.kind == "kafka" and asked.kafka is not None:
        return KafkaSink(asked.kafka, names)
    if asked.path is None:
        raise ConfigError(f"a sink of kind {asked.kind} needs a path", asked.line)
    if asked.kind == "parquet":
        return ParquetSink(asked.path, names, stream)
    return JsonLinesSink(asked.path, names, stream)


def _receiver(asked: ReceiverConfig) -> Receiver:
    seconds = asked.timeout / 1e6
    if asked.kind == "command":
        return Command(asked.command, seconds)
    if asked.kind == "log" and asked.path is not None:
        return Log(asked.path)
    if asked.url is None:
        raise ConfigError(f"a receiver of kind {asked.kind} needs an address", asked.line)
    kind = Alertmanager if asked.kind == "alertmanager" else Webhook
    return kind(asked.url, asked.headers, seconds)
