"""Keeps what Spark and its libraries print in `spark.log`, so that the terminal shows the monitor only."""

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from aomg.monitor.atomic_files import reason
from aomg.monitor.config.model import Config
from aomg.monitor.errors import RunError
from aomg.terminal import printable

# They print JSON with a stack trace to standard error, and pass nothing on.
_JSON_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


def log_of(config: Config) -> Path:
    """The file that Spark's log is written to."""
    return config.state / "spark.log"


def append(file: Path, text: str) -> None:
    """Add a text to the log. A log that cannot be written is left as it is: the caller reports something worse."""
    with suppress(OSError), file.open("a", errors="replace") as log:
        log.write(f"{time.strftime('%H:%M:%S')} {text.rstrip()}\n")


@contextmanager
def errors_to(file: Path) -> Iterator[None]:
    """Redirect standard error of processes started meanwhile to a file: the JVM and its workers write a lot.

    Raises RunError if the file cannot be written.
    """
    sys.stderr.flush()
    try:
        log = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise RunError(f"Spark's log {reason(error, file)}") from error
    standard_error = os.dup(2)
    os.dup2(log, 2)
    os.close(log)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(standard_error, 2)
        os.close(standard_error)


@contextmanager
def messages_to(file: Path) -> Iterator[None]:
    """Write log messages of Python libraries to a file meanwhile, and those of this package to standard error.

    Py4J logs a stack trace for every call after the JVM ended, and PySpark one as JSON for every query that fails. A
    program that configured logging is left alone.
    """
    root = logging.getLogger()
    if root.handlers:
        yield
        return
    handler = _Handler(file)
    own = {logger: logger.handlers for logger in map(PySparkLogger.getLogger, _JSON_LOGGERS)}
    root.addHandler(handler)
    for logger in own:
        logger.handlers = [handler]
    try:
        yield
    finally:
        root.removeHandler(handler)
        for logger, handlers in own.items():
            logger.handlers = handlers


class _Handler(logging.Handler):
    """Separates the messages of this package from those of others."""

    def __init__(self, file: Path) -> None:
        super().__init__(logging.WARNING)
        self._file = file

    def emit(self, record: logging.LogRecord) -> None:
        """Write one message."""
        try:
            if record.name.partition(".")[0] == "aomg":
                sys.stderr.write(f"{printable(record.getMessage())}\n")
                sys.stderr.flush()
            else:
                append(self._file, f"{record.levelname} {record.name}: {self.format(record)}")
        except Exception:
            self.handleError(record)


def silence_accumulators(spark: SparkSession) -> None:
    """Stop a thread of PySpark from printing a traceback when the JVM ends; nothing here uses accumulators."""
    server = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda request, address: None
