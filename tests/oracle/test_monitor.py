"""The monitor writes what it wrote when the oracle was recorded, and goes on from a state folder of then."""

import pytest
from oracle_fixtures import FIXTURES, unpack_folder
from oracle_monitor import FIRST_FILES, outcomes, prepare, run
from oracle_records import compare, read

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


def test_a_monitor_that_continues_differs_only_in_bursts_and_bytes_from_one_that_never_stopped():
    """The stored state is of a version that did not find bursts of short tails, and wrote longer summaries."""
    whole, continued = read("monitor-all"), read("monitor-continued")
    assert list(continued) == list(whole)
    for name, record in continued.items():
        if name.startswith(("results", "summaries")):
            assert record["rows"] == whole[name]["rows"]
            assert columns_of(record).keys() == columns_of(whole[name]).keys()
            differing = {
                column for column, text in columns_of(record).items() if text != columns_of(whole[name])[column]
            }
            assert differing == {"burst" if name.startswith("results") else "summary"}
        elif name in ("alerts", "deliveries"):  # of the rule Burst, for podsets 3 and 4: firing and resolved
            assert record["rows"] == whole[name]["rows"] - 4
        else:
            assert record == whole[name]


def columns_of(record):
    """The digits of each column."""
    return {name: record["columns"][4 * index :][:4] for index, name in enumerate(record["last"])}
