"""The configuration as plain frozen values, checked and resolved.

Durations are whole microseconds, paths are absolute, texts from the environment are Secrets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from aomg.monitor.config.secret import Secret
from aomg.query import Query

Options = dict[str, str | Secret]


@dataclass(frozen=True)
class KafkaConfig:
    """Where Kafka is, and how to talk to it. Options have Spark's names ("kafka.security.protocol")."""

    servers: str | Secret
    topic: str
    format: Literal["json"] = "json"
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class GenerateConfig:
    """A generated stream: event time runs `speed` times as fast as the clock, until `events` came."""

    stream: Literal["podsets"]
    rate: int
    speed: float
    events: int
    seed: int
    incidents: bool


@dataclass(frozen=True)
class SourceConfig:
    """Where events come from.

    time_format
        iso, epoch_s, epoch_ms, epoch_us or a pattern of Spark's; times that parquet has as such need none.
    time_zone
        Of times that have none.
    columns
        Name -> type (string, int, long, double, boolean, timestamp), in the order of the file; the time column too.
        Empty for parquet that tells its own.
    files_per_batch
        At most so many files a micro-batch.
    options
        Spark's own, from a fixed list; also those of Kafka.
    """

    kind: Literal["parquet", "csv", "jsonl", "kafka", "generate"]
    line: int
    time: str
    path: Path | None = None
    time_format: str = "iso"
    time_zone: str = "UTC"
    columns: dict[str, str] = field(default_factory=dict)
    files_per_batch: int = 100
    options: Options = field(default_factory=dict)
    kafka: KafkaConfig | None = None
    generate: GenerateConfig | None = None


@dataclass(frozen=True)
class QueryConfig:
    """A query, the column it reads, and the labels of its keys.

    by
        Label -> column, in the order of the file; empty for one key.
    unit
        Of the values: what a duration in a rule is compared in. None if they are no times.
    """

    name: str
    query: Query
    value: str
    by: dict[str, str]
    unit: Literal["us", "ms", "s"] | None
    line: int

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels of each row, in order."""
        return tuple(self.by)


@dataclass(frozen=True)
class SinkConfig:
    """One place that rows are written to: `path` of parquet (a folder) and jsonl (a file), `kafka` of kafka."""

    kind: Literal["parquet", "jsonl", "console", "kafka"]
    line: int
    path: Path | None = None
    kafka: KafkaConfig | None = None


@dataclass(frozen=True)
class SinksConfig:
    """Where results, summaries (parquet only) and alerts go."""

    results: tuple[SinkConfig, ...] = ()
    summaries: tuple[SinkConfig, ...] = ()
    alerts: tuple[SinkConfig, ...] = ()


@dataclass(frozen=True)
class ReceiverConfig:
    """Who is told of alerts.

    url
        Of alertmanager and webhook. It shows itself without user info and query.
    command
        Program and arguments, which may hold templates; no shell.
    path
        Of log: the file that lines are appended to.
    timeout
        Microseconds that one attempt may take.
    """

    kind: Literal["alertmanager", "webhook", "command", "log"]
    line: int
    url: Secret | None = None
    headers: Options = field(default_factory=dict)
    command: tuple[str, ...] = ()
    path: Path | None = None
    timeout: int = 5_000_000


@dataclass(frozen=True)
class QuarantineConfig:
    """Where refused rows are kept, and how many at most."""

    folder: Path
    most_rows: int = 10_000


@dataclass(frozen=True)
class RuleConfig:
    """A rule as it is written; aomg.monitor.rules.builder gives it its meaning and checks it against the queries.

    kind
        alert: for each row. fleet: an alert on the share of a fleet's members. target: the headroom to a limit.
    for_, keep_firing_for, remember
        Microseconds; remember is None for one window's size.
    at_most
        Of a target: the limit as written, such as 200ms or 0.9.
    lines
        Of the keys that only the rules can check: expr, labels, annotations, quantile and at_most.
    """

    kind: Literal["alert", "fleet", "target"]
    name: str
    group: str
    line: int
    expr: str | None = None
    query: str | None = None
    when: Literal["certain", "possible"] = "certain"
    for_: int = 0
    keep_firing_for: int = 0
    min_count: int = 0
    share: float | None = None
    of: tuple[str, ...] = ()
    silent: Literal["ignore", "violating", "healthy"] = "ignore"
    remember: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    quantile: str | None = None
    at_most: str | None = None
    lines: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    """All of a configuration. `queries` and `rules` are in the order of the file, `lines` those of keys in it."""

    file: Path
    source: SourceConfig
    state: Path
    every: int
    clock: Literal["processing"] | None
    max_clock_skew: int
    quarantine: QuarantineConfig
    queries: dict[str, QueryConfig]
    sinks: SinksConfig
    receivers: tuple[ReceiverConfig, ...]
    rules: tuple[RuleConfig, ...]
    lines: Mapping[str, int] = field(default_factory=dict)
