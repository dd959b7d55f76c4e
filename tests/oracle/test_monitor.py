"""The monitor writes what it wrote when the oracle was recorded, and goes on from a state folder of then."""

import pyarrow.dataset as ds
import pytest
from oracle_fixtures import FIXTURES, unpack_folder
from oracle_monitor import FIRST_FILES, outcomes, prepare, run
from oracle_records import compare, read

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


def test_a_monitor_continues_from_the_stored_state(spark, tmp_path):
    """With alerts that are pending or fire, alerts that wait for their receiver, and windows that are open."""
    unpack_folder(FIXTURES / "monitor.tar.gz", tmp_path)
    prepare(tmp_path)
    compare_all(outcomes(tmp_path, run(tmp_path)), read("monitor-continued"))


def test_a_monitor_that_continues_differs_only_in_bursts_words_and_bytes_from_one_that_never_stopped():
    """The stored state is of a version without bursts of short tails and `certified`, and with longer summaries."""
    whole, continued = read("monitor-all"), read("monitor-continued")
    assert list(continued) == list(whole)
    for name, record in continued.items():
        if name.startswith(("results", "summaries")):
            assert record["rows"] == whole[name]["rows"]
            assert columns_of(record).keys() == columns_of(whole[name]).keys()
            differing = {
                column for column, text in columns_of(record).items() if text != columns_of(whole[name])[column]
            }
            assert differing == ({"burst", "estimates"} if name.startswith("results") else {"summary"})
        elif name in ("alerts", "deliveries"):  # of the rule Burst, for podsets 3 and 4: firing and resolved
            assert record["rows"] == whole[name]["rows"] - 4
        else:
            assert record == whole[name]


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


def columns_of(record):
    """The digits of each column."""
    return {name: record["columns"][4 * index :][:4] for index, name in enumerate(record["last"])}
