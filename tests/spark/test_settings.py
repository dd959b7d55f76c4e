import importlib
import re
import warnings
from importlib import metadata

import pytest
from local import setting

from aomg.errors import SettingsError
from aomg.spark.settings import BATCH_BYTES, PROVIDER, ROCKSDB, check

HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


@pytest.fixture(autouse=True)
def not_warned(monkeypatch):
    monkeypatch.setattr(importlib.import_module("aomg.spark.settings"), "_warned", False)


def installed(monkeypatch, **versions):
    true = metadata.version

    def version(name):
        if versions.get(name, "") is None:
            raise metadata.PackageNotFoundError(name)
        return versions.get(name) or true(name)

    monkeypatch.setattr(metadata, "version", version)


def test_a_session_of_ours_passes_without_a_warning(spark):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(spark, streaming=True)
        check(spark, streaming=False)


def test_no_spark_job_is_run(spark):
    tracker = spark.sparkContext.statusTracker()
    before = tracker.getJobIdsForGroup(None)
    check(spark, streaming=True)
    assert tracker.getJobIdsForGroup(None) == before


def test_a_stream_without_rocksdb_is_refused_and_the_line_in_the_message_fixes_it(spark):
    with setting(spark, PROVIDER, HDFS):
        with pytest.raises(SettingsError) as error:
            check(spark, streaming=True)
        assert f'.config("{PROVIDER}", "{ROCKSDB}")' in str(error.value)
        line = re.search(r"^ *(spark\.conf\.set\(.*\))$", str(error.value), re.MULTILINE)[1]
        exec(line, {"spark": spark})
        check(spark, streaming=True)


def test_a_batch_needs_no_state_store(spark):
    with setting(spark, PROVIDER, HDFS):
        check(spark, streaming=False)


def test_the_state_stores_of_vendors_pass(spark):
    with setting(spark, PROVIDER, "com.vendor.streaming.RocksDBStateStoreProvider"):
        check(spark, streaming=True)


@pytest.mark.parametrize("limit", ["67108864", "64m", "2147483646"])
def test_a_limit_that_costs_speed_is_warned_about_once_and_the_line_in_the_warning_fixes_it(spark, limit):
    with setting(spark, BATCH_BYTES, limit):
        with pytest.warns(RuntimeWarning, match=re.escape(BATCH_BYTES)) as caught:
            check(spark, streaming=False)
            check(spark, streaming=True)
        assert len(caught) == 1
        line = re.search(r"^ *(spark\.conf\.set\(.*\))$", str(caught[0].message), re.MULTILINE)[1]
        exec(line, {"spark": spark})
        importlib.import_module("aomg.spark.settings")._warned = False
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check(spark, streaming=False)


def test_a_stream_needs_protobuf_and_pandas_2_and_every_fault_is_named(spark, monkeypatch):
    installed(monkeypatch, protobuf=None, pandas="3.0.1")
    with pytest.raises(SettingsError) as error:
        check(spark, streaming=True)
    assert "pandas: 3.0.1 is too new. Run: pip install 'pandas>=2.2,<3'" in str(error.value)
    assert "protobuf: not installed. Run: pip install 'protobuf>=" in str(error.value)
    check(spark, streaming=False)


def test_pyarrow_is_needed_by_every_query(spark, monkeypatch):
    installed(monkeypatch, pyarrow="15.0")
    with pytest.raises(SettingsError, match=r"pyarrow: 15\.0 is too old"):
        check(spark, streaming=False)


def test_over_spark_connect_packages_of_the_client_do_not_count_but_settings_do(spark, monkeypatch):
    names = {"__module__": "pyspark.sql.connect.session", "conf": spark.conf, "version": spark.version}
    remote = type("SparkSession", (), names)()
    installed(monkeypatch, protobuf=None, pandas=None, pyarrow=None)
    check(remote, streaming=True)
    with setting(spark, PROVIDER, HDFS), pytest.raises(SettingsError, match="HDFSBacked"):
        check(remote, streaming=True)
