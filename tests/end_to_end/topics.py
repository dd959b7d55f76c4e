"""A stand-in for Kafka: a data source of Spark's whose topics are files of JSON lines in a folder.

It has the columns of Spark's connector and passes all messages through Spark. It looks at no option but the topic.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from pyspark.sql import DataFrameWriter, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    DataSourceWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming import DataStreamReader

_COLUMNS = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, timestampType int"


@contextmanager
def topics_in(folder: Path, spark: SparkSession) -> Iterator[None]:
    """Let the format kafka stand for the topics of a folder; its files are called as the topics."""

    class Topics(DataSource):
        @classmethod
        def name(cls) -> str:
            return "topics"

        def schema(self) -> str:
            return _COLUMNS

        def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
            return Messages(folder / self.options["subscribe"])

        def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
            return Writer(folder / self.options["topic"])

    class Messages(DataSourceStreamReader):
        def __init__(self, file: Path) -> None:
            self._file = file

        def initialOffset(self) -> dict[str, int]:  # noqa: N802
            return {"offset": 0}

        def latestOffset(self, *_: Any) -> dict[str, int]:  # noqa: N802
            return {"offset": len(self._file.read_bytes().splitlines())}

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
            return [InputPartition((start["offset"], end["offset"]))]

        def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
            first, last = partition.value
            for offset, line in enumerate(self._file.read_bytes().splitlines()[first:last], first):
                yield None, line, self._file.name, 0, offset, None, 0

    class Writer(DataSourceWriter):
        def __init__(self, file: Path) -> None:
            self._file = file

        def write(self, rows: Iterator[Any]) -> WriterCommitMessage:
            with self._file.open("a") as file:
                file.writelines(f"{row.value}\n" for row in rows)
            return WriterCommitMessage()

    spark.dataSource.register(Topics)
    reader = mock.patch.object(DataStreamReader, "format", _format(DataStreamReader))
    writer = mock.patch.object(DataFrameWriter, "format", _format(DataFrameWriter))
    with reader, writer:
        yield


def _format(of: Any) -> Any:
    real = of.format
    return lambda self, source: real(self, "topics" if source == "kafka" else source)
