"""The monitor writes what it wrote when the oracle was recorded, and goes on from a state folder of then."""

import json

import pyarrow.dataset as ds
import pytest
from oracle_fixtures import FIXTURES, unpack_folder
from oracle_monitor import FIRST_FILES, outcomes, prepare, run, undelivered
from oracle_records import compare, read
from typer.testing import CliRunner

from aomg.cli import app
from aomg.monitor.results.reader import read as read_results
from aomg.web.follow.results import ResultFollower
from aomg.web.memory.history import History

pytestmark = pytest.mark.xdist_group("monitor on spark")


def compare_all(outcomes, recorded):
    assert list(outcomes) == list(recorded)
    for name, outcome in outcomes.items():
        compare(outcome, recorded[name])


def test_a_run_writes_the_recorded_results_summaries_and_alerts(spark, tmp_path):
    prepare(tmp_path, FIRST_FILES)
    compare_all(outcomes(tmp_path, run(tmp_path)), read("monitor-first"))


def test_a_monitor_that_stopped_continues_as_if_it_had_not(spark, tmp_path):
    """With alerts that are pending or fire, alerts that wait for their receiver, and windows that are open."""
    undelivered(tmp_path)
    prepare(tmp_path)
    compare_all(outcomes(tmp_path, run(tmp_path)), read("monitor-all"))


def test_a_folder_with_a_state_for_each_query_is_refused_and_nothing_is_written(tmp_path):
    unpack_folder(FIXTURES / "monitor.tar.gz", tmp_path)
    file = prepare(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = CliRunner().invoke(app, ["run", str(file), "--once", "--json"], catch_exceptions=False)
    assert done.exit_code != 0
    assert "written by an earlier version, which kept a state for each query" in json.loads(done.stdout)["error"]
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path for path in after if after[path] != before.get(path)} <= {tmp_path / "state/lock"}


def test_stored_results_are_read_with_todays_words(tmp_path):
    unpack_folder(FIXTURES / "monitor.tar.gz", tmp_path)
    stored = ds.dataset(tmp_path / "results", partitioning="hive").to_table()
    before, after = methods_of_ends(stored), methods_of_ends(read_results(tmp_path / "results"))
    assert {("exact", True), ("exact", False)} <= before, "the fixture has both"
    assert {method for method, equal in after if equal} == {"exact"}
    assert {method for method, equal in after if not equal} == {
        "certified" if m == "exact" else m for m, e in before if not e
    }
    history = History()
    follower = ResultFollower(tmp_path / "results", history)
    while follower.step():
        pass
    assert {method for query in history.snapshot().values() for method in query.methods} - {""} == {m for m, _ in after}


def methods_of_ends(rows):
    """The methods of quantiles, and whether low is high."""
    parts = [part for one in rows["estimates"].to_pylist() for part in one]
    return {(part["method"], part["low"] == part["high"]) for part in parts if part["method"] is not None}
