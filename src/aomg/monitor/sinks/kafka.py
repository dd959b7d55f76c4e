"""The Kafka sink: results or alerts as JSON messages in a topic, through Spark's writer."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from aomg.monitor.alert import Alert
from aomg.monitor.config import source
from aomg.monitor.config.model import KafkaConfig, SinkConfig
from aomg.monitor.config.schema import key
from aomg.monitor.config.secret import revealed
from aomg.monitor.sinks.base import SinkContext, lines_of
from aomg.monitor.sinks.result_rows import LabelNames


@dataclass(frozen=True, kw_only=True)
class KafkaSinkConfig(SinkConfig):
    """A Kafka sink as configured."""

    kind = "kafka"
    stores = ("results", "alerts")

    kafka: KafkaConfig = key(source.kafka("kafka sink"), help="a topic: `servers`, `topic`, `format` and `options`")

    def build(self, context: SinkContext) -> "KafkaSink":
        """Return the sink."""
        return KafkaSink(self.kafka, context.label_names, context.spark)


class KafkaSink:
    """Sends a message for each row. Its key is the query and labels, or the alert's id.

    At least once: a repeated batch sends its messages again, with the same keys and content.
    """

    def __init__(self, kafka: KafkaConfig, label_names: LabelNames | None, spark: Callable[[], Any]) -> None:
        self._kafka = kafka
        self._label_names = label_names
        self._spark = spark

    def write(self, batch: int, rows: pa.Table | Sequence[Alert]) -> None:
        """Send a whole batch; returns when the brokers have it."""
        messages = []
        for line in lines_of(batch, rows, self._label_names):
            key = line.get("id") or json.dumps([line["query"], line["labels"]], ensure_ascii=False)
            messages.append((str(key), json.dumps(line, ensure_ascii=False, separators=(",", ":"))))
        if not messages:
            return
        options = {"kafka.bootstrap.servers": self._kafka.servers, "topic": self._kafka.topic, **self._kafka.options}
        frame = self._spark().createDataFrame(messages, "key string, value string")
        frame.write.format("kafka").mode("append").options(**revealed(options)).save()
