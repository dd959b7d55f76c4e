"""Lists the kinds of rules, sinks and receivers that a configuration may use.

To add one, write a module that defines its configuration class, and add the class here: CONTRIBUTING.md says how.
"""

from aomg.monitor.config.model import ReceiverConfig, RuleConfig, SinkConfig
from aomg.monitor.delivery.alertmanager import AlertmanagerConfig
from aomg.monitor.delivery.command import CommandConfig
from aomg.monitor.delivery.log import LogConfig
from aomg.monitor.delivery.webhook import WebhookConfig
from aomg.monitor.rules.alert import AlertConfig
from aomg.monitor.rules.fleet import FleetConfig
from aomg.monitor.rules.target import TargetConfig
from aomg.monitor.sinks.console import ConsoleSinkConfig
from aomg.monitor.sinks.jsonl import JsonLinesSinkConfig
from aomg.monitor.sinks.kafka import KafkaSinkConfig
from aomg.monitor.sinks.parquet import ParquetSinkConfig
from aomg.monitor.sinks.summaries import SummarySinkConfig

RULES: tuple[type[RuleConfig], ...] = (
    AlertConfig,
    FleetConfig,
    TargetConfig,
)

SINKS: tuple[type[SinkConfig], ...] = (
    ParquetSinkConfig,
    SummarySinkConfig,
    JsonLinesSinkConfig,
    ConsoleSinkConfig,
    KafkaSinkConfig,
)

RECEIVERS: tuple[type[ReceiverConfig], ...] = (
    AlertmanagerConfig,
    WebhookConfig,
    CommandConfig,
    LogConfig,
)
