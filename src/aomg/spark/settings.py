"""Checks a Spark session for the version, the settings and the packages that a query needs, before it starts."""

import warnings

from pyspark.errors import SparkNoSuchElementException
from pyspark.sql import SparkSession

from aomg.errors import SettingsError
from aomg.packages import PANDAS, PROTOBUF, PYARROW
from aomg.spark.versions import check_version, is_connect

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
UNLIMITED = "2147483647"

_warned = False


def check(spark: SparkSession, streaming: bool) -> None:
    """Raise SettingsError if a query cannot run in this session; it names every fault and the line that fixes it.

    A stream needs a state store that supports Python's state, and Python packages. Workers are assumed to have the
    packages of this process; over Spark Connect packages are not checked. A setting that only costs speed is warned
    about, once per process. Costs a few calls to the session (over Spark Connect: to its server) and no Spark job.
    """
    check_version(spark)
    faults = []
    if not is_connect(spark):
        packages = (PYARROW, PANDAS, PROTOBUF) if streaming else (PYARROW,)
        for package in packages:
            fault = package.fault()
            if fault:
                faults.append(f"{package.name}: {fault}. Run: {package.install()}")
    if streaming:
        provider = value_of(spark, PROVIDER) or ""
        # Other providers pass: vendors of Spark have their own, and Spark itself refuses those that cannot do it.
        if provider.endswith(".HDFSBackedStateStoreProvider"):
            faults.append(
                f"{PROVIDER} is {provider}, which cannot store the state of this stream. Before the query, "
                f"{_line(PROVIDER, ROCKSDB)}"
            )
    if faults:
        raise SettingsError("; ".join(faults) if len(faults) == 1 else "\n".join(["", *faults]))
    _warn_once(spark)


def value_of(spark: SparkSession, key: str) -> str | None:
    """Return a setting, Spark's default for it, or None where it has neither."""
    try:
        return spark.conf.get(key)
    except SparkNoSuchElementException:
        return None


def _warn_once(spark: SparkSession) -> None:
    global _warned  # noqa: PLW0603
    limit = value_of(spark, BATCH_BYTES)
    if _warned or limit is None or limit.removesuffix("b") == UNLIMITED:
        return
    _warned = True
    warnings.warn(
        f"{BATCH_BYTES} is {limit}: Spark measures the whole Arrow batch again for every event, which more than halves "
        f"the speed. Before the query, {_line(BATCH_BYTES, UNLIMITED)}",
        RuntimeWarning,
        stacklevel=3,
    )


def _line(key: str, value: str) -> str:
    return (
        f'add the line\n    spark.conf.set("{key}", "{value}")\n'
        f'or, where the session is built,\n    .config("{key}", "{value}")'
    )
