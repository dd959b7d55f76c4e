"""Defines the checked configuration as frozen dataclasses.

Durations are whole microseconds, paths are absolute, texts from the environment are Secrets. RuleConfig, SinkConfig and
ReceiverConfig are base classes: each kind is a subclass beside its implementation (`aomg.monitor.registry` lists them).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from aomg.monitor.config.secret import Secret
from aomg.monitor.errors import ConfigError
from aomg.query import Query

Options = dict[str, str | Secret]


@dataclass(frozen=True)
class KafkaConfig:
    """Servers, topic and options of Kafka. Options have Spark's names ("kafka.security.protocol")."""

    servers: str | Secret
    topic: str
    format: Literal["json"] = "json"
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class GenerateConfig:
    """A generated stream of `events` events: event time runs `speed` times as fast as the clock."""

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
        iso, epoch_s, epoch_ms, epoch_us, epoch_ns or a Spark pattern; Parquet timestamps need none.
    time_zone
        Of times that have none.
    columns
        Name -> type (string, int, long, double, boolean, timestamp), in the order of the file, with the time column.
        Empty if the files supply them: Parquet, or CSV with a header (`source.header` then fills them in).
    from_header
        Whether the header of the CSV files names the columns: types then follow from what the queries do with them.
    header
        The names in that header, once they are known.
    files_per_batch
        Most files that a micro-batch reads.
    skip_missing_files
        Whether to leave out a file that is gone when its micro-batch reads it, instead of stopping.
    longest_line
        Bytes that a line or message may have, with its line ending; longer ones are refused before they are read.
    longest_key
        Characters that the labels of a key may have together; events of longer ones are refused.
    options
        Options of Spark and of Kafka, from a fixed list.
    """

    kind: Literal["parquet", "csv", "jsonl", "kafka", "generate"]
    line: int
    time: str
    path: Path | None = None
    time_format: str = "iso"
    time_zone: str = "UTC"
    columns: dict[str, str] = field(default_factory=dict)
    from_header: bool = False
    header: tuple[str, ...] = ()
    files_per_batch: int = 100
    skip_missing_files: bool = False
    longest_line: int = 1_000_000
    longest_key: int = 1_024
    options: Options = field(default_factory=dict)
    kafka: KafkaConfig | None = None
    generate: GenerateConfig | None = None


@dataclass(frozen=True)
class QueryConfig:
    """A query, the column it reads, and the labels of its keys.

    by
        Label -> column, in the order of the file; empty for one key.
    unit
        Of the values: durations in rules are converted to it. None if the values are not times.
    weight
        The column that says how many events each row counts as; None: one.
    """

    name: str
    query: Query
    value: str
    by: dict[str, str]
    unit: Literal["us", "ms", "s"] | None
    line: int
    weight: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the source that the query reads, besides the time."""
        return (self.value, *([] if self.weight is None else [self.weight]), *self.by.values())

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels of each row, in order."""
        return tuple(self.by)


@dataclass(frozen=True, kw_only=True)
class SinkConfig:
    """A sink as configured. Each kind is a subclass whose fields are its keys (`config.schema.key`).

    kind
        Its key in the file.
    stores
        What it can store: results, summaries, alerts.
    writes_folder
        Whether `path` is a folder; otherwise it is a file.
    path
        Where it writes; None if it does not write to this machine's disk.
    """

    kind: ClassVar[str]
    stores: ClassVar[tuple[str, ...]]
    writes_folder: ClassVar[bool] = False

    line: int
    path: Path | None = None

    def build(self, context: Any) -> Any:
        """Return the sink. `context` is an aomg.monitor.sinks.base.SinkContext."""
        raise NotImplementedError


@dataclass(frozen=True)
class SinksConfig:
    """The sinks of results, summaries and alerts."""

    results: tuple[SinkConfig, ...] = ()
    summaries: tuple[SinkConfig, ...] = ()
    alerts: tuple[SinkConfig, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReceiverConfig:
    """A receiver of alerts as configured. Each kind is a subclass whose fields are its keys (`config.schema.key`).

    kind
        Its key in the file.
    path
        The file that it writes; None if it writes none.
    """

    kind: ClassVar[str]

    line: int
    path: Path | None = None

    def build(self) -> Any:
        """Return the receiver, an aomg.monitor.delivery.base.Receiver."""
        raise NotImplementedError

    def check(self) -> None:
        """Check what can be checked before the start. Raises ConfigError."""


@dataclass(frozen=True)
class QuarantineConfig:
    """The folder that stores refused rows, and how many at most."""

    folder: Path
    most_rows: int = 10_000


@dataclass(frozen=True, kw_only=True)
class RuleConfig:
    """A rule as configured. Each kind is a subclass whose fields are its keys (`config.schema.key`).

    kind
        alert, fleet or target.
    name_key
        The key that has the rule's name: `alert: SlowRequests`.
    marker
        The key that distinguishes this kind from others with the same `name_key`, if there are any.
    query
        The query that names without a prefix belong to; None if there is only one.
    lines
        The line of every key that is set.
    """

    kind: ClassVar[str]
    name_key: ClassVar[str]
    marker: ClassVar[str | None] = None

    name: str
    group: str
    line: int
    query: str | None = None
    min_count: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    def check(self) -> None:
        """Check keys against each other when the file is read. Raises ConfigError."""

    @contextmanager
    def line_of(self, key: str) -> Iterator[None]:
        """Add the line of a key to errors that are raised inside."""
        try:
            yield
        except ConfigError as problem:
            raise problem.placed(self.lines.get(key)) from None

    def build(self, queries: Mapping[str, QueryConfig]) -> Any:
        """Return the rule that evaluates windows (rules.alert.Rule or rules.target.Target). Raises ConfigError."""
        raise NotImplementedError


@dataclass(frozen=True)
class Config:
    """A whole configuration. `queries` and `rules` are in the order of the file; `lines` are those of its keys.

    log_size
        Bytes that Spark's log may take.
    """

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
    log_size: int = 100_000_000
    lines: Mapping[str, int] = field(default_factory=dict)
