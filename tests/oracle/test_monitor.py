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


def test_a_monitor_continues_from_the_stored_state_as_if_it_had_never_stopped(spark, tmp_path):
    """With alerts that are pending or fire, alerts that wait for their receiver, and windows that are open."""
    unpack_folder(FIXTURES / "monitor.tar.gz", tmp_path)
    prepare(tmp_path)
    compare_all(outcomes(tmp_path, run(tmp_path)), read("monitor-all"))
