"""Checks that a session runs a supported version of Spark; over Spark Connect that of the server counts, too."""

import os
from weakref import WeakSet

import pyspark
from pyspark.sql import SparkSession

from aomg.errors import SettingsError
from aomg.packages import PYSPARK, TESTED_SPARK

_supported: "WeakSet[SparkSession]" = WeakSet()


def check_pyspark() -> None:
    """Raise SettingsError if the PySpark of this process is not supported, with the line that installs another."""
    fault = PYSPARK.fault_of(pyspark.__version__)
    if fault:
        raise SettingsError(f"PySpark {fault}: {_NEEDS}. Run: {PYSPARK.install()}")


def check_version(spark: SparkSession) -> None:
    """Raise SettingsError if a session is of a version that is not supported, by PySpark or by Spark itself.

    Costs one call to the session (over Spark Connect: to its server) the first time, and nothing afterwards.
    """
    if spark in _supported:
        return
    check_pyspark()
    fault = PYSPARK.fault_of(spark.version)
    if fault:
        raise SettingsError(f"Spark {fault}: {_NEEDS}. {_remedy(spark)}")
    _supported.add(spark)


def is_connect(spark: SparkSession) -> bool:
    """Whether this is a session of Spark Connect: Spark runs in another process, on a server."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


_NEEDS = f"AOMG needs Spark {PYSPARK.at_least} or newer, below {PYSPARK.below} (tested: {', '.join(TESTED_SPARK)})"


def _remedy(spark: SparkSession) -> str:
    """How to get another version where the one of PySpark is right."""
    if is_connect(spark):
        return f"PySpark {pyspark.__version__} is right: connect to a server that runs such a version"
    home = os.environ.get("SPARK_HOME")
    where = f" is that of SPARK_HOME={home}" if home else " is not that of the package pyspark"
    return f"PySpark {pyspark.__version__} is right, but the JVM{where}. Before Python starts, run: unset SPARK_HOME"
