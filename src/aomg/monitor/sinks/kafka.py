"""Results or alerts as JSON messages in a Kafka topic, through Spark's own writer."""

import json
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from aomg.monitor.config.model import KafkaConfig
from aomg.monitor.config.secret import revealed
from aomg.monitor.sinks.base import Alert, lines_of
from aomg.monitor.sinks.result_rows import LabelNames


class KafkaSink:
    """A message for each row, its key the query and labels or the alert's id.

    At least once: a batch that is repeated sends its messages again, with the same keys and content.
    """

    def __init__(self, kafka: KafkaConfig, label_names: LabelNames | None = None) -> None:
        self._kafka = kafka
        self._label_names = label_names

    def write(self, batch: int, rows: pa.Table | Sequence[Alert]) -> None:
        """Send all of a batch; returns when the brokers have it."""
        messages = []
        for line in lines_of(batch, rows, self._label_names):
            key = line.get("id") or json.dumps([line["query"], line["labels"]], ensure_ascii=False)
            messages.append((str(key), json.dumps(line, ensure_ascii=False, separators=(",", ":"))))
        if not messages:
            return
        options = {"kafka.bootstrap.servers": self._kafka.servers, "topic": self._kafka.topic, **self._kafka.options}
        frame = SparkSession.active().createDataFrame(messages, "key string, value string")
        frame.write.format("kafka").mode("append").options(**revealed(options)).save()

    def close(self) -> None:
        """Nothing is held."""
