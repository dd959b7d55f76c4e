"""Versions of Spark that are not supported are refused by name, and asking for the version costs one call a session."""

import subprocess
import sys

import pyspark
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from local import MINUTE, events_of, frame

from aomg import Query
from aomg.errors import SettingsError
from aomg.packages import PYSPARK, TESTED_SPARK, Package, is_tested
from aomg.spark import accounts, quantiles, summaries, windows
from aomg.spark.versions import check_pyspark, check_version

QUERY = Query("5 minutes", "1 minute")
SUFFIXES = ("", ".0", ".12", ".0-SNAPSHOT", ".1.dev0", ".0-amzn-1", ".2.7.3.0-1", "rc1")


class Session:
    """Stands in for a session; counts how often its version is asked for."""

    def __init__(self, version: str) -> None:
        self._version, self.calls = version, 0

    @property
    def version(self) -> str:
        self.calls += 1
        return self._version


def connected(version: str) -> Session:
    return type("SparkSession", (Session,), {"__module__": "pyspark.sql.connect.session"})(version)


@example(4, 0, ".5")
@example(4, 1, ".0")
@example(5, 0, ".0")
@given(st.integers(0, 12), st.integers(0, 30), st.sampled_from(SUFFIXES))
def test_spark_4_is_supported_from_4_1_on_and_nothing_else(major, minor, suffix):
    session = Session(f"{major}.{minor}{suffix}")
    if major == 4 and minor >= 1:
        check_version(session)
        check_version(session)
        assert session.calls == 1
    else:
        with pytest.raises(SettingsError, match=f"^Spark {major}.{minor}"):
            check_version(session)


def test_the_error_says_what_runs_what_is_supported_and_what_to_paste(monkeypatch):
    monkeypatch.setattr(pyspark, "__version__", "4.0.2")
    with pytest.raises(SettingsError) as error:
        check_pyspark()
    assert str(error.value) == (
        "PySpark 4.0.2 is too old: AOMG needs Spark 4.1 or newer, below 5 (tested: 4.1, 4.2, 4.3). "
        "Run: pip install 'pyspark>=4.1,<5'"
    )
    assert PYSPARK.fault_of("4.4.0") is None and not is_tested("4.4.0")
    assert all(is_tested(f"{version}.7") for version in TESTED_SPARK)


def test_over_spark_connect_both_the_client_and_the_server_count(monkeypatch):
    check_version(connected("4.1.0"))
    with pytest.raises(SettingsError, match=r"^Spark 4\.0\.2 is too old: .* connect to a server that runs such a ver"):
        check_version(connected("4.0.2"))
    monkeypatch.setattr(pyspark, "__version__", "5.0.0")
    with pytest.raises(SettingsError, match=r"^PySpark 5\.0\.0 is too new: .* Run: pip install 'pyspark>=4\.1,<5'"):
        check_version(connected("4.1.0"))


def test_a_jvm_of_another_version_is_traced_to_spark_home(monkeypatch):
    monkeypatch.setenv("SPARK_HOME", "/opt/spark-4.0")
    with pytest.raises(SettingsError, match=r"SPARK_HOME=/opt/spark-4\.0.* run: unset SPARK_HOME"):
        check_version(Session("4.0.0"))


def test_every_function_checks_the_version(spark, monkeypatch, tmp_path):
    from aomg.spark import versions

    events = frame(spark, events_of(1, 20, 2, 3 * MINUTE // 1_000_000))
    columns = {"value": "v", "time": "ts", "by": "k"}
    stored = summaries(events, QUERY, **columns)
    monkeypatch.setattr(versions, "_supported", set())
    monkeypatch.setattr(versions, "PYSPARK", Package("pyspark", "5", "6"))
    for call in (
        lambda: quantiles(events, QUERY, **columns),
        lambda: summaries(events, QUERY, **columns),
        lambda: windows(stored, QUERY),
        lambda: accounts(spark, str(tmp_path)),
    ):
        with pytest.raises(SettingsError, match=r"^PySpark .* is too old"):
            call()


def test_a_pyspark_without_the_modules_that_are_needed_is_refused_by_its_version():
    code = (
        "import sys, pyspark; pyspark.__version__ = '3.5.9'\n"
        "sys.modules['pyspark.sql.streaming.stateful_processor'] = None\n"
        "from aomg.errors import SettingsError\n"
        "try: import aomg.spark\n"
        "except SettingsError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.startswith("PySpark 3.5.9 is too old: AOMG needs Spark 4.1 or newer")
